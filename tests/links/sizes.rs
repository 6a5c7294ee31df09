//! An item or a message that is too large for a link does not block it.

use super::{Rooms, bounced, records};
use crate::files;
use serde_json::{Value, json};

#[test]
fn a_message_that_is_too_large_for_every_carrier_is_rejected_here() {
    // P231
    let rooms = Rooms::new();
    let settings = files::read_text(rooms.fit.room("settings.toml"));
    rooms.fit.write(
        "settings.toml",
        format!("message_bytes = 8388608\n{settings}"),
    );
    rooms.alice_says(json!({"to": ["anna", "po:sintra"], "body": "x".repeat(3 << 20)}));
    rooms.alice_says(json!({"to": "anna", "body": "y".repeat(3 << 20)}));
    rooms.alice_says(json!({"to": "po:sintra", "body": "small"}));
    assert_eq!(
        bounced(&rooms.fit, "alice"),
        [("mailbag".into(), "too_large".into())]
    );
    assert_eq!(
        (rooms.po.bodies("sintra"), rooms.fit.bodies("anna").len()),
        (vec!["small".to_owned()], 1)
    );
}

/// Alice writes this many messages, and the other room sends no confirmation.
fn unconfirmed(rooms: &Rooms, count: usize) {
    let lines: Vec<String> = (0..count)
        .map(|n| json!({"to": "po:sintra", "body": n.to_string()}).to_string())
        .collect();
    rooms
        .fit
        .drop_file("alice", "many.ndjson", lines.join("\n") + "\n");
    rooms.fit.pass();
}

fn rebind(rooms: &Rooms) {
    rooms.fit.drop_file(
        "human",
        "rebind.json",
        r#"{"type": "link", "link": "po", "action": "rebind"}"#,
    );
    let ran = rooms.fit.run_with("run --once", |command| {
        command
            .env("MAILBAG_TEST_ITEMS_OF_RECORD", "3")
            .env("MAILBAG_TEST_ITEMS_AGAIN", "8");
    });
    ran.ok();
}

#[test]
fn all_items_that_are_missing_are_sent_again_in_as_many_records_as_they_need() {
    // P206
    let rooms = Rooms::new();
    rooms.po.write("settings.toml", "");
    unconfirmed(&rooms, 8);
    rebind(&rooms);
    let again = |record: &Value| {
        record["carried"]
            .as_array()
            .filter(|all| all[0]["again"].is_array())
            .map(Vec::len)
    };
    assert_eq!(
        records(&rooms.fit)
            .iter()
            .filter_map(again)
            .collect::<Vec<_>>(),
        [3, 3, 2]
    );
    rooms
        .fit
        .drop_file("alice", "last.json", r#"{"to": "po:sintra", "body": "8"}"#);
    rooms.po.write(
        "settings.toml",
        super::link("fit", &rooms.fit, "\"agents\""),
    );
    rooms.settle();
    assert_eq!(
        rooms.po.bodies("sintra"),
        (0..9).map(|n| n.to_string()).collect::<Vec<_>>()
    );
    rooms.fit.verify();
    rooms.settle();
    assert_eq!(rooms.fit.names("links/po/out"), ["state.json"]);
}

#[test]
fn too_many_items_to_send_again_change_nothing() {
    // P206
    let rooms = Rooms::new();
    rooms.po.write("settings.toml", "");
    unconfirmed(&rooms, 9);
    rebind(&rooms);
    assert_eq!(
        bounced(&rooms.fit, "human"),
        [("mailbag".into(), "too_many_items".into())]
    );
    assert_eq!(rooms.fit.names("links/po/out").len(), 10);
}

#[test]
fn more_receipts_than_an_item_can_have_are_in_several_items() {
    // P210 P231
    let rooms = Rooms::accepting("\"agents\", \"all\"");
    let few = |args: &[&str]| {
        rooms.po.run_with(args, |command| {
            command.env("MAILBAG_TEST_RECEIPTS_OF_ITEM", "1");
        })
    };
    rooms.fit.drop_file(
        "alice",
        "a.json",
        r#"{"id": "m-1", "to": ["po:*"], "body": "x"}"#,
    );
    rooms.fit.pass();
    few(&["run", "--once"]).ok();
    for agent in ["sintra", "bob"] {
        let place = |below: &str| rooms.po.room(&format!("inbox/{agent}/{below}"));
        let name = rooms
            .po
            .names(&format!("inbox/{agent}"))
            .into_iter()
            .find(|name| name.ends_with(".json"));
        let name = name.expect("mail");
        files::rename(place(&name), place(&format!("seen/{name}")));
    }
    // The record of this message also has the receipts.
    rooms
        .po
        .drop_file("bob", "b.json", r#"{"to": "fit:alice", "body": "y"}"#);
    few(&["run", "--once"]).ok();
    let items = |record: &Value| record["carried"].as_array().map_or(0, Vec::len);
    let alone = |record: &Value| {
        record["carried"]
            .as_array()
            .map_or(0, |all| all.iter().filter(|c| c["alone"] == true).count())
    };
    let counts: Vec<_> = records(&rooms.po)
        .iter()
        .map(|record| (items(record), alone(record)))
        .filter(|c| c.0 > 0)
        .collect();
    assert_eq!(counts, [(2, 1), (2, 1)], "{:#?}", records(&rooms.po));
    rooms.settle();
    assert_eq!(rooms.fit.bodies("alice"), ["y"]);
    let trace = rooms.fit.json("trace m-1");
    let status = |agent: &str| {
        let all = trace["recipients"].as_array().expect("recipients");
        all.iter()
            .find(|one| one["agent"] == agent)
            .map(|one| one["status"].clone())
    };
    assert_eq!(
        (status("po:sintra"), status("po:bob")),
        (Some(json!("seen")), Some(json!("seen"))),
        "{trace}"
    );
}

#[test]
fn more_items_than_a_turn_takes_come_in_one_pass() {
    // P203
    let rooms = Rooms::new();
    rooms.po.write("settings.toml", "");
    unconfirmed(&rooms, 900);
    rooms.po.write(
        "settings.toml",
        super::link("fit", &rooms.fit, "\"agents\""),
    );
    rooms.fit.pass();
    rooms.po.pass();
    assert_eq!(
        rooms.po.bodies("sintra"),
        (0..900).map(|n| n.to_string()).collect::<Vec<_>>()
    );
}
