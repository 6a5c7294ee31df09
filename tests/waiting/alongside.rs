//! A waiting command routes if no other process does.

use super::{Beside, is_free, routes};
use crate::files;
use crate::town::Town;
use crate::world::World;
use rustix::process::Signal;
use serde_json::json;

#[test]
fn without_a_router_a_waiting_command_routes_for_all_agents() {
    // P66
    let town = Town::of("alice bob carol");
    let mut waiting = Beside::start(&town, "wait --as bob --timeout 1m");
    routes(&mut waiting, &town);
    let message = json!({"to": "carol", "body": "not for who waits"});
    town.mail("alice", "1.json", message);
    town.wait_for_bodies("carol", &["not for who waits"]);
    let message = json!({"to": "bob", "body": "for who waits"});
    town.mail("carol", "1.json", message);
    assert!(waiting.ends(&town, 0).ends_with("for who waits\n"));
    assert!(is_free(&town));
    for sender in ["sent/alice", "sent/carol"] {
        assert_eq!(town.names(sender).len(), 1, "{sender}");
    }
    assert!(town.names("spool/stage").is_empty());
    town.verify();
}

#[test]
fn who_waits_takes_over_when_the_router_ends() {
    // P66
    for signal in [Signal::TERM, Signal::KILL] {
        let mut town = Town::alice_and_bob().run();
        let mut waiting = Beside::start(&town, "wait --as bob --timeout 1m");
        town.router().signal(signal);
        town.ended();
        routes(&mut waiting, &town);
        let message = json!({"to": "bob", "body": "after the router"});
        town.mail("alice", "x.json", message);
        assert!(waiting.ends(&town, 0).ends_with("after the router\n"));
    }
}

#[test]
fn one_of_several_waiting_commands_routes_and_another_takes_over() {
    // P66
    let town = Town::of("alice bob carol");
    let mut first = Beside::start(&town, "list --follow --as bob");
    routes(&mut first, &town);
    let mut second = Beside::start(&town, "wait --as carol --timeout 1m");
    town.mail("alice", "1.json", json!({"to": "bob", "body": "one"}));
    town.wait("it follows", || first.out().contains("one"));
    first.signal(Signal::KILL);
    first.ended(&town);
    routes(&mut second, &town);
    let message = json!({"to": ["bob", "carol"], "body": "two"});
    town.mail("alice", "2.json", message);
    assert!(second.ends(&town, 0).ends_with("two\n"));
    town.wait_for_bodies("bob", &["one", "two"]);
    town.verify();
}

#[test]
fn a_router_that_is_to_run_gets_the_room_from_those_that_wait() {
    // P66
    let mut town = Town::alice_and_bob();
    let mut waiting = [(); 2].map(|()| Beside::start(&town, "wait --as bob --timeout 1m --json"));
    town.wait("one routes", || !is_free(&town));
    town.start(&[]);
    let router = town.json("status")["router"].clone();
    assert_fields!(router, pid: town.router().pid(), mode: "run");
    for one in &mut waiting {
        one.runs();
    }
    let message = json!({"to": "bob", "body": "by the router"});
    town.mail("alice", "x.json", message);
    for one in waiting {
        assert_contains!(one.ends(&town, 0), "by the router");
    }
    town.is_alive("alice", "bob");
}

#[test]
fn mail_of_a_command_that_left_it_to_who_waits_is_routed() {
    let world = World::with("alice bob carol");
    for n in 0..10 {
        let mut waiting = Beside::start(&world, "wait --as bob --timeout 1m --read");
        routes(&mut waiting, &world);
        // The first ends the wait, and the second may come just then.
        world.send("alice", "bob", "go");
        world.send("alice", "carol", &n.to_string());
        waiting.ends(&world, 0);
        assert_eq!(world.names("inbox/carol").len(), n + 1);
    }
}

#[test]
fn a_room_that_can_not_be_routed_in_is_said_and_mail_is_still_waited_for() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "one");
    world.ok("read --as bob");
    let log = world.room("log/00000001.ndjson");
    let text = files::read_text(&log);
    files::write(&log, text.replacen("\"seq\":1,", "\"seq\":7,", 1));
    std::fs::remove_file(world.room("spool/snapshot")).ok();
    let waiting = Beside::start(&world, "wait --as bob --timeout 1m");
    world.wait("it says so", || waiting.err().contains("cannot deliver"));
    world.write(
        "inbox/bob/x.json",
        r#"{"from": "alice", "body": "by hand"}"#,
    );
    assert_contains!(waiting.ends(&world, 0), "by hand");
}

#[test]
fn two_processes_that_wait_to_read_get_different_messages() {
    let world = World::alice_and_bob();
    let mut waiting = [(); 2].map(|()| Beside::start(&world, "wait --as bob --timeout 1m --read"));
    world.wait("one routes", || !is_free(&world));
    world.send("alice", "bob", "one");
    world.wait("one of them has it", || {
        waiting.iter().any(|one| one.out().contains("one"))
    });
    world.send("alice", "bob", "two");
    for one in &mut waiting {
        assert!(one.ended(&world).success());
    }
    let mut shown = waiting.map(|one| {
        let out = one.out();
        (out.contains("one"), out.contains("two"))
    });
    shown.sort_unstable();
    assert_eq!(shown, [(false, true), (true, false)]);
}
