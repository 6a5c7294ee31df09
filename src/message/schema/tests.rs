//! Checking messages: the fixtures in `fixtures/messages`, which a client in any language can also run, and the
//! suggestions of rejections.
//!
//! `valid/<case>.json` is a dropped file, and `<case>.expected.json` the canonical message, without `id` if the router
//! creates it. `invalid/<case>.json` is the raw file, which need not be JSON, and `<case>.expected.json` names the
//! sender and the problems, by code and place. The time is always 2026-11-21T10:30:00Z, and the default sender is alice.

use super::*;
use crate::message::dialects::spell;
use crate::message::{FIELDS, TYPES};
use serde_json::json;
use std::fs;

/// A fixture: a file, and its result.
pub(in crate::message) struct Case {
    pub(in crate::message) name: String,
    bytes: Vec<u8>,
    pub(in crate::message) expected: Value,
}

pub(in crate::message) fn cases(folder: &str) -> Vec<Case> {
    let folder = format!("fixtures/messages/{folder}");
    let mut cases = Vec::new();
    for file in fs::read_dir(&folder).expect("a folder").flatten() {
        let file_name = file.file_name().into_string().expect("a name");
        if let Some(name) = file_name.strip_suffix(".json")
            && !name.ends_with(".expected")
        {
            let expected = fs::read(file.path().with_extension("expected.json")).expect(name);
            cases.push(Case {
                name: name.to_owned(),
                bytes: fs::read(file.path()).expect(name),
                expected: serde_json::from_slice(&expected).expect(name),
            });
        }
    }
    assert!(cases.len() > 10, "only {} cases in {folder}", cases.len());
    cases
}

/// Parses and checks as the router does.
fn read(bytes: &[u8], sender: &str) -> Result<Message, Vec<Problem>> {
    match parse(bytes) {
        ParsedFile::Value(value) => super::check(value, sender, now()),
        ParsedFile::Unfinished(problem) | ParsedFile::Bad(problem) => Err(vec![problem]),
    }
}

pub(in crate::message) fn check(value: Value) -> Result<Message, Vec<Problem>> {
    super::check(value, "alice", now())
}

fn now() -> Stamp {
    Stamp::parse("2026-11-21T10:30:00Z").expect("a time")
}

fn code_of_bad_file(text: &str) -> String {
    match parse(text.as_bytes()) {
        ParsedFile::Bad(problem) => problem.code,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn a_valid_message_becomes_canonical_and_stays_unchanged_when_it_is_sent_again() {
    for Case {
        name,
        bytes,
        expected,
    } in cases("valid")
    {
        let message = read(&bytes, "alice").unwrap_or_else(|p| panic!("{name}: {p:#?}"));
        let again = check(message.fields().clone().into()).expect(&name);
        assert_eq!(message.digest(), again.digest(), "{name}");
        assert_eq!(message.addresses(), again.addresses(), "{name}");
        let mut fields = message.fields().clone();
        if expected.get("id").is_none() {
            let id = fields.remove("id").unwrap_or_default();
            assert_eq!(id.as_str().map(str::len), Some(36), "{name}");
        }
        assert_eq!(Value::Object(fields), expected, "{name}");
    }
}

#[test]
fn an_invalid_message_is_rejected_with_all_its_problems() {
    let mut wrong = Vec::new();
    for case in cases("invalid") {
        let sender = case.expected["sender"].as_str().expect("a sender");
        let problems = read(&case.bytes, sender).expect_err(&case.name);
        let seen: Value = problems
            .iter()
            .map(|p| json!({"code": p.code, "where": p.place}))
            .collect();
        if seen != case.expected["problems"] {
            wrong.push(format!("{}: {seen} {problems:#?}", case.name));
        }
        for problem in problems {
            assert!(
                !problem.what.is_empty() && !problem.fix.is_empty(),
                "{}: {problem:?}",
                case.name
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// P114: `valid/nulls_are_absent.json` and `valid/spelling_*` have the other cases.
#[test]
fn null_is_absent_in_every_known_field() {
    for field in FIELDS.iter() {
        let mut message = json!({"to": "bob", "body": "x", "type": "message"});
        message[field] = Value::Null;
        let wanted = match *field {
            "to" => vec!["no_recipient"],
            "body" => vec!["no_content"],
            _ => Vec::new(),
        };
        let problems = check(message).err().unwrap_or_default();
        let codes: Vec<&str> = problems.iter().map(|p| p.code.as_str()).collect();
        assert_eq!(codes, wanted, "{field}");
    }
}

#[test]
fn the_fixtures_cover_every_field_and_every_type() {
    let valid = cases("valid");
    let wrong_types: Vec<String> = cases("invalid")
        .into_iter()
        .filter(|case| case.name.starts_with("wrong_types"))
        .map(|case| String::from_utf8(case.bytes).expect("UTF-8"))
        .collect();
    for field in FIELDS.iter() {
        let has_valid = valid.iter().any(|case| case.expected.get(field).is_some());
        assert!(has_valid, "no valid fixture has {field}");
        let key = format!("{field:?}:");
        let has_wrong = wrong_types.iter().any(|text| text.contains(&key));
        assert!(has_wrong, "no fixture wrong_types* has {field}");
    }
    for kind in TYPES.iter() {
        let message = json!({"to": "bob", "type": kind, "body": "x", "refs": ["a"], "status": "actioned", "topic": "t",
            "claims": ["a"], "in_reply_to": "a", "link": "po", "action": "remove",
            "signature": "required"});
        assert!(check(message).is_ok(), "{kind} is rejected");
    }
}

#[test]
fn a_file_cut_anywhere_is_unfinished_and_never_bad() {
    let whole = r#"{"to":["bob"],"body":"é😀 \ud83d\ude00 \\ \n","metadata":{"a":-1.5e-10,"b":[true,false,null,12]}}"#;
    for cut in 0..whole.len() {
        let parsed = parse(&whole.as_bytes()[..cut]);
        assert!(
            matches!(parsed, ParsedFile::Unfinished(_)),
            "cut at {cut}: {parsed:?}"
        );
    }
    assert!(matches!(parse(whole.as_bytes()), ParsedFile::Value(_)));
}

#[test]
fn numbers_are_kept_as_written() {
    let text =
        r#"{"a":12345678901234567890,"b":1.10,"c":1E5,"d":-0,"e":0.1234567890123456789012345}"#;
    let ParsedFile::Value(value) = parse(text.as_bytes()) else {
        panic!("{text}")
    };
    // serde_json normalises only an exponent.
    assert_eq!(value.to_string(), text.replace("1E5", "1e+5"));
}

#[test]
fn deep_nesting_is_rejected_and_accepted_depths_fit_the_log() {
    let nested = |depth| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    for depth in [parsed::DEPTH + 1, 128, 100_000] {
        let text = format!("{{\"a\":{}}}", nested(depth));
        assert_eq!(code_of_bad_file(&text), "too_deep", "{depth} levels");
    }
    let payload = nested(parsed::DEPTH - 2);
    let text = format!(r#"{{"to":"bob","payload":{{"x":{payload}}}}}"#);
    let message = read(text.as_bytes(), "alice").expect("deep, but not too deep");
    let record = json!({"record": {"message": message.fields()}}).to_string();
    assert!(serde_json::from_str::<Value>(&record).is_ok());
}

#[test]
fn a_private_key_of_the_json_library_is_rejected_at_any_depth() {
    for value in ["\"12\"", "\"\\u0031\"", "12", "null", "{}"] {
        for key in [
            "$serde_json::private::Number",
            "\\u0024serde_json::private::Number",
            "$serde_json::private::RawValue",
        ] {
            for text in [
                format!("{{\"{key}\":{value}}}"),
                format!("{{\"a\":[{{\"b\":1,\"{key}\":{value}}}]}}"),
            ] {
                assert_eq!(code_of_bad_file(&text), "reserved_key", "{text}");
            }
        }
    }
}

#[test]
fn the_display_name_may_stand_in_from_and_becomes_the_id() {
    let value = json!({"from": "@sintra", "to": "bob", "body": "x"});
    let message = check_as(value.clone(), "alice", &["Sintra"], now()).expect("her own name");
    assert_eq!(message.from(), "alice");
    assert_eq!(
        check(value).expect_err("not her name")[0].code,
        "spoofed_sender"
    );
}

#[test]
fn a_list_with_too_few_items_is_described_by_its_length() {
    for options in [json!([]), json!(["yes"])] {
        let approval =
            json!({"type": "approval", "to": "human", "subject": "Deploy?", "options": options});
        let problems = check(approval).expect_err("options");
        assert_eq!(
            problems[0].what,
            "options has fewer than 2 items; it must be a list of 2 to 20 texts"
        );
    }
}

#[test]
fn the_nearest_type_is_named() {
    let problems =
        check(json!({"to": "bob", "body": "x", "type": "quesiton"})).expect_err("a type");
    assert!(
        problems[0].fix.starts_with("did you mean question?"),
        "{problems:?}"
    );
}

#[test]
fn a_rejection_has_a_limited_number_of_problems_and_repeats_no_large_message() {
    let refs: Vec<String> = (0..1000).map(|n| format!("no\nreference {n}")).collect();
    let wrong = json!({"to": "bob", "body": "x", "refs": refs});
    let problems = check(wrong).expect_err("references");
    assert_eq!(problems.len(), limits::PROBLEMS);
    let large = json!({"id": 1, "to": "bob", "body": "x".repeat(100_000)});
    assert_eq!(example(&large), None);
}

/// The example of a rejection, as the router and `send --dry-run` give it. Carol asked the question q1.
fn example_of(bytes: &[u8], sender: &str) -> Option<Value> {
    let sent = match parse(bytes) {
        ParsedFile::Value(value) => value,
        _ => Value::Null,
    };
    let mut problems = read(bytes, sender).err()?;
    let check = |value| super::check(value, sender, now()).map(drop);
    let asker = |reference: &str| {
        let is_question = ["q1", "2", "#2", "carol/q1"].contains(&reference);
        is_question.then(|| "carol".to_owned())
    };
    keep_example(&mut problems, &sent, check, asker);
    problems.remove(0).example
}

fn example(sent: &Value) -> Option<Value> {
    example_of(sent.to_string().as_bytes(), "alice")
}

#[test]
fn each_example_is_accepted_and_has_the_recipients_and_the_words_of_the_file() {
    // P388
    let mut count = 0;
    for case in cases("invalid") {
        let (name, sender) = (
            case.name,
            case.expected["sender"].as_str().expect("a sender"),
        );
        let Some(example) = example_of(&case.bytes, sender) else {
            continue;
        };
        count += 1;
        let message = super::check(example.clone(), sender, now());
        let message = message.unwrap_or_else(|e| panic!("{name}: {example} is rejected: {e:#?}"));
        let text = String::from_utf8_lossy(&case.bytes);
        let values = example.as_object().expect("an object").values();
        let values: String = values.map(|value| format!("{value} ")).collect();
        for word in values.split(|c: char| !c.is_alphanumeric()) {
            assert!(
                text.contains(word),
                "{name}: the file has no {word}: {example}"
            );
        }
        let ParsedFile::Value(Value::Object(fields)) = parse(&case.bytes) else {
            continue;
        };
        let sent = spell(fields).fields;
        if let Some(to @ Value::String(_)) = sent.get("to") {
            assert!(
                message.addresses().iter().any(|one| one == to),
                "{name}: to"
            );
        }
        for field in ["body", "subject", "type", "claims", "options", "option"] {
            if let Some(value) = sent.get(field) {
                assert_eq!(message.fields().get(field), Some(value), "{name}: {field}");
            }
        }
    }
    assert!(count >= 18, "{count} examples");
}

#[test]
fn an_example_changes_only_the_wrong_part_of_the_senders_own_object() {
    for (sent, wanted) in [
        (
            json!({"in_reply_to": "q1", "body": "8080"}),
            Some(json!({"in_reply_to": "q1", "body": "8080", "to": "carol"})),
        ),
        (
            json!({"correlation_id": 2, "text": "8080", "mine": 1}),
            Some(json!({"correlation_id": 2, "text": "8080", "mine": 1, "to": "carol"})),
        ),
        (
            json!({"reply_to": "#2", "body": "8080"}),
            Some(json!({"in_reply_to": "#2", "body": "8080", "to": "carol"})),
        ),
        (json!({"in_reply_to": "unknown", "body": "8080"}), None),
        (json!({"recipient_id": "carol", "body": "secret"}), None),
        (json!({"to": "bob", "body": ["a", "b"]}), None),
        (json!({"to": "bob", "body": "x", "metadata": "x"}), None),
        (json!({"to": {"carol": true}, "body": "x"}), None),
        (json!("to: carol"), None),
        (
            json!([{"to": "bob", "body": "x"}, {"to": "carol", "body": "y"}]),
            None,
        ),
        (
            json!([{"to": "bob", "body": "x"}]),
            Some(json!({"to": "bob", "body": "x"})),
        ),
        (
            json!({"id": 1, "timestamp": "now", "priority": "P9", "to": "bob", "body": "x"}),
            Some(json!({"to": "bob", "body": "x"})),
        ),
        (
            json!({"to": "bob", "body": "x", "refs": ["a", "", "b", ""]}),
            Some(json!({"to": "bob", "body": "x", "refs": ["a", "b"]})),
        ),
        (
            json!({"type": "ack", "in_reply_to": "2", "status": "resolved"}),
            Some(json!({"type": "ack", "in_reply_to": "2", "status": "resolved", "refs": ["2"]})),
        ),
        (json!({"to": "bob", "body": "x", "type": "quesiton"}), None),
    ] {
        assert_eq!(example(&sent), wanted, "{sent}");
    }
}

#[test]
fn one_cause_is_one_problem() {
    for message in [
        json!({"to": [{"email": "bob"}], "body": "x"}),
        json!({"to": [["bob"]], "body": "x"}),
        json!({"to": [null], "body": "x"}),
        json!({"to": [7], "body": "x"}),
        json!({"to": "bob", "from": "", "body": "x"}),
    ] {
        let problems = check(message.clone()).expect_err("a problem");
        assert_eq!(problems.len(), 1, "{message}: {problems:#?}");
    }
}

#[test]
fn a_file_that_is_nearly_json_is_understood() {
    let meant = json!({"to": "bob", "body": "say \"hi\""});
    let plain = r#"{"to": "bob", "body": "say \"hi\""}"#;
    for (text, what, wanted) in [
        (
            format!("Here it is:\n```json\n{plain}\n```\n"),
            "fence",
            Some(&meant),
        ),
        (json!(plain).to_string(), "inside of a string", Some(&meant)),
        (
            "# Report\n\n- all tests pass\n".to_owned(),
            "neither { nor [",
            None,
        ),
        ("All tests pass".to_owned(), "neither { nor [", None),
    ] {
        let problem = read(text.as_bytes(), "alice").expect_err(&text).remove(0);
        assert!(problem.what.contains(what), "{text}: {problem:#?}");
        assert_eq!(
            example_of(text.as_bytes(), "alice").as_ref(),
            wanted,
            "{text}"
        );
    }
}

#[test]
fn a_rejection_lists_the_cause_and_nothing_that_follows_from_it() {
    // P442
    for (message, codes) in [
        (
            json!({"to_agent": null, "routing": "direct", "content": "x"}),
            ["no_recipient"].as_slice(),
        ),
        (json!({"cc": 5, "body": "x"}), &["wrong_type"]),
        (json!({"reciever": "carol", "body": "x"}), &["no_recipient"]),
        (
            json!({"too": "carol", "bodyy": "x"}),
            &["no_recipient", "no_content"],
        ),
        (json!({"to": "bob", "boddy": "x"}), &["no_content"]),
        (
            json!({"to_role": "engineer", "body": "x"}),
            &["misnamed_field"],
        ),
        (
            json!({"body": "x", "text": "y"}),
            &["conflicting_fields", "no_recipient"],
        ),
        (json!({"bcc": null, "to": "bob", "body": "x"}), &[]),
    ] {
        let mut found: Vec<String> = check(message.clone())
            .err()
            .into_iter()
            .flatten()
            .map(|problem| problem.code)
            .collect();
        let mut codes = codes.to_vec();
        found.sort();
        codes.sort_unstable();
        assert_eq!(found, codes, "{message}");
    }
}

#[test]
fn one_reference_is_read_as_a_list_with_this_reference() {
    // P383
    for (refs, wanted) in [
        (json!("\u{2014}"), json!(["\u{2014}"])),
        (json!("docs/a.md"), json!(["docs/a.md"])),
        (json!(12), json!(["12"])),
        (json!(["Riff #221", 7]), json!(["Riff #221", "7"])),
    ] {
        let message = check(json!({"to": "bob", "body": "x", "refs": refs}));
        assert_eq!(message.expect("it is valid").fields()["refs"], wanted);
    }
}
