//! Output at a terminal: widths, times and progress. `script` is a real terminal of 80 columns and 24 rows.

use crate::world::{World, lossy};
use std::process::Command;
use unicode_width::UnicodeWidthStr;

const LONG: &str = "a-very-long-name-of-an-agent-that-was-chosen-with-little-care";

/// The output of a successful command at a terminal.
#[track_caller]
fn shown(world: &World, words: &str, with: impl FnOnce(&mut Command)) -> String {
    let output = world.at_terminal_with(words, "", |command| {
        command.env("TERM", "xterm");
        with(command);
    });
    let text = lossy(&output.stdout).replace('\r', "");
    assert!(output.status.success(), "{words:?}: {text}");
    text
}

/// A room with two screens of mail, an approval, claims and a rejected file, all with long names and texts.
fn full() -> World {
    let world = World::new();
    let topics = "--topic a-topic --topic another-topic-of-some-length";
    world.ok(&format!("agent add alice {LONG} --role engineer {topics}"));
    let text = "*Which* `port` does the test server use? ".repeat(5);
    for n in 0..30 {
        let message =
            serde_json::json!({"to": "alice", "subject": text, "body": text, "type": "question"});
        world.mail(LONG, &format!("{n:02}.json"), &message);
    }
    world.route(
        LONG,
        &format!("{LONG}.json"),
        r#"{"to": "nobody-with-this-name", "body": "x"}"#,
    );
    let subject = format!("src/{LONG}/**");
    world.ok(&format!("claim {subject} --note '{text}' --as {LONG}"));
    world.run(&format!("claim {subject} --wait --timeout 10ms --as alice"));
    world.run(&format!(
        "ask alice '{text}' --options yes,no --timeout 10ms --as {LONG}"
    ));
    world.ok(&format!("handoff alice --as {LONG}"));
    world
}

/// Commands with more than a screen of output.
const LISTS: &[&str] = &[
    "list",
    "inbox alice",
    "search port",
    "list --events",
    "pending --as alice",
    "thread 2",
    "read --all --as alice",
];

#[test]
fn every_table_fits_eighty_columns() {
    let world = full();
    let (rejected, agent) = (
        format!("rejected show {LONG}.json"),
        format!("agent show {LONG}"),
    );
    let tables: &[&str] = &[
        "status",
        "who",
        "claims",
        "rejected",
        &rejected,
        "agent list",
        &agent,
        "who --topic",
        "who --channel",
        "link list",
    ];
    for words in tables.iter().chain(LISTS) {
        let text = shown(&world, words, |_| {});
        for line in text.lines().filter(|line| !line.contains("-> mailbag")) {
            assert!(
                line.width() <= 80,
                "{words:?}: {} columns: {line}",
                line.width()
            );
        }
        assert!(!text.trim().is_empty(), "{words:?}");
    }
}

#[test]
fn times_are_local_with_a_zone_at_a_terminal_and_otherwise_utc() {
    let world = full();
    let lists: &[&str] = &[
        "list",
        "inbox alice",
        "search port",
        "list --events",
        "claims",
        "rejected",
        "who --channel",
        "thread 2",
        "trace 2",
        "read 2 --as alice",
    ];
    let is_time =
        |word: &str| word.len() > 7 && word.as_bytes()[2] == b':' && word.as_bytes()[5] == b':';
    for words in lists {
        let local = shown(&world, words, |command| {
            command.env("TZ", "Asia/Kolkata");
        });
        assert!(
            local.contains("+0530") || local.contains("+05:30"),
            "{words:?}: {local}"
        );
        assert!(
            !local
                .split_whitespace()
                .any(|word| word.ends_with('Z') && word.contains(':')),
            "{words:?}: {local}"
        );
        let utc = world.ok(*words);
        let mut times = utc
            .split(['T', ' ', '\n', '(', ')', ','])
            .filter(|word| is_time(word));
        assert!(
            times.all(|time| time.trim_end_matches(':').len() == 9 && time.contains('Z')),
            "{words:?}: {utc}"
        );
    }
}

#[test]
fn long_commands_show_their_progress_at_a_terminal_only() {
    let world = full();
    world.ok("read --all --as alice");
    for (words, part) in [
        ("log verify", "MiB so far"),
        ("search no-such-word", "searched 0 MiB"),
        ("archive --older-than 1d", "read so far"),
        ("backup copy", "copied"),
    ] {
        let text = shown(&world, words, |command| {
            command.env("MAILBAG_TEST_PROGRESS_MS", "0");
            if words.starts_with("archive") {
                command.env("MAILBAG_TEST_NOW", "2099-01-01T00:00:00Z");
            }
        });
        assert!(
            text.contains(part) && text.contains("\u{1b}[K"),
            "{words:?}: {text:?}"
        );
        assert!(!text.contains("MiBno matching"), "{text:?}");
        std::fs::remove_dir_all(world.path().join("copy")).ok();
        let piped = world.run_env(words, "MAILBAG_TEST_PROGRESS_MS", "0");
        assert!(!piped.err.contains(part), "{words}");
        std::fs::remove_dir_all(world.path().join("copy")).ok();
    }
}
