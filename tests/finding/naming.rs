//! The names of a message: every command, tool and dropped file accepts the same ones,
//! including archived messages. Only commands and tools accept a prefix of an id.

use crate::mcp::Client;
use crate::world::World;
use serde_json::{Value, json};

/// Number of spellings.
const REFERENCE_FORMS: usize = 5;
/// The place of the prefix among the spellings.
const PREFIX: usize = 1;

/// Each spelling of a message of alice's.
fn spellings(id: &str, seq: &str) -> [String; REFERENCE_FORMS] {
    let prefix = &id[..id.len() - 3];
    [
        id.to_owned(),
        prefix.to_owned(),
        format!("alice/{id}"),
        seq.to_owned(),
        format!("#{seq}"),
    ]
}

/// Alice wrote to bob, once for each spelling, of each kind: an id begins with the kind and the number of the spelling.
fn world(kinds: &[&str]) -> World {
    let world =
        World::alice_and_bob().settings("answer_within = { urgent = \"1h\", normal = \"0\" }\n");
    for kind in kinds {
        for n in 0..REFERENCE_FORMS {
            let id = format!("{kind}-mail-{n}-end");
            let message =
                json!({"id": id, "to": "bob", "body": format!("{kind} {n}"), "priority": "urgent"});
            world.mail("alice", &format!("{id}.json"), &message);
        }
    }
    world.pass();
    world
}

/// Packs everything that was routed so far.
fn archive(world: &World) {
    // Two more segments: the last one is never packed.
    for n in 0..2 {
        let filler = json!({"to": "human", "body": "filler"});
        world.mail("alice", &format!("filler-{n}.json"), filler);
        world
            .run_env("run --once", "MAILBAG_TEST_SEGMENT_BYTES", "1")
            .ok();
    }
    world.ok("archive --older-than 0s");
    assert!(
        !world.room("log/00000001.ndjson").exists(),
        "the first segment is archived"
    );
}

/// For each spelling, the message of this kind that is spelled so: its id and the spelling.
fn spelled(world: &World, kind: &str) -> Vec<(String, String)> {
    let listed = world.items("list --as alice --last 100");
    let listed = listed.as_array().expect("a list");
    (0..REFERENCE_FORMS)
        .map(|n| {
            let id = format!("{kind}-mail-{n}-end");
            let message = listed.iter().find(|message| message["id"] == *id);
            let seq = message.expect("it is listed")["seq"].to_string();
            let spelled = spellings(&id, &seq)[n].clone();
            (id, spelled)
        })
        .collect()
}

fn status(world: &World, id: &str) -> Value {
    world.json(&format!("trace {id} --as alice"))["recipients"][0]["status"].clone()
}

fn every_command_takes_every_spelling(world: &World) {
    // P95
    for (n, (id, name)) in spelled(world, "read").into_iter().enumerate() {
        assert_fields!(world.json(&format!("trace {name} --as bob")), id: id);
        assert_fields!(world.items(&format!("thread {name} --as bob")), 0.id: id);
        let reply = world.json(&format!(
            "send alice x --ref {name} --reply-to {name} --as bob"
        ));
        let reply = reply["id"].as_str().expect("an id");
        assert_fields!(world.items(&format!("thread {reply} --as bob")), 0.id: id);
        world.ok(&format!("reply {name} x --as bob"));
        assert_contains!(world.ok(&format!("read {name} --as bob")), &format!("read {n}"); "read {name}");
    }
    for (id, name) in spelled(world, "ack") {
        world.ok(&format!("ack {name} --as bob"));
        assert_eq!(status(world, &id), "acknowledged", "ack {name}");
    }
    let dropped = spelled(world, "drop");
    for (id, name) in &dropped {
        let ack = json!({"type": "ack", "refs": [name], "status": "actioned"});
        world.mail("bob", &format!("{id}.json"), &ack);
    }
    world.pass();
    for (n, (id, name)) in dropped.into_iter().enumerate() {
        let expected = if n == PREFIX { "delivered" } else { "actioned" };
        assert_eq!(
            status(world, &id),
            expected,
            "a dropped ack of {name}: {:?}",
            world.names("rejected/bob")
        );
    }
    let client = Client::of(world, "bob");
    for (n, (id, name)) in spelled(world, "tool").into_iter().enumerate() {
        let text = client.text("fetch_inbox", json!({"id": name}));
        assert_contains!(text, &format!("tool {n}"); "fetch_inbox {name}");
        assert_contains!(client.text("get_thread", json!({"id": name})), &format!("tool {n}"); "get_thread {name}");
        client.text(
            "acknowledge_message",
            json!({"id": name, "status": "actioned"}),
        );
        world.wait("the ack is recorded", || status(world, &id) == "actioned");
        client.text("reply_message", json!({"id": name, "body": "x"}));
    }
}

const KINDS: [&str; 4] = ["read", "ack", "drop", "tool"];

#[test]
fn every_command_tool_and_dropped_file_takes_every_spelling() {
    every_command_takes_every_spelling(&world(&KINDS));
}

#[test]
fn every_command_takes_every_spelling_of_an_archived_message() {
    let world = world(&KINDS);
    archive(&world);
    every_command_takes_every_spelling(&world);
}

#[test]
fn urgent_mail_that_was_acknowledged_from_the_archive_is_not_escalated() {
    let world = world(&["fire"]);
    archive(&world);
    for (n, (id, name)) in spelled(&world, "fire").into_iter().enumerate() {
        let name = if n == PREFIX { &id } else { &name };
        let ack = json!({"type": "ack", "refs": [name], "status": "acknowledged"});
        world.mail("bob", &format!("{id}.json"), &ack);
    }
    world.pass();
    let later = "2099-01-01T00:00:00Z";
    world.run_env("run --once", "MAILBAG_TEST_NOW", later).ok();
    let is_escalation = |mail: &Value| mail["type"] == "escalation";
    assert!(!world.inbox("human").iter().any(is_escalation));
}

#[test]
fn a_message_with_an_archived_copy_can_be_read_again() {
    let world = world(&["read"]);
    world.ok("read --all --as bob");
    archive(&world);
    assert_eq!(
        world.names("inbox/bob/seen").len(),
        0,
        "the copies are archived"
    );
    let again = world.items("read read-mail-3-end --as bob");
    assert_fields!(again, 0.body: "read 3", 0.to: "bob");
    assert!(again[0]["delivery"]["seq"].is_u64(), "{again}");
    let said = world.fails(3, "read read-mail-3-end --as alice");
    assert_contains!(said, "not a recipient");
}

#[test]
fn an_ambiguous_reference_is_rejected_with_all_matches() {
    // P95
    let world = world(&["one"]);
    let all: Vec<String> = (0..REFERENCE_FORMS)
        .map(|n| format!("alice/one-mail-{n}-end"))
        .collect();
    let names_all = |said: &str| all.iter().all(|name| said.contains(name.as_str()));
    for command in [
        "read one-mail",
        "trace one-mail",
        "thread one-mail",
        "reply one-mail x",
        "send alice x --reply-to one-mail",
        "ack one-mail",
        "ack one-mail no-mail",
        "dismiss one-mail",
    ] {
        let said = world.fails(2, &format!("{command} --as bob"));
        assert!(
            said.contains("ambiguous") && names_all(&said),
            "{command}: {said}"
        );
    }
    let client = Client::of(&world, "bob");
    for tool in ["fetch_inbox", "get_thread", "acknowledge_message"] {
        let said = client.fails(tool, json!({"id": "one-mail"}));
        assert!(
            said.contains("ambiguous") && names_all(&said),
            "{tool}: {said}"
        );
    }
}

#[test]
fn an_ambiguous_id_in_a_dropped_ack_is_rejected_with_all_matches() {
    // P95
    let world = World::with("alice bob carol");
    for agent in ["alice", "carol"] {
        let message = json!({"id": "same", "to": "bob", "body": "x"});
        world.route(agent, "x.json", message);
    }
    let ack = json!({"type": "ack", "refs": ["same"], "status": "actioned"});
    world.route("bob", "x.json", ack);
    let why = world.json("rejected show x.json")["problems"][0].clone();
    assert_fields!(why, code: "ambiguous_reference");
    assert_contains!(why.to_string(), "alice/same", "carol/same");
}

#[test]
fn a_complete_id_is_no_prefix_even_if_its_message_is_rejected_or_of_others() {
    // P95
    let world = World::with("alice bob carol");
    for (id, to) in [
        ("m1", "bob"),
        ("m10", "carol"),
        ("task-2026-1", "bob"),
        ("task-2026-10", "carol"),
        ("task-2026-2", "nobodyy"),
        ("task-2026-20", "carol"),
        ("deploy-10", "carol"),
    ] {
        let message = json!({"id": id, "to": to, "body": id});
        world.route("alice", &format!("{id}.json"), message);
    }
    for reference in [
        "alice/m1",
        "m1",
        "alice/task-2026-1",
        "task-2026-1",
        "alice/task-2026-2",
        "task-2026-2",
        // Too short, and with a sender.
        "deploy-",
        "alice/deploy-1",
    ] {
        for command in [
            "read",
            "trace",
            "thread",
            "reply",
            "send alice x --reply-to",
            "ack --status resolved",
        ] {
            world.fails(3, &format!("{command} {reference} --as carol"));
        }
    }
    assert_contains!(world.ok("read deploy-1 --as carol"), "deploy-10");
    assert_eq!(
        world.bodies("carol"),
        ["m10", "task-2026-10", "task-2026-20"]
    );
}

#[test]
fn a_number_that_is_also_an_id_is_ambiguous_and_with_its_sign_it_is_not() {
    let world = World::with("alice bob carol");
    world.send("alice", "bob", "from a friend");
    let number = world.inbox("bob")[0]["delivery"]["seq"].to_string();
    let shadow =
        json!({"id": number, "to": "bob", "body": "under a number that is shown for another"});
    world.route("carol", "x.json", &shadow);
    let sign = format!("#{number}");
    for command in ["read", "trace", "thread"] {
        let said = world.fails(2, &format!("{command} {number} --as bob"));
        assert_contains!(said, &sign, &format!("carol/{number}"); "{command}");
    }
    let read = |name: &str| world.ok(&format!("read {name} --as bob"));
    assert_contains!(read(&sign), "from a friend");
    assert_contains!(read(&format!("carol/{number}")), "shown for another");
}

#[test]
fn an_answer_that_was_dropped_may_name_the_question_by_its_number() {
    let world = World::alice_and_bob();
    world.ok("send bob 'which port?' --requires-response --as alice");
    let number = world.inbox("bob")[0]["delivery"]["seq"].to_string();
    let answer = json!({"to": "alice", "body": "8080", "in_reply_to": format!("#{number}"), "refs": [format!("#{number}")]});
    world.route("bob", "x.json", &answer);
    assert_eq!(world.bodies("alice"), ["8080"]);
    let trace = world.json(&format!("trace {number} --as alice"));
    assert_fields!(trace, answers.0.from: "bob", answers.1: Value::Null);
    let thread = world.items(&format!("thread #{number} --as alice"));
    assert_fields!(thread, 1.from: "bob", 2: Value::Null);
    // Bob waits for more of that conversation, which is named by the question.
    let id = trace["id"].as_str().expect("an id");
    world.send("alice", "bob", "another matter");
    world.ok(&format!(
        "send bob 'and the host?' --thread {id} --as alice"
    ));
    let waited = world.ok(&format!("wait --thread #{number} --as bob --timeout 10s"));
    assert_contains!(waited, "and the host?");
    assert!(!waited.contains("another matter"), "{waited}");
}
