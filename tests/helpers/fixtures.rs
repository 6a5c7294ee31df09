//! The messages of `fixtures/messages` go the way of a helper's own: the valid ones arrive equal, the others bounce.

use super::tongue::Tongue;
use super::{accepted, file, in_each, town};
use crate::files;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;

in_each!(
    valid_fixtures_are_delivered_equal,
    invalid_fixtures_bounce_and_are_seen_as_such
);

/// Fixtures that need agents, other messages before them, or the human as their sender.
const STANDING: [&str; 7] = [
    "mention",
    "accept",
    "release_of_another",
    "decision_on_an_approval",
    "link",
    "pin",
    "ack_acked",
];

/// The fixtures of a folder: name, bytes and expectation. The times in them are moved, since the router's clock is real.
fn cases(folder: &str) -> Vec<(String, Vec<u8>, Value)> {
    let moved = |bytes: Vec<u8>| match String::from_utf8(bytes) {
        Ok(text) => {
            let later = text.replace("2026-11-22T", "2999-11-22T");
            let text = later.replace(
                r#""expires_at": "2026-11-21T"#,
                r#""expires_at": "2020-11-21T"#,
            );
            text.into_bytes()
        }
        Err(e) => e.into_bytes(),
    };
    let entries = fs::read_dir(format!("fixtures/messages/{folder}"))
        .expect("fixtures")
        .flatten();
    let mut cases: Vec<_> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let stem = name
                .strip_suffix(".json")
                .filter(|stem| !stem.ends_with(".expected"))?
                .to_owned();
            let expected = entry.path().with_file_name(format!("{stem}.expected.json"));
            let expected = moved(files::read(expected));
            let expected = serde_json::from_slice(&expected).expect("JSON");
            Some((stem, moved(files::read(entry.path())), expected))
        })
        .collect();
    cases.sort_by(|one, other| one.0.cmp(&other.0));
    assert!(cases.len() > 30);
    cases
}

fn valid_fixtures_are_delivered_equal(tongue: Tongue) {
    let town = town();
    // Some fixtures refer to an earlier message, or to an agent that must be registered.
    town.mail(
        "bob",
        "first.json",
        json!({"id": "msg_1", "to": "alice", "body": "for an ack"}),
    );
    town.wait_for_mail("alice", 1);
    let cases: Vec<_> = cases("valid")
        .into_iter()
        .filter(|(name, _, _)| !STANDING.contains(&name.as_str()))
        .collect();
    let files: Vec<String> = cases
        .iter()
        .map(|(name, bytes, _)| file(&town, &format!("{name}.json"), bytes))
        .collect();
    let words: Vec<&str> = ["drop"]
        .into_iter()
        .chain(files.iter().map(String::as_str))
        .collect();
    let names = tongue.ok(&town, "alice", &words);
    town.wait("all is routed", || {
        accepted(&town).len() > cases.len() || !town.refusals("alice").is_empty()
    });
    assert_eq!(town.refusals("alice"), Vec::<Value>::new());
    let messages: BTreeMap<String, Value> = accepted(&town).into_iter().collect();
    for ((case, _, expected), name) in cases.iter().zip(&names) {
        let mut message = messages[name].clone();
        let id = message["id"].clone();
        if expected.get("id").is_none() {
            message.as_object_mut().expect("an object").remove("id");
        }
        assert_eq!(message, *expected, "{case}");
        let Some(mut copy) = town.inbox("bob").into_iter().find(|mail| mail["id"] == id) else {
            continue;
        };
        let fields = copy.as_object_mut().expect("an object");
        fields.retain(|key, _| {
            !["id", "to", "addressed_to", "delivery", "timestamp"].contains(&key.as_str())
        });
        for (key, value) in fields {
            assert_eq!(*value, expected[key], "{case}: {key}");
        }
    }
    assert!(town.inbox("bob").len() > 15);
}

fn invalid_fixtures_bounce_and_are_seen_as_such(tongue: Tongue) {
    let town = town();
    let cases = cases("invalid");
    let files: Vec<String> = cases
        .iter()
        .map(|(name, bytes, _)| file(&town, &format!("{name}.json"), bytes))
        .collect();
    let words: Vec<&str> = ["drop"]
        .into_iter()
        .chain(files.iter().map(String::as_str))
        .collect();
    let names = tongue.ok(&town, "alice", &words);
    // Acks are filed without a bounce.
    let silent = cases
        .iter()
        .filter(|(name, _, _)| name.starts_with("ack_"))
        .count();
    town.wait_for_refusals("alice", cases.len());
    town.wait_for_mail("alice", cases.len() - silent);
    for refusal in town.refusals("alice") {
        let at = names
            .iter()
            .position(|name| refusal["file"] == **name)
            .expect("it was dropped");
        let codes = |problems: &Value| -> Vec<Value> {
            problems
                .as_array()
                .expect("a list")
                .iter()
                .map(|problem| problem["code"].clone())
                .collect()
        };
        let (case, _, expected) = &cases[at];
        // The recipients of an address are also checked here.
        assert!(
            codes(&refusal["problems"]).starts_with(&codes(&expected["problems"])),
            "{case}: {refusal:#}"
        );
    }
    let bounces: Vec<Value> = tongue
        .ok(&town, "alice", &["rejections"])
        .iter()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect();
    assert_eq!(bounces.len(), cases.len() - silent);
    for bounce in &bounces {
        assert!(
            bounce["rejection"] == true
                && bounce["codes"]
                    .as_array()
                    .is_some_and(|codes| !codes.is_empty())
        );
    }
    assert_eq!(
        (town.count("alice"), town.names("inbox/alice/seen").len()),
        (0, bounces.len())
    );
}
