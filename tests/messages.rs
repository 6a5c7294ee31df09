//! Runs the fixtures of `fixtures/messages`, which a client in any language can also run.
//!
//! `valid/<case>.json` is the dropped file, and `<case>.expected.json` the canonical message,
//! without `id` if the router creates it. `invalid/<case>.json` is the raw file, which need not be
//! JSON, and `<case>.expected.json` names the sender and the problems, by code and place. The time
//! is always 2026-11-21T10:30:00Z, and the default sender is alice.

use mailbag::base::clock::Stamp;
use mailbag::base::error::Problem;
use mailbag::message::schema::{self, ParsedFile};
use mailbag::message::{FIELDS, Message, TYPES};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const ALICE: &str = "alice";

#[test]
fn every_valid_message_becomes_the_canonical_one() {
    for case in cases("valid") {
        let message = read(&fs::read(&case).expect("a fixture"), ALICE)
            .unwrap_or_else(|p| panic!("{case:?}: {p:#?}"));
        let mut fields = message.into_fields();
        let expected = expected(&case);
        if expected.get("id").is_none() {
            assert!(
                fields
                    .remove("id")
                    .is_some_and(|id| id.as_str().is_some_and(|id| id.len() == 36)),
                "{case:?}"
            );
        }
        assert_eq!(Value::Object(fields), expected, "{case:?}");
    }
}

/// P114: `valid/nulls_are_absent.json` and `valid/spelling_*` have the other cases.
#[test]
fn null_is_absent_in_every_known_field() {
    for field in FIELDS {
        let mut message = json!({"to": "bob", "body": "x", "type": "message"});
        message[field] = Value::Null;
        let wanted = match *field {
            "to" => vec!["no_recipient"],
            "body" => vec!["no_content"],
            _ => Vec::new(),
        };
        let problems = read(message.to_string().as_bytes(), ALICE)
            .err()
            .unwrap_or_default();
        assert_eq!(
            problems
                .iter()
                .map(|problem| problem.code.clone())
                .collect::<Vec<_>>(),
            wanted,
            "{field}"
        );
    }
}

#[test]
fn every_invalid_message_is_refused_with_all_its_problems() {
    let mut wrong = Vec::new();
    for case in cases("invalid") {
        let expected = expected(&case);
        let sender = expected["sender"].as_str().expect("a sender");
        let problems = read(&fs::read(&case).expect("a fixture"), sender)
            .expect_err(&format!("{case:?} was accepted"));
        let seen: Vec<Value> = problems
            .iter()
            .map(|p| json!({"code": p.code, "where": p.place}))
            .collect();
        if Value::Array(seen.clone()) != expected["problems"] {
            wrong.push(format!(
                "{case:?}: expected {}, was {} {problems:#?}",
                expected["problems"],
                Value::Array(seen)
            ));
        }
        for problem in problems {
            assert!(
                !problem.what.is_empty() && !problem.fix.is_empty(),
                "{case:?} says no cure: {problem:?}"
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_canonical_message_is_unchanged_when_it_is_sent_again() {
    for case in cases("valid") {
        let first = read(&fs::read(&case).expect("a fixture"), ALICE).expect("a valid fixture");
        let again =
            read(&serde_json::to_vec(first.fields()).expect("JSON"), ALICE).expect("still valid");
        assert_eq!(first.digest(), again.digest(), "{case:?}");
        assert_eq!(
            Message::from_fields(again.into_fields())
                .expect("a record")
                .addresses(),
            first.addresses()
        );
    }
}

#[test]
fn the_fixtures_cover_every_field_and_every_type() {
    let texts: Vec<Value> = cases("valid").iter().map(|case| expected(case)).collect();
    let fields: BTreeSet<&str> = texts
        .iter()
        .flat_map(|m| m.as_object().expect("an object").keys().map(String::as_str))
        .collect();
    let schema: Value = serde_json::from_str(schema::message_schema()).expect("JSON");
    let properties = schema["properties"].as_object().expect("properties");
    assert_eq!(properties.keys().collect::<Vec<_>>(), FIELDS);
    for field in properties.keys() {
        assert!(
            fields.contains(field.as_str()),
            "no valid fixture has {field}"
        );
        let wrong = [
            "wrong_types.json",
            "wrong_types_in_a_claim.json",
            "wrong_types_in_an_approval.json",
            "wrong_types_in_a_decision.json",
            "wrong_types_in_a_link.json",
            "wrong_types_in_a_pin.json",
        ];
        let has = |name: &str| {
            let text = fs::read_to_string(folder("invalid").join(name)).expect("a fixture");
            text.contains(&format!("{field:?}:"))
        };
        assert!(wrong.iter().any(|name| has(name)), "{wrong:?} lack {field}");
    }
    for kind in TYPES {
        let message = json!({"to": "bob", "type": kind, "body": "x", "refs": ["a"], "status": "actioned", "topic": "t", "claims": ["a"], "in_reply_to": "a",
                             "link": "po", "action": "probe",
                             "key": "5a".repeat(32), "signature": "required"});
        assert!(
            read(message.to_string().as_bytes(), ALICE).is_ok(),
            "{kind} is refused"
        );
    }
}

#[test]
fn every_property_of_the_schemas_has_a_title_a_description_and_examples_that_fit() {
    for text in [schema::message_schema(), schema::registry_schema()] {
        let schema: Value = serde_json::from_str(text).expect("JSON");
        describe(&schema);
        for example in schema["examples"].as_array().expect("examples") {
            let is_registry = example.get("agents").is_some();
            let ok = if is_registry {
                schema::check_registry(example).is_empty()
            } else {
                check(example.clone()).is_ok()
            };
            assert!(ok, "{example} does not fit");
        }
        for (field, property) in schema["properties"].as_object().expect("properties") {
            for example in property["examples"]
                .as_array()
                .expect("examples")
                .iter()
                .filter(|_| field != "agents")
            {
                let mut message = json!({"to": "bob", "body": "x", "agents": []});
                message[field] = example.clone();
                let ok = match text == schema::registry_schema() {
                    true => schema::check_registry(&message).is_empty(),
                    false => field == "from" || check(message.clone()).is_ok(),
                };
                assert!(ok, "{message} does not fit");
            }
        }
    }
}

#[test]
fn the_published_schemas_are_of_the_draft_they_name_and_say_what_the_program_does() {
    let schema: Value = serde_json::from_str(schema::message_schema()).expect("JSON");
    let registry: Value = serde_json::from_str(schema::registry_schema()).expect("JSON");
    assert!(
        jsonschema::draft202012::meta::is_valid(&schema)
            && jsonschema::draft202012::meta::is_valid(&registry)
    );
    let published = jsonschema::draft202012::new(&schema).expect("a schema");
    for case in cases("valid") {
        assert!(published.is_valid(&expected(&case)), "{case:?}");
    }
    for case in [
        "id_slash",
        "wrong_types",
        "attachment_paths",
        "attachment_shapes",
        "unknown_type",
        "bad_references",
    ] {
        let text =
            fs::read_to_string(folder("invalid").join(format!("{case}.json"))).expect("a fixture");
        assert!(
            !published.is_valid(&serde_json::from_str(&text).expect("JSON")),
            "{case}"
        );
    }
}

#[test]
fn a_file_cut_anywhere_is_unfinished_and_never_bad() {
    let whole = r#"{"to":["bob"],"body":"é😀 \ud83d\ude00 \\ \n","metadata":{"a":-1.5e-10,"b":[true,false,null,12]}}"#;
    for cut in 0..whole.len() {
        let parsed = schema::parse(&whole.as_bytes()[..cut]);
        assert!(
            matches!(parsed, ParsedFile::Unfinished(_)),
            "cut at {cut}: {parsed:?}"
        );
    }
    assert!(matches!(
        schema::parse(whole.as_bytes()),
        ParsedFile::Value(_)
    ));
}

#[test]
fn numbers_are_kept_as_written() {
    let text =
        r#"{"a":12345678901234567890,"b":1.10,"c":1E5,"d":-0,"e":0.1234567890123456789012345}"#;
    let ParsedFile::Value(value) = schema::parse(text.as_bytes()) else {
        panic!("{text}")
    };
    // serde_json normalises only an exponent.
    assert_eq!(value.to_string(), text.replace("1E5", "1e+5"));
}

#[test]
fn deep_nesting_is_rejected_and_accepted_depths_fit_the_log() {
    for depth in [schema::DEPTH + 1, 128, 100_000] {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(depth), "]".repeat(depth));
        let ParsedFile::Bad(problem) = schema::parse(deep.as_bytes()) else {
            panic!("{depth} levels")
        };
        assert_eq!(problem.code, "too_deep");
    }
    let inner = schema::DEPTH - 1;
    let deep = format!(
        "{{\"to\":\"bob\",\"payload\":{{\"x\":{}1{}}}}}",
        "[".repeat(inner - 1),
        "]".repeat(inner - 1)
    );
    let message = read(deep.as_bytes(), ALICE).expect("deep, but not too deep");
    let record = json!({"record": {"message": message.into_fields()}}).to_string();
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
                let ParsedFile::Bad(problem) = schema::parse(text.as_bytes()) else {
                    panic!("{text}")
                };
                assert_eq!(problem.code, "reserved_key", "{text}");
            }
        }
    }
}

#[test]
fn the_display_name_may_stand_in_from_and_becomes_the_id() {
    let value = json!({"from": "@sintra", "to": "bob", "body": "x"});
    let message = schema::check_as(value.clone(), ALICE, &["Sintra"], now()).expect("her own name");
    assert_eq!(message.from(), ALICE);
    assert_eq!(
        schema::check(value, ALICE, now()).expect_err("not her name")[0].code,
        "spoofed_sender"
    );
}

#[test]
fn the_nearest_type_is_named() {
    let problems =
        check(json!({"to": "bob", "body": "x", "type": "quesiton"})).expect_err("no such type");
    assert!(
        problems[0].fix.starts_with("did you mean question?"),
        "{problems:?}"
    );
}

#[test]
fn no_message_gets_more_problems_than_are_of_use() {
    let refs: Vec<String> = (0..1000).map(|n| format!("no\nreference {n}")).collect();
    let problems =
        check(json!({"to": "bob", "body": "x", "refs": refs})).expect_err("bad references");
    assert_eq!(problems.len(), mailbag::base::limits::PROBLEMS);
}

#[test]
fn a_refusal_repeats_no_more_of_a_large_message_than_is_of_use() {
    let list = |body: &str| json!([{"to": "bob", "body": body}]);
    let told = |value: Value| check(value).expect_err("a list")[0].example.clone();
    assert_eq!(
        told(list("short")),
        Some(json!({"to": "bob", "body": "short"}))
    );
    assert_eq!(told(list(&"x".repeat(100_000))), None);
    let nobody_says_anything = json!({"to": vec!["bob"; 10_000]});
    assert_eq!(told(nobody_says_anything), None);
}

#[test]
fn the_example_for_an_ack_without_refs_has_the_message_of_in_reply_to() {
    let ack = json!({"type": "ack", "in_reply_to": "2", "status": "actioned"});
    let problems = check(ack).expect_err("no refs");
    let wanted = json!({"type": "ack", "refs": ["2"], "status": "actioned"});
    assert_eq!(problems[0].example, Some(wanted));
}

#[test]
fn a_registry_is_checked_field_by_field() {
    let good = json!({"version": 1, "note": "kept", "agents": [
        {"id": "planner", "role": "planner", "name": "Sintra", "instance": 1, "description": "d", "capabilities": ["a"],
         "topics": ["t"], "status": "busy", "uid": 1000, "supervisor": "human", "wake": {"x": 1}, "mine": null}],
        "aliases": {"web-owner": "cap:web", "leads": ["planner", "human"]}});
    assert_eq!(schema::check_registry(&good), []);
    let bad = json!({"version": 2, "agents": [{"role": "a b"}, {"id": "..", "name": "Sintra2", "status": "asleep", "uid": -1}],
        "aliases": {"a b": "x", "c": []}});
    let seen: BTreeSet<String> = schema::check_registry(&bad)
        .iter()
        .map(|p| format!("{} {}", p.code, p.place))
        .collect();
    let expected = [
        "bad_version /version",
        "missing_field /agents/0",
        "bad_name /agents/0/role",
        "bad_name /agents/1/id",
        "bad_name /agents/1/name",
        "bad_status /agents/1/status",
        "wrong_type /agents/1/uid",
        "bad_name /aliases/a b",
        "wrong_type /aliases/c",
    ];
    assert_eq!(seen, expected.iter().map(|s| s.to_string()).collect());
    assert_eq!(schema::check_registry(&json!([]))[0].code, "wrong_type");
}

/// Parses and checks as the router does.
fn read(bytes: &[u8], sender: &str) -> Result<Message, Vec<Problem>> {
    match schema::parse(bytes) {
        ParsedFile::Value(value) => schema::check(value, sender, now()),
        ParsedFile::Unfinished(problem) | ParsedFile::Bad(problem) => Err(vec![problem]),
    }
}

fn check(value: Value) -> Result<Message, Vec<Problem>> {
    schema::check(value, ALICE, now())
}

fn now() -> Stamp {
    Stamp::parse("2026-11-21T10:30:00Z").expect("a time")
}

fn describe(schema: &Value) {
    let none = Map::new();
    for (field, property) in schema["properties"].as_object().unwrap_or(&none) {
        for word in ["title", "description", "examples"] {
            assert!(property.get(word).is_some(), "{field} has no {word}");
        }
        describe(property);
        describe(&property["items"]);
    }
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/messages")
        .join(name)
}

/// The cases of a folder, in order.
fn cases(name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder(name)).expect("the folder of fixtures");
    let mut cases: Vec<PathBuf> = entries
        .map(|e| e.expect("an entry").path())
        .filter(|p| is_case(p))
        .collect();
    cases.sort();
    assert!(cases.len() > 10, "only {} cases in {name}", cases.len());
    cases
}

fn is_case(path: &Path) -> bool {
    let name = path.to_string_lossy();
    name.ends_with(".json") && !name.ends_with(".expected.json")
}

fn expected(case: &Path) -> Value {
    let text = fs::read_to_string(case.with_extension("expected.json"))
        .unwrap_or_else(|e| panic!("{case:?}: {e}"));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{case:?}: {e}"))
}
