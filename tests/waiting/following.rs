//! `mailbag list --follow`

use super::{Beside, is_free, routes};
use crate::files;
use crate::town::Town;
use crate::world::World;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

#[test]
fn list_follow_prints_unread_and_new_mail_once_in_one_line_each() {
    // P63
    let town = Town::alice_and_bob().run();
    let message = json!({"to": "bob", "subject": "about", "body": "two\n\nlines\u{1b}[2J"});
    town.mail("alice", "0.json", message);
    town.wait_for_mail("bob", 1);
    let mut following = Beside::start(&town, "list --follow --as bob");
    town.wait("the first is told", || following.out().lines().count() == 1);
    for n in 1..=20 {
        let priority = if n == 20 { "urgent" } else { "normal" };
        let message = json!({"to": "bob", "body": n.to_string(), "priority": priority});
        town.mail("alice", &format!("{n}.json"), message);
    }
    town.wait("all are told", || following.out().lines().count() == 21);
    following.signal(Signal::TERM);
    assert_eq!(following.ended(&town).code(), Some(0));
    let out = following.out();
    let lines: Vec<&str> = out.lines().collect();
    assert!(
        lines[0].ends_with("  alice  message  normal  about | two lines\\u{1b}[2J"),
        "{out}"
    );
    assert_eq!(
        out.matches("  alice  message  urgent  20\n").count(),
        1,
        "{out}"
    );
    // Nothing is marked as read.
    assert_eq!(town.count("bob"), 21);
    assert_eq!(town.names("inbox/bob/.announced").len(), 21);
}

#[test]
fn list_follow_json_prints_each_line_immediately() {
    let world = World::alice_and_bob();
    world.write("inbox/bob/0.json", "garbage");
    let mut command = world.bare("list --follow --as bob --json");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut next = || -> Value {
        serde_json::from_str(&lines.next().expect("a line").expect("text")).expect("JSON")
    };
    assert_eq!(next()["file"], "inbox/bob/0.json");
    for n in 0..3 {
        let message = json!({"to": "bob", "body": n.to_string()});
        world.mail("alice", "x.json", message);
        assert_fields!(next(), from: "alice", body: n.to_string());
    }
    // Without a reader and without new mail, it ends by itself.
    drop(lines);
    world.wait("it ends", || child.try_wait().expect("a child").is_some());
    assert!(child.wait().expect("a child").success());
    assert!(is_free(&world));
}

#[test]
fn list_follow_ends_after_its_idle_time() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "x ".repeat(3000).as_str());
    let out = world.ok("list --follow --as bob --idle 100ms");
    assert!(
        out.lines().count() == 1 && out.trim_end().ends_with('…') && out.len() < 600,
        "{out}"
    );
    assert!(is_free(&world));
    // A second process announces it again, because it was asked to.
    assert_eq!(world.ok("list --follow --as bob --idle 1ms"), out);
}

#[test]
fn list_follow_ends_with_status_0_on_an_interrupt() {
    let world = World::with("bob");
    let mut following = Beside::start(&world, "list --follow --as bob --idle 0");
    routes(&mut following, &world);
    following.signal(Signal::INT);
    assert_eq!(following.ended(&world).code(), Some(0));
    assert!(is_free(&world));
}

#[test]
fn a_view_of_a_room_that_is_removed_ends_with_an_error() {
    let world = World::alice_and_bob();
    let mut following = Beside::start(&world, "list --follow --as bob --idle 0");
    routes(&mut following, &world);
    files::rename(world.room(""), world.path().join("gone"));
    // Its router may write into the room in between.
    world.wait("the room is removed", || {
        std::fs::remove_dir_all(world.path().join("gone")).is_ok()
    });
    assert_ne!(following.ended(&world).code(), Some(0));
    let told = following.err();
    assert_eq!(told.matches("was removed").count(), 1, "{told}");
}

#[test]
fn a_view_of_a_room_that_another_room_replaces_ends_with_an_error() {
    let world = World::alice_and_bob();
    let mut following = Beside::start(&world, "list --follow --as bob --idle 0");
    routes(&mut following, &world);
    files::rename(world.room(""), world.path().join("moved"));
    world.ok("init");
    assert_eq!(following.ended(&world).code(), Some(1));
    assert_contains!(following.err(), "was replaced by another directory");
}
