//! Texts of the router: explanations of rejections, bounces and notices.

use super::letter::{Rejection, Source};
use crate::base::clock::Stamp;
use crate::base::error::Problem;
use crate::base::hash::Hash;
use crate::base::sanitize;
use crate::message::print::pretty;
use crate::message::record::{Act, MessageName};
use crate::message::{Message, id};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The name and the text of a message, for its record.
pub(super) fn recorded(message: &Message, digest: Hash) -> (MessageName, Box<RawValue>) {
    let name = MessageName {
        from: message.from().into(),
        id: message.id().to_owned(),
        digest,
    };
    let text = serde_json::value::to_raw_value(message.fields());
    (name, text.expect("a message has only text keys"))
}

/// What the router has to do for a message of this type.
pub(super) fn act(message: &Message) -> Option<Act> {
    let topic = || message.text("topic").map(str::to_owned);
    match message.kind() {
        "subscribe" => topic().map(Act::Subscribe),
        "unsubscribe" => topic().map(Act::Unsubscribe),
        _ => None,
    }
}

/// A message that the router itself writes.
pub(super) fn own(
    kind: &str,
    to: &[Arc<str>],
    subject: &str,
    body: &str,
    more: Map<String, Value>,
) -> Message {
    let mut fields = Map::new();
    fields.insert("id".into(), id::mint().into());
    fields.insert("from".into(), id::MAILBAG.into());
    fields.insert(
        "to".into(),
        if let [one] = to {
            json!(one)
        } else {
            json!(to)
        },
    );
    fields.insert("type".into(), kind.into());
    fields.insert("subject".into(), subject.into());
    fields.insert("body".into(), body.into());
    fields.extend(more);
    Message::from_fields(fields).expect("it has every field that a message needs")
}

/// The message that tells a sender that its file was rejected, and why.
pub(super) fn bounce(
    agent: &str,
    original: &str,
    source: Option<&Source>,
    kept: &str,
    Rejection {
        problems, id: sent, ..
    }: &Rejection,
) -> Message {
    // A file's name is its sender's to choose, and this is mail in the router's name.
    let (name, place) = (sanitize::line(original), sanitize::line(kept));
    let what = source.map_or(name.to_string(), |source| {
        format!("Line {} of {name}", source.line)
    });
    let mut body = format!("{what} was not delivered to anyone:\n");
    for problem in problems {
        body += &format!("- {problem}\n");
        let is_in_fix = |example: &Value| {
            example
                .as_str()
                .is_some_and(|word| problem.fix.contains(word))
        };
        if let Some(example) = problem
            .example
            .as_ref()
            .filter(|example| !is_in_fix(example))
        {
            body += &format!("  for example: {example}\n");
        }
    }
    let kind = if source.is_some() {
        "line is kept in"
    } else {
        "file is kept as"
    };
    body += &format!("The {kind} {place}; mend it and drop it again under any name.");
    let mut more = Map::new();
    if let Some(id) = sent {
        more.insert("in_reply_to".into(), id.as_str().into());
    }
    let mut metadata = json!({"file": original, "rejected": kept, "problems": problems});
    source
        .iter()
        .for_each(|source| metadata["line"] = source.line.into());
    more.insert("metadata".into(), metadata);
    own(
        "error",
        &[agent.into()],
        &format!("rejected: {}", codes(problems)),
        &body,
        more,
    )
}

/// As [`bounce`], to the sender of a message that came from another room.
pub(super) fn far_bounce(
    sender: &Arc<str>,
    here: &str,
    Rejection {
        problems, id: sent, ..
    }: &Rejection,
) -> Message {
    let what = sent
        .as_deref()
        .map_or_else(|| "A message".to_owned(), |id| format!("The message {id}"));
    let mut body = format!("{what} was not delivered to anyone in {here}:\n");
    problems
        .iter()
        .for_each(|problem| body += &format!("- {problem}\n"));
    let mut more = Map::new();
    sent.iter()
        .for_each(|id| drop(more.insert("in_reply_to".into(), id.as_str().into())));
    more.insert("metadata".into(), json!({"problems": problems}));
    own(
        "error",
        std::slice::from_ref(sender),
        &format!("rejected: {}", codes(problems)),
        &body,
        more,
    )
}

/// The `.error.json` beside a rejected file, or in the place of a rejected line.
pub(super) fn explanation(
    agent: &str,
    original: &str,
    source: Option<&Source>,
    seq: u64,
    at: Stamp,
    problems: &[Problem],
) -> Vec<u8> {
    let code = problems.first().map_or("rejected", |problem| &problem.code);
    let mut explained = json!({
        "code": code,
        "agent": agent,
        "file": original,
        "seq": seq,
        "rejected_at": at.to_string(),
        "problems": problems,
    });
    if let Some(Source { line, text, .. }) = source {
        (explained["line"], explained["text"]) =
            ((*line).into(), String::from_utf8_lossy(text).into());
    }
    (pretty(&explained) + "\n").into_bytes()
}

fn codes(problems: &[Problem]) -> String {
    let mut codes: Vec<String> = problems
        .iter()
        .map(|problem| problem.code.replace('_', " "))
        .collect();
    codes.dedup();
    codes.join(", ")
}
