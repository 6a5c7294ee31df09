//! The lists, pages and live output of `mailbag channel`.

use crate::files;
use crate::world::{Words, World, parse_json};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

fn talk() -> World {
    let world = World::alice_and_bob();
    world.drop_file(
        "alice",
        "1.json",
        r#"{"id":"1","to":"bob","subject":"Ports","body":"one\ntwo\u001b[31m"}"#,
    );
    world.drop_file(
        "alice",
        "2.json",
        r#"{"id":"2","type":"status","body":"busy","channel":"design"}"#,
    );
    world.drop_file(
        "alice",
        "3.json",
        r#"{"id":"3","to":["bob","human"],"body":"three"}"#,
    );
    world
}

#[test]
fn channels_are_listed_with_how_much_was_said_and_when() {
    let world = talk();
    let list = world.items("channel list");
    assert_fields!(list[0], channel: "design", messages: 1);
    assert_fields!(list[1], channel: "main", messages: 2);
    let text = world.ok("channel list");
    let rows: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        (rows[0][..2].to_vec(), rows[1][..2].to_vec()),
        (vec!["design", "1"], vec!["main", "2"])
    );
    assert!(rows[1][2].ends_with('Z'), "{text}");
    assert_contains!(
        World::new().run(&["channel", "list"]).err,
        "no channels yet"
    );
}

#[test]
fn a_conversation_reads_as_a_timeline_and_hides_no_escapes() {
    let world = talk();
    let shown = world.ok("channel show main");
    let lines: Vec<&str> = shown
        .lines()
        .map(|line| line.split_once("Z  ").map_or(line, |(_, rest)| rest))
        .collect();
    assert_eq!(
        lines,
        [
            "alice → bob  message  #2",
            "    Ports",
            "    one",
            "    two\\u{1b}[31m",
            "alice → bob, human  message  #4",
            "    three"
        ]
    );
    assert_eq!(world.ok("channel show main --last 1").lines().count(), 2);
    assert_eq!(world.ok("channel show main --last 0"), "");
    let file = world.text("channels/main/messages.ndjson");
    assert_eq!(world.ok("channel show main --json"), file);
    assert_contains!(world.fails(3, "channel show mian"), "did you mean main");
    world.fails(3, "channel show ../log");
    world.fails(2, "channel watch ../log");
}

fn watch(world: &World, args: &str) -> (Child, impl Iterator<Item = String> + use<>) {
    let mut command = world.bare(&[vec!["channel", "watch"], args.words()].concat());
    let mut child = command
        .stdout(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()
        .expect("it starts");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    (child, lines.map_while(Result::ok))
}

#[track_caller]
fn ends(world: &World, mut child: Child) {
    let mut status = None;
    world.wait("it ends", || {
        status = child.try_wait().expect("it can be waited for");
        status.is_some()
    });
    assert_eq!(status.and_then(|status| status.code()), Some(0));
}

#[test]
fn channel_watch_shows_new_lines_until_a_signal_even_if_the_file_is_made_again() {
    let world = talk();
    let _router = world.router("");
    world.wait("two messages", || {
        world.items("channel list")[1]["messages"] == 2
    });
    let (child, mut lines) = watch(&world, "main --last 1 --json");
    let mut next = || lines.next().map(|line| parse_json(&line));
    assert_eq!(next().expect("the last")["content"], "three");
    world.send("bob", "alice", "four");
    assert_eq!(next().expect("a line")["content"], "four");
    files::remove_dir(world.room("channels"));
    world.send("bob", "alice", "five");
    assert_eq!(next().expect("a line")["content"], "five");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
    ends(&world, child);
}

#[test]
fn without_a_router_it_routes_and_without_a_reader_it_ends() {
    let world = World::alice_and_bob();
    let (child, mut lines) = watch(&world, "main");
    world.drop_file("alice", "1.json", r#"{"to":"bob","body":"hello"}"#);
    assert!(
        lines
            .next()
            .is_some_and(|line| line.contains("alice → bob"))
    );
    assert_eq!(lines.next().as_deref(), Some("    hello"));
    // It ends although no new line arrives.
    drop(lines);
    ends(&world, child);
}
