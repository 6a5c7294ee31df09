//! The clauses of `docs/protocol.md`, each by the plainest client there is: files written and files read.

mod log;

use crate::world::World;
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

/// The codes of alice's one rejected file.
fn codes(world: &World) -> Vec<String> {
    let names = world.names("rejected/alice");
    let explanation = names
        .iter()
        .find(|name| name.ends_with(".error.json"))
        .expect("an explanation");
    let explained = world.read(&format!("rejected/alice/{explanation}"));
    assert_eq!(explained["code"], explained["problems"][0]["code"]);
    let problems = explained["problems"].as_array().expect("problems");
    problems
        .iter()
        .map(|problem| problem["code"].as_str().expect("a code").to_owned())
        .collect()
}

/// The codes that a file with this content is rejected with.
fn refused(content: impl AsRef<[u8]>) -> Vec<String> {
    let world = World::alice_and_bob();
    world.drop_file("alice", "x.json", content);
    world.pass();
    assert!(world.inbox("bob").is_empty());
    codes(&world)
}

#[test]
fn a_hard_link_that_stays_is_taken_after_a_while() {
    // P5
    let world = World::alice_and_bob();
    let source = world.write("context/x", r#"{"to":"bob","body":"linked"}"#);
    fs::hard_link(source, world.room("outbox/alice/x.json")).expect("a link");
    world.pass();
    assert!(world.inbox("bob").is_empty());
    let _router = world.router("");
    world.wait("it is delivered", || world.bodies("bob") == ["linked"]);
}

#[test]
fn later_changes_of_files_do_not_change_a_delivered_copy() {
    // P7
    let world = World::with("alice bob carol");
    world.route("alice", "x.json", r#"{"to":["bob","carol"],"body":"read"}"#);
    let sent = world.names("sent/alice");
    world.write(&format!("sent/alice/{}", sent[0]), "changed");
    let bobs = world.names("inbox/bob");
    world.write(&format!("inbox/bob/{}", bobs[0]), r#"{"body":"changed"}"#);
    assert_eq!(world.bodies("carol"), ["read"]);
    world.verify();
}

#[test]
fn a_file_may_be_as_large_as_the_settings_say() {
    // P9
    let world = World::alice_and_bob().settings("message_bytes = 1024\n");
    let body = |size: usize| format!(r#"{{"to":"bob","body":"{}"}}"#, "x".repeat(size - 22));
    world.drop_file("alice", "fits.json", body(1024));
    world.route("alice", "not.json", body(1025));
    assert_eq!(world.inbox("bob").len(), 1);
    assert_eq!(codes(&world), ["too_large"]);
}

#[test]
fn a_copy_is_the_message_with_what_was_left_out_and_where_it_came_from() {
    // P13, P15, P17, P28
    let world = World::alice_and_bob();
    let sent = r#"{"to":["bob","alice"],"body":"hi","mine":{"n":12345678901234567890.10,"e":[1E2,1e-7]},"delivery":"x","addressed_to":"y"}"#;
    world.route("alice", "x.json", sent);
    let name = &world.names("inbox/bob")[0];
    let text = world.text(&format!("inbox/bob/{name}"));
    for number in ["12345678901234567890.10", "1e+2", "1e-7"] {
        assert_contains!(text, number);
    }
    let copy = &world.inbox("bob")[0];
    assert_eq!(copy["id"].as_str().map(str::len), Some(36));
    assert_fields!(copy, from: "alice", type: "message", to: "bob");
    assert_eq!(copy["addressed_to"], json!(["bob", "alice"]));
    assert_eq!(copy["timestamp"], copy["delivery"]["accepted_at"]);
    assert_fields!(copy["delivery"], seq: 2, via: "direct");
    assert_eq!(world.inbox("alice")[0]["to"], "alice");
}

#[test]
fn a_rejection_lists_all_problems() {
    // P14, P16, P20, P21
    assert_eq!(
        refused(r#"{"to":"bob","body":"hi","from":"bob"}"#),
        ["spoofed_sender"]
    );
    assert_eq!(refused(r#"{"to":"bob","body":7}"#), ["wrong_type"]);
    assert_eq!(
        refused(r#"{"to":"bob","body":"a","content":"b"}"#),
        ["conflicting_fields"]
    );
    let all = refused(r#"{"to":"bbo","from":"bob","type":"massage","priority":"P9","body":"hi"}"#);
    for code in [
        "spoofed_sender",
        "unknown_type",
        "bad_value",
        "unknown_recipient",
    ] {
        assert!(
            all.iter().any(|one| one == code),
            "{code} is not in {all:?}"
        );
    }
}

#[test]
fn an_id_counts_once_and_a_refusal_uses_up_none() {
    // P18, P19
    let world = World::alice_and_bob();
    world.route("alice", "x.json", r#"{"id":"m-1","to":"bbo","body":"hi"}"#);
    for name in ["y.json", "z.json"] {
        world.route("alice", name, r#"{"id":"m-1","to":"bob","body":"hi"}"#);
    }
    assert_eq!(world.bodies("bob"), ["hi"]);
    world.drop_file(
        "bob",
        "x.json",
        r#"{"id":"m-1","to":"bob","body":"of another sender"}"#,
    );
    world.route(
        "alice",
        "other.json",
        r#"{"id":"m-1","to":"bob","body":"other"}"#,
    );
    assert_eq!(world.bodies("bob"), ["hi", "of another sender"]);
    let last = world.inbox("alice").pop().expect("a bounce");
    assert_eq!(last["metadata"]["problems"][0]["code"], "id_reused");
}

#[test]
fn the_digest_is_the_one_that_the_protocol_gives_for_python() {
    // P22
    let world = World::alice_and_bob();
    world.route("alice", "x.json", r#"{"to":["bob"],"subject":"é ☃ \u0001","body":"a\"b\\","metadata":{"b":[1,2.5,null],"a":true}}"#);
    let script = "
import hashlib, json, sys
for line in open(sys.argv[1]):
    r = json.loads(line)
    if 'accepted' in r['event']:
        r = r['event']['accepted']
        m = r['message']
        print(r['name']['digest'] == hashlib.sha256(json.dumps(m, sort_keys=True, separators=(',', ':'), ensure_ascii=False).encode()).hexdigest())";
    let done = Command::new("python3")
        .args(["-c", script])
        .arg(world.room("log/00000001.ndjson"))
        .output();
    assert_eq!(
        String::from_utf8_lossy(&done.expect("python3 runs").stdout),
        "True\n"
    );
}

#[test]
fn recipients_are_worked_out_once_whole_and_each_gets_one_copy() {
    // P23, P24, P25, P26, P27
    let world = World::with("alice bob old").agent("eng", "--role engineer");
    world.ok("agent set old --status retired");
    world.drop_file(
        "alice",
        "1.json",
        r#"{"to":["all","bob","all_engineers","eng*"],"body":"one each"}"#,
    );
    world.drop_file(
        "alice",
        "2.json",
        r#"{"to":["bob","all_testers"],"body":"nobody"}"#,
    );
    world.route("alice", "3.json", r#"{"to":["bob","old"],"body":"nobody"}"#);
    assert_eq!(
        (world.bodies("bob"), world.bodies("eng")),
        (vec!["one each".to_owned()], vec!["one each".to_owned()])
    );
    assert!(world.inbox("old").is_empty() && world.inbox("human").is_empty());
    world.ok("agent add late --role engineer");
    world.pass();
    assert!(world.inbox("late").is_empty());
    let bounced: Vec<Value> = world
        .inbox("alice")
        .iter()
        .map(|m| m["metadata"]["problems"][0]["code"].clone())
        .collect();
    assert_eq!(bounced, ["empty_role", "retired_recipient"]);
}

#[test]
fn names_in_an_inbox_follow_the_accept_order_and_not_the_senders_times() {
    // P29
    let world = World::alice_and_bob();
    for (n, time) in [
        "2099-01-01T00:00:00Z",
        "1970-01-01T00:00:00Z",
        "2026-11-21T10:30:00",
    ]
    .iter()
    .enumerate()
    {
        let message = format!(r#"{{"id":"m-{n}","to":"bob","body":"{n}","timestamp":"{time}"}}"#);
        world.route("alice", "x.json", message);
    }
    assert_eq!(world.bodies("bob"), ["0", "1", "2"]);
    for (n, name) in world.names("inbox/bob").iter().enumerate() {
        let (stamp, rest) = name.split_at(23);
        assert!(
            stamp.ends_with('Z') && stamp.as_bytes()[8] == b'T' && stamp.as_bytes()[15] == b'.',
            "{name}"
        );
        assert_eq!(rest, format!("-alice-m-{n}.json"));
    }
}

#[test]
fn a_rejected_file_is_kept_with_the_reason_and_its_sender_gets_one_bounce() {
    // P35, P36, P37
    let world = World::alice_and_bob();
    world.drop_file("alice", "x.json", r#"{"id":"m-1","to":"bbo","body":"hi"}"#);
    world.route("alice", "y.json", r#"{"type":"ack","body":"hi"}"#);
    world.pass();
    assert_eq!(
        world.names("rejected/alice"),
        ["2~x.error.json", "2~x.json", "3~y.error.json", "3~y.json"]
    );
    let explained = world.read("rejected/alice/2~x.error.json");
    assert_fields!(explained, agent: "alice", file: "x.json", seq: 2);
    assert!(explained["rejected_at"].is_string() && explained["problems"][0]["fix"].is_string());
    let told = world.inbox("alice");
    assert_eq!(told.len(), 1);
    assert_fields!(told[0], type: "error", from: "mailbag", in_reply_to: "m-1");
    assert_eq!(told[0]["metadata"]["rejected"], "rejected/alice/2~x.json");
    assert_eq!(world.names("inbox/bob").len(), 0);
}
