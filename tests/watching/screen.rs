//! `mailbag watch` at a terminal, as a person uses it.

use super::terminal::Terminal;
use crate::files;
use crate::world::{World, parse_json};
use rustix::process::{Signal, kill_process};

const LONG: &str = "We freeze the interface at noon, and nobody changes anything in the parser until the tests of \
                    the whole suite are green again on both machines.";

fn world() -> World {
    World::with("alice bob carol dave erin")
}

#[test]
fn watch_wraps_entries_to_the_width_and_redraws_them_after_a_change() {
    let world = world();
    world.send("alice", "bob", "before");
    let Some(terminal) = Terminal::run(&world, (80, 24), &["watch"]) else {
        return;
    };
    world.ok(&[
        "send",
        "all",
        LONG,
        "--as",
        "alice",
        "--priority",
        "urgent",
        "--type",
        "announcement",
    ]);
    world.drop_file("alice", "bad.json", r#"{"to": "bbo", "body": "x"}"#);
    terminal.wait("the refusal is counted", |screen| {
        screen.contains("rejected 1")
    });
    let lines = terminal.lines();
    let shown: Vec<String> = lines[1..lines.len() - 2]
        .iter()
        .map(|line| {
            if line.contains(':') {
                line[11..].to_owned()
            } else {
                line.clone()
            }
        })
        .collect();
    assert!(
        lines[0].starts_with("  ") && lines[0].contains("day 20"),
        "{lines:?}"
    );
    // The record numbers depend on the router's other work.
    let without_number = |line: &String| {
        line.trim_end_matches(|c: char| c.is_ascii_digit() || " #".contains(c))
            .to_owned()
    };
    let shown: Vec<String> = shown.iter().map(without_number).collect();
    let expected = [
        "alice → bob",
        "    before",
        "alice → all (4) announcement urgent",
        "    We freeze the interface at noon, and nobody changes anything in the parser",
        "    until the tests of the whole suite are green again on both machines.",
        "alice rejected bad.json",
        "r is called \"bbo\"; did you mean bob?",
        "    mailbag rejected show",
    ];
    // Of a line with a colon its beginning was cut.
    assert_eq!(shown.len(), expected.len(), "{lines:#?}");
    for (shown, expected) in shown
        .iter()
        .zip(expected)
        .filter(|(_, expected)| !expected.contains("bbo"))
    {
        assert_eq!(shown, expected, "{lines:#?}");
    }
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("! ") && line.contains("urgent")),
        "{lines:#?}"
    );
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("    to: unknown recipient \"bbo\"; did you mean bob?"))
    );
    terminal.resize(200, 24);
    let whole = format!("    {LONG}");
    terminal.wait("the text stands in one line", |screen| {
        screen.lines().any(|line| line.starts_with(&whole))
    });
    terminal.resize(40, 24);
    terminal.wait("the text is folded again", |screen| {
        screen
            .lines()
            .any(|line| line == "    nobody changes anything in the")
            && screen.contains("alice → bob")
    });
}

#[test]
fn a_line_that_begins_with_a_name_is_sent_there_and_the_numbers_follow() {
    let world = world();
    let Some(terminal) = Terminal::run(&world, (80, 24), &["watch"]) else {
        return;
    };
    terminal.wait("nothing is unread", |screen| {
        screen.contains("delivering here | unread human 0, all 0")
    });
    terminal.text("@bob helo");
    terminal.keys(&["Left", "l", "Enter"]);
    world.wait("bob has it", || world.bodies("bob") == ["hello"]);
    assert_eq!(
        (&world.inbox("bob")[0]["from"], &world.inbox("bob")[0]["to"]),
        (&"human".into(), &"bob".into())
    );
    terminal.wait("it is shown and counted", |screen| {
        screen.contains("human → bob")
            && screen.contains("unread human 0, all 1")
            && screen.contains("sent to bob")
    });
    let router = world.router("");
    terminal.wait("the router is named", |screen| {
        screen.contains(&format!("router {}", router.pid()))
    });
    world.drop_file("bob", "x.json", r#"{"to": "human", "body": "well?"}"#);
    terminal.wait("the answer is shown", |screen| {
        screen.contains("well?") && screen.contains("unread human 1, all 2")
    });
    // A key recalls the last sent text.
    terminal.keys(&["Up", "!", "Enter"]);
    world.wait("bob has another", || {
        world.bodies("bob") == ["hello", "hello!"]
    });
}

#[test]
fn an_unsendable_text_stays_in_the_input_line_with_the_reason() {
    let world = world();
    let Some(terminal) = Terminal::run(&world, (80, 24), &["watch", "--as", "carol"]) else {
        return;
    };
    terminal.text("@bbo hello");
    terminal.keys(&["Enter"]);
    terminal.wait("the near name is named", |screen| {
        screen.contains("did you mean bob?") && screen.contains("carol> @bbo hello")
    });
    terminal.keys(&["C-u"]);
    terminal.text("to whom?");
    terminal.keys(&["Enter"]);
    terminal.wait("a name is asked for", |screen| {
        screen.contains("begin with `@name`") && screen.contains("carol> to whom?")
    });
    terminal.keys(&["C-w", "C-w"]);
    terminal.wait("the line is empty", |screen| {
        screen.contains("carol> @name and a message")
    });
    assert!(world.names("outbox/carol").is_empty() && world.names("sent/carol").is_empty());
}

#[test]
fn watch_of_a_channel_sends_a_line_without_a_name_to_the_channel() {
    let world = world();
    let Some(terminal) = Terminal::run(&world, (80, 24), &["watch", "auth"]) else {
        return;
    };
    world.send("alice", "bob", "elsewhere");
    terminal.text("we begin");
    terminal.keys(&["Enter"]);
    terminal.wait("it is shown", |screen| {
        screen.contains("human → channel auth user")
    });
    assert!(!terminal.screen().contains("elsewhere"));
    let entries = world.ok("log --event accepted --json");
    let last = parse_json(entries.lines().last().expect("a line"));
    let message = &last["message"];
    assert_eq!(
        (&message["type"], &message["channel"], last.get("to")),
        (&"user".into(), &"auth".into(), None)
    );
}

#[test]
fn pasted_line_ends_send_nothing_and_wide_letters_keep_the_cursor_in_its_place() {
    let world = world();
    let Some(terminal) = Terminal::run(&world, (80, 24), &["watch"]) else {
        return;
    };
    terminal.paste("@bob one\ntwo 你好");
    terminal.wait("it stands in the line", |screen| {
        screen.contains("human> @bob one\\ntwo 你好")
    });
    // The cursor is placed after the text is drawn.
    world.wait("the cursor is after the text", || {
        terminal.state("cursor_x") == "25"
    });
    assert!(world.names("sent/human").is_empty());
    terminal.keys(&["BSpace", "Enter"]);
    world.wait("bob has it", || world.bodies("bob") == ["one\ntwo 你"]);
}

#[test]
fn pages_turn_back_and_forth_while_more_comes() {
    let world = world();
    for n in 0..30 {
        world.drop_file(
            "alice",
            &format!("{n:02}.json"),
            format!(r#"{{"to": "bob", "body": "number {n:02}"}}"#),
        );
    }
    world.pass();
    let Some(terminal) = Terminal::run(&world, (80, 24), &["watch"]) else {
        return;
    };
    terminal.wait("the newest is shown", |screen| screen.contains("number 29"));
    terminal.keys(&["PPage", "PPage", "PPage"]);
    terminal.wait("the oldest is shown", |screen| {
        screen.contains("number 00") && screen.contains("↓ 0 new")
    });
    let before = terminal.lines();
    world.send("alice", "bob", "number 30");
    terminal.wait("that more came is said", |screen| {
        screen.contains("↓ 1 new")
    });
    assert_eq!(
        before[..20],
        terminal.lines()[..20],
        "whoever turned back stays there"
    );
    terminal.keys(&["NPage", "NPage", "NPage", "NPage"]);
    terminal.wait("the newest is shown", |screen| {
        screen.contains("number 30") && !screen.contains("new |")
    });
}

#[test]
fn the_terminal_is_left_as_it_was_however_the_view_ends() {
    let world = world();
    for (how, signal) in [
        ("ctrl-c", None),
        ("SIGTERM", Some(Signal::TERM)),
        ("SIGINT", Some(Signal::INT)),
    ] {
        let Some(terminal) = Terminal::run(&world, (80, 24), &["watch"]) else {
            return;
        };
        assert_eq!(terminal.state("alternate_on"), "1");
        match signal {
            None => terminal.keys(&["C-c"]),
            Some(signal) => kill_process(terminal.pid(), signal).expect("it runs"),
        }
        terminal.wait(&format!("it has ended by {how}"), |screen| {
            screen.contains("ended 0") && screen.contains("echo")
        });
        let lines = terminal.lines();
        assert_eq!(lines[0], "before", "{how}: {lines:?}");
        let modes: Vec<&str> = lines[2].split(' ').collect();
        assert!(
            ["icanon", "isig", "echo"]
                .iter()
                .all(|mode| modes.contains(mode)),
            "{how}: {lines:?}"
        );
        assert_eq!(
            (
                terminal.state("alternate_on"),
                terminal.state("cursor_flag")
            ),
            ("0".into(), "1".into()),
            "{how}"
        );
        // A paste is no longer put between brackets.
        terminal.paste("x");
        terminal.wait("what is typed is echoed", |screen| {
            screen.lines().any(|line| line == "x")
        });
    }
}

#[test]
fn escapes_of_others_are_text_on_the_screen() {
    const EVIL: &str = "a\u{1b}[2J\u{1b}]0;owned\u{7}\u{202e}b";
    let world = world();
    let message = serde_json::json!({"to": "bob", "subject": EVIL, "body": EVIL, "type": "x-y"});
    world.mail("alice", "x.json", &message);
    world.drop_file("alice", &format!("{EVIL}.json"), "{\"to\": \"\u{1b}[2J\"}");
    let Some(terminal) = Terminal::run(&world, (100, 24), &["watch"]) else {
        return;
    };
    terminal.wait("it is shown", |screen| {
        screen
            .matches("a\\u{1b}[2J\\u{1b}]0;owned\\u{7}\\u{202e}b")
            .count()
            == 2
    });
    terminal.wait("the refusal is shown", |screen| {
        screen.contains("alice rejected a")
    });
    assert!(!terminal.state("pane_title").contains("owned"));
    terminal.paste("\u{202e}@bob \u{9b}31m");
    terminal.wait("what is pasted is text too", |screen| {
        screen.contains("human> \\u{202e}@bob \\u{9b}31m")
    });
}

#[test]
fn the_human_is_online_while_watch_runs() {
    let world = world();
    let presence = || {
        let roster = world.json("who");
        roster["agents"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|one| one["id"] == "human")
            .expect("it")["presence"]
            .clone()
    };
    for view in [&["watch"][..], &["watch", "--plain"]] {
        assert_eq!(presence(), "offline", "{view:?}");
        let Some(terminal) = Terminal::open(&world, (80, 24), view) else {
            return;
        };
        world.wait("the human is online", || presence() == "online");
        terminal.keys(&["C-c"]);
        terminal.wait("the view has ended", |screen| screen.contains("ended "));
        assert_eq!(presence(), "offline", "{view:?}");
    }
}

#[test]
fn the_help_is_complete_on_a_small_screen_with_many_items() {
    let world = world();
    for n in 0..8 {
        let question = format!("Question {n}?");
        world.ok(&[
            "send", "human", &question, "--as", "alice", "--type", "question",
        ]);
    }
    let Some(terminal) = Terminal::run(&world, (80, 24), &["watch"]) else {
        return;
    };
    terminal.wait("the items", |screen| screen.contains("- 1 question"));
    terminal.text("?");
    terminal.wait("the whole help", |screen| {
        screen.contains("1 yes, 1y") && screen.contains("? closes this help")
    });
    terminal.text("?");
    terminal.wait("the items again", |screen| screen.contains("- 1 question"));
}

#[test]
fn a_room_that_is_moved_away_is_reported_until_it_is_back() {
    let world = world();
    let Some(terminal) = Terminal::run(&world, (80, 24), &["watch"]) else {
        return;
    };
    terminal.resize(20, 24);
    terminal.wait("the end of the hint", |screen| screen.contains("here."));
    terminal.resize(200, 24);
    let (room, away) = (world.path().join(".mailbag"), world.path().join("away"));
    files::rename(&room, &away);
    let is_reported = |screen: &str| screen.contains("cannot find ");
    terminal.wait("the report", is_reported);
    files::rename(&away, &room);
    terminal.wait("no report", |screen| !is_reported(screen));
    world.send("alice", "bob", "it is back");
    terminal.wait("the message", |screen| screen.contains("it is back"));
}
