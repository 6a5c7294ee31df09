//! The published schemas of messages and registries: complete, valid, and in agreement with the program.

use super::*;
use crate::message::schema::tests::{cases, check};
use jsonschema::{PatternOptions, Validator};
use serde_json::json;
use std::fs;

#[test]
fn every_property_of_the_schemas_has_a_title_a_description_and_examples_that_fit() {
    let fits_message = |value: &Value| check(value.clone()).is_ok();
    let registry = compile(registry_schema());
    let fits_registry = |value: &Value| registry.is_valid(value);
    assert_described(
        message_schema(),
        &fits_message,
        &json!({"to": "bob", "body": "x"}),
        "from",
    );
    assert_described(
        registry_schema(),
        &fits_registry,
        &json!({"agents": []}),
        "agents",
    );
}

/// Checks a schema and its examples. The examples of each property but `except` are checked in `message`.
fn assert_described(schema: &str, fits: &dyn Fn(&Value) -> bool, message: &Value, except: &str) {
    let schema: Value = serde_json::from_str(schema).expect("JSON");
    assert_has_descriptions(&schema);
    for example in schema["examples"].as_array().expect("examples") {
        assert!(fits(example), "{example} does not fit");
    }
    for (field, property) in schema["properties"].as_object().expect("properties") {
        for example in property["examples"].as_array().expect("examples") {
            let mut message = message.clone();
            message[field] = example.clone();
            assert!(field == except || fits(&message), "{message} does not fit");
        }
    }
}

fn assert_has_descriptions(schema: &Value) {
    for (field, property) in schema["properties"].as_object().into_iter().flatten() {
        for word in ["title", "description", "examples"] {
            assert!(property.get(word).is_some(), "{field} has no {word}");
        }
        assert_has_descriptions(property);
        assert_has_descriptions(&property["items"]);
    }
}

#[test]
fn the_published_schemas_are_of_the_draft_they_name_and_agree_with_the_program() {
    let schema: Value = serde_json::from_str(message_schema()).expect("JSON");
    let registry: Value = serde_json::from_str(registry_schema()).expect("JSON");
    assert!(jsonschema::draft202012::meta::is_valid(&schema));
    assert!(jsonschema::draft202012::meta::is_valid(&registry));
    let published = jsonschema::draft202012::new(&schema).expect("a schema");
    for case in cases("valid") {
        assert!(published.is_valid(&case.expected), "{}", case.name);
    }
    for name in [
        "id_slash",
        "wrong_types",
        "attachment_paths",
        "attachment_shapes",
        "unknown_type",
        "bad_references",
    ] {
        let bytes = fs::read(format!("fixtures/messages/invalid/{name}.json")).expect(name);
        let value = serde_json::from_slice(&bytes).expect(name);
        assert!(!published.is_valid(&value), "{name}");
    }
}

fn compile(schema: &str) -> Validator {
    jsonschema::options()
        .with_pattern_options(PatternOptions::regex())
        .with_format("mailbag-time", |text| Stamp::parse(text).is_some())
        .should_validate_formats(true)
        .build(&serde_json::from_str(schema).expect("JSON"))
        .expect("a schema")
}

/// P114: the check of this program and a complete validator accept the same messages.
#[test]
fn the_program_and_another_validator_agree_on_each_value_of_each_field() {
    let compiled = compile(message_schema());
    let schema: &Schema = &MESSAGE;
    let texts = [
        "", "a", "-a", "a b", "a\n", "a/b", "#1", "/a", "../a", "urgent", "x-a", "x-", "ack",
        "a/b/c", "€",
    ];
    let long = [
        64, 65, 128, 129, 193, 194, 255, 256, 257, 1000, 1001, 1024, 1025,
    ]
    .map(|n| Value::from("a".repeat(n)));
    let times = [
        "2026-11-21T10:30:00Z",
        "2026-13-01T00:00:00Z",
        "2026-11-21T10:30:00",
    ]
    .map(Value::from);
    let others = [
        json!(null),
        json!(true),
        json!(1),
        json!(1.5),
        json!([]),
        json!({}),
        json!([1]),
        json!([["a"]]),
    ];
    let one: Vec<Value> = texts
        .map(Value::from)
        .into_iter()
        .chain(long)
        .chain(times)
        .chain(others)
        .collect();
    let lists = one.iter().map(|value| json!([value, "a"]));
    let fields = ["path", "sha256", "media_type", "name", "content"];
    let attached = one.iter().flat_map(|value| {
        fields
            .map(|field| json!([{"path": "a", field: value}]))
            .into_iter()
            .chain([json!([{"name": value, "content": value}])])
    });
    let values: Vec<Value> = one.iter().cloned().chain(lists).chain(attached).collect();
    let (mut valid, mut invalid) = (0, 0);
    for field in FIELDS.iter() {
        for value in &values {
            for kind in [
                "message", "ack", "claim", "release", "approval", "decision", "link",
            ] {
                let mut message =
                    json!({"type": kind, "body": "x", "in_reply_to": "a", "option": "yes"});
                message[field] = value.clone();
                let fits = schema.fits(&message);
                assert_eq!(fits, compiled.is_valid(&message), "{message}");
                if fits { valid += 1 } else { invalid += 1 }
            }
        }
    }
    for message in [
        json!({}),
        json!({"type": 1, "subject": 2}),
        json!({"type": "ack"}),
        json!([]),
        json!(null),
    ] {
        assert_eq!(
            schema.fits(&message),
            compiled.is_valid(&message),
            "{message}"
        );
    }
    assert!(
        valid > 500 && invalid > 500,
        "{valid} valid, {invalid} invalid"
    );
}
