//! Regular files without a valid message.

use super::{is_refused, nothing_else_happened};
use crate::files;
use crate::town::Town;
use crate::world::{World, skip};
use serde_json::{Value, json};
use std::fs::{self, File};

/// A file name, its content, and the code of its rejection.
fn cases() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let text = |name, text: &str, code| (name, text.as_bytes().to_vec(), code);
    let id = |name, id: &str| {
        (
            name,
            json!({"id": id, "to": "bob", "body": "x"})
                .to_string()
                .into_bytes(),
            "bad_id",
        )
    };
    vec![
        text("not-json.json", "hello bob", "not_json"),
        text(
            "truncated.json",
            r#"{"to": "bob", "body": "he"#,
            "truncated",
        ),
        text("empty.json", "", "empty"),
        text("blank.json", " \n", "empty"),
        text(
            "bom.json",
            "\u{feff}{\"to\": \"bob\", \"body\": \"x\"}",
            "bom",
        ),
        text(
            "nan.json",
            r#"{"to": "bob", "body": "x", "metadata": {"score": NaN}}"#,
            "nan",
        ),
        text(
            "surrogate.json",
            r#"{"to": "bob", "body": "\ud83d"}"#,
            "lone_surrogate",
        ),
        text(
            "twice.json",
            r#"{"to": "bob", "to": "carol", "body": "x"}"#,
            "duplicate_key",
        ),
        (
            "deep.json",
            [b"[".repeat(100_000), b"]".repeat(100_000)].concat(),
            "too_deep",
        ),
        text(
            "huge-number.json",
            r#"{"to": "bob", "body": "x", "metadata": {"n": 1e999}}"#,
            "number_out_of_range",
        ),
        text(
            "many.json",
            r#"[{"to": "bob", "body": "1"}, {"to": "bob", "body": "2"}]"#,
            "not_one_message",
        ),
        text(
            "lines.json",
            "{\"to\":\"bob\",\"body\":\"1\"}\n{\"to\":\"bob\",\"body\":\"2\"}\n",
            "not_one_message",
        ),
        text("word.json", "\"hello\"", "not_one_message"),
        (
            "two-mb.json",
            json!({"to": "bob", "body": "x".repeat(2 << 20)})
                .to_string()
                .into_bytes(),
            "too_large",
        ),
        text(
            "type.json",
            r#"{"to": "bob", "body": "x", "type": "mesage"}"#,
            "unknown_type",
        ),
        text(
            "recipient.json",
            r#"{"to": ["bob", "bbo"], "body": "x"}"#,
            "unknown_recipient",
        ),
        text(
            "spoofed.json",
            r#"{"from": "bob", "to": "bob", "body": "x"}"#,
            "spoofed_sender",
        ),
        text(
            "expired.json",
            r#"{"to": "bob", "body": "x", "expires_at": "2001-01-01T00:00:00Z"}"#,
            "expired_already",
        ),
        text("binary.json", "\u{0}\u{1}\u{2}ELF", "invalid_utf8"),
        (
            "latin1.json",
            b"{\"to\": \"bob\", \"body\": \"caf\xe9\"}".to_vec(),
            "invalid_utf8",
        ),
        text("nobody.json", r#"{"body": "to whom?"}"#, "no_recipient"),
        text("silent.json", r#"{"to": "bob"}"#, "no_content"),
        id("id-slash.json", "a/b"),
        id("id-dots.json", ".."),
        id("id-newline.json", "a\nb"),
        id("id-long.json", &"x".repeat(300)),
    ]
}

#[test]
fn every_bad_content_is_refused_with_its_code_and_the_next_good_message_arrives() {
    // P4, P12
    let town = Town::alice_and_bob().run();
    for (name, bytes, _) in cases() {
        town.drop_file("alice", name, bytes);
    }
    for (name, bytes, code) in cases() {
        is_refused(&town, "alice", name, code);
        let kept: Vec<String> = town.names("rejected/alice");
        let kept = kept
            .iter()
            .find(|kept| kept.ends_with(&format!("~{name}")))
            .expect("the file is kept");
        assert_eq!(
            files::read(town.room(&format!("rejected/alice/{kept}"))),
            bytes,
            "as it was"
        );
    }
    nothing_else_happened(&town, "alice", "bob");
    assert_eq!(town.status()["counts"]["rejected"], json!(cases().len()));
}

#[test]
fn python_is_named_where_its_json_dump_is_the_usual_cause() {
    let town = Town::alice_and_bob().run();
    for name in ["nan.json", "surrogate.json"] {
        let (_, bytes, code) = cases()
            .into_iter()
            .find(|case| case.0 == name)
            .expect("a case");
        town.drop_file("alice", name, bytes);
        let refusal = is_refused(&town, "alice", name, code);
        assert_contains!(refusal["problems"][0].to_string(), "json.dump"; "{refusal:#}");
    }
}

#[test]
fn wrong_types_in_all_fields_are_reported_together() {
    let town = Town::alice_and_bob().run();
    let wrong = json!({"id": 1, "timestamp": true, "to": {}, "type": 5, "subject": [], "body": 7, "channel": 1,
        "thread_id": 2, "in_reply_to": {}, "refs": {}, "context": "c", "attachments": {}, "priority": 9,
        "requires_response": "yes", "expires_at": 4, "action": [], "project_id": {}, "metadata": "m"});
    town.mail("alice", "wrong.json", wrong.clone());
    let refusal = is_refused(&town, "alice", "wrong.json", "wrong_type");
    let told: Vec<&str> = refusal["problems"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|p| p["where"].as_str())
        .collect();
    for field in wrong.as_object().expect("an object").keys() {
        assert!(
            told.contains(&&*format!("/{field}")),
            "{field} is not told: {told:?}"
        );
    }
    nothing_else_happened(&town, "alice", "bob");
}

#[test]
fn a_wrong_item_of_to_is_reported_once_at_its_place() {
    let world = World::alice_and_bob();
    for (to, first, second) in [
        (json!(["", null]), "bad_value", "wrong_type"),
        (json!([null, "nosuch"]), "wrong_type", "unknown_recipient"),
        (json!(["nosuch", {}]), "unknown_recipient", "wrong_type"),
    ] {
        world.route("alice", "x.json", json!({"to": to, "body": "hi"}));
        let bounce = world.inbox("alice").pop().expect("a bounce");
        let problems = bounce["metadata"]["problems"].as_array().expect("a list");
        let mut reported: Vec<(&str, &str)> = problems
            .iter()
            .map(|problem| {
                let text = |field: &str| problem[field].as_str().unwrap_or_default();
                (text("where"), text("code"))
            })
            .collect();
        reported.sort_unstable();
        assert_eq!(reported, [("/to/0", first), ("/to/1", second)], "{to}");
    }
    for (to, place) in [(json!([null]), "/to/0"), (json!({"x": 1}), "/to")] {
        world.route("alice", "x.json", json!({"to": to, "body": "hi"}));
        let bounce = world.inbox("alice").pop().expect("a bounce");
        let problems = bounce["metadata"]["problems"].as_array().expect("a list");
        assert_eq!(problems.len(), 1, "{to}: {problems:?}");
        assert_fields!(problems[0], where: place, code: "wrong_type");
    }
}

#[test]
fn ten_sparse_gigabytes_are_refused_by_their_size_without_being_read() {
    let town = Town::alice_and_bob().run();
    let draft = town.room("outbox/alice/.sparse");
    if let Err(e) = File::create(&draft).and_then(|file| file.set_len(10 << 30)) {
        skip(format_args!(
            "a sparse file of 10 GB: this file system makes none: {e}"
        ));
        return;
    }
    files::rename(&draft, draft.with_file_name("sparse.json"));
    is_refused(&town, "alice", "sparse.json", "too_large");
    let status =
        fs::read_to_string(format!("/proc/{}/status", town.router().pid())).unwrap_or_default();
    let peak = status.lines().find_map(|line| {
        line.strip_prefix("VmHWM:")?
            .trim()
            .strip_suffix(" kB")?
            .parse::<u64>()
            .ok()
    });
    assert!(
        peak.is_none_or(|kb| kb < 200 << 10),
        "{peak:?} kB at its peak"
    );
    nothing_else_happened(&town, "alice", "bob");
}

#[test]
fn a_refusal_never_causes_another_and_a_wrong_ack_is_filed_without_a_bounce() {
    let town = Town::alice_and_bob().run();
    town.mail(
        "alice",
        "ack.json",
        json!({"type": "ack", "refs": ["m1"], "status": "enchanted"}),
    );
    town.wait("the ack is filed", || town.refusals("alice").len() == 1);
    town.is_alive("alice", "bob");
    assert_eq!(town.count("alice"), 0, "{:#?}", town.inbox("alice"));
    // A reply to the router has no recipient: the sender gets exactly one bounce.
    town.mail(
        "alice",
        "answer.json",
        json!({"to": "mailbag", "body": "why?"}),
    );
    town.wait_for_mail("alice", 1);
    town.is_alive("alice", "bob");
    let bounces: Vec<Value> = town.inbox("alice");
    assert_eq!(bounces.len(), 1, "{bounces:#?}");
}
