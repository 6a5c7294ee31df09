//! The allowed places of the worklog, and obstacles there.

use super::{echo, entries_of, kept, room, shell, worklog};
use crate::files;
use crate::town::{Town, is_root};
use crate::world::World;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn only_a_markdown_file_below_the_room_s_parent_is_accepted() {
    // P166
    let world = World::with("alice");
    for path in [
        "/tmp/x.md",
        "../x.md",
        "a/../x.md",
        ".git/x.md",
        ".mailbag/x.md",
        "a//x.md",
        "x.txt",
        "",
        ".md",
        "./x.md",
    ] {
        world.write("settings.toml", format!("worklog = {path:?}\n"));
        assert_contains!(world.run("status").out, "worklog has an invalid value"; "{path}");
    }
    files::make_dir(world.path().join("docs"));
    world.write("settings.toml", "worklog = \"docs/What happened.md\"\n");
    echo(&world, "alice", r#"{"type":"milestone","body":"first"}"#);
    world.pass();
    let text = files::read_text(world.path().join("docs/What happened.md"));
    assert!(entries_of(&text).contains("· first\n") && worklog(&world).is_empty());
}

#[test]
fn the_room_itself_is_no_place_also_if_its_name_begins_with_no_dot() {
    // P166
    let world = World::empty();
    world.ok("init mail");
    files::write(
        world.path().join("mail/settings.toml"),
        "worklog = \"mail/context/w.md\"\n",
    );
    let room = world.path().join("mail");
    let room = room.to_str().expect("text");
    world.ok(&[
        "send",
        "--type",
        "milestone",
        "first",
        "--as",
        "human",
        "--room",
        room,
    ]);
    assert_contains!(
        world.ok(&["status", "--room", room]),
        "cannot be in the room"
    );
    assert!(!world.path().join("mail/context/w.md").exists());
}

#[test]
fn a_link_a_directory_and_a_second_name_are_not_written_and_mail_goes_on() {
    // P166
    let world = room("alice bob");
    let outside = tempfile::tempdir().expect("a directory");
    let target = outside.path().join("precious");
    files::write(&target, "precious");
    let target = target.to_str().expect("text");
    let ways = [
        (format!("ln -s {target} WORKLOG.md"), "is a symbolic link"),
        (
            "mkdir WORKLOG.md && touch WORKLOG.md/mine".to_owned(),
            "is a directory",
        ),
        (
            format!("cp {target} x && ln x WORKLOG.md"),
            "has another name",
        ),
        ("mkfifo WORKLOG.md".to_owned(), "is not a regular file"),
    ];
    for (n, (way, reason)) in ways.iter().enumerate() {
        shell(&world, way);
        echo(
            &world,
            "alice",
            &format!(r#"{{"type":"milestone","body":"number {n}"}}"#),
        );
        world.pass();
        assert_eq!(world.inbox("bob").len(), n + 1, "{way}");
        let status = world.ok("status");
        assert!(status.contains(reason), "{way}: {status}");
        assert_eq!(files::read_text(target), "precious");
        shell(&world, "rm -rf WORKLOG.md");
    }
    world.pass();
    assert_eq!(entries_of(&worklog(&world)).lines().count(), ways.len());
    assert!(!world.ok("status").contains("WORKLOG.md"));
    // A directory on the way that is a link.
    shell(&world, &format!("ln -s {} docs", outside.path().display()));
    world.write("settings.toml", "worklog = \"docs/w.md\"\n");
    world.pass();
    assert!(!outside.path().join("w.md").exists());
}

#[test]
fn the_worklog_of_another_room_is_left_alone() {
    // P166
    let world = room("alice");
    world.ok("init other");
    files::write(world.path().join("other/settings.toml"), "worklog = true\n");
    let other = world.path().join("other");
    let other = other.to_str().expect("text");
    echo(&world, "alice", r#"{"type":"milestone","body":"first"}"#);
    world.pass();
    let whole = worklog(&world);
    world.ok(&[
        "send",
        "--type",
        "milestone",
        "of the other",
        "--as",
        "human",
        "--room",
        other,
    ]);
    assert_contains!(
        world.ok(&["status", "--room", other]),
        "is the worklog of another room"
    );
    assert_eq!((worklog(&world), kept(&world).len()), (whole, 0));
}

#[test]
fn the_umask_and_the_owner_s_own_permissions_hold() {
    for (umask, mode) in [("022", 0o644), ("077", 0o600), ("000", 0o644)] {
        let world = room("alice");
        echo(&world, "alice", r#"{"type":"milestone","body":"first"}"#);
        let program = assert_cmd::cargo::cargo_bin!("mailbag").display();
        shell(&world, &format!("umask {umask}; {program} run --once"));
        let path = world.path().join("WORKLOG.md");
        let mode_of = || {
            fs::metadata(&path)
                .expect("the worklog")
                .permissions()
                .mode()
                & 0o777
        };
        assert_eq!(mode_of(), mode, "{umask}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("changed");
        echo(&world, "alice", r#"{"type":"status","body":"busy"}"#);
        world.pass();
        assert_contains!(worklog(&world), "busy");
        assert_eq!(mode_of(), 0o640);
    }
}

#[test]
fn settings_take_effect_while_a_router_runs() {
    // P161
    let town = Town::of("alice").settings("worklog = false\n").run();
    town.mail(
        "alice",
        "1.json",
        json!({"type": "milestone", "body": "first"}),
    );
    town.wait("it is routed", || town.names("outbox/alice").is_empty());
    town.place("settings.toml", b"worklog = true\n");
    town.wait("it is on", || worklog(&town).contains("· first\n"));
    town.place("settings.toml", b"worklog = \"other.md\"\n");
    town.wait("it has another path", || {
        town.path().join("other.md").exists()
    });
    town.place("settings.toml", b"");
    town.mail(
        "alice",
        "2.json",
        json!({"type": "milestone", "body": "second"}),
    );
    town.wait("it is routed", || {
        town.items("list")
            .as_array()
            .is_some_and(|all| all.len() == 2)
    });
    assert!(!worklog(&town).contains("second"));
    town.place("settings.toml", b"worklog = true\n");
    town.wait("it is on again", || worklog(&town).contains("· second\n"));
    assert_eq!(kept(&town), Vec::<String>::new());
}

#[test]
fn a_room_that_moves_or_is_copied_takes_its_worklog_along() {
    let world = room("alice");
    echo(&world, "alice", r#"{"type":"milestone","body":"first"}"#);
    world.pass();
    shell(&world, "mkdir there && cp -a .mailbag WORKLOG.md there/");
    let there = world.path().join("there");
    let room = there.join(".mailbag");
    world.ok(&[
        "send",
        "--type",
        "milestone",
        "in the copy",
        "--as",
        "alice",
        "--room",
        room.to_str().expect("text"),
    ]);
    let copy = files::read_text(there.join("WORKLOG.md"));
    assert!(
        entries_of(&copy).starts_with(entries_of(&worklog(&world)))
            && copy.contains("· in the copy\n")
    );
    assert!(
        fs::read_dir(&there)
            .expect("it")
            .flatten()
            .all(|entry| !entry.file_name().to_string_lossy().contains("kept"))
    );
}

#[test]
fn a_clock_that_jumps_back_changes_no_entry() {
    let world = room("alice");
    let at = |time: &str| {
        world.run_env("run --once", "MAILBAG_TEST_NOW", time).ok();
    };
    for (n, time) in [
        "2026-11-21T10:00:00Z",
        "2020-01-01T00:00:00Z",
        "2026-11-22T00:00:00Z",
    ]
    .iter()
    .enumerate()
    {
        let before = worklog(&world);
        echo(
            &world,
            "alice",
            &format!(r#"{{"type":"milestone","body":"number {n}"}}"#),
        );
        at(time);
        let now = worklog(&world);
        assert!(before.is_empty() || entries_of(&now).starts_with(entries_of(&before)));
        assert_eq!(entries_of(&now).lines().count(), n + 1);
    }
}

#[test]
fn on_a_full_disk_mail_goes_on_and_the_worklog_follows() {
    if !is_root("on_a_full_disk_mail_goes_on_and_the_worklog_follows") {
        return;
    }
    let world = room("alice bob");
    let program = assert_cmd::cargo::cargo_bin!("mailbag").display();
    let script = format!(
        "set -e; mkdir small docs; mount -t tmpfs -o size=64k none docs; \
         printf 'worklog = \"docs/w.md\"\\n' > .mailbag/settings.toml; \
         {program} send first --type milestone --as alice; head -c 1m /dev/zero > docs/full || true; \
         {program} send bob busy --type status --as alice; {program} status > full.txt; \
         rm docs/full; {program} send second --type milestone --as alice; cp docs/w.md after.md; ls -A docs > names.txt"
    );
    let status = std::process::Command::new("unshare")
        .args(["-m", "sh", "-c", &script])
        .current_dir(world.path())
        .env("MAILBAG_TRUST_DIR", world.trust())
        .output()
        .expect("unshare");
    if !status.status.success() && String::from_utf8_lossy(&status.stderr).contains("unshare") {
        return crate::world::skip("no mount namespace");
    }
    assert!(status.status.success(), "{status:?}");
    assert_eq!(world.inbox("bob").len(), 3);
    let read = |name: &str| files::read_text(world.path().join(name));
    assert_contains!(read("full.txt"), "docs/w.md");
    let after = read("after.md");
    assert_eq!(entries_of(&after).lines().count(), 2, "{after}");
    assert_contains!(after, "status: busy");
    assert_eq!(read("names.txt"), "w.md\n", "no draft is left");
}
