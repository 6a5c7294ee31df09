//! An item or a message that is too large for a link does not block it.

use super::{Rooms, bounced, records, set};
use serde_json::json;

#[test]
fn a_message_that_is_too_large_for_every_carrier_is_rejected_here() {
    // P231
    let rooms = Rooms::new();
    set(&rooms.fit, "message_bytes = 8388608");
    rooms.alice_says(json!({"to": ["anna", "po:sintra"], "body": "x".repeat(3 << 20)}));
    rooms.alice_says(json!({"to": "anna", "body": "y".repeat(3 << 20)}));
    rooms.alice_writes("small");
    assert_eq!(bounced(&rooms.fit, "alice"), ["mailbag too_large"]);
    assert_eq!(rooms.po.bodies("sintra"), ["small"]);
    assert_eq!(rooms.fit.bodies("anna").len(), 1);
}

/// Two rooms. Alice has written this many messages, and the other room has lost its link.
fn unconfirmed(count: usize) -> Rooms {
    let rooms = Rooms::new();
    rooms.po.write("settings.toml", "");
    rooms.alice_drops_many(count);
    rooms.fit.pass();
    rooms
}

/// The other room has its link again.
fn reconnect(rooms: &Rooms) {
    let settings = super::link("fit", &rooms.fit, "\"agents\"");
    rooms.po.write("settings.toml", settings);
}

#[test]
fn more_receipts_than_an_item_can_have_are_in_several_items() {
    // P210 P231
    let rooms = Rooms::accepting("\"agents\", \"all\"");
    let pass_with_few = || {
        let variable = "MAILBAG_TEST_RECEIPTS_OF_ITEM";
        rooms.po.run_env("run --once", variable, "1").ok()
    };
    let message = json!({"id": "m-1", "to": ["po:*"], "body": "x"});
    rooms.fit.route("alice", "a.json", message);
    pass_with_few();
    for agent in ["sintra", "bob"] {
        let name = rooms.po.names(&format!("inbox/{agent}")).remove(0);
        rooms.po.move_mail(agent, &name, "", "seen/");
    }
    // The record of this message also has the receipts.
    let answer = json!({"to": "fit:alice", "body": "y"});
    rooms.po.mail("bob", "b.json", answer);
    pass_with_few();
    let counts: Vec<_> = records(&rooms.po)
        .iter()
        .filter_map(|record| record["carried"].as_array())
        .map(|all| {
            (
                all.len(),
                all.iter().filter(|item| item["alone"] == true).count(),
            )
        })
        .collect();
    assert_eq!(counts, [(2, 1), (2, 1)], "{:#?}", records(&rooms.po));
    rooms.settle();
    assert_eq!(rooms.fit.bodies("alice"), ["y"]);
    let trace = rooms.fit.json("trace m-1");
    for agent in ["po:sintra", "po:bob"] {
        let mut recipients = trace["recipients"].as_array().into_iter().flatten();
        let status = recipients.find(|one| one["agent"] == agent);
        assert_eq!(status.expect("a recipient")["status"], "seen", "{trace}");
    }
}

#[test]
fn more_items_than_a_turn_takes_come_in_one_pass() {
    // P203
    let rooms = unconfirmed(900);
    reconnect(&rooms);
    rooms.fit.pass();
    rooms.po.pass();
    assert_eq!(
        rooms.po.bodies("sintra"),
        (0..900).map(|n| n.to_string()).collect::<Vec<_>>()
    );
}
