//! The rules for messages that a JSON Schema cannot express, or cannot express well.

use super::words::{CheckedFields, hint_at_misspelling};
use crate::base::clock::Stamp;
use crate::base::error::{Problem, nearest};
use crate::base::text::quoted;
use crate::features;
use crate::message::checked::{field, has_to, text_field};
use crate::message::mentions::mentions;
use crate::message::status::CopyStatus;
use crate::message::{TYPES, behaviour, is_decision, is_offer, is_valid_type};
use serde_json::{Value, json};

/// The sender of the message.
pub(super) struct SenderNames<'a> {
    pub(super) id: &'a str,
    /// Its other names.
    pub(super) also: &'a [&'a str],
}

/// Adds all violations to `problems`. Fields of the wrong type are skipped, because the schema reports them.
pub(super) fn check(
    fields: &CheckedFields,
    sender: &SenderNames,
    now: Stamp,
    problems: &mut Vec<Problem>,
) {
    let kind = field(fields, "type")
        .map_or(Some("message"), Value::as_str)
        .unwrap_or_default();
    problems.extend(check_sender(fields, sender));
    problems.extend(check_expiry(fields, now));
    problems.extend(check_reserved(fields));
    // The schema reports an unknown type. The rules apply to the nearest known type.
    let kind = if is_valid_type(kind) {
        kind
    } else {
        let near = nearest(kind, TYPES.iter().copied());
        near.first().copied().unwrap_or(kind)
    };
    match kind {
        "ack" => check_ack(fields, problems),
        "subscribe" | "unsubscribe" => problems.extend(check_topic(fields, kind)),
        kind if behaviour(kind).acted_on_by.is_some()
            || is_offer(fields)
            || is_decision(fields) => {}
        _ => problems.extend(check_content(fields)),
    }
    for feature in features::ALL {
        feature.check(fields, kind, now, problems);
    }
    problems.extend(check_recipients(fields, kind));
}

fn check_sender(fields: &CheckedFields, sender: &SenderNames) -> Option<Problem> {
    // The schema reports an empty text.
    let from = text_field(fields, "from").filter(|from| !from.is_empty())?;
    let bare = from.strip_prefix('@').unwrap_or(from);
    if bare == sender.id
        || sender
            .also
            .iter()
            .any(|name| name.eq_ignore_ascii_case(bare))
    {
        return None;
    }
    let what = format!(
        "from says {}, but the file was dropped in the outbox of {}",
        quoted(from),
        sender.id
    );
    let fix = format!(
        "omit from, or write {:?}; each agent must use its own outbox",
        sender.id
    );
    Some(Problem::new("spoofed_sender", what).at("/from").fix(fix))
}

/// The code of a message that has expired before it was dropped.
pub const EXPIRED_ALREADY: &str = "expired_already";

/// Outcomes in `metadata` prove something only if the router alone can write them. A conversation shows the other fields
/// of a message in `metadata`.
fn check_reserved(fields: &CheckedFields) -> Option<Problem> {
    const OUTCOMES: [&str; 2] = ["approval", "claim"];
    let metadata = field(fields, "metadata").and_then(Value::as_object);
    let in_metadata = OUTCOMES
        .iter()
        .find(|name| metadata.is_some_and(|metadata| metadata.contains_key(**name)))
        .map(|name| (name, format!("/metadata/{name}")));
    let (name, place) = in_metadata.or_else(|| {
        let name = OUTCOMES
            .iter()
            .find(|name| field(fields, name).is_some_and(Value::is_object))?;
        Some((name, format!("/{name}")))
    })?;
    let what = format!("{name} is an outcome, which only the router writes");
    Some(
        Problem::new("reserved_field", what)
            .at(place)
            .fix("give it another name"),
    )
}

fn check_expiry(fields: &CheckedFields, now: Stamp) -> Option<Problem> {
    let written = text_field(fields, "expires_at")?;
    let expires = Stamp::parse(written)?;
    (expires <= now).then(|| {
        let what = format!("expires_at is in the past: it is {expires}, and the time is {now}");
        let fix =
            "give a later time with a zone (without a zone it is read as UTC), or omit the field";
        Problem::new(EXPIRED_ALREADY, what)
            .at("/expires_at")
            .fix(fix)
    })
}

fn check_ack(fields: &CheckedFields, problems: &mut Vec<Problem>) {
    if field(fields, "refs").is_none_or(|refs| refs.as_array().is_some_and(Vec::is_empty)) {
        let fix = format!(
            "put the ids of the acknowledged messages in refs{}",
            hint_at_misspelling(fields, &["refs"])
        );
        let problem = Problem::new("ack_without_refs", "the ack has no refs")
            .at("/refs")
            .fix(fix);
        problems.push(match field(fields, "in_reply_to") {
            Some(meant) => problem.example(json!([meant])),
            None => problem,
        });
    }
    let status = field(fields, "status");
    // The schema reports a status that is not text.
    if status.is_some_and(|status| !status.is_string())
        || status
            .and_then(Value::as_str)
            .and_then(CopyStatus::of_ack)
            .is_some()
    {
        return;
    }
    let what = match status.and_then(Value::as_str) {
        Some(other) => format!("{} is not a valid status of an ack", quoted(other)),
        None => "the ack has no status".to_owned(),
    };
    let hint = if status.is_none() {
        hint_at_misspelling(fields, &["status"])
    } else {
        String::new()
    };
    let fix = format!(
        "set status to one of {}{hint}",
        CopyStatus::ACKS.map(CopyStatus::as_str).join(", ")
    );
    problems.push(Problem::new("bad_ack_status", what).at("/status").fix(fix));
}

fn check_topic(fields: &CheckedFields, kind: &str) -> Option<Problem> {
    (!fields.contains_key("topic")).then(|| {
        let fix = format!(
            "put the topic in topic{}",
            hint_at_misspelling(fields, &["topic"])
        );
        Problem::new("no_topic", format!("{kind} has no topic"))
            .at("/topic")
            .fix(fix)
    })
}

fn check_content(fields: &CheckedFields) -> Option<Problem> {
    const CONTENT: [&str; 4] = ["body", "subject", "attachments", "metadata"];
    if CONTENT
        .iter()
        .any(|name| field(fields, name).is_some_and(has_content))
    {
        return None;
    }
    let what =
        "the message has no content: body, subject, attachments and metadata are missing or empty";
    let fix = format!(
        "put the text in body{}",
        hint_at_misspelling(fields, &CONTENT)
    );
    Some(Problem::new(super::NO_CONTENT, what).fix(fix))
}

/// Returns true unless the value is empty. The schema reports a wrong type.
fn has_content(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    }
}

fn check_recipients(fields: &CheckedFields, kind: &str) -> Option<Problem> {
    let body = text_field(fields, "body").unwrap_or_default();
    let behaviour = behaviour(kind);
    let needs_none = behaviour.acted_on_by.is_some()
        || behaviour.channel
        || behaviour.to_all
        || is_decision(fields);
    if has_to(fields) || needs_none || !mentions(body).is_empty() {
        return None;
    }
    let what = format!("the {kind} has no recipient: to is missing, and the body has no @mention");
    let fix = format!(
        "put an agent's id, a role such as all_engineers, or all in to{}",
        hint_at_misspelling(fields, &["to"])
    );
    Some(Problem::new(super::NO_RECIPIENT, what).at("/to").fix(fix))
}
