//! The mail that may cross a link, and the mail that a room accepts.

use super::{Rooms, bounced, link, records, set, set_aliases};
use crate::world::World;
use serde_json::json;

#[test]
fn messages_that_act_on_a_room_do_not_cross_a_link() {
    // P207
    let rooms = Rooms::new();
    let kinds = [
        "decision",
        "error",
        "escalation",
        "milestone",
        "user",
        "task.claimed",
        "decision.recorded",
    ];
    let mut messages = kinds
        .map(|kind| json!({"type": kind, "body": "x"}))
        .to_vec();
    messages.extend([
        json!({"type": "claim", "claims": ["src/**"]}),
        json!({"type": "approval", "subject": "Deploy?"}),
        json!({"type": "handoff", "claims": ["src/**"]}),
        json!({"body": "x", "in_reply_to": "#2"}),
        json!({"body": "x", "refs": ["12"]}),
    ]);
    for (n, mut message) in messages.into_iter().enumerate() {
        message["to"] = json!("po:sintra");
        rooms.fit.route("alice", "x.json", &message);
        let told = bounced(&rooms.fit, "alice");
        assert_eq!(told, vec!["mailbag stays_in_room"; n + 1], "{message}");
    }
    assert!(!rooms.fit.room("links/po/out/000000000001.json").exists());
}

#[test]
fn references_mean_the_same_message_in_both_rooms() {
    // P207, P441
    let rooms = Rooms::new();
    rooms.alice_says(json!({"id": "a-1", "to": "po:sintra", "body": "x"}));
    let answer =
        json!({"id": "s-1", "to": "fit:alice", "body": "y", "in_reply_to": "fit:alice/a-1"});
    rooms.po.mail("sintra", "b.json", answer);
    rooms.settle();
    assert_eq!(rooms.fit.inbox("alice")[0]["in_reply_to"], "alice/a-1");
    let unchanged = [
        "a-1",
        "docs/a.md",
        "src/main.rs",
        ":x:",
        "po:x",
        "https://example.com/a",
    ];
    let refs = [&["alice/a-1"], &unchanged[..]].concat();
    rooms.alice_says(
        json!({"to": "po:sintra", "body": "z", "in_reply_to": "po:sintra/s-1", "refs": refs}),
    );
    let last = rooms.po.inbox("sintra").pop().expect("the last message");
    let refs = [&["fit:alice/a-1"], &unchanged[..]].concat();
    assert_fields!(last, in_reply_to: "sintra/s-1", refs: refs);
}

#[test]
fn a_room_takes_only_mail_to_the_addresses_that_it_accepts() {
    // P208
    let rooms = Rooms::new();
    let addresses = [
        "human",
        "all",
        "*",
        "s*",
        "#topic",
        "cap:x",
        "lane:x",
        "owner:src/a",
    ];
    for (n, address) in addresses.iter().enumerate() {
        let message = json!({"to": format!("po:{address}"), "body": address});
        rooms.fit.mail("alice", &format!("{n}.json"), message);
    }
    rooms.settle();
    assert_eq!(bounced(&rooms.fit, "alice").len(), addresses.len());
    assert!(rooms.po.inbox("human").is_empty() && rooms.po.inbox("sintra").is_empty());
    let rooms = Rooms::accepting("\"human\"");
    rooms.alice_says(json!({"to": "po:human", "body": "x"}));
    rooms.alice_writes("x");
    assert_eq!(rooms.po.bodies("human"), ["x"]);
    assert!(rooms.po.bodies("sintra").is_empty());
}

#[test]
fn a_trace_shows_the_rejection_of_another_room_as_a_notice() {
    // P208
    let rooms = Rooms::new();
    rooms.alice_says(json!({"id": "m-1", "to": "po:human", "body": "x"}));
    let trace = rooms.fit.json("trace m-1");
    assert_eq!(trace["answers"], json!([]));
    assert_fields!(trace["notices"][0], event: "not delivered", agent: "alice");
}

#[test]
fn no_name_of_an_alias_or_a_lane_opens_what_the_link_does_not_accept() {
    // P208
    let rooms = Rooms::new();
    let aliases = json!({"boss": ["human"], "staff": ["all"], "deep": ["staff"], "news": ["#ci"], "lanes": ["lane:everyone"]});
    set_aliases(&rooms.po, aliases);
    rooms
        .po
        .write("charter.md", "# Lanes\n- everyone: all\n- web: sintra\n");
    let names = [
        "boss",
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
    ];
    for (n, name) in names.iter().enumerate() {
        let message = json!({"to": format!("po:{name}"), "body": name});
        rooms.fit.mail("alice", &format!("{n}.json"), message);
    }
    rooms.settle();
    let told = bounced(&rooms.fit, "alice");
    assert_eq!(told, ["po:mailbag not_accepted"; 11]);
    for agent in ["human", "sintra", "bob"] {
        let mail = rooms.po.inbox(agent);
        assert!(
            mail.iter().all(|mail| mail["from"] == "mailbag"),
            "{mail:?}"
        );
    }
}

#[test]
fn a_question_of_another_room_is_not_passed_on_to_a_human_who_takes_no_mail_from_there() {
    // P62
    for (accept, told) in [("\"agents\"", false), ("\"agents\", \"human\"", true)] {
        let rooms = Rooms::accepting(accept);
        set(&rooms.po, "answer_within = \"1s\"");
        rooms.alice_says(
            json!({"to": "po:sintra", "type": "question", "body": "Which port?", "requires_response": true}),
        );
        rooms.alice_says(json!({"to": "po:sintra", "priority": "urgent", "body": "Now!"}));
        assert_eq!(rooms.po.bodies("sintra").len(), 2);
        let own = json!({"to": "sintra", "body": "mine", "requires_response": true});
        rooms.po.mail("bob", "q.json", own);
        let is_told = |of: &str| {
            let told = rooms.po.bodies("human");
            told.iter().any(|body| body.contains(of))
        };
        rooms.po.wait("the question of this room is passed on", || {
            rooms.po.pass();
            is_told("bob asked")
        });
        assert_eq!(is_told("fit:alice asked"), told, "accept = [{accept}]");
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
    set_aliases(&rooms.po, json!({"everywhere": ["sintra", "third:carol"]}));
    rooms.alice_says(json!({"to": "po:everywhere", "body": "x"}));
    assert_eq!(bounced(&rooms.fit, "alice"), ["po:mailbag not_passed_on"]);
    let out = rooms.po.names("links/third/out");
    assert!(out.iter().all(|name| name == "state.json"), "{out:?}");
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
