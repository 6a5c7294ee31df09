//! Channels in `mailbag who`, `list` and `watch`, and in the spellings of other mail programs.

use crate::world::{Words, World, parse_json};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

fn talk() -> World {
    let world = World::with("alice bob carol");
    world.drop_file(
        "alice",
        "1.json",
        r#"{"id":"1","to":"bob","subject":"Ports","body":"one\ntwo\u001b[31m"}"#,
    );
    world.drop_file(
        "alice",
        "2.json",
        r#"{"id":"2","to":"bob","type":"status","body":"busy","channel":"design"}"#,
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
    let list = world.items("who --channel");
    assert_fields!(list[0], channel: "design", messages: 1);
    assert_fields!(list[1], channel: "main", messages: 2);
    let text = world.ok("who --channel");
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
        World::new().run(&["who", "--channel"]).err,
        "no channels yet"
    );
}

#[test]
fn a_channel_has_the_agents_that_sent_or_got_its_messages_and_main_has_all() {
    let world = talk();
    let agents = |channel: &str| -> Vec<String> {
        let known = world.json(&["who", "--channel", channel]);
        let agents = known["agents"].as_array().into_iter().flatten();
        agents
            .map(|agent| agent["id"].as_str().unwrap_or_default().to_owned())
            .filter(|id| id != "human")
            .collect()
    };
    assert_eq!(agents("design"), ["alice", "bob"]);
    assert_eq!(agents("main"), ["alice", "bob", "carol"]);
    for roster in ["channel roster main", "who --channel main"] {
        assert_contains!(world.ok(roster), "alice", "bob", "carol"; "{roster}");
    }
    assert_eq!(
        world.ok("channel roster design"),
        world.ok("who --channel design")
    );
    for command in ["who --channel desing", "channel roster desing"] {
        assert_contains!(world.fails(3, command), "did you mean design"; "{command}");
    }
}

#[test]
fn the_messages_of_a_channel_are_listed_without_escapes() {
    let world = talk();
    let shown = world.ok("list --channel main");
    assert_eq!(shown.lines().count(), 2, "{shown}");
    assert_contains!(shown, "alice → bob", "Ports", "alice → bob, human");
    assert!(!shown.contains('\u{1b}'), "{shown}");
    assert_eq!(
        world.ok("message list --channel main --since 1h"),
        shown,
        "the spelling of other programs"
    );
    assert_contains!(
        world.fails(3, "list --channel desing"),
        "did you mean design"
    );
}

fn watch(world: &World, args: &str) -> (Child, impl Iterator<Item = String> + use<>) {
    let mut command = world.bare(&args.words());
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
fn channel_watch_shows_new_messages_of_the_channel_until_a_signal() {
    for words in [
        "watch --channel main --last 1 --json",
        "channel watch main --last 1 --json",
    ] {
        let world = talk();
        let _router = world.router("");
        world.wait("two messages", || {
            world.items("who --channel")[1]["messages"] == 2
        });
        let (child, mut lines) = watch(&world, words);
        let mut next = || lines.next().map(|line| parse_json(&line)).expect("a line");
        assert_eq!(next()["body"], "three");
        world.ok("send bob elsewhere --channel design --as alice");
        world.send("bob", "alice", "four");
        assert_eq!(next()["body"], "four");
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
        ends(&world, child);
    }
}

#[test]
fn without_a_router_it_routes_and_without_a_reader_it_ends() {
    let world = World::alice_and_bob();
    let (child, mut lines) = watch(&world, "channel watch main");
    world.drop_file("alice", "1.json", r#"{"to":"bob","body":"hello"}"#);
    let line = lines.next().expect("a line");
    assert_contains!(line, "alice → bob", "hello");
    // It ends although no new line arrives.
    drop(lines);
    ends(&world, child);
}
