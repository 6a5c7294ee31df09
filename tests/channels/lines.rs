//! Files in an outbox that hold a message a line.

use super::{conversation, said};
use crate::files;
use crate::records::flat_record;
use crate::town::{Town, listing};
use crate::world::{World, parse_json};
use serde_json::json;
use std::fs;
use std::io::Write;

fn lines(messages: &[&str]) -> String {
    messages
        .iter()
        .map(|message| format!("{message}\n"))
        .collect()
}

#[test]
fn each_line_is_a_message_and_the_file_is_kept_once() {
    // P55
    let world = World::with("alice bob carol");
    let text = lines(&[
        r#"{"t":"2026-11-21T10:00:00Z","sender":"alice","type":"msg","content":"one","addressed":["bob"]}"#,
        "",
        r#"{"to":"all","body":"two"}"#,
        "   ",
        r#"{"type":"thinking","body":"three"}"#,
    ]);
    world.route("alice", "turn.ndjson", &text);
    assert_eq!(
        (world.bodies("bob"), world.bodies("carol")),
        (vec!["one".into(), "two".into()], vec!["two".into()])
    );
    assert_eq!(said(&world, "main"), ["one", "two", "three"]);
    let sent: Vec<_> = fs::read_dir(world.room("sent/alice"))
        .expect("sent")
        .flatten()
        .collect();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].file_name(), "2~turn.ndjson");
    assert_eq!(files::read_text(sent[0].path()), text);
    let log = world.log("accepted");
    let records: Vec<serde_json::Value> = log.lines().map(flat_record).collect();
    let of = |field: &str| {
        records
            .iter()
            .map(|record| record[field].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(of("line"), [1, 3, 5]);
    assert_eq!(of("claim"), vec!["1~alice~turn.ndjson"; 3]);
    assert_eq!(of("batch"), [1, 1, 1], "all of them come in one batch");
    world.verify();
}

#[test]
fn a_bad_line_is_refused_alone_by_its_number() {
    // P56
    let world = World::alice_and_bob();
    let bad = r#"{"id":"m-2","to":"bbo","body":"lost?"}"#;
    world.route(
        "alice",
        "x.ndjson",
        lines(&[
            r#"{"to":"bob","body":"good"}"#,
            bad,
            "not JSON",
            r#"{"to":"bob","body":"too"}"#,
        ]),
    );
    assert_eq!(world.bodies("bob"), ["good", "too"]);
    assert_eq!(
        world.names("rejected/alice"),
        ["3~x.line2.error.json", "4~x.line3.error.json"]
    );
    let explained = world.read("rejected/alice/3~x.line2.error.json");
    assert_fields!(explained, line: 2, text: bad);
    assert_fields!(explained, code: "unknown_recipient", file: "x.ndjson");
    assert_eq!(
        world.read("rejected/alice/4~x.line3.error.json")["text"],
        "not JSON"
    );
    let told = world.inbox("alice");
    assert_eq!(
        (
            told.len(),
            &told[0]["in_reply_to"],
            &told[0]["metadata"]["line"]
        ),
        (2, &json!("m-2"), &json!(2))
    );
    assert!(
        told[1]["body"]
            .as_str()
            .is_some_and(|body| body.starts_with("Line 3 of x.ndjson was not delivered"))
    );
    assert!(world.room("sent/alice/2~x.ndjson").exists());
}

#[test]
fn a_file_without_a_good_line_is_rejected_and_so_is_one_that_holds_nothing() {
    // P56
    let world = World::alice_and_bob().settings("message_bytes = 2048\n");
    world.drop_file(
        "alice",
        "a.ndjson",
        lines(&["no", r#"{"to":"bbo","body":"x"}"#]),
    );
    world.drop_file("alice", "b.ndjson", "x".repeat(4000));
    world.route("alice", "c.ndjson", "{}\n".repeat(1001 / 3));
    assert!(world.room("rejected/alice/2~a.ndjson").exists() && !world.room("sent/alice").exists());
    assert_eq!(
        world.read("rejected/alice/4~b.error.json")["code"],
        "too_large"
    );
    let world = World::alice_and_bob();
    world.route("alice", "many.ndjson", "{}\n".repeat(1001));
    let explained = world.read("rejected/alice/2~many.error.json");
    assert_eq!(
        (&explained["code"], world.inbox("alice").len()),
        (&json!("too_many_lines"), 1)
    );
    assert!(world.room("rejected/alice/2~many.ndjson").exists());
}

#[test]
fn the_same_id_twice_in_one_file_is_a_duplicate_or_refused_by_what_it_says() {
    // P57
    let world = World::alice_and_bob();
    let (same, other) = (
        r#"{"id":"m","to":"bob","body":"x"}"#,
        r#"{"id":"m","to":"bob","body":"y"}"#,
    );
    world.route(
        "alice",
        "1.ndjson",
        lines(&[same, same, other, r#"{"id":"n","to":"bob","body":"z"}"#]),
    );
    assert_eq!(world.bodies("bob"), ["x", "z"]);
    assert_eq!(
        world.read("rejected/alice/4~1.line3.error.json")["code"],
        "id_reused"
    );
    let log = world.log("duplicate");
    let duplicate = flat_record(&log);
    assert_fields!(duplicate, of: 2, line: 2);
    world.drop_file("alice", "2.json", same);
    world.route(
        "alice",
        "2.ndjson",
        lines(&[same, r#"{"id":"k","to":"bob","body":"after"}"#]),
    );
    assert_eq!(world.bodies("bob"), ["x", "z", "after"]);
    assert_eq!(world.json("status")["counts"]["duplicates"], 3);
    // A rejected line does not use up its id.
    world.route(
        "alice",
        "3.ndjson",
        lines(&[
            r#"{"id":"r","to":"bbo","body":"x"}"#,
            r#"{"id":"r","to":"bob","body":"mended"}"#,
        ]),
    );
    assert_eq!(
        world.bodies("bob").last().map(String::as_str),
        Some("mended")
    );
}

#[test]
fn a_line_with_the_id_of_a_file_beside_it_is_judged_by_that() {
    let world = World::alice_and_bob();
    world.drop_file("alice", "1.json", r#"{"id":"m","to":"bob","body":"x"}"#);
    world.drop_file(
        "alice",
        "2.ndjson",
        lines(&[
            r#"{"id":"m","to":"bob","body":"x"}"#,
            r#"{"id":"m","to":"bob","body":"other"}"#,
        ]),
    );
    world.route("alice", "3.json", r#"{"id":"m","to":"bob","body":"x"}"#);
    world.pass();
    assert_eq!(world.bodies("bob"), ["x"]);
    let status = world.json("status");
    assert_fields!(status["counts"], duplicates: 2, rejected: 1);
    assert_eq!(world.json("status")["blocked"], json!([]));
}

#[test]
fn a_file_of_lines_that_is_still_open_is_not_taken() {
    // P55
    let town = Town::alice_and_bob().run();
    let mut file = fs::File::create(town.room("outbox/alice/slow.ndjson")).expect("a file");
    for part in [
        "{\"to\":\"bob\",\"body\":\"1\"}\n",
        "{\"to\":\"bob\",",
        "\"body\":\"2\"}",
    ] {
        file.write_all(part.as_bytes()).expect("a part");
        // The router has looked since.
        town.is_alive("bob", "alice");
        assert_eq!(town.count("bob"), 0);
    }
    drop(file);
    town.wait_for_bodies("bob", &["1", "2"]);
}

#[test]
fn a_last_line_without_an_end_counts_as_a_line_once_it_has_stood_still() {
    // P55
    let town = Town::alice_and_bob().run();
    town.drop_file(
        "alice",
        "x.ndjson",
        "{\"to\":\"bob\",\"body\":\"1\"}\n{\"to\":\"bob\",",
    );
    town.wait_for_bodies("bob", &["1"]);
    assert_eq!(town.wait_for_refusals("alice", 1), ["truncated"]);
}

#[test]
fn a_killed_router_takes_up_a_file_of_lines_where_it_was() {
    // P55, P46
    let world = World::alice_and_bob();
    world.drop_file(
        "alice",
        "x.ndjson",
        lines(&[
            r#"{"to":"bob","body":"1"}"#,
            "bad",
            r#"{"to":"bob","body":"2"}"#,
        ]),
    );
    // Claimed and not recorded: read again as a whole.
    files::rename(
        world.room("outbox/alice/x.ndjson"),
        world.room("spool/claim/7~alice~x.ndjson"),
    );
    world.pass();
    assert_eq!(
        (world.bodies("bob"), said(&world, "main")),
        (vec!["1".into(), "2".into()], vec!["1".into(), "2".into()])
    );
    assert!(world.room("sent/alice/2~x.ndjson").exists());
    // Recorded and not retired: the delivered messages stay delivered.
    files::rename(
        world.room("sent/alice/2~x.ndjson"),
        world.room("spool/claim/7~alice~x.ndjson"),
    );
    assert!(
        !world.log("").contains(r#""settled":"#),
        "its records are open"
    );
    world.pass();
    assert_eq!(
        (
            world.bodies("bob").len(),
            world.inbox("alice").len(),
            said(&world, "main").len()
        ),
        (2, 1, 2)
    );
    assert!(world.room("sent/alice/2~x.ndjson").exists() && world.names("spool/claim").is_empty());
}

#[test]
fn a_file_over_its_sender_s_budget_waits_as_a_whole() {
    // P111, P73
    let mut town = Town::alice_and_bob().settings("budget.messages = 3\nbudget.window = \"1h\"\n");
    town.start(&[]);
    town.drop_file("alice", "a.json", r#"{"to":"bob","body":"first"}"#);
    town.wait("the first message arrives", || town.count("bob") == 1);
    let three = ["1", "2", "3"].map(|n| format!("{{\"to\":\"bob\",\"body\":\"{n}\"}}"));
    town.drop_file(
        "alice",
        "b.ndjson",
        lines(&three.each_ref().map(String::as_str)),
    );
    town.wait("the file waits", || {
        let blocked = town.json("status")["blocked"].to_string();
        blocked.contains("over its budget of 3 messages an hour")
    });
    assert_eq!(
        (town.count("bob"), listing(&town.room("outbox/alice"))),
        (1, vec!["b.ndjson".to_owned()])
    );
    // The next router begins with an unused budget.
    town.stop();
    town.pass();
    assert_eq!(town.bodies("bob"), ["first", "1", "2", "3"]);
    town.verify();
}

#[test]
fn a_file_with_too_many_copies_is_rejected_as_a_whole() {
    // P55
    let ids: Vec<String> = (0..21).map(|n| format!("crowd{n}x")).collect();
    let world = Town::of(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    let line = r#"{"to":"all","body":"hello"}"#;
    world.route("crowd0x", "x.ndjson", lines(&[line; 501]));
    let rejected = listing(&world.room("rejected/crowd0x"));
    let [explanation, original] = rejected.as_slice() else {
        panic!("{rejected:?}");
    };
    assert!(original.ends_with("~x.ndjson"), "{original}");
    let explanation = world.read(&format!("rejected/crowd0x/{explanation}"));
    assert_eq!(explanation["code"], "too_many_copies");
    assert_contains!(
        explanation.to_string(),
        "10020 copies",
        "split it into several files"
    );
    assert_eq!(world.names("inbox/crowd1x").len(), 0);
}

#[test]
fn a_file_of_lines_is_rejected_only_without_any_good_line() {
    // P56
    for (last, kept) in [
        ("no", "rejected"),
        (r#"{"to":"bob","body":"good"}"#, "sent"),
    ] {
        let world = World::alice_and_bob();
        world.route("alice", "x.ndjson", lines(&["no", "no", "no", "no", last]));
        let names = listing(&world.room(&format!("{kept}/alice")));
        assert!(
            names.iter().any(|name| name.ends_with("~x.ndjson")),
            "{kept}: {names:?}"
        );
        let explained = world
            .names("rejected/alice")
            .into_iter()
            .filter(|name| name.ends_with(".error.json"));
        assert_eq!(explained.count(), if kept == "sent" { 4 } else { 5 });
    }
}

#[test]
fn check_and_status_know_such_files() {
    let world = World::alice_and_bob();
    let draft = world.path().join("draft.ndjson");
    files::write(
        &draft,
        lines(&[
            r#"{"to":"bob","body":"1"}"#,
            "",
            r#"{"to":"bbo","body":"2"}"#,
        ]),
    );
    let ran = world.run("send --dry-run --file draft.ndjson --as alice");
    assert_eq!(ran.code, 65);
    assert_contains!(ran.out, "draft.ndjson line 1: valid, to bob", "draft.ndjson line 3: rejected"; "{ran:?}");
    let checked = parse_json(
        &world
            .run("send --dry-run --file draft.ndjson --as alice --json")
            .out,
    );
    let second = &checked["messages"][1];
    assert_fields!(second, line: 3, ok: false, file: "draft.ndjson");
    files::copy(&draft, world.room("outbox/alice/draft.ndjson"));
    assert_eq!(world.json("status")["waiting"][0]["first"], "draft.ndjson");
}

#[test]
fn a_thousand_lines_are_routed_together_and_the_conversation_has_them_in_order() {
    let world = World::alice_and_bob();
    let text: String = (0..1000)
        .map(|n| format!("{{\"to\":\"bob\",\"body\":\"{n}\"}}\n"))
        .collect();
    world.route("alice", "x.ndjson", text);
    let wanted: Vec<String> = (0..1000).map(|n: u32| n.to_string()).collect();
    assert!(world.bodies("bob") == wanted && said(&world, "main") == wanted);
    assert_eq!(conversation(&world, "main").len(), 1000);
}
