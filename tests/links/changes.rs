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
fn mail_that_waits_again_after_a_rebinding_is_reported_to_its_sender() {
    // P206
    let rooms = with_waiting_mail();
    change(&rooms.fit, "po", "rebind");
    change(&rooms.fit, "po", "bounce");
    let told = rooms.fit.inbox("alice");
    assert_eq!(told.len(), 1, "{told:?}");
    assert_contains!(told[0]["body"].to_string(), "m-1");
    assert!(rooms.fit.inbox("human").is_empty());
}

#[test]
fn only_the_human_changes_a_link() {
    // P206
    let rooms = Rooms::new();
    for action in ["rebind", "remove", "bounce"] {
        rooms.alice_says(json!({"type": "link", "link": "po", "action": action}));
    }
    assert_eq!(bounced(&rooms.fit, "alice"), ["mailbag not_yours"; 3]);
    change(&rooms.fit, "po", "explode");
    change(&rooms.fit, "nowhere", "rebind");
    let told = bounced(&rooms.fit, "human");
    assert_eq!(told, ["mailbag bad_action", "mailbag no_link"]);
}

#[test]
fn a_resent_message_is_a_duplicate_after_a_rebinding() {
    // P206
    let rooms = Rooms::new();
    rooms.alice_drops("x");
    rooms.fit.pass();
    rooms.po.pass();
    // The confirmation is not read: both streams restart.
    files::remove_file(rooms.fit.room("links/po/in/state.json"));
    change(&rooms.fit, "po", "rebind");
    change(&rooms.po, "fit", "rebind");
    rooms.settle();
    assert_eq!(rooms.po.bodies("sintra"), ["x"]);
    assert_eq!(rooms.fit.names("links/po/out"), ["state.json"]);
}
