//! A person changes a link.

use super::{Rooms, bounced, change};
use crate::files;
use serde_json::json;

/// Two rooms with a message `m-1` of alice that waits, because the other room has lost its link.
fn with_waiting_mail() -> Rooms {
    let rooms = Rooms::new();
    std::fs::remove_dir_all(rooms.po.room("links")).ok();
    rooms.po.write("settings.toml", "");
    let message = json!({"id": "m-1", "to": "po:sintra", "body": "x"});
    rooms.fit.route("alice", "a.json", message);
    rooms
}

#[test]
fn a_link_with_mail_that_waits_is_removed_only_with_word_to_the_senders() {
    // P206
    let rooms = with_waiting_mail();
    change(&rooms.fit, "po", "remove");
    assert_eq!(bounced(&rooms.fit, "human"), ["mailbag mail_waits"]);
    assert_eq!(
        rooms.fit.names("links/po/out"),
        ["000000000001.json", "state.json"]
    );
    change(&rooms.fit, "po", "bounce");
    let told = rooms.fit.inbox("alice");
    assert_contains!(told[0]["body"].to_string(), "m-1");
    assert_eq!(rooms.fit.names("links/po/out"), ["state.json"]);
    let trace = rooms.fit.json("trace m-1");
    assert_fields!(trace["notices"][0], event: "not delivered", agent: "alice");
}

#[test]
fn only_the_human_changes_a_link() {
    // P206
    let rooms = Rooms::new();
    for action in ["remove", "bounce"] {
        rooms.alice_says(json!({"type": "link", "link": "po", "action": action}));
    }
    assert_eq!(bounced(&rooms.fit, "alice"), ["mailbag not_yours"; 2]);
    change(&rooms.fit, "po", "explode");
    change(&rooms.fit, "nowhere", "remove");
    let told = bounced(&rooms.fit, "human");
    assert_eq!(told, ["mailbag bad_action", "mailbag no_link"]);
}

#[test]
fn an_item_that_a_new_stream_brings_again_is_a_duplicate() {
    // P206
    let rooms = Rooms::new();
    rooms.alice_drops("x");
    rooms.fit.pass();
    let first = "links/fit/in/000000000001.json";
    let item = rooms.po.text(first);
    rooms.po.pass();
    // The other room forgets its stream before this one has read the confirmation.
    change(&rooms.po, "fit", "bounce");
    rooms.po.write(first, item);
    rooms.settle();
    assert_eq!(rooms.po.bodies("sintra"), ["x"]);
    assert_eq!(rooms.po.log("duplicate").lines().count(), 1);
    assert_eq!(rooms.fit.names("links/po/out"), ["state.json"]);
}

#[test]
fn mail_that_arrived_and_was_given_up_is_not_delivered_again() {
    // P206
    let rooms = Rooms::new();
    rooms.alice_drops("x");
    rooms.fit.pass();
    rooms.po.pass();
    files::remove_file(rooms.fit.room("links/po/in/state.json"));
    change(&rooms.fit, "po", "bounce");
    change(&rooms.po, "fit", "bounce");
    assert_eq!(rooms.fit.inbox("alice").len(), 1, "it was not confirmed");
    rooms.alice_writes("y");
    assert_eq!(rooms.po.bodies("sintra"), ["x", "y"]);
    assert_eq!(rooms.fit.names("links/po/out"), ["state.json"]);
}
