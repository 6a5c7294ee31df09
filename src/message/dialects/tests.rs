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

/// A word in `routing` repeats the recipients, or contradicts them.
#[test]
fn routing_may_be_a_word_that_fits_the_recipients() {
    // P384
    for (word, to, fits) in [
        ("direct", json!("bob"), true),
        ("Direct", json!(["bob", "@carol"]), true),
        ("role", json!("@engineers"), true),
        ("role", json!("all_engineer"), true),
        ("broadcast", json!("@all"), true),
        ("topic", json!("#auth-module"), true),
        ("direct", json!("all"), false),
        ("direct", json!("all_engineer"), false),
        ("role", json!("#auth-module"), false),
        ("broadcast", json!(["bob", "carol"]), false),
        ("topic", json!("bob"), false),
    ] {
        let checked = check(json!({"to": to, "body": "x", "routing": word}));
        let code = checked
            .as_ref()
            .map_err(|problems| problems[0].code.as_str())
            .err();
        assert_eq!(code, (!fits).then_some("conflicting_fields"), "{word} {to}");
        if let Ok(message) = checked {
            assert_eq!(
                (&message.fields()["metadata"], &message.fields()["to"]),
                (&json!({"routing": word}), &to)
            );
        }
    }
}

#[test]
fn a_null_target_means_all_unless_another_field_contradicts_it() {
    // P114
    for (more, becomes) in [
        (json!({}), Ok("all")),
        (json!({"routing": "broadcast"}), Ok("all")),
        (json!({"routing": null, "to": null}), Ok("all")),
        (json!({"routing": "direct"}), Err("conflicting_fields")),
        (json!({"routing": "role"}), Err("conflicting_fields")),
        (
            json!({"routing": "topic", "topic": "auth"}),
            Err("conflicting_fields"),
        ),
        (json!({"to": "bob"}), Err("conflicting_fields")),
        (json!({"routing": {"to": "bob"}}), Err("conflicting_fields")),
    ] {
        let mut message = json!({"to_agent": null, "content": "x"});
        message
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        let to = check(message.clone())
            .map(|message| message.fields()["to"].as_str().map(str::to_owned));
        let to = to.map_err(|problems| problems[0].code.clone());
        assert_eq!(
            to,
            becomes.map(|to| Some(to.to_owned())).map_err(str::to_owned),
            "{message}"
        );
    }
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
fn a_misspelled_field_is_named_and_a_word_of_its_own_is_delivered() {
    // P383
    for (sent, hint) in [
        (json!({"to": "bob", "boddy": "x"}), "write body instead"),
        (
            json!({"to": "bob", "body": "x", "subjet": "s"}),
            "write subject instead",
        ),
        (
            json!({"to": "bob", "body": "x", "thread-idd": "s"}),
            "write thread_id instead",
        ),
        (
            json!({"to": "bob", "body": "x", "require_responce": true}),
            "write requires_response instead",
        ),
        (
            json!({"type": "claim", "claims": ["src"], "leese": "1h"}),
            "write lease instead",
        ),
    ] {
        let problems = check(sent.clone()).expect_err("a misspelled field");
        assert!(
            problems
                .iter()
                .any(|p| p.code == "misnamed_field" && p.fix.contains(hint)),
            "{sent}: {problems:#?}"
        );
    }
    for own in [
        "form",
        "actions",
        "x-from",
        "_type",
        "tags",
        "labels",
        "data",
        "state",
        "status_code",
        "options",
        "Key",
        "leese",
        "agent_type",
    ] {
        let message = check(json!({"to": "bob", "body": "x", own: "mine"}))
            .unwrap_or_else(|p| panic!("{own}: {p:#?}"));
        assert_eq!(message.fields()[own], "mine");
    }
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

#[test]
fn a_name_that_is_nearly_another_name_of_a_field_is_rejected() {
    for (name, field) in [
        ("parent_id", "in_reply_to"),
        ("parentId", "in_reply_to"),
        ("corelation_id", "in_reply_to"),
        ("conversaton_id", "thread_id"),
        ("recipents", "to"),
        ("attachmnet", "attachments"),
        ("importence", "priority"),
        ("bdoy", "body"),
    ] {
        let mut message = json!({"to": "bob", "body": "x", name: "y"});
        if field == "body" {
            message.as_object_mut().expect("an object").remove("body");
        }
        let problems = check(message).expect_err(name);
        assert_eq!(problems[0].code, "misnamed_field", "{name}");
        assert!(
            problems[0].fix.starts_with(&format!("write {field} ")),
            "{problems:?}"
        );
    }
    for own in [
        "preferences",
        "consent",
        "parent",
        "texts",
        "schedule",
        "created_by",
        "x-delay",
        "render",
    ] {
        assert!(
            check(json!({"to": "bob", "body": "x", own: "y"})).is_ok(),
            "{own}"
        );
    }
}
