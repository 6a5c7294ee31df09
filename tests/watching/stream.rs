//! `mailbag watch`: one line for each entry, printed immediately.

use super::terminal::Terminal;
use crate::beside::Beside;
use crate::files;
use crate::world::{Ran, Words, World, parse_json};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Write;
use std::process::Stdio;

/// Starts `mailbag watch` beside the test.
fn watch(world: &World, args: &(impl Words + ?Sized)) -> Beside {
    Beside::start(world, &[vec!["watch"], args.words()].concat())
}

/// Asks it to end, which it does well.
#[track_caller]
fn ends_well(watching: &mut Beside, world: &World) {
    watching.signal(Signal::TERM);
    assert_eq!(watching.ended(world).code(), Some(0));
}

#[track_caller]
fn wait(
    watching: &Beside,
    world: &World,
    what: &str,
    is_so: impl Fn(&[String]) -> bool,
) -> Vec<String> {
    world.wait(what, || is_so(&watching.lines()));
    watching.lines()
}

fn bodies(watching: &Beside) -> Vec<Value> {
    let entries = watching.lines().into_iter().map(parse_json);
    entries.map(|entry| entry["body"].clone()).collect()
}

#[test]
fn each_message_is_one_line_without_a_control_character_as_soon_as_it_is_accepted() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "before");
    let _router = world.router("");
    let watching = watch(&world, "");
    wait(&watching, &world, "what was before", |lines| {
        lines.len() == 1
    });
    world.drop_file(
        "bob",
        "x.json",
        r#"{"to": "alice", "subject": "s", "body": "two\nlines\u001b[31m", "priority": "high"}"#,
    );
    world.drop_file("bob", "y.json", r#"{"to": "alcie", "body": "x"}"#);
    let lines = wait(&watching, &world, "all three", |lines| lines.len() == 3);
    assert!(
        lines[0].ends_with("  alice → bob  message  normal  before"),
        "{lines:?}"
    );
    assert!(
        lines[1].ends_with("  bob → alice  message  high  s: two\\nlines\\u{1b}[31m"),
        "{lines:?}"
    );
    assert_contains!(lines[2], "  bob  rejected  y.json: to: ", "did you mean alice"; "{lines:?}");
    assert!(
        lines.iter().all(|line| !line.contains(char::is_control)),
        "{lines:?}"
    );
}

#[test]
fn json_has_one_object_a_line_and_channels_and_the_beginning_are_chosen() {
    let world = World::alice_and_bob();
    for n in 0..5 {
        world.ok(&format!("send bob a{n} --as alice --channel auth"));
        world.send("alice", "bob", &format!("m{n}"));
    }
    let watching = watch(&world, "--channel auth --json --last 2");
    wait(&watching, &world, "the last two", |lines| lines.len() == 2);
    world.send("alice", "bob", "elsewhere");
    world.ok("send bob a5 --as alice --channel auth --type task");
    wait(&watching, &world, "one more", |lines| lines.len() == 3);
    assert_eq!(bodies(&watching), ["a3", "a4", "a5"]);
    let last = parse_json(&watching.lines()[2]);
    assert_fields!(last, event: "accepted", from: "alice", recipients: ["bob"]);
    assert_fields!(last, type: "task", priority: "normal", channel: "auth");
    assert!(
        last["seq"].is_u64() && last["accepted_at"].is_string() && last["id"].is_string(),
        "{last}"
    );
    assert_contains!(
        world.fails(2, "watch --channel 'no channel'"),
        "not a valid channel name"
    );
}

#[test]
fn while_no_router_runs_it_routes_what_is_dropped() {
    let world = World::alice_and_bob();
    let watching = watch(&world, "--last 0");
    world.drop_file("alice", "x.json", r#"{"to": "bob", "body": "dropped"}"#);
    world.wait("it arrives", || world.bodies("bob") == ["dropped"]);
    wait(&watching, &world, "it is shown", |lines| lines.len() == 1);
    world.drop_file("alice", "y.json", r#"{"to": "bob", "body": "again"}"#);
    wait(&watching, &world, "the next is shown too", |lines| {
        lines.len() == 2
    });
}

#[test]
fn a_batch_that_is_not_whole_is_left_until_it_is() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "first");
    for n in 0..3 {
        world.drop_file(
            "alice",
            &format!("{n}.json"),
            format!(r#"{{"to": "bob", "body": "b{n}"}}"#),
        );
    }
    world.pass();
    let log = world.text("log/00000001.ndjson");
    let second = log.find("\"b1\"").expect("the second of the batch");
    // In a copy of the room, so that no router repairs the truncated file.
    let copy = World::alice_and_bob();
    let _holder = copy.router("");
    let path = copy.room("log/00000001.ndjson");
    files::write(&path, &log[..second]);
    let watching = watch(&copy, "--json");
    wait(&watching, &copy, "the whole batch before it", |lines| {
        lines.len() == 1
    });
    let mut file = File::options().append(true).open(&path).expect("the log");
    let (line, rest) = log[second..].split_once('\n').expect("the line's end");
    writeln!(file, "{line}").expect("one line more");
    // One that begins now has read all there is before it heeds the signal.
    let mut other = watch(&copy, "--json");
    wait(&other, &copy, "the whole batch before it", |lines| {
        !lines.is_empty()
    });
    ends_well(&mut other, &copy);
    assert_eq!(other.lines().len(), 1, "{:?}", other.lines());
    file.write_all(rest.as_bytes()).expect("the rest");
    wait(&watching, &copy, "the batch", |lines| lines.len() == 4);
    assert_eq!(bodies(&watching), ["first", "b0", "b1", "b2"]);
}

#[test]
fn watch_continues_in_a_new_segment_of_the_log() {
    let world = World::alice_and_bob();
    let mut command = world.bare("run");
    command.env("MAILBAG_TEST_SEGMENT_BYTES", "1000");
    let _router = world.router_by(command);
    for n in 0..6 {
        world.send("alice", "bob", &format!("before {n}"));
        world.wait("it arrives", || world.bodies("bob").len() == n + 1);
    }
    assert!(fs::read_dir(world.room("log")).expect("the log").count() > 2);
    let watching = watch(&world, "--json --last 5");
    wait(
        &watching,
        &world,
        "five of before, from several segments",
        |lines| lines.len() == 5,
    );
    for n in 0..6 {
        world.send("alice", "bob", &format!("after {n}"));
    }
    wait(&watching, &world, "all of after", |lines| lines.len() == 11);
    let before = (1..6).map(|n| format!("before {n}"));
    let after = (0..6).map(|n| format!("after {n}"));
    assert_eq!(bodies(&watching), before.chain(after).collect::<Vec<_>>());
}

#[test]
fn a_closed_pipe_and_a_signal_end_it_without_a_word() {
    let world = World::alice_and_bob();
    let (reader, closed) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = world.bare("watch");
    let output = command.stdin(Stdio::null()).stdout(closed).output();
    assert_eq!(Ran::new("watch", &output.expect("it runs")).fails(0), "");
    world.send("alice", "bob", "somebody reads this");
    let mut watching = watch(&world, "");
    wait(&watching, &world, "it watches", |lines| lines.len() == 1);
    ends_well(&mut watching, &world);
}

#[test]
fn no_text_of_others_reaches_the_terminal_as_an_escape_or_as_a_line_of_its_own() {
    // P103
    const EVIL: &str = "a\u{1b}[2J\u{1b}]0;owned\u{7}\u{202e}b\n#9 forged";
    let world = World::alice_and_bob();
    let body = "x".repeat(56) + "#9 forged";
    let message = json!({"to": "bob", "subject": EVIL, "body": body, "type": "x-y"});
    world.mail("alice", "x.json", &message);
    world.drop_file(
        "alice",
        &format!("{}.json", EVIL.replace('\n', "")),
        "{\"to\": \"\u{1b}[2J\"}",
    );
    let Some(terminal) = Terminal::open(&world, (60, 24), "watch") else {
        return;
    };
    terminal.wait("both are shown", |screen| {
        screen.contains("x-y") && screen.contains("rejected")
    });
    let lines = terminal.lines();
    let text = lines.concat().replace(' ', "");
    assert_contains!(
        text,
        "a\\u{1b}[2J\\u{1b}]0;owned\\u{7}\\u{202e}b\\n#9forged"
    );
    assert!(
        !lines.iter().any(|line| line.starts_with("#9")),
        "{lines:#?}"
    );
    assert!(!terminal.state("pane_title").contains("owned"));
}
