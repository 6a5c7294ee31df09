//! One inbox of several programs: a program takes a message by moving it into `taken/`.

use crate::town::Town;
use crate::world::World;
use serde_json::Value;

#[test]
fn a_taken_message_is_unread_in_every_view() {
    // P64, P68
    let world = World::with("alice builders");
    world.send("alice", "builders", "one");
    world.send("alice", "builders", "two");
    world.take("builders");
    let unread = || {
        let who = world.json("who");
        let mut agents = who["agents"].as_array().into_iter().flatten();
        let of_who = agents.find(|agent| agent["id"] == "builders");
        let of_who = of_who.expect("an agent")["unread"].clone();
        let listed = world.items("list --unread --to builders");
        let status = world.json("status")["unread"]["builders"].clone();
        [of_who, status, listed.as_array().map_or(0, Vec::len).into()]
    };
    assert_eq!(unread(), [2, 2, 2]);
    assert_contains!(
        world.run("inbox builders").err,
        "1 message in taken/ not shown"
    );
    world.ok("read --as builders");
    world.pass();
    assert_eq!(unread(), [1, 1, 1]);
    let none = "no unread messages except 1 message in taken/";
    assert_contains!(world.run("inbox builders").err, none);
    assert_contains!(world.run("read --as builders").err, none);
    assert_contains!(
        world.fails(65, "agent remove builders"),
        "builders has 1 unread"
    );
}

#[test]
fn a_taken_message_is_seen_once_it_is_moved_to_seen() {
    // P58, P64
    let town = Town::of("alice builders").run();
    let id = town.send("alice", "builders", "one");
    town.wait_for_mail("builders", 1);
    let status = || town.json(&format!("trace {id} --as alice"))["recipients"][0]["status"].clone();
    for _ in 0..2 {
        let name = town.take("builders");
        town.move_mail("builders", &name, "taken", "");
        // The router has looked since.
        town.is_alive("alice", "alice");
        assert_eq!(status(), "delivered");
    }
    let name = town.take("builders");
    town.move_mail("builders", &name, "taken", "seen");
    town.wait("it is seen", || status() == "seen");
}

#[test]
fn a_message_moves_under_another_name_if_its_name_is_occupied() {
    // P96: to seen/ and to expired/.
    let world = World::alice_and_bob();
    let count = |below: &str| world.names(&format!("inbox/bob/{below}")).len();
    let occupied = |body: &str, place: &str| {
        let id = world.send("alice", "bob", body);
        let name = world.names("inbox/bob").remove(0);
        world.write(&format!("inbox/bob/{place}/{name}"), "{}");
        id
    };
    occupied("done with", "seen");
    world.ok("read --as bob");
    assert_eq!((count(""), count("seen")), (0, 2));
    let id = occupied("taken back", "expired");
    world.ok(&format!("ack {id} --status withdrawn --as alice"));
    assert_eq!((count(""), count("expired")), (0, 2));
}

#[test]
fn a_withdrawal_of_a_taken_message_is_traced_once() {
    let world = World::alice_and_bob();
    let id = world.send("alice", "bob", "one");
    let name = world.take("bob");
    world.ok(&format!("ack {id} --status withdrawn --as alice"));
    world.move_mail("bob", &name, "taken", "");
    world.pass();
    let trace = world.json(&format!("trace {id} --as alice"));
    let statuses = trace["recipients"][0]["statuses"].as_array();
    let withdrawn = statuses
        .into_iter()
        .flatten()
        .filter(|step| step["status"] == "withdrawn");
    let by: Vec<&Value> = withdrawn.map(|step| &step["by"]).collect();
    assert_eq!(by, ["alice"], "{trace:#}");
    assert_eq!(world.names("inbox/bob/expired"), [name]);
}
