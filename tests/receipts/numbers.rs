//! The numbers of messages are usually consecutive, because receipts of earlier messages are part
//! of the next message's record.

use super::{statuses, wait_for_status};
use crate::records::flat_record;
use crate::town::Town;
use crate::world::World;
use serde_json::{Value, json};
use std::time::{Duration, SystemTime};

/// The records with this event, or with facts of this name.
fn records(world: &World, event: &str) -> Vec<Value> {
    let records = world.log("");
    let records = records.lines().map(flat_record);
    let has = |record: &Value| record["event"] == event || record[event].is_array();
    records.filter(has).collect()
}

/// The numbers of all accepted messages.
fn numbers(world: &World) -> Vec<u64> {
    records(world, "accepted")
        .iter()
        .filter_map(|record| record["seq"].as_u64())
        .collect()
}

/// Waits until the router has written nothing to the log for longer than it takes to call itself idle.
fn wait_until_idle(world: &World) {
    let log = world.room("log/00000001.ndjson");
    world.wait("the log is left alone", || {
        let changed = std::fs::metadata(&log)
            .and_then(|meta| meta.modified())
            .expect("a log");
        SystemTime::now()
            .duration_since(changed)
            .is_ok_and(|since| since > Duration::from_secs(2))
    });
}

#[test]
fn messages_that_commands_route_have_consecutive_numbers() {
    // P115
    let world = World::alice_and_bob();
    for n in 0..4 {
        world.send("alice", "bob", &format!("{n}"));
    }
    assert_eq!(numbers(&world), [2, 3, 4, 5]);
    world.verify();
}

#[test]
fn messages_that_a_router_routes_have_consecutive_numbers_also_after_a_pause_and_a_restart() {
    // P115, P42
    let mut town = Town::alice_and_bob().run();
    for n in 1..=3 {
        town.send("alice", "bob", &format!("{n}"));
        town.wait_for_mail("bob", n);
    }
    wait_until_idle(&town);
    town.send("alice", "bob", "after a pause");
    town.wait_for_mail("bob", 4);
    town.stop();
    let mut town = town.run();
    town.send("alice", "bob", "after a restart");
    town.wait_for_mail("bob", 5);
    assert_eq!(numbers(&town), [2, 3, 4, 5, 6]);
    assert_eq!(
        records(&town, "settled")
            .last()
            .expect("a record that settles")["settled"],
        serde_json::json!([[5, 5]])
    );
    town.stop();
    town.verify();
}

#[test]
fn a_receipt_is_recorded_with_the_next_message_and_has_no_author() {
    // P115, P58
    let world = World::alice_and_bob();
    let first = world.send("alice", "bob", "one");
    world.ok("read --as bob");
    world.send("bob", "alice", "two");
    world.send("alice", "bob", "three");
    assert_eq!(numbers(&world), [2, 3, 4]);
    assert_eq!(
        statuses(&world, &first, "bob"),
        ["accepted", "delivered", "seen"]
    );
    let steps = world.json(&["trace", &first])["recipients"][0]["statuses"].clone();
    assert!(
        steps
            .as_array()
            .into_iter()
            .flatten()
            .all(|step| step["by"].is_null()),
        "{steps}"
    );
    let seen = records(&world, "receipts");
    assert_eq!(
        (seen.len(), &seen[0]["event"]),
        (1, &Value::from("accepted")),
        "{seen:?}"
    );
    let receipt = &seen[0]["receipts"][0];
    assert_fields!(receipt, agent: "bob", status: "seen", seqs: json!([2]));
    let who = world.json("who");
    let bob = who["agents"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|agent| agent["id"] == "bob")
        .expect("bob");
    assert_eq!(bob["unread"], 1);
}

#[test]
fn a_receipt_without_a_following_message_gets_its_own_record() {
    let mut town = Town::alice_and_bob().run();
    let id = town.send("alice", "bob", "hello");
    town.wait_for_mail("bob", 1);
    town.ok("read --as bob");
    wait_for_status(&town, &id, "bob", "seen");
    town.stop();
    assert_eq!(records(&town, "receipts").len(), 1);
    town.verify();
}

#[test]
fn more_receipts_than_a_record_can_have_are_in_several_records_after_the_messages() {
    // P115
    let world = World::with("alice bob cleo");
    for n in 0..3 {
        world.send("alice", "*", &format!("{n}"));
    }
    for agent in ["bob", "cleo"] {
        for name in world.names(&format!("inbox/{agent}")) {
            let _ = std::fs::remove_file(world.room(&format!("inbox/{agent}/{name}")));
        }
    }
    world.drop_file("alice", "next.json", r#"{"to": "bob", "body": "next"}"#);
    world
        .run_env("run --once", "MAILBAG_TEST_RECEIPTS_OF_RECORD", "2")
        .ok();
    let log = world.text("log/00000001.ndjson");
    let records = log.lines().map(flat_record);
    let with_receipts: Vec<Value> = records
        .filter(|record| record["receipts"].is_array())
        .map(|record| {
            let receipts = record["receipts"].as_array().into_iter().flatten();
            let copies = receipts.map(|receipt| json!([receipt["agent"], receipt["seqs"]]));
            json!([record["seq"], record["event"], copies.collect::<Vec<_>>()])
        })
        .collect();
    assert_eq!(
        with_receipts,
        [
            json!([5, "accepted", [["bob", [2, 3]]]]),
            json!([6, "receipts", [["bob", [4]], ["cleo", [2]]]]),
            json!([7, "receipts", [["cleo", [3, 4]]]]),
        ]
    );
    world.verify();
}
