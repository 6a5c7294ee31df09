//! Mentions of agents of another room, and names in the body of mail from there.

use super::hostile::Prey;
use super::{Rooms, bounced};
use serde_json::json;

#[test]
fn a_mention_reaches_an_agent_a_role_or_all_of_another_room() {
    // P228
    let rooms = Rooms::accepting("\"agents\", \"roles\", \"all\"");
    rooms.alice_says(json!({"body": "@po:Sintra and @anna: look. @nobody, `@po:bob`"}));
    assert!(rooms.po.bodies("bob").is_empty());
    assert_eq!(rooms.fit.bodies("anna").len(), 1);
    let mail = rooms.po.inbox("sintra");
    assert_eq!(mail.len(), 1);
    assert_eq!(mail[0]["addressed_to"], json!(["@Sintra"]));
    rooms.alice_says(json!({"body": "@po:engineers: one"}));
    rooms.alice_says(json!({"body": "@po:all_engineer: two"}));
    rooms.alice_says(json!({"body": "(@po:channel) three"}));
    rooms.alice_says(json!({"to": "@po:engineers", "body": "four"}));
    assert_eq!(rooms.po.bodies("bob").len(), 4);
    assert_eq!(rooms.po.bodies("sintra").len(), 2);
    rooms.alice_says(json!({"body": "@po:nobody?"}));
    assert_eq!(
        bounced(&rooms.fit, "alice"),
        ["po:mailbag unknown_recipient"]
    );
}

#[test]
fn without_a_link_of_this_tag_the_colon_is_part_of_the_text() {
    // P228
    let rooms = Rooms::new();
    rooms.alice_says(json!({"body": "@anna:please look at @west:Sintra"}));
    assert_eq!(rooms.fit.bodies("anna").len(), 1);
    assert!(bounced(&rooms.fit, "alice").is_empty());
}

#[test]
fn a_role_that_is_written_like_a_name_is_a_role() {
    // P208
    let rooms = Rooms::accepting("\"agents\"");
    rooms.alice_says(json!({"body": "@po:engineers and @po:sintra"}));
    assert_eq!(bounced(&rooms.fit, "alice"), ["po:mailbag not_accepted"]);
    rooms.alice_says(json!({"body": "@po:bob"}));
    assert_eq!(rooms.po.bodies("bob"), ["@po:bob"]);
}

#[test]
fn names_in_the_body_of_linked_mail_reach_no_local_agent() {
    // P229
    let rooms = Rooms::new();
    let body = "@bob, @all, @fit:anna, @engineers: look";
    rooms.alice_writes(body);
    assert_eq!(rooms.po.bodies("sintra"), [body]);
    assert!(rooms.po.bodies("bob").is_empty() && rooms.fit.bodies("anna").is_empty());
}

#[test]
fn an_item_without_recipients_does_not_fall_back_to_its_body() {
    // P229
    let mut prey = Prey::new();
    for body in ["@bob", "@all", "@fit:alice", "@human"] {
        for kind in ["message", "status"] {
            let message = json!({"id": format!("{kind}{body}"), "type": kind, "body": body});
            prey.message("mallory", json!([]), message);
        }
    }
    prey.has_rejected(8);
    for agent in ["bob", "sintra", "human"] {
        assert!(prey.po().bodies(agent).is_empty(), "{agent}");
    }
    assert!(
        !prey.po().room("channels/main").exists(),
        "nor does it stand in a conversation"
    );
}
