//! The content of a conversation, and its completeness.

use super::{bytes, conversation, said};
use crate::records::flat_record;
use crate::world::World;
use serde_json::{Value, json};
use std::fs;

#[test]
fn each_channel_has_every_accepted_message_once_in_log_order() {
    // P52, P53
    let world = World::alice_and_bob();
    world.drop_file(
        "alice",
        "1.json",
        r#"{"id":"1","to":"bob","body":"private"}"#,
    );
    world.drop_file(
        "alice",
        "2.json",
        r#"{"id":"2","type":"status","body":"for nobody"}"#,
    );
    world.drop_file(
        "alice",
        "3.json",
        r#"{"id":"3","to":"bob","body":"elsewhere","channel":"design.v2"}"#,
    );
    world.drop_file(
        "alice",
        "4.json",
        r#"{"id":"4","type":"subscribe","topic":"t"}"#,
    );
    world.drop_file(
        "alice",
        "5.json",
        r#"{"id":"5","to":"bbo","body":"to nobody"}"#,
    );
    world.drop_file(
        "alice",
        "6.json",
        r#"{"id":"1","to":"bob","body":"private"}"#,
    );
    world.route("bob", "1.json", r#"{"id":"1","to":["alice","human"],"subject":"re","refs":["alice/2"],"in_reply_to":"1","body":"yes"}"#);
    world.pass();
    let mut all = said(&world, "main");
    all.sort();
    assert_eq!(all, ["for nobody", "private", "yes"]);
    assert_eq!(said(&world, "design.v2"), ["elsewhere"]);
    let lines = conversation(&world, "main");
    let seq = |line: &Value| line["metadata"]["delivery"]["seq"].as_u64().expect("a seq");
    assert!(lines.is_sorted_by_key(seq), "{lines:#?}");
    let yes = lines
        .iter()
        .find(|line| line["sender"] == "bob")
        .expect("bob's");
    assert_eq!(
        yes.as_object()
            .expect("an object")
            .keys()
            .collect::<Vec<_>>(),
        [
            "id",
            "t",
            "type",
            "sender",
            "content",
            "addressed",
            "refs",
            "metadata"
        ]
    );
    assert_fields!(yes, addressed: ["alice", "human"], refs: ["alice/2", "1"]);
    assert_eq!(yes["metadata"]["subject"], "re");
    assert_eq!(yes["t"], yes["metadata"]["delivery"]["accepted_at"]);
    let copy = &world.inbox("human")[0];
    assert_eq!(copy["delivery"]["seq"], yes["metadata"]["delivery"]["seq"]);
}

#[test]
fn a_conversation_has_every_field_of_the_logged_messages() {
    let world = World::alice_and_bob();
    let odd = r#"{"to":"bob","body":"käse 🧀\u0000\n\u2028","metadata":{"n":1.50,"delivery":"mine"},"own":{"x":[]},"attachments":[{"name":"a","content":"b"}],"context":{"file":"f"}}"#;
    for n in 0..30 {
        world.drop_file(
            "alice",
            &format!("{n}.json"),
            odd.replace("käse", &format!("käse {n}")),
        );
        if n % 10 == 0 {
            world.pass();
        }
    }
    world.pass();
    assert_eq!(conversation(&world, "main").len(), 30);
    let log = world.log("accepted");
    for (line, record) in conversation(&world, "main").iter().zip(log.lines()) {
        let record = flat_record(record);
        let (metadata, message) = (&line["metadata"], &record["message"]);
        assert_fields!(line, id: message["id"], content: message["body"]);
        assert_fields!(metadata, own: message["own"], context: message["context"]);
        assert_fields!(metadata, attachments: message["attachments"], n: message["metadata"]["n"]);
        assert_eq!(metadata["metadata"], json!({"delivery": "mine"}));
        assert_eq!(
            metadata["delivery"],
            json!({"seq": record["seq"], "accepted_at": record["at"]})
        );
    }
}

#[test]
fn a_line_of_a_conversation_is_a_message_that_can_be_dropped_again() {
    let world = World::with("alice bob carol");
    world.route(
        "alice",
        "1.json",
        r#"{"to":["bob"],"body":"once more","refs":["x"],"metadata":{"k":1}}"#,
    );
    let mut line = conversation(&world, "main").remove(0);
    line["id"] = json!("again");
    line["addressed"] = json!(["carol"]);
    world.route("alice", "2.json", &line);
    assert_eq!(
        (world.bodies("carol"), world.inbox("alice").len()),
        (vec!["once more".to_owned()], 0)
    );
}

#[test]
fn the_file_only_grows_and_its_reader_can_hold_it_open() {
    // P53
    let world = World::alice_and_bob();
    let _router = world.router("");
    world.send("alice", "bob", "0");
    let path = world.room("channels/main/messages.ndjson");
    world.wait("the first line", || {
        path.exists() && !bytes(&world, "main").is_empty()
    });
    let held = fs::File::open(&path).expect("a conversation");
    let (mut before, mut n) = (bytes(&world, "main"), 0);
    while n < 5 {
        n += 1;
        world.send("alice", "bob", &n.to_string());
        world.wait("the next line", || {
            bytes(&world, "main").len() > before.len()
        });
        let now = bytes(&world, "main");
        assert!(now.starts_with(&before));
        before = now;
    }
    let size = held.metadata().expect("it is open").len();
    assert_eq!((size, said(&world, "main").len()), (before.len() as u64, 6));
}

#[test]
fn a_channel_name_that_differs_only_in_letter_case_is_rejected() {
    // P292
    let world = World::alice_and_bob();
    let drop = |name: &str, channel: &str| {
        let message = json!({"to": "bob", "channel": channel, "body": name});
        world.mail("alice", &format!("{name}.json"), &message);
    };
    // Two new ones in one batch, one in a later batch, and one that every room has.
    drop("1", "Auth");
    drop("2", "auth");
    drop("3", "Auth");
    world.pass();
    drop("4", "AUTH");
    drop("5", "Main");
    drop("6", "auth-2");
    world.pass();
    assert_eq!(world.bodies("bob"), ["1", "3", "6"]);
    let refused = world.items("rejected list");
    let codes: Vec<(&str, &str)> = refused
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| {
            (
                one["name"].as_str().unwrap_or_default(),
                one["code"].as_str().unwrap_or_default(),
            )
        })
        .collect();
    assert_eq!(
        codes,
        [
            ("2.json", "channel_case"),
            ("4.json", "channel_case"),
            ("5.json", "channel_case")
        ]
    );
    let bounce = world.inbox("alice").remove(0);
    assert_contains!(bounce["body"].to_string(), "write Auth");
}
