//! Open items close: the items that each message closes, and the definition of an answer.

use super::from_mailbag;
use crate::approvals::{drop_at, pass, run_at, say, time};
use crate::world::{World, parse_json};
use serde_json::{Value, json};

/// Bob has a supervisor. Answers are due after 10 minutes.
fn room() -> World {
    let world = World::with("alice boss carol").agent("bob", "--supervisor boss");
    world.settings("answer_within = \"10m\"\n")
}

/// The open items of an agent at this time: kind and title.
fn pending(world: &World, minutes: u64, agent: &str) -> Vec<String> {
    let list = run_at(world, minutes, &["pending", "--as", agent, "--json"]);
    let items = parse_json(&list)["items"].clone();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let items = items.as_array().into_iter().flatten();
    items
        .map(|item| format!("{} {}", text(&item["kind"]), text(&item["title"])))
        .collect()
}

/// Sends a message that is escalated to the supervisor and the human.
#[track_caller]
fn escalated(message: Value) -> World {
    let world = room();
    say(&world, 0, "alice", message);
    pass(&world, 11);
    pass(&world, 22);
    for agent in ["boss", "human"] {
        assert_eq!(pending(&world, 22, agent).len(), 1, "{agent}");
    }
    world
}

/// No agent has to act on anything.
#[track_caller]
fn nothing_is_open(world: &World, minutes: u64, what: &str) {
    for agent in ["bob", "carol", "boss", "human"] {
        assert_eq!(
            pending(world, minutes, agent),
            Vec::<String>::new(),
            "{agent} after {what}"
        );
    }
}

fn urgent() -> Value {
    json!({"id": "p0", "to": "bob", "body": "fire", "priority": "urgent", "thread_id": "t-1"})
}

fn question() -> Value {
    json!({"id": "p0", "to": "bob", "type": "question", "body": "which port?", "thread_id": "t-1"})
}

fn ack(status: &str) -> Value {
    json!({"type": "ack", "refs": ["alice/p0"], "status": status})
}

#[test]
fn an_escalation_of_urgent_mail_closes_when_its_recipient_replies_or_acknowledges() {
    // P363
    let replies = [
        ("bob", ack("acknowledged")),
        ("bob", ack("actioned")),
        ("bob", ack("resolved")),
        (
            "bob",
            json!({"to": "alice", "body": "on it", "in_reply_to": "p0"}),
        ),
        (
            "bob",
            json!({"to": "alice", "body": "on it", "thread_id": "t-1"}),
        ),
        ("alice", ack("withdrawn")),
        ("alice", ack("superseded")),
    ];
    for (agent, reply) in replies {
        let world = escalated(urgent());
        say(&world, 23, agent, reply.clone());
        nothing_is_open(&world, 23, &reply.to_string());
    }
}

#[test]
fn an_escalation_of_a_question_closes_when_it_is_answered_or_closed_and_not_when_it_is_acknowledged()
 {
    // P363
    for (agent, reply, is_closed) in [
        (
            "bob",
            json!({"to": "alice", "body": "8080", "in_reply_to": "alice/p0"}),
            true,
        ),
        (
            "bob",
            json!({"to": "alice", "body": "8080", "thread_id": "t-1"}),
            true,
        ),
        ("bob", ack("resolved"), true),
        ("alice", ack("withdrawn"), true),
        ("bob", ack("acknowledged"), false),
    ] {
        let world = escalated(question());
        say(&world, 23, agent, reply.clone());
        let open = ["boss", "human"].map(|agent| pending(&world, 23, agent).len());
        assert_eq!(open, if is_closed { [0, 0] } else { [1, 1] }, "{reply}");
    }
}

#[test]
fn an_escalation_stays_open_for_the_recipients_that_have_not_replied() {
    // P363
    let mut to_both = urgent();
    to_both["to"] = json!(["bob", "carol"]);
    let world = room();
    say(&world, 0, "alice", to_both);
    pass(&world, 11);
    pass(&world, 22);
    say(&world, 23, "bob", ack("acknowledged"));
    assert_eq!(
        (
            pending(&world, 23, "boss").len(),
            pending(&world, 23, "human").len()
        ),
        (0, 1)
    );
    say(&world, 24, "carol", ack("acknowledged"));
    nothing_is_open(&world, 24, "both acks");
}

#[test]
fn an_escalation_of_urgent_mail_that_expired_stays_open_until_it_is_acknowledged() {
    let world = room();
    let mut expiring = urgent();
    expiring["expires_at"] = json!(time(5));
    say(&world, 0, "alice", expiring);
    pass(&world, 6);
    pass(&world, 60);
    for agent in ["boss", "human"] {
        assert_eq!(
            pending(&world, 61, agent),
            ["escalation unacknowledged: \"fire\""],
            "{agent}"
        );
        let escalation = from_mailbag(&world, agent, "escalation").remove(0);
        let ack = json!({"type": "ack", "refs": [escalation["id"]], "status": "acknowledged"});
        say(&world, 61, agent, ack);
    }
    nothing_is_open(&world, 61, "both acks");
}

#[test]
fn a_response_that_shares_only_the_thread_or_the_correlation_id_answers_the_request() {
    // P364
    let request = |more: Value| {
        let mut request = json!({"id": "r1", "to": "bob", "type": "request", "body": "which?", "requires_response": true});
        request
            .as_object_mut()
            .expect("fields")
            .extend(more.as_object().expect("fields").clone());
        request
    };
    let response = |more: Value| {
        let mut response = json!({"to": "alice", "type": "response", "body": "this"});
        response
            .as_object_mut()
            .expect("fields")
            .extend(more.as_object().expect("fields").clone());
        response
    };
    let pairs = [
        (json!({"thread_id": "t-1"}), json!({"thread_id": "t-1"})),
        (json!({}), json!({"thread_id": "r1"})),
        (
            json!({"conversation_id": "c-1"}),
            json!({"conversation_id": "c-1"}),
        ),
        (
            json!({"correlation_id": "x-1"}),
            json!({"correlation_id": "x-1"}),
        ),
        (json!({}), json!({"correlation_id": "r1"})),
        (
            json!({"thread_id": "t-1", "correlation_id": "x-1"}),
            json!({"correlation_id": "x-1"}),
        ),
        (json!({}), json!({"refs": ["alice/r1"]})),
    ];
    for (asked, answered) in pairs {
        let world = room();
        say(&world, 0, "alice", request(asked.clone()));
        assert_eq!(pending(&world, 0, "bob"), ["question which?"], "{asked}");
        say(&world, 1, "bob", response(answered.clone()));
        for minutes in [11, 22] {
            pass(&world, minutes);
        }
        nothing_is_open(&world, 22, &format!("{asked} {answered}"));
        assert_eq!(
            from_mailbag(&world, "human", "escalation").len(),
            0,
            "{asked} {answered}"
        );
        assert_eq!(
            world.json("trace r1")["answers"][0]["from"],
            "bob",
            "{asked} {answered}"
        );
        for name in ["#2", "#3"] {
            let thread = world.items(&["thread", name]);
            let seqs: Vec<u64> = thread
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|one| one["seq"].as_u64())
                .collect();
            assert_eq!(seqs, [2, 3], "{name} of {asked} {answered}: {thread}");
        }
    }
}

#[test]
fn a_conversation_that_waits_for_one_pass_ends_as_in_several_passes() {
    // P364
    let note = || json!({"to": "carol", "body": "a note"});
    let answers = [
        json!({"to": "alice", "body": "8080", "in_reply_to": "p0"}),
        json!({"to": "alice", "type": "response", "body": "8080", "thread_id": "t-1"}),
        ack("resolved"),
    ];
    for answer in answers {
        for name in ["m.json", "m.ndjson"] {
            let world = room();
            let conversation = [
                ("alice", [question(), note()]),
                ("bob", [answer.clone(), note()]),
            ];
            for (agent, messages) in conversation {
                let messages = messages.map(|message| message.to_string());
                if name == "m.json" {
                    for (n, message) in messages.iter().enumerate() {
                        world.drop_file(agent, &format!("{n}.json"), message);
                    }
                } else {
                    world.drop_file(agent, name, messages.join("\n") + "\n");
                }
            }
            pass(&world, 0);
            nothing_is_open(&world, 1, &format!("{answer} in {name}"));
            assert_eq!(world.names("inbox/carol").len(), 2, "{answer} in {name}");
            assert_eq!(
                world.json("status")["rejected"],
                json!([]),
                "{answer} in {name}"
            );
        }
    }
}

#[test]
fn reports_questions_and_messages_of_or_to_others_do_not_answer_a_thread() {
    // P364
    let others = [
        (
            "bob",
            json!({"to": "alice", "type": "status", "body": "at work", "thread_id": "t-1"}),
        ),
        (
            "bob",
            json!({"to": "alice", "type": "question", "body": "which one?", "thread_id": "t-1"}),
        ),
        (
            "bob",
            json!({"to": "carol", "body": "alice asks", "thread_id": "t-1"}),
        ),
        (
            "carol",
            json!({"to": "alice", "body": "me too", "thread_id": "t-1"}),
        ),
        (
            "bob",
            json!({"to": "alice", "body": "other", "thread_id": "t-2"}),
        ),
        (
            "bob",
            json!({"to": "alice", "type": "ack", "refs": ["alice/p0"], "status": "acknowledged", "thread_id": "t-1"}),
        ),
    ];
    for (agent, message) in others {
        let world = room();
        say(&world, 0, "alice", question());
        say(&world, 1, agent, message.clone());
        assert!(
            pending(&world, 1, "bob").contains(&"question which port?".to_owned()),
            "{message}"
        );
    }
}

#[test]
fn each_response_in_a_thread_answers_the_oldest_open_question_of_it() {
    // P364
    let world = room();
    for id in ["q1", "q2"] {
        let asked =
            json!({"id": id, "to": "bob", "type": "question", "body": id, "thread_id": "t-1"});
        say(&world, 0, "alice", asked);
    }
    drop_at(
        &world,
        1,
        "bob",
        json!({"to": "alice", "body": "first", "thread_id": "t-1"}),
    );
    pass(&world, 1);
    assert_eq!(pending(&world, 1, "bob"), ["question q2"]);
}

#[test]
fn a_question_without_requires_response_is_escalated_like_one_with_it() {
    // P62
    let world = escalated(json!({"id": "p0", "to": "bob", "type": "question", "body": "?"}));
    let told = from_mailbag(&world, "human", "escalation");
    assert_eq!(told[0]["in_reply_to"], "alice/p0");
}
