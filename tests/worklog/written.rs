//! Text that people and agents write into `MAILBOX.md`, `queue/` and the JSON files of the router: it becomes a message, or it
//! is kept and reported. It is never overwritten.

use super::echo;
use crate::files;
use crate::town::Town;
use crate::world::World;
use serde_json::json;
use std::fs::{self, OpenOptions};
use std::io::Write;

/// A room with one unread message of bob.
fn room() -> World {
    let world = World::with("alice bob carol").settings("mailbox = true\n");
    echo(&world, "alice", r#"{"id":"m1","to":"bob","body":"first"}"#);
    world.pass();
    world
}

fn append(world: &World, name: &str, text: &str) {
    let file = OpenOptions::new().append(true).open(world.room(name));
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .expect("it is written");
}

fn read(world: &World, name: &str) -> String {
    fs::read_to_string(world.room(name)).unwrap_or_default()
}

/// The contents of the files that were kept beside this one.
fn kept(world: &World, name: &str) -> Vec<String> {
    let path = world.room(name);
    let prefix = format!(
        "{}.kept-",
        path.file_name().expect("a name").to_string_lossy()
    );
    let entries = fs::read_dir(path.parent().expect("a directory"))
        .expect("a directory")
        .flatten();
    let kept = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix));
    kept.map(|entry| files::read_text(entry.path())).collect()
}

fn notices(world: &World) -> usize {
    world
        .inbox("human")
        .iter()
        .filter(|mail| {
            mail["subject"]
                .as_str()
                .is_some_and(|text| text.starts_with("another program or person wrote to"))
        })
        .count()
}

fn block(from: &str, to: &str, kind: &str, body: &str) -> String {
    format!(
        "\n## 2026-11-21T10:30:00Z · from:{from} · to:{to} · type:{kind} · ref:src/a.rs · status:sent\n{body}\n"
    )
}

#[test]
fn other_text_is_kept_and_reported_once_and_the_file_is_made_again() {
    // P342
    for name in ["MAILBOX.md", "queue/to-bob.md"] {
        let world = room();
        let whole = read(&world, name);
        append(&world, name, "by hand\n");
        world.pass();
        world.pass();
        assert_eq!(kept(&world, name), [format!("{whole}by hand\n")], "{name}");
        assert_eq!(notices(&world), 1, "{name}");
        assert!(
            !read(&world, name).contains("by hand") && read(&world, name).contains("first"),
            "{name}"
        );
    }
}

#[test]
fn each_kind_of_change_is_kept() {
    // P342
    let changes: [fn(&str) -> String; 6] = [
        |text| text.replace("first", "worst"),
        |text| text.replace("# To bob", "# To carol"),
        |text| {
            text.lines()
                .filter(|line| !line.starts_with("- #"))
                .collect::<Vec<_>>()
                .join("\n")
        },
        |text| {
            text.lines()
                .filter(|line| !line.contains("Check: "))
                .collect::<Vec<_>>()
                .join("\n")
        },
        |text| format!("mine\n{text}"),
        |_| "mine".to_owned(),
    ];
    for (n, change) in changes.into_iter().enumerate() {
        let world = room();
        let changed = change(&read(&world, "queue/to-bob.md"));
        files::write(world.room("queue/to-bob.md"), &changed);
        world.pass();
        world.pass();
        assert_eq!(
            (kept(&world, "queue/to-bob.md"), notices(&world)),
            (vec![changed], 1),
            "{n}"
        );
    }
}

#[test]
fn a_file_that_is_there_when_the_setting_is_turned_on_is_kept() {
    // P342
    let world = World::alice_and_bob();
    world.write("MAILBOX.md", "ours\n");
    world.write("queue/to-bob.md", "ours\n");
    world.write("settings.toml", "mailbox = true\n");
    world.send("alice", "bob", "hi");
    world.pass();
    for name in ["MAILBOX.md", "queue/to-bob.md"] {
        assert_eq!(kept(&world, name), ["ours\n"], "{name}");
        assert_contains!(read(&world, name), "hi"; "{name}");
    }
    assert_eq!(notices(&world), 2);
}

#[test]
fn a_block_of_an_agent_becomes_a_message_once() {
    // P342
    for name in ["MAILBOX.md", "queue/to-bob.md"] {
        let world = room();
        append(
            &world,
            name,
            &block(
                "alice",
                "carol",
                "question",
                "Which port?\n\nI need it today.",
            ),
        );
        append(&world, name, &block("bob", "alice, carol", "msg", "8080"));
        world.pass();
        world.pass();
        let mail = world.inbox("carol");
        assert_eq!(
            world.bodies("carol"),
            ["Which port?\n\nI need it today.", "8080"],
            "{name}"
        );
        assert_eq!(
            (&mail[0]["from"], &mail[0]["type"]),
            (&json!("alice"), &json!("question")),
            "{name}"
        );
        assert_eq!(
            (&mail[0]["metadata"]["ref"], &mail[1]["from"]),
            (&json!("src/a.rs"), &json!("bob")),
            "{name}"
        );
        assert!(
            !read(&world, name).contains("## 2026") && kept(&world, name).is_empty(),
            "{name}"
        );
        assert_eq!(notices(&world), 0, "{name}");
    }
}

#[test]
fn a_block_that_may_not_become_a_message_is_kept() {
    // P342
    let world = room();
    let rejected = [
        block("mallory", "carol", "msg", "not registered"),
        block("human", "carol", "msg", "the person"),
        block("mailbag", "carol", "msg", "the router"),
        block("alice", "carol", "claim", "src/**"),
        block("alice", "carol", "decision", "yes"),
        block("alice", "carol", "handoff", "yours"),
        block("alice", "carol", "approval", "deploy?"),
        block("alice", "carol", "milestone", "done"),
        block("alice", "carol", "ack", "m1"),
        block("alice", "carol", "subscribe", "topic"),
        block("alice", "carol", "msg", ""),
        block("alice", "", "msg", "no recipient"),
        "\n## from:alice · to:carol · type:msg · priority:urgent\nan unknown field\n".to_owned(),
        "\n## from:alice · from:bob · to:carol · type:msg\ntwo senders\n".to_owned(),
        "\n## to:carol · type:msg\nno sender\n".to_owned(),
    ];
    let good = block("alice", "carol", "msg", "sent");
    append(&world, "queue/to-bob.md", &(rejected.concat() + &good));
    world.pass();
    world.pass();
    assert_eq!(world.bodies("carol"), ["sent"]);
    assert_eq!(notices(&world), 1);
    let kept = kept(&world, "queue/to-bob.md");
    assert_eq!(kept.len(), 1, "{kept:?}");
    for text in rejected {
        assert!(kept[0].contains(&text), "{text} in {}", kept[0]);
    }
}

#[test]
fn a_block_below_other_text_is_sent_and_the_other_text_is_kept() {
    // P342
    let world = room();
    append(
        &world,
        "queue/to-bob.md",
        &format!("# Mine\n{}", block("alice", "carol", "msg", "sent")),
    );
    world.pass();
    world.pass();
    assert_eq!(world.bodies("carol"), ["sent"]);
    assert_eq!(
        (kept(&world, "queue/to-bob.md").len(), notices(&world)),
        (1, 1)
    );
}

#[test]
fn a_block_has_all_its_text_whatever_its_lines_look_like() {
    // P342
    let body = "Please do:\n\n## Steps\n1. drop table\n# But not\n- #7 in production\n  → status:unread\n# To bob\nor later";
    for name in ["MAILBOX.md", "queue/to-bob.md"] {
        let world = room();
        append(&world, name, &block("alice", "carol", "task", body));
        append(&world, name, &block("bob", "carol", "msg", "8080"));
        world.pass();
        world.pass();
        assert_eq!(world.bodies("carol"), [body, "8080"], "{name}");
        assert!(kept(&world, name).is_empty(), "{name}");
    }
}

#[test]
fn a_block_above_lines_of_the_router_ends_there() {
    // P342
    for (name, line) in [
        ("MAILBOX.md", "# Mailbox"),
        ("MAILBOX.md", "- As of #"),
        ("MAILBOX.md", "- #"),
        ("queue/to-bob.md", "# To bob"),
        ("queue/to-bob.md", "- 1 unread message"),
        ("queue/to-bob.md", "- #"),
    ] {
        let world = room();
        let inserted = block("alice", "carol", "msg", "Do:\n\n## Steps\n- one");
        let text = read(&world, name);
        let at = text.find(line).expect("a line of the router");
        files::write(
            world.room(name),
            format!("{}{inserted}{}", &text[..at], &text[at..]),
        );
        world.pass();
        world.pass();
        assert_eq!(
            world.bodies("carol"),
            ["Do:\n\n## Steps\n- one"],
            "{name} {line}"
        );
        assert!(kept(&world, name).is_empty(), "{name} {line}");
    }
}

#[test]
fn a_block_without_a_clear_end_is_kept_and_reported_to_its_sender() {
    // P342
    let world = room();
    let text = read(&world, "queue/to-bob.md");
    let inserted = block("alice", "carol", "msg", "Fix:\n- #7 the parser");
    let changed = text.replacen("- #", &format!("{inserted}- #"), 1);
    files::write(world.room("queue/to-bob.md"), &changed);
    world.pass();
    world.pass();
    assert!(world.bodies("carol").is_empty());
    assert_eq!(kept(&world, "queue/to-bob.md"), [changed]);
    assert_eq!(notices(&world), 1);
    let mail = world.inbox("alice");
    assert_eq!(mail.len(), 1, "{mail:?}");
    assert_eq!(mail[0]["subject"], "not sent: your text in queue/to-bob.md");
}

#[test]
fn each_of_several_equal_blocks_is_sent() {
    // P342
    for name in ["MAILBOX.md", "queue/to-bob.md"] {
        let world = room();
        let equal = "## from:alice · to:carol · type:msg\nok\n";
        append(&world, name, &equal.repeat(2));
        world.pass();
        world.pass();
        for n in 3..5 {
            append(&world, name, equal);
            world.pass();
            world.pass();
            assert_eq!(world.bodies("carol"), vec!["ok"; n], "{name}");
        }
        assert!(kept(&world, name).is_empty(), "{name}");
    }
}

#[test]
fn a_block_in_a_file_that_was_made_again_differs_from_an_equal_earlier_block() {
    // P342, P168
    for name in ["MAILBOX.md", "queue/to-bob.md"] {
        let world = room();
        let equal = "## from:alice · to:carol · type:msg\nok\n";
        append(&world, name, equal);
        world.pass();
        for n in 2..=3 {
            files::remove_file(world.room(name));
            let more = format!(r#"{{"to":"bob","body":"more {n}"}}"#);
            echo(&world, "alice", &more);
            world.pass();
            append(&world, name, equal);
            world.pass();
            assert_eq!(world.bodies("carol"), vec!["ok"; n], "{name}");
        }
    }
}

#[test]
fn a_block_is_sent_when_its_writer_has_closed_the_file() {
    // P342
    let world = room();
    let mut writer = OpenOptions::new()
        .append(true)
        .open(world.room("queue/to-bob.md"))
        .expect("the queue");
    let text = block("alice", "carol", "msg", "Do not");
    writer.write_all(text.as_bytes()).expect("it is written");
    world.pass();
    assert!(world.bodies("carol").is_empty());
    assert_contains!(world.run("status").out, "open for writing");
    writer
        .write_all(b"drop the table\n")
        .expect("it is written");
    drop(writer);
    world.pass();
    world.pass();
    assert_eq!(world.bodies("carol"), ["Do not\ndrop the table"]);
    assert!(kept(&world, "queue/to-bob.md").is_empty());
}

#[test]
fn a_changed_status_line_is_an_acknowledgement() {
    // P342
    let world = room();
    let text = read(&world, "queue/to-bob.md");
    let changed = text.replace("→ status:unread", "→ status:seen 10:40 · acked 10:41");
    assert_ne!(text, changed);
    files::write(world.room("queue/to-bob.md"), changed);
    world.pass();
    world.pass();
    assert_contains!(world.ok("trace m1"), "bob: acknowledged");
    assert_contains!(read(&world, "queue/to-bob.md"), "→ status:acknowledged");
    assert_eq!(
        (kept(&world, "queue/to-bob.md").len(), notices(&world)),
        (0, 0)
    );
    let changed =
        read(&world, "queue/to-bob.md").replace("→ status:acknowledged", "→ status:wonderful");
    files::write(world.room("queue/to-bob.md"), changed);
    world.pass();
    world.pass();
    assert_eq!(
        (kept(&world, "queue/to-bob.md").len(), notices(&world)),
        (1, 1)
    );
}

#[test]
fn a_running_router_takes_a_block_before_it_writes_the_file() {
    // P342
    let town = Town::alice_and_bob().settings("mailbox = true\n").run();
    town.mail("alice", "1.json", json!({"to": "bob", "body": "first"}));
    town.wait("the queue", || {
        read(&town, "queue/to-bob.md").contains("first")
    });
    append(
        &town,
        "queue/to-bob.md",
        &block("bob", "alice", "msg", "from the queue"),
    );
    town.mail("alice", "2.json", json!({"to": "bob", "body": "second"}));
    town.wait("the block", || town.bodies("alice") == ["from the queue"]);
    town.wait("the next message", || {
        read(&town, "queue/to-bob.md").contains("second")
    });
    assert!(!read(&town, "queue/to-bob.md").contains("from the queue"));
}

#[test]
fn a_turned_off_setting_removes_no_text_of_others() {
    // P342
    let world = room();
    append(&world, "MAILBOX.md", "by hand\n");
    world.write("settings.toml", "");
    world.pass();
    assert!(
        read(&world, "MAILBOX.md").contains("by hand")
            && read(&world, "queue/to-bob.md").is_empty()
    );
}

#[test]
fn changed_json_files_are_kept_and_reported() {
    // P342
    let world = World::alice_and_bob();
    world.ok("claim src --as alice");
    world.ok("send bob Which? --type question --as alice");
    for name in ["claims.json", "pending.json"] {
        let text = read(&world, name);
        let changed = text.replace("alice", "bobby");
        assert_ne!(text, changed, "{name}");
        files::write(world.room(name), &changed);
        world.ok(&["claim", &format!("docs/{name}"), "--as", "bob"]);
        world.ok("send bob And? --type question --as alice");
        world.wait("it is made again", || {
            world.pass();
            read(&world, name).contains("alice")
        });
        assert_eq!(kept(&world, name), [changed], "{name}");
    }
    assert_eq!(notices(&world), 2);
    assert_contains!(world.ok("claims"), "alice");
}
