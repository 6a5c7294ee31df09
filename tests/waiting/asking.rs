//! `mailbag ask`

use super::{Beside, is_free};
use crate::town::Town;
use crate::world::{World, parse_json};
use rustix::process::Signal;
use serde_json::{Value, json};

/// Waits until the question is in an inbox, and returns it.
#[track_caller]
fn question(world: &World, agent: &str) -> Value {
    world.wait("the question comes", || !world.inbox(agent).is_empty());
    world.inbox(agent).pop().expect("a question")
}

/// An agent drops a message to alice with this field.
fn answer(town: &Town, agent: &str, body: &str, field: &str, value: impl Into<Value>) {
    let mut message = json!({"to": "alice", "body": body});
    message[field] = value.into();
    town.mail(agent, &format!("{body}.json"), message);
}

#[test]
fn the_first_answer_ends_the_wait_and_is_read() {
    for with_router in [false, true] {
        let mut town = Town::of("alice bob carol");
        if with_router {
            town.start(&[]);
        }
        let asking = Beside::start(&town, "ask bob carol 'which port?' --as alice --timeout 1m");
        let asked = question(&town, "bob");
        assert_fields!(asked, type: "question", requires_response: true);
        let id = asked["id"].as_str().expect("an id");
        answer(&town, "bob", "8080", "in_reply_to", id);
        let shown = asking.ends(&town, 0);
        assert!(
            shown.contains("from: bob") && shown.ends_with("8080\n"),
            "{shown}"
        );
        assert_eq!(town.count("alice"), 0);
        assert_eq!(town.names("inbox/alice/seen").len(), 1);
        assert_eq!(is_free(&town), !with_router);
    }
}

#[test]
fn an_answer_can_name_the_question_in_any_form_or_by_its_thread() {
    let town = Town::alice_and_bob().run();
    // Earlier messages of the thread do not count as answers.
    answer(&town, "bob", "before", "thread_id", "t-1");
    town.wait_for_bodies("alice", &["before"]);
    for way in ["id", "sender", "seq", "refs", "thread", "own thread"] {
        let ask = "ask bob well? --as alice --timeout 1m --json";
        let in_thread = format!("{ask} --thread t-1");
        let own = way == "own thread";
        let asking = Beside::start(&town, if own { ask } else { &in_thread });
        let asked = question(&town, "bob");
        let (id, seq) = (&asked["id"], asked["delivery"]["seq"].to_string());
        let whole = format!("alice/{}", id.as_str().unwrap_or_default());
        let (field, value) = match way {
            "id" => ("in_reply_to", id.clone()),
            "sender" => ("in_reply_to", json!(whole)),
            "seq" => ("in_reply_to", json!(seq)),
            "refs" => ("refs", json!(["other", whole])),
            "thread" => ("thread_id", json!("t-1")),
            _ => ("thread_id", id.clone()),
        };
        answer(&town, "bob", way, field, value);
        let told = parse_json(asking.ends(&town, 0));
        assert_fields!(told, id: id, answers.0.body: way);
        town.ok("read --as bob --all");
    }
    assert_eq!(town.bodies("alice"), ["before"]);
}

#[test]
fn an_answer_counts_after_its_sender_got_another_name() {
    // P145
    let town = Town::of("alice bob kiwi").run();
    let asking = Beside::start(&town, "ask kiwi well? --as alice --timeout 1m --json --all");
    let id = question(&town, "kiwi")["id"].clone();
    asking.signal(Signal::STOP);
    answer(&town, "kiwi", "8080", "in_reply_to", id);
    town.wait_for_bodies("alice", &["8080"]);
    super::rename(&town, "kiwi", "bob");
    asking.signal(Signal::CONT);
    let told = parse_json(asking.ends(&town, 0));
    assert_fields!(told, answers.0.from: "kiwi", answers.0.body: "8080", missing: Value::Array(Vec::new()));
}

#[test]
fn ask_leaves_other_mail_in_the_inbox() {
    let town = Town::of("alice bob carol").run();
    let asking = Beside::start(&town, "ask bob well? --as alice --timeout 1m");
    let id = question(&town, "bob")["id"].clone();
    answer(&town, "carol", "nobody asked me", "in_reply_to", id.clone());
    answer(&town, "bob", "something else", "type", "message");
    let ack = json!({"to": "alice", "body": "I have it", "type": "ack", "refs": [id], "status": "acknowledged"});
    town.mail("bob", "2.json", ack);
    town.wait_for_mail("alice", 3);
    answer(&town, "bob", "yes", "in_reply_to", id);
    assert!(asking.ends(&town, 0).ends_with("yes\n"));
    town.wait_for_bodies("alice", &["nobody asked me", "something else", "I have it"]);
}

#[test]
fn ask_all_waits_for_every_recipient_and_names_the_missing_ones() {
    let town = Town::of("alice bob carol dave").run();
    let ask = "ask all ready? --as alice --all --timeout";
    let asking = Beside::start(&town, &format!("{ask} 1m --json"));
    for agent in ["bob", "carol", "dave"] {
        let id = question(&town, agent)["id"].clone();
        answer(&town, agent, agent, "in_reply_to", id);
    }
    let told = parse_json(asking.ends(&town, 0));
    assert!(told["answers"][2].is_object(), "{told}");
    assert_eq!(told["missing"], json!([]));
    // The same again, with two silent agents.
    let mut asking = Beside::start(&town, &format!("{ask} 4s"));
    town.wait("the second question comes", || town.count("bob") == 2);
    let id = town.inbox("bob")[1]["id"].clone();
    answer(&town, "bob", "again", "refs", vec![id]);
    assert_eq!(asking.ended(&town).code(), Some(4));
    assert!(asking.out().ends_with("again\n"), "{}", asking.out());
    assert_contains!(asking.err(), "from carol, dave within 4s");
    assert_eq!(town.count("alice"), 0);
    assert_eq!(town.names("inbox/alice/seen").len(), 4);
}

#[test]
fn a_question_that_the_router_refuses_ends_the_wait_with_the_reason() {
    let world = World::alice_and_bob();
    let path = world.room("spool/lock");
    let lock = std::fs::File::options()
        .append(true)
        .create(true)
        .open(path);
    let lock = lock.expect("the lock");
    lock.lock().expect("nobody routes");
    let mut asking = Beside::start(&world, "ask bob well? --as alice --timeout 1m");
    world.wait("the question is dropped", || {
        !world.names("outbox/alice").is_empty()
    });
    world.write("registry.json", r#"{"agents": [{"id": "alice"}]}"#);
    lock.unlock().expect("it was held");
    assert_eq!(asking.ended(&world).code(), Some(65), "{}", asking.err());
    assert_contains!(asking.err(), "bob");
    assert_eq!(asking.out(), "");
    assert!(world.names("inbox/alice").is_empty());
    assert_eq!(world.names("inbox/alice/seen").len(), 1);
}

#[test]
fn ask_rejects_invalid_questions_without_waiting() {
    let world = World::alice_and_bob();
    assert_contains!(world.fails(65, "ask bbo well? --as alice"), "bob");
    assert_contains!(
        world.fails(3, "ask #nobody well? --as alice"),
        "no agent received question"
    );
    world.fails(3, "ask bob well? --as alcie");
    assert!(!world.room("inbox/alcie").exists());
}

#[test]
fn a_rejected_question_is_not_reported_as_asked() {
    let world = World::alice_and_bob();
    let question = "ask bob why --expires 1ms --as alice --timeout 1ms";
    let complaint = world.fails(65, question);
    assert_contains!(complaint, "--expires: is in the past");
    assert!(!complaint.contains("asked"), "{complaint}");
}
