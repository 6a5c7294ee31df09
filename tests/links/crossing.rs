//! A message crosses a link, and its statuses are reported back.

use super::{Rooms, bounced, records, set, set_aliases, state};
use crate::files;
use crate::world::World;
use serde_json::{Value, json};

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
    assert_fields!(answer[0], from: "po:sintra", body: "8080", in_reply_to: "q-1");
    assert_fields!(rooms.fit.json("trace q-1"), answers.0.from: "po:sintra");
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
    let carried = |record: &Value| record["carried"].as_array().map(Vec::len);
    let sent: Vec<_> = records(&rooms.fit).iter().filter_map(carried).collect();
    assert_eq!(sent, [1]);
    for (room, agent) in [
        (&rooms.fit, "anna"),
        (&rooms.po, "sintra"),
        (&rooms.po, "bob"),
    ] {
        assert_eq!(room.bodies(agent), ["to both"], "{agent}");
    }
}

#[test]
fn the_sender_sees_what_became_of_it_and_what_was_only_sent_is_not_delivered() {
    // P210
    let rooms = Rooms::new();
    let message = json!({"id": "m-1", "to": "po:all_engineer", "body": "x"});
    rooms.fit.route("alice", "a.json", message);
    // It is only handed to the link.
    let recipients = &rooms.fit.json("trace m-1")["recipients"];
    assert_fields!(recipients[0], agent: "po:all_engineer", status: "accepted");
    rooms.settle();
    rooms.po.ok("read --as bob");
    rooms.settle();
    let recipients = rooms.fit.json("trace m-1")["recipients"].clone();
    let mut recipients = recipients.as_array().into_iter().flatten();
    let bob = recipients.find(|one| one["agent"] == "po:bob");
    assert_fields!(bob.expect("it reached bob"), status: "seen");
    assert_contains!(
        bob.expect("it reached bob")["statuses"].to_string(),
        r#""by":"po""#
    );
}

#[test]
fn trace_shows_a_linked_recipient_once_under_the_name_that_the_sender_used() {
    let rooms = Rooms::new();
    rooms.alice_says(json!({"id": "m-1", "to": "po:Sintra", "body": "x"}));
    rooms.po.ok("read --as sintra");
    rooms.settle();
    let recipients = &rooms.fit.json("trace m-1")["recipients"];
    assert_fields!(recipients, 0.agent: "po:Sintra", 0.status: "seen", 1: Value::Null);
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
    rooms.alice_drops("x");
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
    let settings = rooms.po.text("settings.toml");
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
    assert_fields!(state(&rooms.fit, "po"), out.acked: 1);
    assert_fields!(state(&rooms.po, "fit"), in.n: 1);
}

#[test]
fn an_alias_can_stand_for_agents_of_both_rooms() {
    let rooms = Rooms::new();
    set_aliases(&rooms.fit, json!({"reviewers": ["anna", "po:sintra"]}));
    rooms.alice_says(json!({"to": "reviewers", "body": "please"}));
    assert_eq!(rooms.fit.bodies("anna"), ["please"]);
    assert_eq!(rooms.po.bodies("sintra"), ["please"]);
    let explained = rooms.fit.json("send --dry-run reviewers ''");
    assert_contains!(explained.to_string(), "po:sintra"; "{explained}");
}

#[test]
fn a_room_without_a_link_is_named_with_what_to_do() {
    // P200
    let world = World::with("alice");
    world.route("alice", "a.json", r#"{"to": "po:sintra", "body": "x"}"#);
    assert_eq!(bounced(&world, "alice"), ["mailbag no_link"]);
    assert_contains!(world.bodies("alice")[0], "mailbag link add");
}

#[test]
fn mail_between_running_routers_needs_no_command() {
    let rooms = Rooms::new();
    let (_one, other) = (rooms.fit.router(""), rooms.po.router(""));
    rooms.alice_drops("x");
    rooms
        .po
        .wait("the message", || rooms.po.bodies("sintra") == ["x"]);
    let answer = json!({"to": "fit:alice", "body": "y"});
    rooms.po.mail("sintra", "b.json", answer);
    rooms
        .fit
        .wait("the answer", || rooms.fit.bodies("alice") == ["y"]);
    rooms.fit.wait("the confirmation", || {
        state(&rooms.fit, "po")["out"]["acked"] == state(&rooms.fit, "po")["out"]["n"]
    });
    // Delivered but unconfirmed items are in `out/` once the other room is unreachable.
    drop(other);
    let brought = || rooms.po.names("links/fit/in").len() > 1;
    rooms.alice_drops("z");
    rooms.fit.wait("it is brought", brought);
    rooms.po.write("settings.toml", "");
    rooms.alice_drops("w");
    rooms.fit.wait("both are kept", || {
        rooms.fit.names("links/po/out").len() >= 3
    });
}

#[test]
fn the_receipts_of_a_batch_are_one_item() {
    // P201 P210
    let rooms = Rooms::new();
    rooms.alice_drops_many(30);
    rooms.settle();
    assert_eq!(rooms.po.bodies("sintra").len(), 30);
    assert_fields!(state(&rooms.po, "fit"), out.n: 1);
    for trace in ["trace m-0", "trace m-29"] {
        let recipients = &rooms.fit.json(trace)["recipients"];
        assert_fields!(recipients[0], agent: "po:sintra", statuses.1.by: "po");
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
    assert_fields!(notices[0], from: "po:mailbag", type: "alert", in_reply_to: "q-1");
    assert_fields!(notices[0], metadata.problems.0.code: "no_subscriber");
}

#[test]
fn an_ack_in_the_other_room_settles_the_questions_and_escalations_of_this_one() {
    // P210, P363, P365
    let rooms = Rooms::new();
    set(&rooms.fit, "answer_within = \"1s\"");
    rooms.alice_says(
        json!({"id": "q", "to": "po:Sintra", "body": "Which port?", "type": "question"}),
    );
    rooms.alice_says(json!({"id": "u", "to": "po:sintra", "body": "Stop", "priority": "urgent"}));
    rooms.alice_says(json!({"id": "s", "to": "po:Sintra", "body": "More?", "type": "question"}));
    let escalations = || {
        let pending = rooms.fit.json("pending --as human")["items"].to_string();
        pending.matches(r#""kind":"escalation""#).count()
    };
    let questions = || rooms.fit.json("status")["questions"]["items"].clone();
    rooms.fit.wait("three escalations", || {
        rooms.fit.pass();
        escalations() == 3
    });
    assert_eq!(questions(), 2);
    rooms.po.ok("ack u --as sintra");
    rooms.po.ok("ack q --as sintra --status resolved");
    rooms.settle();
    assert_eq!(escalations(), 1);
    assert_eq!(questions(), 1);
    // The sender closes its question here. The copy in the other room stays.
    let withdrawn = rooms.fit.run("ack s --as alice --status withdrawn");
    assert_contains!(withdrawn.err, "the copy there stays");
    rooms.settle();
    assert_eq!(rooms.fit.json("pending --as human")["items"], json!([]));
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
    assert_fields!(list, 0.id: "old", 1.closed: Value::Null, 2.closed: "withdrawn");
    assert_contains!(list[0]["closed"].to_string(), "superseded: replaced by #");
    for shown in [
        "thread ports --as alice",
        "search 8080 --as alice",
        "context --as alice",
        "list --channel main",
    ] {
        assert_contains!(rooms.fit.ok(shown), "superseded"; "{shown}");
    }
}
