//! Damaged directories of one agent: they affect only that agent, and neither end nor busy the
//! router.

use crate::files;
use crate::town::{PATIENCE, Town, copy_program, is_root, listing, so_within, tool};
use crate::world::skip;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A FUSE mount with a dead server, unmounted when dropped.
struct Dead(PathBuf);

impl Dead {
    /// `None` where nothing can be mounted, and the test is skipped.
    fn over(place: &Path) -> Option<Dead> {
        let script = "exec 9<>/dev/fuse && mount -i -t fuse -o fd=9,rootmode=40000,user_id=0,group_id=0,allow_other none \"$0\"";
        let mounted = Command::new("sh")
            .arg("-c")
            .arg(script)
            .arg(place)
            .output()
            .expect("a shell");
        if !mounted.status.success() {
            skip(format_args!(
                "dead mounts: {}",
                String::from_utf8_lossy(&mounted.stderr)
            ));
            return None;
        }
        let dead = fs::metadata(place).expect_err("its server has died");
        assert_eq!(dead.raw_os_error(), Some(libc::ENOTCONN), "{dead}");
        Some(Dead(place.to_path_buf()))
    }
}

impl Drop for Dead {
    fn drop(&mut self) {
        tool("umount", ["-l".as_ref(), self.0.as_os_str()]);
    }
}

/// The number of lines in the router's log about a waiting file.
fn warnings(town: &Town) -> usize {
    town.words()
        .lines()
        .filter(|line| line.contains(" WARN "))
        .count()
}

/// The processor time of a process so far, in hundredths of a second.
fn ticks(pid: u32) -> u64 {
    let stat = files::read_text(format!("/proc/{pid}/stat"));
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .expect("a name")
        .1
        .split_whitespace()
        .collect();
    fields[11..13]
        .iter()
        .map(|field| field.parse::<u64>().expect("a number"))
        .sum()
}

/// Shows that a router does next to nothing for a while.
fn is_quiet(pid: u32) {
    let before = ticks(pid);
    so_within(Duration::from_secs(3), || false);
    let spent = ticks(pid) - before;
    assert!(
        spent < 60,
        "{spent} hundredths of a second in three seconds"
    );
}

// P113
#[test]
fn dead_mounts_over_an_agent_s_directories_delay_no_other_agent() {
    if !is_root("dead mounts") {
        return;
    }
    let mut town = Town::of("mallory alice bob");
    town.mail(
        "alice",
        "x.json",
        json!({"to": ["mallory", "bob"], "body": "to both"}),
    );
    town.mail(
        "mallory",
        "x.json",
        json!({"to": "bob", "body": "from behind"}),
    );
    for kept in ["sent/mallory", "rejected/mallory"] {
        files::make_dir(town.room(kept));
    }
    let places = [
        "outbox/mallory",
        "inbox/mallory",
        "sent/mallory",
        "rejected/mallory",
    ];
    let dead: Option<Vec<Dead>> = places
        .iter()
        .map(|place| Dead::over(&town.room(place)))
        .collect();
    let Some(dead) = dead else { return };
    for at_start in [true, false] {
        if at_start {
            town.start(&[]);
        }
        town.is_alive("alice", "bob");
        town.is_alive("bob", "alice");
        for place in ["outbox/mallory", "inbox/mallory"] {
            let is_dead = |line: &Value| {
                line["path"]
                    .as_str()
                    .is_some_and(|what| what.starts_with(place))
                    && line["reason"]
                        .as_str()
                        .is_some_and(|why| why.contains("not connected"))
            };
            town.wait(place, || {
                town.status()["blocked"]
                    .as_array()
                    .is_some_and(|all| all.iter().any(is_dead))
            });
        }
        is_quiet(town.router().pid());
    }
    assert!(warnings(&town) < 12, "{}", town.words());
    drop(dead);
    town.wait_for_bodies("bob", &["to both", "from behind"]);
    town.wait_for_bodies("mallory", &["to both"]);
    town.wait("the original is kept", || {
        !listing(&town.room("sent/mallory")).is_empty()
    });
    town.wait_until_nothing_waits();
    town.verify();
}

#[test]
fn a_flapping_mount_is_reported_once_a_minute() {
    if !is_root("a flapping mount") {
        return;
    }
    let town = Town::of("mallory alice bob").run();
    for n in 0..60 {
        let Some(_dead) = Dead::over(&town.room("outbox/mallory")) else {
            return;
        };
        town.router().signal(rustix::process::Signal::HUP);
        if n % 20 == 0 {
            town.is_alive("alice", "bob");
        }
    }
    town.is_alive("mallory", "bob");
    assert!(
        warnings(&town) < 12,
        "{} warnings:\n{}",
        warnings(&town),
        town.words()
    );
}

#[test]
fn devices_that_cannot_be_opened_are_refused_like_those_that_can() {
    if !is_root("device nodes") {
        return;
    }
    let town = Town::of("mallory alice bob").run();
    let nodes = [
        ["c", "10", "255"],
        ["c", "240", "0"],
        ["b", "240", "0"],
        ["c", "1", "3"],
    ];
    for (n, [kind, major, minor]) in nodes.iter().enumerate() {
        let node = town.room(&format!("outbox/mallory/{n}.json"));
        tool(
            "mknod",
            [
                node.as_os_str(),
                (*kind).as_ref(),
                (*major).as_ref(),
                (*minor).as_ref(),
            ],
        );
    }
    assert_eq!(
        town.wait_for_refusals("mallory", nodes.len()),
        vec!["not_a_file"; nodes.len()]
    );
    town.is_alive("alice", "bob");
    town.wait_until_nothing_waits();
}

#[test]
fn an_outbox_without_permissions_costs_a_router_of_a_plain_user_nothing() {
    if !is_root("a router of another user") {
        return;
    }
    let mut town = Town::of("mallory alice bob");
    let program = town.path().join("mailbag");
    let run = town.bare("run");
    copy_program(run.get_program(), &program);
    tool(
        "chown",
        [
            "-R".as_ref(),
            "65534:65534".as_ref(),
            town.path().as_os_str(),
        ],
    );
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .args(run.get_args());
    command.current_dir(town.path()).env("NO_COLOR", "1");
    for name in ["HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"] {
        command.env(name, town.path());
    }
    town.start_by(command);
    let own = |below: &str| {
        tool(
            "chown",
            [
                "-R".as_ref(),
                "65534:65534".as_ref(),
                town.room(below).as_os_str(),
            ],
        )
    };
    for closed in ["outbox/mallory", "outbox"] {
        tool("chmod", ["000".as_ref(), town.room(closed).as_os_str()]);
        town.router().signal(rustix::process::Signal::HUP);
        town.wait_for_reason("ermission denied");
        is_quiet(town.router().pid());
        tool("chmod", ["755".as_ref(), town.room(closed).as_os_str()]);
        town.mail("alice", "x.json", json!({"to": "bob", "body": closed}));
        own("outbox");
        let came = so_within(PATIENCE, || {
            town.bodies("bob").iter().any(|body| body == closed)
        });
        assert!(came, "{closed}: {}\n{:#?}", town.words(), town.status());
    }
    assert!(warnings(&town) < 12, "{}", town.words());
}

/// Starts the router of a town with this limit of inotify.
fn with_few(town: &mut Town, setting: &str, most: u32) -> bool {
    let script = format!("echo {most} > /proc/sys/user/{setting} && exec \"$0\" \"$@\"");
    let run = town.bare("run");
    let mut command = Command::new("unshare");
    if !Command::new("unshare")
        .args(["-Ur", "true"])
        .status()
        .is_ok_and(|status| status.success())
    {
        skip("few watches: this user can make no user namespaces");
        return false;
    }
    command
        .args(["-Ur", "sh", "-c", &script])
        .arg(run.get_program())
        .args(run.get_args());
    command.current_dir(town.path()).env("NO_COLOR", "1");
    town.start_by(command);
    true
}

#[test]
fn too_few_watches_for_the_agents_are_said_once_with_the_setting_to_raise() {
    let agents: Vec<String> = (0..60).map(|n| format!("m{n}")).collect();
    for (setting, most, raise) in [
        ("max_inotify_watches", 20, "max_user_watches"),
        ("max_inotify_instances", 0, "max_user_instances"),
    ] {
        let mut town = Town::of(&agents.iter().map(String::as_str).collect::<Vec<_>>());
        if !with_few(&mut town, setting, most) {
            return;
        }
        town.is_alive("m59", "m58");
        town.is_alive("m1", "m59");
        let words = town.words();
        assert_eq!(
            words.matches(&format!("raise fs.inotify.{raise}")).count(),
            1,
            "{words}"
        );
        assert_eq!(warnings(&town), 1, "{words}");
    }
}

#[test]
fn names_that_are_never_picked_up_are_shown_with_a_fix_and_reported_once() {
    let mut town = Town::alice_and_bob();
    let body = json!({"to": "bob", "body": "a text"}).to_string();
    town.drop_file("alice", "a.txt", &body);
    town.drop_file("alice", "b.JSON", &body);
    town.drop_file("alice", ".draft", &body);
    town.drop_file("alice", "sub/c.json", &body);
    town.write(
        "outbox/top.json",
        json!({"to": "bob", "from": "alice", "body": "beside"}).to_string(),
    );
    let mut command = town.bare("run");
    command
        .env("NO_COLOR", "1")
        .env("MAILBAG_TEST_STRAY_MS", "1");
    town.start_by(command);
    // Looks at everything now, and not only when its next look is due.
    town.router().signal(rustix::process::Signal::HUP);
    let at = |place: &str| town.room(place).display().to_string();
    let moved = |place: &str, to: &str| format!("mv -n {} {}", at(place), at(to));
    let wanted = &[
        (
            "outbox/alice/a.txt",
            moved("outbox/alice/a.txt", "outbox/alice/a.txt.json"),
        ),
        (
            "outbox/alice/b.JSON",
            moved("outbox/alice/b.JSON", "outbox/alice/b.JSON.json"),
        ),
        (
            "outbox/alice/sub",
            moved("outbox/alice/sub/*.json", "outbox/alice/"),
        ),
        ("outbox/top.json", moved("outbox/top.json", "outbox/alice/")),
    ];
    let line = |what: &str| {
        let blocked = town.status()["blocked"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        blocked.into_iter().find(|line| line["path"] == what)
    };
    for (what, fix) in wanted {
        town.wait(what, || line(what).is_some_and(|line| line["fix"] == *fix));
    }
    assert!(line("outbox/alice/.draft").is_none());
    let doctor = crate::world::World::run(&town, &["doctor"]).out;
    for (_, fix) in wanted {
        assert!(doctor.contains(fix), "{fix}: {doctor}");
    }
    // Each agent gets one notice for its file, and none after the next scan or restart.
    town.wait("three are told", || town.count("alice") >= 3);
    town.stop();
    town.start(&[]);
    town.is_alive("bob", "bob");
    let told = town.inbox("alice");
    assert!(
        told.len() <= 3 && told.iter().all(|mail| mail["from"] == "mailbag"),
        "{told:#?}"
    );
    // The suggested commands work.
    for (_, fix) in wanted {
        tool("sh", ["-c".as_ref(), format!("cd / && {fix}").as_ref()]);
    }
    town.wait_for_mail("bob", 4);
    fs::remove_dir(town.room("outbox/alice/sub")).expect("it is empty");
    town.wait_until_nothing_waits();
}
