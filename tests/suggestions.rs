//! Each suggestion in a rejection works when it is pasted.

use mailbag::base::clock::Stamp;
use mailbag::base::error::Problem;
use mailbag::message::address::Address;
use mailbag::message::schema::{self, ParsedFile};
use serde_json::{Value, json};
use std::fs;

fn now() -> Stamp {
    Stamp::parse("2026-11-21T10:30:00Z").expect("a time")
}

fn problems(bytes: &[u8], sender: &str) -> Vec<Problem> {
    match schema::parse(bytes) {
        ParsedFile::Value(value) => schema::check(value, sender, now())
            .err()
            .unwrap_or_default(),
        ParsedFile::Unfinished(problem) | ParsedFile::Bad(problem) => vec![problem],
    }
}

/// Pastes the suggestion of each problem, and returns the number of suggestions.
fn paste(name: &str, bytes: &[u8], sender: &str) -> usize {
    let mut count = 0;
    for problem in problems(bytes, sender) {
        let Some(example) = &problem.example else {
            continue;
        };
        count += 1;
        let text = String::from_utf8_lossy(bytes);
        let fixed = schema::corrected(&text, std::slice::from_ref(&problem)).expect("a suggestion");
        let mut again = problems(fixed.as_bytes(), sender);
        // A value fixes its field. The other fields can still be wrong.
        if serde_json::from_str::<Value>(&fixed).expect("JSON") != *example {
            again.retain(|other| other.place == problem.place);
        }
        assert!(
            again.is_empty(),
            "{name}: {problem:#?} suggests {example}: {again:#?}"
        );
    }
    count
}

#[test]
fn each_suggestion_works_when_it_is_pasted() {
    // P388
    let mut count = 0;
    for file in fs::read_dir("fixtures/messages/invalid")
        .expect("a folder")
        .flatten()
    {
        let name = file.file_name().into_string().expect("a name");
        if name.ends_with(".expected.json") {
            continue;
        }
        let expected =
            fs::read(file.path().with_extension("expected.json")).expect("an expectation");
        let expected: Value = serde_json::from_slice(&expected).expect("JSON");
        let bytes = fs::read(file.path()).expect("a fixture");
        count += paste(
            &name,
            &bytes,
            expected["sender"].as_str().expect("a sender"),
        );
    }
    assert!(count > 60, "{count} suggestions");
}

#[test]
fn a_file_that_is_nearly_json_is_understood() {
    let meant = json!({"to": "bob", "body": "say \"hi\""});
    let plain = r#"{"to": "bob", "body": "say \"hi\""}"#;
    let simple = r#"{"to": "bob", "body": "hi"}"#;
    let numbered = |joint: &str| {
        format!(
            "     1{joint}{{\n     2{joint}  \"to\": \"bob\",\n     3{joint}  \"body\": \"hi\"\n     4{joint}}}\n"
        )
    };
    let hi = json!({"to": "bob", "body": "hi"});
    for (text, what, example) in [
        (numbered("\t"), "number", hi.clone()),
        (numbered("→"), "number", hi.clone()),
        (format!("     1\t```json\n     2\t{simple}\n     3\t```\n"), "number", hi.clone()),
        (format!("Here it is:\n```json\n{plain}\n```\n"), "fence", meant.clone()),
        (simple.replace('"', "\u{201d}"), "typographic", hi.clone()),
        (
            "{\u{201c}to\u{201d}: \u{201c}bob\u{201d}, \u{201c}body\u{201d}: \u{201c}it\u{2019}s me\u{201d}}"
                .to_owned(),
            "typographic",
            json!({"to": "bob", "body": "it's me"}),
        ),
        (simple.replace('"', "\\\""), "escaped", hi.clone()),
        (json!(plain).to_string(), "inside of a string", meant),
        (
            "# Report\n\n- all tests pass\n".to_owned(),
            "Markdown",
            json!({"to": "bob", "body": "# Report\n\n- all tests pass"}),
        ),
        ("All tests pass".to_owned(), "neither { nor [", json!({"to": "bob", "body": "All tests pass"})),
    ] {
        let problem = problems(text.as_bytes(), "alice").pop().expect("it is not JSON");
        assert!(problem.what.contains(what), "{text}: {problem:#?}");
        assert_eq!(problem.example, Some(example), "{text}");
        paste("a text", text.as_bytes(), "alice");
    }
}

#[test]
fn several_addresses_in_one_text_are_suggested_as_an_array() {
    for text in [
        "@bob, @carol",
        "bob,carol",
        "bob; carol",
        "@bob @carol",
        "bob and carol",
        "@bob & @carol",
        "[\"bob\", \"carol\"]",
        "@bob, all_engineers, #auth-module",
        " bob ",
        "@bob*",
        "@#auth-module",
        "@@bob",
    ] {
        let problem = Address::parse(text).expect_err(text);
        let example = problem
            .example
            .clone()
            .unwrap_or_else(|| panic!("{text}: {problem:#?}"));
        let all = example.as_array().cloned().unwrap_or_else(|| vec![example]);
        for one in &all {
            Address::parse(one.as_str().expect("a text"))
                .unwrap_or_else(|e| panic!("{text}: {one}: {e:#?}"));
        }
        assert_eq!(
            all.len() > 1,
            text.contains("carol") || text.contains("engineers"),
            "{text}: {all:?}"
        );
    }
}

#[test]
fn a_rejection_lists_the_cause_and_nothing_that_follows_from_it() {
    // P442
    for (message, codes) in [
        (
            json!({"to_agent": null, "routing": "direct", "content": "x"}),
            ["conflicting_fields"].as_slice(),
        ),
        (json!({"cc": 5, "body": "x"}), &["wrong_type"]),
        (
            json!({"reciever": "carol", "body": "x"}),
            &["misnamed_field"],
        ),
        (
            json!({"too": "carol", "bodyy": "x"}),
            &["no_recipient", "misnamed_field"],
        ),
        (json!({"to": "bob", "boddy": "x"}), &["misnamed_field"]),
        (
            json!({"typee": "ack", "refs": ["m-1"], "status": "resolved"}),
            &["misnamed_field"],
        ),
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
        let mut found: Vec<String> = problems(message.to_string().as_bytes(), "alice")
            .into_iter()
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
        let message = schema::check(
            json!({"to": "bob", "body": "x", "refs": refs}),
            "alice",
            now(),
        );
        assert_eq!(message.expect("it is valid").fields()["refs"], wanted);
    }
}
