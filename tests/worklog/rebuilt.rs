//! The worklog follows from the log: an entry never changes, and the file is made again byte for byte.

use super::{echo, entries_of, kept, room, worklog};
use crate::files;
use crate::town::Town;
use serde_json::json;
use std::fmt::Write;
use std::fs;

/// Messages in one dropped file.
const LINES: usize = 250;

#[test]
fn after_thousands_of_events_no_entry_was_changed_and_the_file_is_rebuilt_byte_for_byte() {
    // P161, P164
    let settings = "worklog = true\nbudget.messages = 0\nbudget.copies = 0\n";
    let mut town = Town::alice_and_bob().settings(settings).run();
    let events = if Town::full_size() { 10_000 } else { 2_000 };
    let (mut before, mut looks) = (String::new(), 0);
    for part in 0..events / LINES {
        let mut lines = String::new();
        for n in 0..LINES {
            let (n, kind) = (
                part * LINES + n,
                if n % 50 == 0 {
                    "decision.recorded"
                } else {
                    "task.completed"
                },
            );
            let _ = writeln!(
                lines,
                "{}",
                json!({"type": kind, "body": format!("event {n}")})
            );
        }
        town.drop_file("alice", &format!("{part}.ndjson"), lines);
        town.mail(
            "bob",
            &format!("{part}.json"),
            json!({"type": "status", "body": format!("part {part}")}),
        );
        if part % 4 == 3 {
            let mut now = String::new();
            town.wait("the worklog has the newest part", || {
                now = worklog(&town);
                now.contains(&format!("event {} \n", (part + 1) * LINES - 1).replace(" \n", "\n"))
            });
            assert!(
                entries_of(&now).starts_with(&before),
                "an entry was changed"
            );
            before = entries_of(&now).to_owned();
            looks += 1;
        }
    }
    assert_eq!(
        (before.lines().count(), looks),
        (events, events / LINES / 4)
    );
    town.stop();
    let last = worklog(&town);
    assert_eq!(entries_of(&last), before);
    assert_contains!(last, &format!("status: part {}", events / LINES - 1); "the status is current when the router has ended");
    files::remove_file(town.path().join("WORKLOG.md"));
    town.pass();
    assert!(worklog(&town) == last, "without the file");
    files::remove_file(town.path().join("WORKLOG.md"));
    files::remove_file(town.room("spool/worklog.json"));
    town.ok("archive --older-than 0");
    town.pass();
    assert!(
        worklog(&town) == last,
        "without file, note and unpacked log"
    );
    assert_eq!(kept(&town), Vec::<String>::new());
}

#[test]
fn a_file_that_was_cut_off_anywhere_is_completed_and_nothing_is_kept() {
    // P164
    let world = room("alice");
    for n in 0..20 {
        echo(
            &world,
            "alice",
            &format!(r#"{{"type":"milestone","body":"number {n}"}}"#),
        );
    }
    world.pass();
    let whole = worklog(&world);
    let path = world.path().join("WORKLOG.md");
    let begin = whole.len() - entries_of(&whole).len();
    for end in [0, begin, begin + 1, begin + 40, whole.len() - 1] {
        files::write(&path, &whole[..end]);
        world.pass();
        assert!(worklog(&world) == whole, "cut at {end}");
        // As after a power cut, which can leave zero bytes.
        let mut blank = whole.as_bytes()[..end].to_vec();
        blank.resize(whole.len() + 100, 0);
        files::write(&path, blank);
        world.pass();
        assert!(worklog(&world) == whole, "blank from {end}");
    }
    assert_eq!(kept(&world), Vec::<String>::new());
    assert_eq!(world.inbox("human").len(), 0);
}

#[test]
fn entries_of_an_archive_that_was_moved_away_stay_or_are_said_to_be_missing() {
    // P164
    let town = Town::of("alice").settings("worklog = true\n");
    let small = |args: &[&str]| {
        town.run_env(args, "MAILBAG_TEST_SEGMENT_BYTES", "4000")
            .ok()
    };
    small(&["send", "--type", "milestone", "the oldest", "--as", "alice"]);
    for _ in 0..8 {
        small(&["send", "human", &"x".repeat(2000), "--as", "alice"]);
    }
    small(&["send", "--type", "milestone", "the newest", "--as", "alice"]);
    small(&["archive", "--older-than", "0"]);
    files::rename(town.room("archive"), town.path().join("moved"));
    let first = fs::read_dir(town.room("log"))
        .expect("the log")
        .flatten()
        .map(|entry| entry.file_name())
        .min();
    assert_ne!(
        first.expect("a segment"),
        "00000001.ndjson",
        "the first segment is archived"
    );
    let whole = worklog(&town);
    // A change by hand makes the router build the file again.
    files::write(
        town.path().join("WORKLOG.md"),
        whole.replace("the newest", "mine"),
    );
    town.pass();
    assert!(
        worklog(&town) == whole,
        "the old entries are kept from the file"
    );
    assert_eq!(kept(&town).len(), 1);
    files::remove_file(town.path().join("WORKLOG.md"));
    town.pass();
    let text = worklog(&town);
    assert!(
        entries_of(&text).starts_with("- #")
            && text.contains("and before: this part of the log was moved away")
    );
    assert!(
        !text.contains("the oldest") && text.contains("the newest"),
        "{text}"
    );
    let again = worklog(&town);
    town.route(
        "alice",
        "c.json",
        json!({"type": "milestone", "body": "one more"}),
    );
    assert!(entries_of(&worklog(&town)).starts_with(entries_of(&again)));
    // The part is back.
    files::rename(town.path().join("moved"), town.room("archive"));
    files::remove_file(town.path().join("WORKLOG.md"));
    town.pass();
    assert!(entries_of(&worklog(&town)).starts_with(entries_of(&whole)));
}
