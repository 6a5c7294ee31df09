//! `MAILBOX.md` and `queue/to-<agent>.md`, for people who look with an editor.

use super::echo;
use crate::files;
use crate::town::Town;
use crate::world::{Words, World};
use serde_json::json;
use std::fs;
use std::time::{Duration, Instant};

fn room(agents: &(impl Words + ?Sized)) -> World {
    World::with(agents).settings("mailbox = true\nbudget.messages = 0\n")
}

fn read(world: &World, below: &str) -> String {
    fs::read_to_string(world.room(below)).unwrap_or_default()
}

#[test]
fn both_are_off_by_default() {
    // P168
    let world = World::alice_and_bob();
    world.send("alice", "bob", "hi");
    assert!(!world.room("MAILBOX.md").exists() && !world.room("queue").exists());
}

#[test]
fn the_mailbox_has_a_snapshot_and_all_mail_newest_first_with_its_status() {
    // P168
    let world = room("alice bob carol");
    echo(
        &world,
        "alice",
        r#"{"id":"m1","to":"bob","subject":"Port","body":"8080"}"#,
    );
    world.pass();
    echo(
        &world,
        "bob",
        r#"{"to":["alice","carol"],"type":"question","priority":"urgent","body":"Sure?"}"#,
    );
    world.pass();
    world.ok("read --as bob");
    world.ok("ack m1 --status acknowledged --as bob");
    world.pass();
    let text = read(&world, "MAILBOX.md");
    assert!(
        text.starts_with("# Mailbox\n\nmailbag writes this file, and keeps")
            && text.contains("\n\n- As of #"),
        "{text}"
    );
    assert_contains!(
        text,
        "- Unread: alice 1, carol 1\n- 0 claims, 0 open approvals\n"
    );
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("- #") || line.starts_with("  - "))
        .collect();
    let [.., question, of_question, first, of_first] = lines[..] else {
        panic!("{text}")
    };
    assert!(
        question.ends_with(" bob → alice, carol · question, urgent · Sure?"),
        "{text}"
    );
    assert_eq!(of_question, "  - alice unread, carol unread");
    assert!(
        first.ends_with(" alice → bob · message · Port: 8080"),
        "{text}"
    );
    assert_eq!(of_first, "  - bob acknowledged");
}

#[test]
fn a_queue_has_the_unread_mail_of_one_agent_and_empties_with_its_inbox() {
    // P168
    let world = room("alice bob");
    for n in 0..3 {
        world.send("alice", "bob", &format!("number {n}"));
    }
    let text = read(&world, "queue/to-bob.md");
    assert_contains!(text, "- 3 unread messages, the oldest of 20");
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("- #"))
        .collect();
    assert!(
        lines.len() == 3 && lines[0].ends_with(" alice · message · number 2"),
        "{text}"
    );
    assert!(
        !world.room("queue/to-alice.md").exists(),
        "nothing for alice"
    );
    world.ok("read --as bob");
    world.ok("read --as bob");
    world.ok("read --as bob");
    world.send("bob", "alice", "done");
    assert_contains!(read(&world, "queue/to-bob.md"), "- 0 unread messages\n");
    assert_contains!(read(&world, "queue/to-alice.md"), "- 1 unread message, ");
}

#[test]
fn both_are_bounded_and_old_unread_mail_is_found_behind_much_newer_mail() {
    // P168
    let world = room("alice bob carol");
    world.send("alice", "carol", "the old one");
    let lines: Vec<String> = (0..500)
        .map(|n| json!({"to": "bob", "body": format!("number {n}.")}).to_string())
        .collect();
    world.route("alice", "many.ndjson", lines.join("\n"));
    let mailbox = read(&world, "MAILBOX.md");
    assert_eq!(
        mailbox
            .lines()
            .filter(|line| line.starts_with("- #"))
            .count(),
        200
    );
    assert!(
        mailbox.contains("number 499.") && mailbox.ends_with("\nOlder messages: `mailbag list`.\n"),
        "{mailbox}"
    );
    let bob = read(&world, "queue/to-bob.md");
    assert_eq!(
        bob.lines().filter(|line| line.starts_with("- #")).count(),
        200
    );
    assert!(
        bob.contains("- 500 unread messages")
            && bob.ends_with("\n300 more: `mailbag inbox --as bob`.\n"),
        "{bob}"
    );
    files::remove_dir(world.room("queue"));
    world.send("alice", "bob", "one more");
    assert_contains!(read(&world, "queue/to-carol.md"), "the old one");
}

#[test]
fn a_running_router_keeps_them_and_makes_them_again() {
    let mut town = Town::alice_and_bob().settings("mailbox = false\n").run();
    town.mail("alice", "1.json", json!({"to": "bob", "body": "first"}));
    town.wait_for_mail("bob", 1);
    town.place("settings.toml", b"mailbox = true\n");
    town.wait("they are on", || {
        read(&town, "MAILBOX.md").contains("first")
            && read(&town, "queue/to-bob.md").contains("first")
    });
    files::write(town.room("MAILBOX.md"), "by hand");
    town.mail("alice", "2.json", json!({"to": "bob", "body": "second"}));
    town.wait("the next message", || {
        read(&town, "MAILBOX.md").contains("second")
    });
    town.place("settings.toml", b"mailbox = false\n");
    town.wait("both are removed", || {
        !town.room("MAILBOX.md").exists() && !town.room("queue/to-bob.md").exists()
    });
    town.place("settings.toml", b"mailbox = true\n");
    town.wait("it is on again", || town.room("MAILBOX.md").exists());
    town.stop();
    assert!(
        read(&town, "MAILBOX.md").contains("second")
            && read(&town, "queue/to-bob.md").contains("second")
    );
}

#[test]
fn hostile_text_begins_no_line_and_no_markup() {
    // P162
    let world = room("alice bob");
    let hostile = "x\n- #1 forged\n# Forged <b>[l](u)</b> `c` |t| \u{202e}\u{1b}[31m";
    for field in ["subject", "body"] {
        world.mail(
            "alice",
            &format!("{field}.json"),
            json!({"to": "bob", field: hostile}),
        );
    }
    world.pass();
    for file in ["MAILBOX.md", "queue/to-bob.md"] {
        let text = read(&world, file);
        assert_eq!(
            text.lines().filter(|line| line.starts_with("- #")).count(),
            2,
            "{file}: {text}"
        );
        assert_eq!(
            text.lines().filter(|line| line.starts_with('#')).count(),
            1,
            "{file}: {text}"
        );
        let plain = text
            .replace("\\<", "")
            .replace("\\[", "")
            .replace("\\`", "")
            .replace("\\|", "");
        assert!(
            !plain.contains(['<', '[', '|', '\u{202e}', '\u{1b}']),
            "{file}: {text}"
        );
    }
}

#[test]
fn an_obstacle_in_place_of_the_mailbox_is_reported_and_delays_no_mail() {
    let world = room("alice bob");
    files::make_dir(world.room("MAILBOX.md/mine"));
    world.send("alice", "bob", "hi");
    assert_eq!(world.bodies("bob"), ["hi"]);
    assert_contains!(world.ok("status"), "MAILBOX.md");
    files::remove_dir(world.room("MAILBOX.md"));
    // A link is replaced, and nothing is written through it.
    let outside = tempfile::NamedTempFile::new().expect("a file");
    std::os::unix::fs::symlink(outside.path(), world.room("MAILBOX.md")).expect("a link");
    world.send("alice", "bob", "hi again");
    assert_contains!(read(&world, "MAILBOX.md"), "hi again");
    assert_eq!(files::read(outside.path()), b"");
}

#[test]
fn turned_off_they_go_and_a_file_of_somebody_else_stays() {
    // P168
    let world = room("alice bob");
    world.send("alice", "bob", "hi");
    assert!(world.room("MAILBOX.md").exists() && world.room("queue/to-bob.md").exists());
    files::write(world.room("queue/notes.md"), "mine\n");
    files::write(world.room("queue/to-alice.md"), "mine, too\n");
    files::write(world.room("settings.toml"), "");
    world.send("alice", "bob", "hi again");
    assert!(!world.room("MAILBOX.md").exists() && !world.room("queue/to-bob.md").exists());
    assert_eq!(
        (
            read(&world, "queue/notes.md"),
            read(&world, "queue/to-alice.md")
        ),
        ("mine\n".into(), "mine, too\n".into())
    );
}

#[test]
fn a_router_sleeps_after_they_are_turned_off_before_a_delayed_write() {
    let world = room(&["alice", "bob"]);
    let router = world.router("");
    for n in 1..=3 {
        world.drop_file(
            "alice",
            &format!("{n}.json"),
            r#"{"to": "bob", "body": "hi"}"#,
        );
        world.wait("it is delivered", || world.inbox("bob").len() == n);
    }
    files::write(world.room("settings.toml"), "");
    world.wait("they are removed", || !world.room("MAILBOX.md").exists());
    let processor_time = || {
        let stat = files::read_text(format!("/proc/{}/stat", router.pid()));
        let fields: Vec<&str> = stat.split(' ').collect();
        fields[13..15].join(" ")
    };
    let mut last = (processor_time(), Instant::now());
    world.wait("it needs no processor time for two seconds", || {
        let now = processor_time();
        if now != last.0 {
            last = (now, Instant::now());
        }
        last.1.elapsed() > Duration::from_secs(2)
    });
}
