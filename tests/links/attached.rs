//! The text of an attachment crosses a link, and an attached file does not.

use super::hostile::Prey;
use super::{Rooms, bounced, records};
use crate::world::sha256;
use serde_json::{Value, json};

#[test]
fn an_attached_text_arrives_unchanged() {
    // P230
    let rooms = Rooms::new();
    let attached = json!([{"name": "b", "content": "c", "sha256": sha256("c")}]);
    rooms.alice_says(json!({"to": "po:sintra", "attachments": attached}));
    assert_eq!(rooms.po.inbox("sintra")[0]["attachments"], attached);
}

#[test]
fn a_message_with_an_attached_file_is_rejected_whole_with_the_advice() {
    // P230
    let rooms = Rooms::new();
    rooms.fit.write("context/a.md", "text");
    let attached = json!([{"name": "b", "content": "c"}, {"path": "a.md"}]);
    let message = json!({"to": ["po:sintra", "anna"], "body": "look", "attachments": attached});
    rooms.alice_says(message);
    let told = rooms.fit.inbox("alice");
    assert_eq!(bounced(&rooms.fit, "alice"), ["mailbag stays_in_room"]);
    assert_fields!(told[0], metadata.problems.0.where: "/attachments/1");
    assert_contains!(told[0]["body"].to_string(), "into the body");
    assert!(rooms.fit.inbox("anna").is_empty(), "all or none");
    let file = rooms.fit.room("context/a.md").display().to_string();
    let send = format!("send po:sintra see --attach {file} --as alice");
    assert_contains!(rooms.fit.fails(1, &send), "into the body");
    rooms.settle();
    let arrived = |record: &Value| record["arrived"].is_object();
    assert!(!records(&rooms.po).iter().any(arrived));
}

#[test]
fn a_text_that_does_not_match_its_hash_is_rejected() {
    // P230
    let mut prey = Prey::new();
    for (id, of) in [("m-1", "the text"), ("m-2", "another one")] {
        let attached = json!([{"name": "a.md", "content": "the text", "sha256": sha256(of)}]);
        let message = json!({"id": id, "type": "message", "body": "x", "attachments": attached});
        prey.message("mallory", json!(["sintra"]), message);
    }
    assert_eq!((prey.n, prey.po().inbox("sintra").len()), (2, 1));
}

#[test]
fn a_path_that_comes_from_another_room_names_no_file_here() {
    // P230
    let mut prey = Prey::new();
    prey.po().write("context/secret.md", "ours");
    let attached = json!([{"path": "secret.md"}]);
    let message = json!({"id": "m", "type": "message", "body": "x", "attachments": attached});
    prey.message("mallory", json!(["sintra"]), message);
    assert_eq!((prey.n, prey.po().inbox("sintra").len()), (1, 0));
}
