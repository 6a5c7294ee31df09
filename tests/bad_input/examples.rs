//! The example of a rejection: the sender's own object with only the wrong part changed, which is accepted.

use crate::town::Town;
use crate::world::World;
use mailbag::message::schema::{ParsedFile, check, parse};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Drops a message of alice, and returns the example of its rejection.
fn rejected(town: &Town, number: usize, message: impl ToString) -> Option<Value> {
    let name = format!("{number}.json");
    town.mail("alice", &name, message);
    town.pass();
    let refusals = town.refusals("alice");
    let refusal = refusals.iter().find(|refusal| refusal["file"] == *name);
    let refusal = refusal.unwrap_or_else(|| panic!("{name} was accepted"));
    let problems = refusal["problems"].as_array().expect("problems");
    assert!(
        problems[1..]
            .iter()
            .all(|problem| problem["example"].is_null())
    );
    problems[0].get("example").cloned()
}

#[test]
fn the_example_of_an_answer_without_a_recipient_goes_to_the_sender_of_the_question() {
    // P388
    let town = Town::of("alice bob carol");
    let question = json!({"to": "alice", "type": "question", "id": "q1", "body": "port?"});
    town.route("carol", "q.json", question);
    let seq = town.inbox("alice")[0]["delivery"]["seq"].clone();
    let (text, marked) = (seq.to_string(), format!("#{seq}"));
    let references = [
        json!("q1"),
        json!("carol/q1"),
        json!(text),
        json!(marked),
        seq,
    ];
    for (n, reference) in references.iter().enumerate() {
        let sent = json!({"in_reply_to": reference, "body": format!("8080 {n}")});
        let example = rejected(&town, n, sent.clone()).expect("an example");
        let mut wanted = sent;
        wanted["to"] = json!("carol");
        assert_eq!(example, wanted);
        town.route("alice", &format!("again-{n}.json"), example);
    }
    assert_eq!(
        (town.count("carol"), town.count("bob")),
        (references.len(), 0)
    );
}

#[test]
fn examples_are_of_the_sender_and_are_delivered_when_they_are_dropped() {
    // P388
    let town = Town::of("alice bob carol");
    for (n, (sent, wanted)) in [
        (
            r#"{"id": 1, "to": "bob", "body": "a"}"#,
            Some(json!({"to": "bob", "body": "a"})),
        ),
        (
            r#"{"id": 1, "to": "bob", "body": "b"}"#,
            Some(json!({"to": "bob", "body": "b"})),
        ),
        (
            r#"{"to": "bob, carol", "body": "c"}"#,
            Some(json!({"to": ["bob", "carol"], "body": "c"})),
        ),
        (
            "```json\n{\"to\": \"carol\", \"body\": \"d\"}\n```\n",
            Some(json!({"to": "carol", "body": "d"})),
        ),
        (r#"{"recipient_id": "carol", "body": "secret"}"#, None),
        (r#"{"to": "bbo", "body": "secret"}"#, None),
        (r#"{"to": {"carol": true}, "body": "secret"}"#, None),
        ("to: carol\n\nsecret", None),
        (
            r#"[{"to": "carol", "body": "x"}, {"to": "bob", "body": "y"}]"#,
            None,
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let example = rejected(&town, n, sent);
        assert_eq!(example, wanted, "{sent}");
        if let Some(example) = example {
            town.route("alice", &format!("again-{n}.json"), example);
        }
    }
    assert_eq!(town.bodies("bob"), ["a", "b", "c"]);
    assert_eq!(town.bodies("carol"), ["c", "d"]);
    let dry = town.pipe(
        "send --dry-run --file - --as alice --json",
        r#"{"id": 1, "to": "bob", "body": "a"}"#,
    );
    assert_contains!(dry.out, "\"example\"", "\"body\":");
}

/// The commands in a text. Commands with a placeholder in capitals are left out.
fn commands(text: &str) -> BTreeSet<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted
        .filter_map(|command| command.strip_prefix("mailbag "))
        .filter(|command| {
            !command
                .split_whitespace()
                .any(|word| word.chars().all(char::is_uppercase))
        })
        .map(str::to_owned)
        .collect()
}

#[test]
fn each_command_that_a_rejection_or_a_notice_names_ends_with_success() {
    let town = Town::of("alice bob carol");
    let mut named = BTreeSet::new();
    for file in std::fs::read_dir("fixtures/messages/invalid")
        .expect("fixtures")
        .flatten()
    {
        let bytes = std::fs::read(file.path()).expect("a file");
        let problems = match parse(&bytes) {
            ParsedFile::Value(value) => {
                check(value, "alice", mailbag::base::clock::Stamp::now()).err()
            }
            ParsedFile::Bad(problem) | ParsedFile::Unfinished(problem) => Some(vec![problem]),
        };
        for problem in problems.unwrap_or_default() {
            named.extend(commands(&problem.fix));
        }
    }
    let wrong = [
        json!({"to": "nobody", "body": "x"}),
        json!({"to": "po:bob", "body": "x"}),
        json!({"to": "all_testers", "body": "x"}),
        json!({"to": "cap:none", "body": "x"}),
        json!({"to": "bob", "attachments": [{"path": "none.md"}]}),
        json!({"type": "ack", "refs": ["none"], "status": "resolved"}),
        json!({"type": "decision", "in_reply_to": "none", "option": "yes", "to": "bob"}),
        json!({"type": "accept", "in_reply_to": "none"}),
        json!({"type": "release", "claims": ["task:none"]}),
        json!({"to": "owner:src/none", "body": "x"}),
    ];
    for (n, message) in wrong.iter().enumerate() {
        town.mail("alice", &format!("{n}.json"), message);
    }
    town.pass();
    for mail in town.inbox("alice") {
        named.extend(commands(mail["body"].as_str().expect("a body")));
    }
    for command in &named {
        town.ok(command.as_str());
    }
    assert!(!named.is_empty());
}

#[test]
fn an_unexpanded_path_is_named_and_no_room_is_made_there() {
    let world = World::alice_and_bob();
    for path in ["~/p/.mailbag", "$HOME/p", "${workspaceFolder}/.mailbag"] {
        for arguments in [
            ["--room", path, "inbox", "alice"].as_slice(),
            &["init", path],
            &["backup", path],
        ] {
            assert_contains!(world.fails(2, arguments), "no shell expanded");
        }
    }
    assert!(!world.path().join("~").exists());
}
