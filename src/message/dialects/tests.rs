//! Other forms of a message: accepted, contradictory and rejected ones. More cases are in
//! `fixtures/messages/valid/spelling_*` and beside them.

use super::*;
use crate::base::clock::Stamp;
use crate::message::Message;
use crate::message::schema;
use std::fs;

fn check(value: Value) -> Result<Message, Vec<Problem>> {
    schema::check(
        value,
        "alice",
        Stamp::parse("2026-11-21T10:30:00Z").expect("a time"),
    )
}

#[test]
fn a_null_target_and_the_word_broadcast_mean_all_if_no_recipient_is_named() {
    // P114, P384
    for (more, wanted) in [
        (json!({"to_agent": null}), Some("all")),
        (json!({"routing": "broadcast"}), Some("all")),
        (
            json!({"to_agent": null, "routing": "Broadcast"}),
            Some("all"),
        ),
        (
            json!({"to_agent": null, "routing": null, "to": null}),
            Some("all"),
        ),
        (json!({"to_agent": null, "routing": "direct"}), None),
        (json!({"routing": "topic", "topic": "auth"}), None),
        (json!({"to_agent": null, "to": "bob"}), Some("bob")),
        (
            json!({"to_agent": null, "routing": {"to": "bob"}}),
            Some("bob"),
        ),
        (json!({"to": "bob", "routing": "broadcast"}), Some("bob")),
        (
            json!({"to": "@engineers", "routing": "role"}),
            Some("@engineers"),
        ),
    ] {
        let mut message = more.as_object().expect("an object").clone();
        message.insert("content".to_owned(), json!("x"));
        let checked = check(Value::Object(message)).map(|message| message.fields().clone());
        match checked {
            Ok(fields) => {
                assert_eq!(fields["to"].as_str(), wanted, "{more}");
                if let Some(word) = more["routing"].as_str() {
                    assert_eq!(fields["metadata"], json!({"routing": word}));
                }
            }
            Err(problems) => assert_eq!(
                (&*problems[0].code, wanted),
                ("no_recipient", None),
                "{more}"
            ),
        }
    }
}

#[test]
fn a_file_name_is_the_name_of_an_attachment() {
    let sent = json!({"to": "bob", "attachments": [{"filename": "a.txt", "content": "x"}]});
    let message = check(sent).expect("another name");
    assert_eq!(
        message.fields()["attachments"],
        json!([{"name": "a.txt", "content": "x"}])
    );
}

#[test]
fn the_table_of_spellings_is_published_and_true() {
    // P21, P383
    let protocol = fs::read_to_string("docs/protocol.md").expect("the protocol");
    let table = published();
    assert!(
        protocol.contains(&table),
        "write this table to docs/protocol.md:\n{table}"
    );
    let rows = table
        .lines()
        .filter(|row| row.starts_with("| `") && !row.contains("routing"));
    let mut count = 0;
    for (names, meaning) in rows.map(|row| {
        row.trim_matches(['|', ' '])
            .split_once(" | ")
            .expect("two cells")
    }) {
        for name in names.split(' ').map(|name| name.trim_matches('`')) {
            let fields = json!({name: "bob"}).as_object().expect("an object").clone();
            let ConvertedMessage {
                origins, problems, ..
            } = spell(fields);
            let read = origins
                .iter()
                .find(|(_, place)| *place == format!("/{name}"));
            let is_as_told =
                read.is_some_and(|(field, _)| meaning.starts_with(&format!("`{}`", &field[1..])));
            let is_rejected = problems
                .iter()
                .any(|problem| ["misnamed_field", "no_later_delivery"].contains(&&*problem.code));
            assert_eq!(
                (is_as_told, is_rejected),
                (!is_rejected, meaning.starts_with("rejected")),
                "{name}: {problems:#?}"
            );
            count += 1;
        }
    }
    assert!(count > 50, "{count} names");
}

#[test]
fn a_name_that_is_not_in_the_table_is_the_senders_own() {
    // P383
    for own in [
        "form",
        "actions",
        "x-from",
        "_type",
        "tags",
        "data",
        "state",
        "options",
        "Key",
        "boddy",
        "subjet",
        "parent",
        "recipents",
        "x-delay",
    ] {
        let message = check(json!({"to": "bob", "body": "x", own: "mine"}))
            .unwrap_or_else(|p| panic!("{own}: {p:#?}"));
        assert_eq!(message.fields()[own], "mine");
    }
    let problems = check(json!({"to": "bob", "boddy": "x"})).expect_err("no content");
    assert!(
        problems[0]
            .fix
            .contains("did you mean body instead of \"boddy\"?"),
        "{problems:#?}"
    );
}

#[test]
fn a_field_that_asks_for_a_later_delivery_is_rejected() {
    for field in [
        "deliver_after",
        "deliver_at",
        "not_before",
        "send_at",
        "defer",
        "scheduled_for",
        "delay",
        "remind_at",
        "deliverAfter",
        "Not-Before",
    ] {
        let problems = check(json!({"to": "bob", "body": "x", field: "2h"})).expect_err(field);
        assert_eq!(
            (problems.len(), &*problems[0].code, &*problems[0].place),
            (1, "no_later_delivery", &*format!("/{field}"))
        );
        for accepted in [
            json!({"to": "bob", "body": "x", field: null}),
            json!({"to": "bob", "body": "x", "metadata": {field: "2h"}}),
        ] {
            assert!(check(accepted).is_ok(), "{field}");
        }
    }
}
