//! The mail that may cross a link, and the mail that a room accepts.

use super::{Rooms, bounced, link, records};
use crate::files;
use crate::world::{World, parse_json};
use serde_json::{Value, json};

#[track_caller]
fn rejected_here(message: Value, code: &str) {
    let rooms = Rooms::new();
    rooms.alice_says(message.clone());
    assert_eq!(
        bounced(&rooms.fit, "alice"),
        [("mailbag".to_owned(), code.to_owned())],
        "{message}"
    );
    assert!(
        rooms
            .fit
            .names("links/po/out")
            .iter()
            .all(|name| name == "state.json"),
        "{message}"
    );
}

#[test]
fn messages_that_act_on_a_room_do_not_cross_a_link() {
    // P207
    let to = "po:sintra";
    rejected_here(
        json!({"to": to, "type": "claim", "claims": ["src/**"]}),
        "stays_in_room",
    );
    rejected_here(
        json!({"to": to, "type": "approval", "subject": "Deploy?"}),
        "stays_in_room",
    );
    rejected_here(
        json!({"to": to, "type": "handoff", "claims": ["src/**"]}),
        "stays_in_room",
    );
    for kind in [
        "decision",
        "error",
        "escalation",
        "milestone",
        "user",
        "task.claimed",
        "decision.recorded",
    ] {
        rejected_here(
            json!({"to": to, "type": kind, "body": "x"}),
            "stays_in_room",
        );
    }
    rejected_here(
        json!({"to": to, "body": "x", "in_reply_to": "#2"}),
        "stays_in_room",
    );
    rejected_here(
        json!({"to": to, "body": "x", "refs": ["12"]}),
        "stays_in_room",
    );
}

#[test]
fn references_mean_the_same_message_in_both_rooms() {
    // P207, P441
    let rooms = Rooms::new();
    rooms.alice_says(json!({"id": "a-1", "to": "po:sintra", "body": "x"}));
    rooms.po.drop_file(
        "sintra",
        "b.json",
        r#"{"id": "s-1", "to": "fit:alice", "body": "y", "in_reply_to": "fit:alice/a-1"}"#,
    );
    rooms.settle();
    assert_eq!(rooms.fit.inbox("alice")[0]["in_reply_to"], "alice/a-1");
    rooms.alice_says(
        json!({"to": "po:sintra", "body": "z", "in_reply_to": "po:sintra/s-1",
               "refs": ["alice/a-1", "a-1", "docs/a.md", "src/main.rs", ":x:", "po:x", "https://example.com/a"]}),
    );
    let last = rooms.po.inbox("sintra").pop().expect("the last message");
    assert_eq!(
        (&last["in_reply_to"], &last["refs"]),
        (
            &json!("sintra/s-1"),
            &json!([
                "fit:alice/a-1",
                "a-1",
                "docs/a.md",
                "src/main.rs",
                ":x:",
                "po:x",
                "https://example.com/a"
            ])
        )
    );
}

#[test]
fn a_room_takes_only_mail_to_the_addresses_that_it_accepts() {
    // P208
    let rooms = Rooms::new();
    for address in [
        "human",
        "all",
        "*",
        "s*",
        "#topic",
        "cap:x",
        "lane:x",
        "owner:src/a",
    ] {
        let before = bounced(&rooms.fit, "alice").len();
        rooms.alice_says(json!({"to": format!("po:{address}"), "body": address}));
        let bounced = bounced(&rooms.fit, "alice");
        assert_eq!(bounced.len(), before + 1, "{address}: {bounced:?}");
    }
    assert!(rooms.po.inbox("human").is_empty() && rooms.po.inbox("sintra").is_empty());
    let rooms = Rooms::accepting("\"human\"");
    rooms.alice_says(json!({"to": "po:human", "body": "x"}));
    rooms.alice_says(json!({"to": "po:sintra", "body": "x"}));
    assert_eq!(
        (
            rooms.po.bodies("human").len(),
            rooms.po.bodies("sintra").len()
        ),
        (1, 0)
    );
}

#[test]
fn a_trace_shows_the_rejection_of_another_room_as_a_notice() {
    // P208
    let rooms = Rooms::new();
    rooms.alice_says(json!({"id": "m-1", "to": "po:human", "body": "x"}));
    let trace = parse_json(rooms.fit.ok("trace m-1 --json"));
    assert_eq!(trace["answers"], json!([]));
    assert_eq!(trace["notices"][0]["event"], "not delivered");
    assert_eq!(trace["notices"][0]["agent"], "alice");
}

#[test]
fn an_alias_does_not_open_the_way_to_the_human() {
    // P208
    let rooms = Rooms::new();
    let mut registry = rooms.po.read("registry.json");
    registry["aliases"] = json!({"boss": ["human"]});
    rooms.po.write("registry.json", registry.to_string());
    rooms.alice_says(json!({"to": "po:boss", "body": "x"}));
    assert!(rooms.po.inbox("human").is_empty());
    assert_eq!(
        bounced(&rooms.fit, "alice"),
        [("po:mailbag".into(), "not_accepted".into())]
    );
}

#[test]
fn no_name_of_an_alias_or_a_lane_opens_what_the_link_does_not_accept() {
    // P208
    let rooms = Rooms::new();
    let mut registry = rooms.po.read("registry.json");
    registry["aliases"] =
        json!({"staff": ["all"], "deep": ["staff"], "news": ["#ci"], "lanes": ["lane:everyone"]});
    rooms.po.write("registry.json", registry.to_string());
    rooms
        .po
        .write("charter.md", "# Lanes\n- everyone: all\n- web: sintra\n");
    for (n, name) in [
        "everyone",
        "@everyone",
        "EVERYONE",
        "lane:everyone",
        "staff",
        "@staff",
        "deep",
        "news",
        "lanes",
        "web",
    ]
    .into_iter()
    .enumerate()
    {
        rooms.alice_says(json!({"to": format!("po:{name}"), "body": name}));
        let bounced = bounced(&rooms.fit, "alice");
        assert_eq!(bounced.len(), n + 1, "{name}: {bounced:?}");
        assert_eq!(
            bounced[n],
            ("po:mailbag".into(), "not_accepted".into()),
            "{name}"
        );
    }
    assert_eq!(
        (rooms.po.inbox("sintra").len(), rooms.po.inbox("bob").len()),
        (0, 0)
    );
}

#[test]
fn a_question_of_another_room_is_not_passed_on_to_a_human_who_takes_no_mail_from_there() {
    // P62
    for (accept, told) in [("\"agents\"", 0), ("\"agents\", \"human\"", 1)] {
        let rooms = Rooms::accepting(accept);
        let settings = files::read_text(rooms.po.room("settings.toml"));
        rooms.po.write(
            "settings.toml",
            format!("answer_within = \"1s\"\n{settings}"),
        );
        rooms.alice_says(
            json!({"to": "po:sintra", "type": "question", "body": "Which port?", "requires_response": true}),
        );
        rooms.alice_says(json!({"to": "po:sintra", "priority": "urgent", "body": "Now!"}));
        assert_eq!(rooms.po.bodies("sintra").len(), 2);
        rooms.po.drop_file(
            "bob",
            "q.json",
            r#"{"to": "sintra", "body": "mine", "requires_response": true}"#,
        );
        rooms.po.pass();
        let own = || {
            rooms
                .po
                .inbox("human")
                .iter()
                .any(|mail| mail["body"].to_string().contains("bob asked"))
        };
        rooms.po.wait("the question of this room is passed on", || {
            rooms.po.pass();
            own()
        });
        let far = rooms
            .po
            .inbox("human")
            .iter()
            .filter(|mail| mail["body"].to_string().contains("fit:alice asked"))
            .count();
        assert_eq!(far.min(1), told, "accept = [{accept}]");
    }
}

#[test]
fn mail_that_came_by_a_link_is_not_sent_on_by_another() {
    // P208
    let rooms = Rooms::new();
    let third = World::with("carol");
    let settings = format!(
        "{}{}",
        link("fit", &rooms.fit, "\"agents\""),
        link("third", &third, "\"agents\"")
    );
    rooms.po.write("settings.toml", settings);
    let mut registry = rooms.po.read("registry.json");
    registry["aliases"] = json!({"everywhere": ["sintra", "third:carol"]});
    rooms.po.write("registry.json", registry.to_string());
    rooms.alice_says(json!({"to": "po:everywhere", "body": "x"}));
    assert_eq!(
        bounced(&rooms.fit, "alice"),
        [("po:mailbag".into(), "not_passed_on".into())]
    );
    assert!(
        rooms
            .po
            .names("links/third/out")
            .iter()
            .all(|name| name == "state.json")
    );
    rooms.alice_says(json!({"to": "po:third:carol", "body": "x"}));
    assert_eq!(
        bounced(&rooms.fit, "alice").len(),
        2,
        "and an address has one tag"
    );
}

#[test]
fn the_sender_s_tag_comes_from_the_receiver_s_link() {
    // P200
    let rooms = Rooms::new();
    rooms.alice_says(json!({"to": "po:sintra", "body": "x", "from": "alice", "x-from": "human"}));
    assert_eq!(rooms.po.inbox("sintra")[0]["from"], "fit:alice");
    let arrived = records(&rooms.po)
        .into_iter()
        .find(|record| record["arrived"].is_object())
        .expect("an item");
    assert_fields!(arrived, arrived.link: "fit", from: "fit:alice");
    for command in [
        "list --from fit:alice",
        "search x --from fit:alice",
        "wait --from fit:alice --as sintra",
    ] {
        let found = rooms.po.items(command);
        assert_eq!(found[0]["from"], "fit:alice", "{command}: {found}");
    }
    let sent = rooms.fit.items("list --to po:sintra");
    assert_eq!(sent[0]["from"], "alice", "{sent}");
}
