//! Problems of a room's own files and its mail.

use super::{codes, examined, finding, paste, report, says};
use crate::files;
use crate::guard::git;
use crate::world::{World, lossy, parse_json};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

#[test]
fn doctor_reports_an_outbox_without_an_agent_and_its_command_registers_the_agent() {
    let world = World::with("bob");
    world.drop_file("stranger", "x.json", r#"{"to": "bob", "body": "x"}"#);
    let found = finding(&examined(&world, ""), "unrouted_outbox");
    says(
        &found,
        "problem",
        &["outbox/stranger has 1 file", "mailbag agent add stranger"],
    );
    paste(&world, &found);
    assert!(!codes(&examined(&world, "")).contains(&"unrouted_outbox".to_owned()));
}

#[test]
fn doctor_reports_an_outbox_with_a_display_name_and_its_command_moves_the_mail() {
    let world = World::with("bob").agent("al", "--name Porto");
    world.drop_file("Porto", "x.json", r#"{"to": "bob", "body": "x"}"#);
    let found = finding(&examined(&world, ""), "unrouted_outbox");
    says(
        &found,
        "problem",
        &["the directory's name is not the agent's id"],
    );
    paste(&world, &found);
    assert_eq!(world.names("outbox/al"), ["x.json"]);
}

#[test]
fn files_that_wait_without_a_router_are_a_note() {
    let world = World::alice_and_bob();
    world.drop_file("alice", "x.json", r#"{"to": "bob", "body": "x"}"#);
    let report = examined(&world, "");
    assert_eq!(report["healthy"], true);
    let found = finding(&report, "waiting");
    says(&found, "note", &["1 file", "mailbag run --once"]);
    paste(&world, &found);
    assert_eq!(
        (world.bodies("bob"), codes(&examined(&world, ""))),
        (vec!["x".to_owned()], vec![])
    );
}

#[test]
fn doctor_reports_a_blocked_file_with_its_reason() {
    let world = World::alice_and_bob();
    world.route("alice", "x.json", r#"{"to": "#);
    says(
        &finding(&examined(&world, ""), "blocked"),
        "warning",
        &["outbox/alice/x.json", "it is empty or incomplete"],
    );
}

#[test]
fn a_copy_that_could_not_be_delivered_is_named() {
    let world = World::alice_and_bob();
    fs::remove_dir_all(world.room("inbox/bob")).ok();
    files::write(world.room("inbox/bob"), "in the way");
    world.drop_file("alice", "x.json", r#"{"to": "bob", "body": "x"}"#);
    world.run("run --once");
    says(
        &finding(&examined(&world, ""), "undelivered"),
        "warning",
        &["1 accepted message", "for bob"],
    );
}

#[test]
fn refused_mail_is_counted_with_the_command_that_lists_it() {
    let world = World::with("alice");
    world.route("alice", "x.json", r#"{"to": "bbo", "body": "x"}"#);
    let found = finding(&examined(&world, ""), "rejected");
    says(
        &found,
        "warning",
        &[
            "1 message of alice rejected",
            "bbo",
            "mailbag rejected list --agent alice",
        ],
    );
    paste(&world, &found);
}

#[test]
fn a_registry_that_cannot_be_read_is_named_with_its_line() {
    let world = World::with("alice");
    world.write("registry.json", "{\n  \"agents\": [}\n");
    says(
        &finding(&examined(&world, ""), "registry"),
        "problem",
        &["registry.json", "+2 "],
    );
    world.write(
        "registry.json",
        r#"{"agents": [{"id": "bob"}, {"id": "Bob"}]}"#,
    );
    says(
        &finding(&examined(&world, ""), "registry"),
        "problem",
        &["Bob", "registry.json"],
    );
    files::remove_file(world.room("registry.json"));
    says(
        &finding(&examined(&world, ""), "registry"),
        "problem",
        &["is missing", "mailbag init "],
    );
}

#[test]
fn a_setting_that_makes_no_sense_is_named_with_its_line() {
    let world = World::with("alice").settings("# a comment\nadmission = \"always\"\n");
    says(
        &finding(&examined(&world, ""), "settings"),
        "problem",
        &["admission", "settings.toml line 2", "+2 "],
    );
}

#[test]
fn a_damaged_log_is_named() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "one");
    world.send("alice", "bob", "two");
    let path = world.room("log/00000001.ndjson");
    let text = files::read_text(&path);
    files::write(&path, text.replacen("\"one\"", "\"eno\"", 1));
    says(
        &finding(&examined(&world, ""), "log_damaged"),
        "problem",
        &["mailbag log verify"],
    );
}

#[test]
fn doctor_reports_a_clock_before_the_log() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "one");
    let mut command = world.program("doctor --json");
    command.env("MAILBAG_TEST_NOW", "2020-01-01T00:00:00Z");
    says(
        &finding(&report(command), "clock_behind"),
        "warning",
        &["timedatectl"],
    );
}

#[test]
fn doctor_reports_a_log_of_another_room() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "one");
    world.write("spool/room", "msg_another\n");
    says(
        &finding(&examined(&world, ""), "strange_room"),
        "problem",
        &["different rooms"],
    );
}

#[test]
fn doctor_names_a_process_that_holds_the_room_for_too_long() {
    let world = World::with("alice");
    let pid = std::process::id();
    let holder = json!({"pid": pid, "mode": "pass", "since": "2020-01-01T00:00:00Z"});
    let lock = world.write("spool/lock", format!("{holder}\n"));
    let held = fs::File::options()
        .append(true)
        .open(lock)
        .expect("the lock");
    held.lock().expect("no process holds it");
    assert!(
        !world.run("doctor --json").out.contains("stalled_router"),
        "it made a step just now"
    );
    held.set_modified(std::time::SystemTime::UNIX_EPOCH)
        .expect("a time");
    says(
        &finding(&examined(&world, ""), "stalled_router"),
        "warning",
        &[&format!("kill {pid}"), "1970"],
    );
}

#[test]
fn an_unreadable_inbox_is_reported_and_hides_nothing_else() {
    // P113
    let world = World::with("alice bob carol");
    world.ok("send bob,carol hi --as alice");
    world.leave_root();
    let shown = |args: &str| lossy(&world.by_owner(args).output().expect("it runs").stdout);
    let inbox = world.room("inbox/bob");
    fs::set_permissions(&inbox, fs::Permissions::from_mode(0o000)).expect("ours");
    let status = parse_json(shown("status --json"));
    assert_eq!(status["unread"], json!({"bob": 1, "carol": 1}));
    let blocked = &status["blocked"][0];
    assert_eq!(
        (&blocked["path"], &blocked["fix"]),
        (
            &json!("inbox/bob"),
            &json!(format!("chmod u+rwx {}", inbox.display()))
        )
    );
    let report = parse_json(shown("doctor --json"));
    assert!(codes(&report).contains(&"blocked".to_owned()), "{report}");
    fs::set_permissions(&inbox, fs::Permissions::from_mode(0o700)).expect("ours");
    assert_eq!(parse_json(shown("status --json"))["blocked"], json!([]));
}

#[test]
fn unreadable_rejected_files_are_not_reported_as_none() {
    let world = World::with("alice");
    world.route("alice", "x.json", r#"{"to": "bbo", "body": "x"}"#);
    world.leave_root();
    for place in ["rejected/alice", "rejected"] {
        let directory = world.room(place);
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o000)).expect("ours");
        let listed = world.by_owner("rejected").output().expect("it runs");
        assert!(!listed.status.success(), "{listed:?}");
        assert_contains!(lossy(&listed.stderr), place, "Permission denied");
        let status = world.by_owner("status --json").output().expect("it runs");
        let problems = parse_json(lossy(&status.stdout))["problems"].to_string();
        assert_contains!(problems, place);
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).expect("ours");
    }
}

#[test]
fn one_irregular_file_does_not_end_the_doctor() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "hi");
    world.drop_file("a b", "x.json", r#"{"to": "bob", "body": "x"}"#);
    world.pass();
    for (place, code) in [
        ("channels/main/messages.ndjson", "conversation"),
        ("spool/tip", "log_damaged"),
    ] {
        let path = world.room(place);
        let content = files::read(&path);
        for make in [
            &(|path: &Path| files::make_dir(path)) as &dyn Fn(&Path),
            &|path| files::make_fifo(path),
        ] {
            files::remove_file(&path);
            make(&path);
            let report = examined(&world, "");
            let found = finding(&report, code);
            says(&found, "problem", &[place]);
            // The later examinations are also made.
            finding(&report, "unrouted_outbox");
            fs::remove_file(&path)
                .or_else(|_| fs::remove_dir(&path))
                .expect("it can be removed");
            files::write(&path, &content);
        }
    }
}

#[test]
fn an_outbox_with_an_invalid_name_gets_one_command() {
    for name in ["all", "mailbag", "a b"] {
        let world = World::with("bob");
        world.drop_file(name, "x.json", r#"{"to": "bob", "body": "x"}"#);
        world.pass();
        let report = examined(&world, "");
        let fixes: Vec<&str> = report["findings"]
            .as_array()
            .expect("a list")
            .iter()
            .filter(|finding| {
                finding["what"]
                    .to_string()
                    .contains(&format!("outbox/{name}"))
            })
            .filter_map(|finding| finding["fix"].as_str())
            .collect();
        assert!(!fixes.is_empty(), "{report:#}");
        assert!(
            fixes.iter().all(|fix| fix.starts_with("ls -la ")),
            "{report:#}"
        );
    }
}

#[test]
fn doctor_reports_mail_that_a_commit_would_contain() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "x");
    assert!(codes(&examined(&world, "")).is_empty(), "no repository");
    git(world.path(), "init -q");
    assert!(codes(&examined(&world, "")).is_empty(), "git ignores it");
    files::remove_file(world.room(".gitignore"));
    git(world.path(), "add -A");
    let report = examined(&world, "");
    assert_eq!(codes(&report), ["room_not_ignored", "room_tracked"]);
    for code in ["room_not_ignored", "room_tracked"] {
        let found = finding(&report, code);
        says(&found, "warning", &["its mail"]);
        paste(&world, &found);
    }
    assert!(codes(&examined(&world, "")).is_empty());
    assert_eq!(git(world.path(), "status --porcelain -- .mailbag"), "");
}
