//! The mentions in a body, its other text, and the flag of a broadcast: `mailbag send --dry-run` and the helpers return the same.

use super::tongue::Tongue;
use super::{file, in_each};
use crate::files;
use crate::town::Town;
use serde_json::{Value, json};

in_each!(
    the_fixtures_are_answered_as_they_say,
    helper_and_program_agree_on_word_characters
);

/// The helper's answer for each body.
fn answers(tongue: Tongue, town: &Town, bodies: &[String]) -> Vec<Value> {
    let files = bodies
        .iter()
        .enumerate()
        .map(|(at, body)| file(town, &format!("{at}.body"), body));
    let files: Vec<String> = files.collect();
    let words: Vec<&str> = ["mentions"]
        .into_iter()
        .chain(files.iter().map(String::as_str))
        .collect();
    let lines = tongue.ok(town, "alice", &words);
    let answer = |line: &String| {
        let answer: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        // The shell helper prints the program's output.
        answer_of(if answer["messages"].is_array() {
            &answer["messages"][0]
        } else {
            &answer
        })
    };
    lines.iter().map(answer).collect()
}

/// The program's answer for each body, in messages without other recipients.
fn checked(town: &Town, bodies: &[String]) -> Vec<Value> {
    let message =
        |body: &String| json!({"type": "status", "subject": "-", "body": body}).to_string();
    let files = bodies
        .iter()
        .enumerate()
        .map(|(at, body)| file(town, &format!("{at}.json"), message(body)));
    let files: Vec<String> = files.collect();
    let words: Vec<&str> = ["send", "--dry-run", "--file"]
        .into_iter()
        .chain(files.iter().map(String::as_str))
        .collect();
    let checked = town.json(&words);
    checked["messages"]
        .as_array()
        .expect("a list")
        .iter()
        .map(answer_of)
        .collect()
}

fn answer_of(one: &Value) -> Value {
    json!({"mentions": one["mentions"], "text": one["text"], "broadcast": one["broadcast"]})
}

fn the_fixtures_are_answered_as_they_say(tongue: Tongue) {
    let town = Town::of("alice");
    let cases = files::read("fixtures/mentions/cases.json");
    let mut cases: Vec<Value> = serde_json::from_slice(&cases).expect("JSON");
    let body = |case: &mut Value| case.as_object_mut().and_then(|case| case.remove("body"));
    let bodies: Vec<String> = cases
        .iter_mut()
        .filter_map(|case| body(case)?.as_str().map(str::to_owned))
        .collect();
    assert!(bodies.len() == cases.len() && cases.len() > 20);
    let (ours, theirs) = (checked(&town, &bodies), answers(tongue, &town, &bodies));
    assert_eq!((ours.len(), theirs.len()), (cases.len(), cases.len()));
    for (at, case) in cases.iter().enumerate() {
        assert_eq!(&ours[at], case, "check of {:?}", bodies[at]);
        assert_eq!(&theirs[at], case, "{:?}", bodies[at]);
    }
}

fn helper_and_program_agree_on_word_characters(tongue: Tongue) {
    let town = Town::of("alice");
    // Where punctuation and signs border on letters.
    let parts = [
        0x01..0xFF,
        0x37A..0x38C,
        0x555..0x625,
        0x660..0x6E0,
        0x960..0x970,
        0x1FF8..0x2010,
        0x2BF8..0x3040,
    ];
    let more = [
        0x30F8..0x3100,
        0xFDF8..0xFF70,
        0xFFE8..0x10010,
        0x1EFF8..0x1F008,
        0x1FAF8..0x1FB08,
        0xDFFF8..0xE0008,
    ];
    let characters: Vec<char> = parts
        .into_iter()
        .chain(more)
        .flatten()
        .filter_map(char::from_u32)
        .collect();
    let bodies: Vec<String> = characters
        .chunks(100)
        .map(|some| {
            some.iter()
                .map(|c| format!("{c}@a{0:x}.\n@b{0:x}{c}\n", *c as u32))
                .collect()
        })
        .collect();
    let (ours, theirs) = (checked(&town, &bodies), answers(tongue, &town, &bodies));
    assert!(ours.iter().any(|one| {
        one["mentions"]
            .as_array()
            .is_some_and(|found| found.len() > 50)
    }));
    assert_eq!(theirs, ours);
}
