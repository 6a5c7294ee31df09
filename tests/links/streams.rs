//! Only the item that follows is taken, and rooms that do not fit stop.

use super::{Rooms, bounced, change, records, state};
use crate::files;
use serde_json::{Value, json};
use std::fs;

const FIRST: &str = "links/fit/in/000000000001.json";

/// The item of a message of alice's as it waits in the other room.
fn waiting(rooms: &Rooms, body: &str) -> Value {
    rooms.alice_drops(body);
    rooms.fit.pass();
    rooms.po.read(FIRST)
}

#[test]
fn a_changed_torn_or_foreign_item_is_removed_and_comes_again() {
    // P203
    let rooms = Rooms::new();
    let item = waiting(&rooms, "true");
    let mut forged = item.clone();
    forged["message"]["body"] = json!("forged");
    let mut other = item.clone();
    other["prev"] = json!("ab".repeat(32));
    for bad in [
        "",
        "{",
        "[]",
        "null",
        "{\"n\": 1}",
        &forged.to_string(),
        &other.to_string(),
        &item.to_string()[..40],
    ] {
        rooms.po.write(FIRST, bad);
        rooms.po.pass();
        assert!(rooms.po.inbox("sintra").is_empty(), "{bad}");
        assert!(!rooms.po.room(FIRST).exists(), "{bad}");
    }
    rooms.settle();
    assert_eq!(rooms.po.bodies("sintra"), ["true"]);
}

#[test]
fn an_item_that_comes_again_is_dropped_and_one_that_is_early_waits() {
    // P203
    let rooms = Rooms::new();
    let first = waiting(&rooms, "one").to_string();
    rooms.alice_drops("two");
    rooms.fit.pass();
    let second = rooms.po.read("links/fit/in/000000000002.json").to_string();
    files::remove_file(rooms.po.room(FIRST));
    rooms.po.pass();
    assert!(rooms.po.inbox("sintra").is_empty(), "the second waits");
    rooms.settle();
    rooms.po.write(FIRST, first);
    rooms.po.write("links/fit/in/000000000002.json", second);
    rooms.settle();
    assert_eq!(rooms.po.bodies("sintra"), ["one", "two"]);
    assert_eq!(rooms.po.names("links/fit/in"), ["state.json"]);
}

#[test]
fn order_is_kept_from_each_sender_and_between_senders() {
    // P201
    let rooms = Rooms::new();
    rooms.alice_drops_many(50);
    rooms.settle();
    assert_eq!(
        rooms.po.bodies("sintra"),
        (0..50).map(|n| n.to_string()).collect::<Vec<_>>()
    );
    let numbers: Vec<u64> = records(&rooms.fit)
        .iter()
        .filter_map(|r| r["carried"][0]["n"].as_u64())
        .collect();
    assert_eq!(numbers, (1..=50).collect::<Vec<u64>>());
}

/// Two rooms. `po` is an older copy: it lacks the message `two`, which it had confirmed.
fn with_an_older_copy() -> Rooms {
    let rooms = Rooms::new();
    rooms.alice_writes("one");
    let copy = tempfile::tempdir().expect("a directory");
    copy_all(&rooms.po.room(""), copy.path());
    rooms.alice_writes("two");
    files::remove_dir(rooms.po.room(""));
    copy_all(copy.path(), &rooms.po.room(""));
    rooms.po.ok("trust --yes");
    rooms.alice_drops("three");
    rooms.settle();
    rooms
}

#[test]
fn a_room_restored_from_an_older_copy_stops_the_link_until_it_is_removed_in_both() {
    // P205, P206
    let rooms = with_an_older_copy();
    assert_eq!(
        rooms.po.bodies("sintra"),
        ["one"],
        "nothing is taken out of order"
    );
    let told = rooms.fit.inbox("human");
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["subject"], "the link po has stopped");
    change(&rooms.fit, "po", "bounce");
    let told = rooms.fit.inbox("alice");
    assert_eq!(told.len(), 1, "the message `three` was not confirmed");
    rooms.alice_writes("four");
    assert_eq!(rooms.po.bodies("sintra"), ["one"], "one room is not enough");
    change(&rooms.po, "fit", "bounce");
    rooms.settle();
    assert_eq!(rooms.po.bodies("sintra"), ["one", "four"]);
    rooms.fit.verify();
    rooms.po.verify();
}

#[test]
fn the_room_with_the_older_copy_may_also_remove_the_link_first() {
    // P205, P206
    let rooms = with_an_older_copy();
    change(&rooms.po, "fit", "bounce");
    rooms.alice_writes("four");
    assert_eq!(rooms.po.bodies("sintra"), ["one"]);
    change(&rooms.fit, "po", "bounce");
    rooms.settle();
    rooms.alice_writes("five");
    assert_eq!(rooms.po.bodies("sintra"), ["one", "five"]);
    assert_eq!(rooms.po.log("duplicate"), "");
}

#[test]
fn a_new_room_under_the_same_tag_stops_the_link() {
    // P205
    let rooms = Rooms::new();
    rooms.alice_writes("one");
    let settings = files::read(rooms.po.room("settings.toml"));
    files::remove_dir(rooms.po.room(""));
    rooms.po.ok("init");
    rooms.po.ok("agent add sintra");
    rooms.po.write("settings.toml", settings);
    rooms.alice_writes("two");
    assert!(rooms.po.bodies("sintra").is_empty());
    assert_contains!(
        rooms.fit.read("spool/waiting.json").to_string(),
        "has lost the 1 items"
    );
    change(&rooms.fit, "po", "bounce");
    rooms.alice_writes("three");
    assert_eq!(rooms.po.bodies("sintra"), ["three"]);
}

#[test]
fn a_message_rejected_by_the_other_room_bounces_and_the_link_continues() {
    // P209
    let rooms = Rooms::new();
    rooms.alice_says(json!({"id": "m-1", "to": "po:nobody", "body": "x"}));
    rooms.alice_writes("next");
    assert_eq!(
        bounced(&rooms.fit, "alice"),
        ["po:mailbag unknown_recipient"]
    );
    assert_eq!(rooms.fit.inbox("alice")[0]["in_reply_to"], "m-1");
    assert_eq!(rooms.po.bodies("sintra"), ["next"]);
}

#[test]
fn a_bounce_for_an_agent_that_has_left_has_no_bounce() {
    // P209
    let rooms = Rooms::new();
    let message = json!({"to": "po:nobody", "body": "x"});
    rooms.fit.route("alice", "a.json", message);
    rooms.po.pass();
    rooms.fit.ok("agent set alice --status retired");
    rooms.settle();
    assert_fields!(state(&rooms.fit, "po"), out.n: 1);
}

pub(crate) fn copy_all(from: &std::path::Path, to: &std::path::Path) {
    files::make_dir(to);
    for entry in fs::read_dir(from).expect("a directory").flatten() {
        let (kind, to) = (
            entry.file_type().expect("a type"),
            to.join(entry.file_name()),
        );
        if kind.is_dir() {
            copy_all(&entry.path(), &to);
        } else if kind.is_file() {
            files::copy(entry.path(), to);
        }
    }
}
