//! `mailbag send`

use crate::files;
use crate::world::{World, parse_json};
use serde_json::{Value, json};

#[test]
fn the_sender_is_named_or_known_from_the_environment() {
    let world = World::alice_and_bob();
    let unnamed = world.run_env("send bob hi", "MAILBAG_TEST_ANCESTRY", "unknown");
    assert_contains!(unnamed.fails(2), "--as", "MAILBAG_AGENT");
    world
        .program("send bob one")
        .env("MAOS_AGENT_ID", "alice")
        .assert()
        .success();
    let both = [("MAILBAG_AGENT", "alice"), ("MAOS_AGENT_ID", "nobody")];
    world.program("send bob two").envs(both).assert().success();
    assert_eq!(world.bodies("bob"), ["one", "two"]);
    assert_contains!(
        world.fails(3, "send bob hi --as alcie"),
        "did you mean alice?",
        "mailbag agent add alcie"
    );
}

#[test]
fn send_rejects_an_agent_that_cannot_send_before_it_writes() {
    let world = World::with("bob").agent("carol", "--status retired");
    assert_contains!(
        world.fails(65, "send bob hi --as carol"),
        "--status offline"
    );
    // A file in a retired agent's outbox is still reported.
    world.drop_file("carol", "x.json", r#"{"to": "bob", "body": "still here"}"#);
    let status = world.json("status");
    assert_eq!(status["unregistered"][0]["reason"], "the agent is retired");
    world.ok("agent set carol --status offline");
    world.ok("inbox bob");
    assert_eq!(world.bodies("bob"), ["still here"]);
}

#[test]
fn an_open_room_takes_mail_from_whoever_writes() {
    let world = World::with("bob").settings("admission = \"open\"\n");
    world.send("agent_writer_1_x", "bob", "hello");
    assert_eq!(world.bodies("bob"), ["hello"]);
    assert_eq!(world.json("agent show agent_writer_1_x")["role"], "writer");
    // Names that differ only in letter case are one name.
    world.send("Agent_Writer_1_X", "bob", "again");
    assert_eq!(world.inbox("bob")[1]["from"], "agent_writer_1_x");
}

#[test]
fn send_does_not_write_a_message_that_the_router_would_reject() {
    let world = World::alice_and_bob();
    let before = world.everything();
    let refused = |args: &[&str], why: &str| {
        let said = world.fails(65, &[&["send"], args, &["--as", "alice"]].concat());
        assert!(said.contains(why), "{args:?}: {said}");
    };
    refused(&["bbo", "hi"], "did you mean bob?");
    refused(&["bob", "hi", "--type", "qestion"], "question");
    refused(&["bob", "hi", "--priority", "highest"], "high");
    refused(
        &["bob", "hi", "--expires", "2001-01-01T00:00:00Z"],
        "in the past",
    );
    refused(&["bob", "hi", "--channel", "a b"], "channel");
    refused(&["all_writers", "hi"], "no agent has the role");
    assert_eq!(world.everything(), before);
}

#[test]
fn the_body_is_the_last_word_or_comes_from_a_pipe() {
    let world = World::with("alice bob carol");
    world.ok("send bob carol 'to both' --as alice");
    world
        .pipe("send bob --as alice", "piped\nin two lines\n")
        .ok();
    world
        .pipe("send bob - --as alice --subject s", "dash\n")
        .ok();
    world
        .pipe("send bob --subject only --as alice", "not read")
        .ok();
    assert_eq!(
        world.bodies("bob"),
        ["to both", "piped\nin two lines", "dash", ""]
    );
    assert_eq!(world.bodies("carol"), ["to both"]);
    // An address in the place of the body is rejected, because otherwise the mistake would go
    // unnoticed.
    assert_contains!(
        world.fails(2, "send bob carol --as alice"),
        "mailbag send bob carol BODY"
    );
    assert_contains!(
        world.fails(65, &["send", "bob", "it's", "done", "now", "--as", "alice"]),
        r"put it in quotation marks: `mailbag send bob 'it'\''s done now'`"
    );
    let said = world.fails(65, "send bbo hello --as alice");
    assert!(!said.contains("quotation marks"), "{said}");
    world.pipe("send bob - --as alice", "carol").ok();
    world.ok("send bob carol '' --subject 'no body' --as alice");
    assert_eq!(world.inbox("carol")[1]["subject"], "no body");
    let said = world.pipe("send bob - --as alice", b"\xff\xfe".to_vec());
    assert!(said.code == 2 && said.err.contains("UTF-8"), "{said:?}");
    assert_contains!(world.fails(65, "send bob --as alice"), "has no text");
}

#[test]
fn every_option_arrives_where_it_belongs() {
    let world = World::alice_and_bob();
    let options =
        "--type question --priority P1 --thread ports --expires 2h --channel net --subject Port?";
    let mut args = vec!["send", "bob", "which?", "--as", "alice"];
    args.extend(options.split(' '));
    let sent = world.json(&args);
    assert_eq!(
        sent["recipients"],
        json!([{"agent": "bob", "via": "direct", "reach": "not_running"}])
    );
    let mail = &world.inbox("bob")[0];
    let expected = [
        ("type", "question"),
        ("priority", "high"),
        ("thread_id", "ports"),
        ("channel", "net"),
    ];
    for (field, value) in
        expected
            .into_iter()
            .chain([("subject", "Port?"), ("body", "which?"), ("from", "alice")])
    {
        assert_eq!(mail[field], value, "{field}");
    }
    assert_eq!(mail["id"], sent["id"]);
    assert!(mail["expires_at"].as_str() > mail["timestamp"].as_str());
    assert_eq!(world.names("sent/alice").len(), 1);
}

#[test]
fn send_attaches_context_files_by_name_and_other_files_as_copies() {
    let world = World::alice_and_bob();
    world.write("context/decisions/ports.md", "8080\n");
    let notes = world.path().join("notes.txt");
    files::write(&notes, "a note");
    let send = |file: &str| world.run(&format!("send bob --attach {file} --as alice"));
    send(".mailbag/context/decisions/ports.md").ok();
    send("notes.txt").ok();
    let mail = world.inbox("bob");
    let digest = mailbag::base::hash::hex(&mailbag::base::hash::hash(
        b"8080
",
    ));
    assert_eq!(
        mail[0]["attachments"],
        json!([{"path": "decisions/ports.md", "sha256": digest}])
    );
    assert_eq!(
        mail[1]["attachments"],
        json!([{"name": "notes.txt", "content": "a note"}])
    );
    files::write(&notes, vec![b'x'; 300 << 10]);
    assert_contains!(send("notes.txt").fails(2), "context/", "256 KiB");
    send("missing.txt").fails(3);
}

#[test]
fn check_reports_everything_and_sends_nothing() {
    let world = World::alice_and_bob();
    let write = |name: &str, text: &str| files::write(world.path().join(name), text);
    write("good.json", r#"{"to": "bob", "body": "hi"}"#);
    write(
        "bad1.json",
        r#"{"to": 7, "body": "hi", "priority": "huge"}"#,
    );
    write("bad2.json", r#"{"to": "bob", "#);
    let before = world.everything();
    assert_contains!(
        world.ok("send --dry-run --file good.json --as alice"),
        "to bob"
    );
    let ran = world.run("send --dry-run --file *.json --json");
    assert_eq!(ran.code, 65);
    let checked = parse_json(&ran.out);
    assert_eq!(checked["messages"].as_array().map(Vec::len), Some(3));
    let bad: Vec<&Value> = checked["messages"][0]["problems"]
        .as_array()
        .expect("problems")
        .iter()
        .collect();
    assert_eq!(
        bad.iter()
            .map(|p| p["where"].as_str().unwrap_or_default())
            .collect::<Vec<_>>(),
        ["/to", "/priority"]
    );
    assert_contains!(
        world
            .pipe(
                "send --dry-run --file - --as alice",
                r#"{"to": "bbo", "body": "x"}"#
            )
            .out,
        "did you mean bob?"
    );
    world.fails(3, "send --dry-run --file missing.json");
    assert_eq!(world.everything(), before);
    // The same without a room.
    let nowhere = World::empty();
    assert_eq!(
        nowhere
            .pipe("send --dry-run --file -", r#"{"to": "bob", "body": "hi"}"#)
            .code,
        0
    );
}
