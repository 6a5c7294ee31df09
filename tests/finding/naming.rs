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
        world.drop_file(
            "alice",
            &format!("filler-{n}.json"),
            r#"{"to": "human", "body": "filler"}"#,
        );
        let mut pass = world.program("run --once");
        pass.env("MAILBAG_TEST_SEGMENT_BYTES", "1")
            .assert()
            .success();
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
    world.json(&["trace", id, "--as", "alice"])["recipients"][0]["status"].clone()
}

fn every_command_takes_every_spelling(world: &World) {
    // P95
    for (n, (id, name)) in spelled(world, "read").into_iter().enumerate() {
        assert_eq!(
            world.json(&["trace", &name, "--as", "bob"])["id"],
            *id,
            "trace {name}"
        );
        assert_eq!(
            world.items(&["thread", &name, "--as", "bob"])[0]["id"],
            *id,
            "thread {name}"
        );
        let reply = world.json(&[
            "send",
            "alice",
            "x",
            "--ref",
            &name,
            "--reply-to",
            &name,
            "--as",
            "bob",
        ]);
        let sent = world.items(&[
            "thread",
            reply["id"].as_str().expect("an id"),
            "--as",
            "bob",
        ]);
        assert_eq!(sent[0]["id"], *id, "send --reply-to {name}: {sent}");
        world.ok(&["reply", &name, "x", "--as", "bob"]);
        assert_contains!(world.ok(&["read", &name, "--as", "bob"]), &format!("read {n}"); "read {name}");
    }
    for (id, name) in spelled(world, "ack") {
        world.ok(&["ack", &name, "--as", "bob"]);
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
    let mut later = world.program("run --once");
    later
        .env("MAILBAG_TEST_NOW", "2099-01-01T00:00:00Z")
        .assert()
        .success();
    let escalated: Vec<Value> = world
        .inbox("human")
        .into_iter()
        .filter(|mail| mail["type"] == "escalation")
        .collect();
    assert_eq!(escalated, Vec::<Value>::new());
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
    assert_eq!(
        (
            &again[0]["body"],
            &again[0]["to"],
            &again[0]["delivery"]["seq"].is_u64()
        ),
        (&json!("read 3"), &json!("bob"), &true)
    );
    assert_contains!(
        world.fails(3, "read read-mail-3-end --as alice"),
        "not a recipient"
    );
}

#[test]
fn an_ambiguous_reference_is_rejected_with_all_matches() {
    // P95
    let world = world(&["one"]);
    let all: Vec<String> = (0..REFERENCE_FORMS)
        .map(|n| format!("alice/one-mail-{n}-end"))
        .collect();
    let names_all = |said: &str| all.iter().all(|name| said.contains(name.as_str()));
    for (code, command) in [
        (2, &["read", "one-mail"][..]),
        (2, &["trace", "one-mail"]),
        (2, &["thread", "one-mail"]),
        (2, &["reply", "one-mail", "x"]),
        (2, &["send", "alice", "x", "--reply-to", "one-mail"]),
        (2, &["ack", "one-mail"]),
        (2, &["ack", "one-mail", "no-mail"]),
        (2, &["dismiss", "one-mail"]),
    ] {
        let said = world.fails(code, &[command, &["--as", "bob"]].concat());
        assert!(
            said.contains("ambiguous") && names_all(&said),
            "{command:?}: {said}"
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
    let why = world
        .names("rejected/bob")
        .into_iter()
        .find(|name| name.ends_with(".error.json"))
        .expect("a reason");
    let why = world.read(&format!("rejected/bob/{why}"));
    assert!(
        why["code"] == "ambiguous_reference"
            && ["alice/same", "carol/same"]
                .iter()
                .all(|name| why.to_string().contains(name)),
        "{why}"
    );
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
        for (code, command) in [
            (3, &["read", reference][..]),
            (3, &["trace", reference]),
            (3, &["thread", reference]),
            (3, &["reply", reference, "x"]),
            (3, &["send", "alice", "x", "--reply-to", reference]),
            (3, &["ack", reference, "--status", "resolved"]),
        ] {
            world.fails(code, &[command, &["--as", "carol"]].concat());
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
        let said = world.fails(2, &[command, &number, "--as", "bob"]);
        assert!(
            said.contains(&sign) && said.contains(&format!("carol/{number}")),
            "{command}: {said}"
        );
    }
    assert_contains!(world.ok(&["read", &sign, "--as", "bob"]), "from a friend");
    assert_contains!(
        world.ok(&["read", &format!("carol/{number}"), "--as", "bob"]),
        "shown for another"
    );
}

#[test]
fn an_answer_that_was_dropped_may_name_the_question_by_its_number() {
    let world = World::alice_and_bob();
    world.ok("send bob 'which port?' --requires-response --as alice");
    let number = world.inbox("bob")[0]["delivery"]["seq"].to_string();
    let answer = json!({"to": "alice", "body": "8080", "in_reply_to": format!("#{number}"), "refs": [format!("#{number}")]});
    world.route("bob", "x.json", &answer);
    assert_eq!(world.bodies("alice"), ["8080"]);
    let trace = world.json(&["trace", &number, "--as", "alice"]);
    assert_eq!(
        trace["answers"].as_array().map(Vec::len),
        Some(1),
        "{trace}"
    );
    assert_eq!(
        world
            .items(&["thread", &format!("#{number}"), "--as", "alice"])
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    // Bob waits for more of that conversation, which is named by the question.
    let id = world.json(&["trace", &number, "--as", "alice"])["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    world.send("alice", "bob", "another matter");
    world.ok(&[
        "send",
        "bob",
        "and the host?",
        "--thread",
        &id,
        "--as",
        "alice",
    ]);
    let thread = format!("#{number}");
    let waited = world.ok(&[
        "wait",
        "--thread",
        &thread,
        "--as",
        "bob",
        "--timeout",
        "10s",
    ]);
    assert!(
        waited.contains("and the host?") && !waited.contains("another matter"),
        "{waited}"
    );
}
