//! A message crosses a link, and its statuses are reported back.

use super::{Rooms, bounced, records, state};
use crate::files;
use crate::world::World;
use serde_json::json;

#[test]
fn a_message_reaches_an_agent_of_the_other_room_and_its_answer_comes_back() {
    // P200
    let rooms = Rooms::new();
    rooms.alice_says(
        json!({"id": "q-1", "to": "po:Sintra", "body": "Which port?", "type": "question"}),
    );
    let came = rooms.po.inbox("sintra");
    assert_fields!(came[0], from: "fit:alice", id: "q-1");
    rooms.po.ok("reply q-1 8080 --as sintra");
    rooms.settle();
    let answer = rooms.fit.inbox("alice");
    assert_fields!(answer[0], from: "po:sintra", body: "8080");
    assert_eq!(answer[0]["in_reply_to"], "q-1");
    let trace = rooms.fit.json("trace q-1");
    assert_eq!(trace["answers"][0]["from"], "po:sintra", "{trace}");
}

#[test]
fn roles_patterns_and_all_are_resolved_by_the_other_room() {
    // P200
    let rooms = Rooms::accepting("\"agents\", \"roles\", \"all\"");
    rooms.alice_says(json!({"to": ["po:all_engineers", "po:s*"], "body": "one copy each"}));
    rooms.alice_says(json!({"to": "po:all", "body": "all"}));
    assert_eq!(rooms.po.bodies("bob"), ["one copy each", "all"]);
    assert_eq!(rooms.po.bodies("sintra"), ["one copy each", "all"]);
    assert!(rooms.po.bodies("human").is_empty());
}

#[test]
fn a_message_to_both_rooms_is_one_record_and_one_item() {
    // P201
    let rooms = Rooms::new();
    rooms.alice_says(json!({"to": ["anna", "po:sintra", "po:bob"], "body": "to both"}));
    let sent: Vec<_> = records(&rooms.fit)
        .into_iter()
        .filter(|record| record["carried"].is_array())
        .collect();
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert_eq!(sent[0]["carried"].as_array().map(Vec::len), Some(1));
    assert_eq!(rooms.fit.bodies("anna"), ["to both"]);
    assert_eq!(
        (rooms.po.bodies("sintra"), rooms.po.bodies("bob")),
        (vec!["to both".into()], vec!["to both".into()])
    );
}

#[test]
fn the_sender_sees_what_became_of_it_and_what_was_only_sent_is_not_delivered() {
    // P210
    let rooms = Rooms::new();
    rooms.fit.drop_file(
        "alice",
        "a.json",
        r#"{"id": "m-1", "to": "po:all_engineer", "body": "x"}"#,
    );
    rooms.fit.pass();
    let trace = rooms.fit.json("trace m-1");
    assert_eq!(trace["recipients"][0]["agent"], "po:all_engineer");
    assert_eq!(
        trace["recipients"][0]["status"], "accepted",
        "only handed to the link: {trace}"
    );
    rooms.settle();
    rooms.po.ok("read --as bob");
    rooms.settle();
    let trace = rooms.fit.json("trace m-1");
    let bob = trace["recipients"]
        .as_array()
        .expect("recipients")
        .iter()
        .find(|one| one["agent"] == "po:bob");
    let bob = bob.unwrap_or_else(|| panic!("{trace}"));
    assert_eq!(bob["status"], "seen");
    assert!(
        bob["statuses"]
            .as_array()
            .expect("statuses")
            .iter()
            .any(|step| step["by"] == "po"),
        "{bob}"
    );
}

#[test]
fn trace_shows_a_linked_recipient_once_under_the_name_that_the_sender_used() {
    let rooms = Rooms::new();
    let message = r#"{"id": "m-1", "to": "po:Sintra", "body": "x"}"#;
    rooms.fit.drop_file("alice", "a.json", message);
    rooms.settle();
    rooms.po.ok("read --as sintra");
    rooms.settle();
    let recipients = &rooms.fit.json("trace m-1")["recipients"];
    let shown = (&recipients[0]["agent"], &recipients[0]["status"]);
    assert_eq!(shown, (&"po:Sintra".into(), &"seen".into()));
    assert_eq!(recipients[1], serde_json::Value::Null, "{recipients}");
}

#[test]
fn a_linked_message_without_a_time_gets_its_accept_time() {
    let rooms = Rooms::new();
    rooms.alice_says(json!({"id": "m-1", "to": "po:sintra", "body": "x"}));
    let at = rooms.fit.json("trace m-1")["accepted_at"].clone();
    assert_eq!(rooms.po.inbox("sintra")[0]["timestamp"], at);
}

#[test]
fn an_item_leaves_only_when_the_other_room_has_committed_it() {
    // P202, P204
    let rooms = Rooms::new();
    rooms
        .fit
        .drop_file("alice", "a.json", r#"{"to": "po:sintra", "body": "x"}"#);
    rooms.fit.pass();
    assert_eq!(
        rooms.po.names("links/fit/in"),
        ["000000000001.json", "state.json"]
    );
    assert_eq!(
        rooms.fit.names("links/po/out"),
        ["state.json"],
        "what is there already needs no second copy"
    );
    files::remove_file(rooms.po.room("links/fit/in/000000000001.json"));
    let settings = files::read_text(rooms.po.room("settings.toml"));
    rooms.po.write("settings.toml", "");
    rooms.fit.pass();
    assert_eq!(
        rooms.fit.names("links/po/out"),
        ["000000000001.json", "state.json"],
        "it cannot be brought"
    );
    files::remove_file(rooms.fit.room("links/po/out/000000000001.json"));
    rooms.po.write("settings.toml", settings);
    rooms.settle();
    assert_eq!(
        rooms.po.bodies("sintra"),
        ["x"],
        "both were made again from the log"
    );
    assert_eq!(rooms.fit.names("links/po/out"), ["state.json"]);
    assert_eq!(
        (
            &state(&rooms.fit, "po")["out"]["acked"],
            &state(&rooms.po, "fit")["in"]["n"]
        ),
        (&json!(1), &json!(1))
    );
}

#[test]
fn an_alias_can_stand_for_agents_of_both_rooms() {
    let rooms = Rooms::new();
    let mut registry = rooms.fit.read("registry.json");
    registry["aliases"] = json!({"reviewers": ["anna", "po:sintra"]});
    rooms.fit.write("registry.json", registry.to_string());
    rooms.alice_says(json!({"to": "reviewers", "body": "please"}));
    assert_eq!(
        (rooms.fit.bodies("anna"), rooms.po.bodies("sintra")),
        (vec!["please".into()], vec!["please".into()])
    );
    let explained = rooms.fit.json("send --dry-run reviewers ''");
    assert_contains!(explained.to_string(), "po:sintra"; "{explained}");
}

#[test]
fn a_room_without_a_link_is_named_with_what_to_do() {
    // P200
    let world = World::with("alice");
    world.route("alice", "a.json", r#"{"to": "po:sintra", "body": "x"}"#);
    assert_eq!(
        bounced(&world, "alice"),
        [("mailbag".into(), "no_link".into())]
    );
    assert_contains!(
        world.inbox("alice")[0]["body"].to_string(),
        "mailbag link add"
    );
}

#[test]
fn mail_between_running_routers_needs_no_command() {
    let rooms = Rooms::new();
    let (_one, other) = (rooms.fit.router(""), rooms.po.router(""));
    rooms
        .fit
        .drop_file("alice", "a.json", r#"{"to": "po:sintra", "body": "x"}"#);
    rooms
        .po
        .wait("the message", || rooms.po.bodies("sintra") == ["x"]);
    rooms
        .po
        .drop_file("sintra", "b.json", r#"{"to": "fit:alice", "body": "y"}"#);
    rooms
        .fit
        .wait("the answer", || rooms.fit.bodies("alice") == ["y"]);
    rooms.fit.wait("the confirmation", || {
        state(&rooms.fit, "po")["out"]["acked"] == state(&rooms.fit, "po")["out"]["n"]
    });
    // Delivered but unconfirmed items are in `out/` once the other room is unreachable.
    drop(other);
    let brought = || rooms.po.names("links/fit/in").len() > 1;
    rooms
        .fit
        .drop_file("alice", "c.json", r#"{"to": "po:sintra", "body": "z"}"#);
    rooms.fit.wait("it is brought", brought);
    rooms.po.write("settings.toml", "");
    rooms
        .fit
        .drop_file("alice", "d.json", r#"{"to": "po:sintra", "body": "w"}"#);
    rooms.fit.wait("both are kept", || {
        rooms.fit.names("links/po/out").len() >= 3
    });
}

#[test]
fn the_receipts_of_a_batch_are_one_item() {
    // P201 P210
    let rooms = Rooms::new();
    let lines: Vec<String> = (0..30)
        .map(|n| json!({"id": format!("m-{n}"), "to": "po:sintra", "body": "x"}).to_string())
        .collect();
    rooms
        .fit
        .drop_file("alice", "many.ndjson", lines.join("\n"));
    rooms.settle();
    assert_eq!(rooms.po.bodies("sintra").len(), 30);
    assert_eq!(
        state(&rooms.po, "fit")["out"]["n"],
        1,
        "one item for thirty messages"
    );
    for n in [0, 29] {
        let trace = rooms.fit.json(&["trace", &format!("m-{n}")]);
        let statuses: Vec<_> = trace["recipients"]
            .as_array()
            .expect("recipients")
            .iter()
            .map(|one| one["status"].clone())
            .collect();
        assert!(
            !statuses.is_empty() && trace.to_string().contains("sintra"),
            "{trace}"
        );
    }
}

#[test]
fn the_sender_in_another_room_learns_that_an_address_reached_no_agent_and_its_router_is_not_answered()
 {
    // P400
    let rooms = Rooms::accepting("\"agents\", \"topics\"");
    rooms.alice_says(json!({"id": "q-1", "to": ["po:#weather", "po:bob"], "body": "x"}));
    assert_eq!(rooms.po.bodies("bob"), ["x"]);
    let notices = rooms.fit.inbox("alice");
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert_fields!(notices[0], from: "po:mailbag", type: "alert");
    assert_eq!(
        notices[0]["metadata"]["problems"][0]["code"], "no_subscriber",
        "{notices:?}"
    );
    assert_eq!(notices[0]["in_reply_to"], "q-1");
}

#[test]
fn an_ack_in_the_other_room_settles_the_questions_and_escalations_of_this_one() {
    // P210, P363, P365
    let rooms = Rooms::new();
    let settings = files::read_text(rooms.fit.room("settings.toml"));
    rooms.fit.write(
        "settings.toml",
        format!("answer_within = \"1s\"\n{settings}"),
    );
    rooms.alice_says(
        json!({"id": "q", "to": "po:Sintra", "body": "Which port?", "type": "question"}),
    );
    rooms.alice_says(json!({"id": "u", "to": "po:sintra", "body": "Stop", "priority": "urgent"}));
    rooms.alice_says(json!({"id": "s", "to": "po:Sintra", "body": "More?", "type": "question"}));
    let pending = || rooms.fit.json("pending --as human")["items"].clone();
    let questions = || rooms.fit.json("status")["questions"]["items"].clone();
    rooms.fit.wait("three escalations", || {
        rooms.fit.pass();
        pending().as_array().map(Vec::len) == Some(3)
    });
    assert_eq!(
        pending()
            .as_array()
            .into_iter()
            .flatten()
            .filter(|notice| notice["kind"] == "escalation")
            .count(),
        3
    );
    assert_eq!(questions(), 2);
    rooms.po.ok("ack u --as sintra");
    rooms.po.ok("ack q --as sintra --status resolved");
    rooms.settle();
    let left = pending();
    assert_eq!(left.as_array().map(Vec::len), Some(1), "{left}");
    assert_eq!(questions(), 1);
    // The sender closes its question here. The copy in the other room stays.
    let withdraw = ["ack", "s", "--as", "alice", "--status", "withdrawn"];
    let withdrawn = rooms.fit.run(&withdraw);
    assert_contains!(withdrawn.err, "the copy there stays"; "{withdrawn:?}");
    rooms.settle();
    assert_eq!(pending().as_array().map(Vec::len), Some(0));
    assert_eq!(questions(), 0);
    assert_contains!(rooms.fit.ok("trace s"), "po keeps its copy");
    assert!(rooms.po.bodies("sintra").contains(&"More?".to_owned()));
}

#[test]
fn a_message_to_another_room_that_its_sender_closed_is_shown_as_closed() {
    // P60, P366
    let rooms = Rooms::new();
    rooms.alice_says(json!({"id": "old", "to": "po:sintra", "thread_id": "ports", "body": "8080"}));
    rooms.alice_says(json!({"id": "new", "to": "po:sintra", "thread_id": "ports", "body": "8081"}));
    rooms.alice_says(json!({"id": "last", "to": "po:sintra", "body": "wrong room"}));
    rooms
        .fit
        .run("ack old --status superseded --by new --as alice");
    rooms.fit.run("ack last --status withdrawn --as alice");
    let list = rooms.fit.items("list --as alice");
    let closed = |id: &str| {
        let mut all = list.as_array().into_iter().flatten();
        all.find(|message| message["id"] == id)
            .expect("it is listed")["closed"]
            .clone()
    };
    let replaced = closed("old");
    assert_contains!(replaced.to_string(), "superseded: replaced by #");
    assert_eq!(
        [closed("new"), closed("last")],
        [json!(null), json!("withdrawn")]
    );
    for shown in [
        "thread ports --as alice",
        "search 8080 --as alice",
        "context --as alice",
        "list --channel main",
    ] {
        assert_contains!(rooms.fit.ok(shown), "superseded"; "{shown}");
    }
}
