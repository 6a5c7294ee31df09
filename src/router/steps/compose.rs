//! What the router writes: the copies of a message, the explanation of a rejection, bounces and notices.

use super::letter::{Rejection, Source};
use super::print::pretty;
use crate::base::clock::Stamp;
use crate::base::error::Problem;
use crate::base::hash::Hash;
use crate::base::sanitize;
use crate::message::record::{Act, Record};
use crate::message::{FIELDS, Message, id};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use std::cell::Cell;
use std::sync::Arc;

/// A message ready to be copied for any number of recipients: the parts that all copies share, pretty-printed once.
pub(super) struct Copies {
    before_to: String,
    before_via: String,
    behind: String,
}

/// The fields before `to` in a copy.
const HEAD: [&str; 3] = ["id", "timestamp", "from"];

/// Fields that may be long: they come last, so that a reader finds all others at the beginning of the file. The body comes
/// first of them, because its beginning is useful by itself.
const LONG: [&str; 6] = ["body", "addressed_to", "refs", "context", "attachments", "metadata"];

impl Copies {
    /// `at` fills in for a timestamp that the sender left out. `outcome` is what the message changed, under its name.
    pub(super) fn new(
        message: &Message,
        addressed_to: &Value,
        (seq, at): (u64, &str),
        outcome: Option<(&str, &Value)>,
    ) -> Copies {
        let (fields, now) = (message.fields(), Value::from(at));
        let head = HEAD.iter().map(|name| (*name, fields.get(*name).unwrap_or(&now)));
        let others = fields.iter().map(|(name, value)| (name.as_str(), value));
        let others = others.filter(|(name, _)| !HEAD.contains(name) && !["to", "addressed_to"].contains(name));
        let mut others: Vec<_> = others.chain([("addressed_to", addressed_to)]).collect();
        others.sort_by_cached_key(|(name, _)| place(name));
        Copies {
            before_to: ["{\n", &inner(head), ",\n  \"to\": "].concat(),
            before_via: format!(
                ",\n  \"delivery\": {{\n    \"seq\": {seq},\n    \"accepted_at\": \"{at}\",\n    \"via\": "
            ),
            behind: [&in_delivery(outcome), "\n  },\n", &inner(others.into_iter()), "\n}\n"].concat(),
        }
    }

    /// The copy for one recipient. Neither an agent's name nor `via` needs escaping.
    pub(super) fn copy(&self, agent: &str, via: &str) -> Vec<u8> {
        let Copies { before_to, before_via, behind } = self;
        let length = before_to.len() + before_via.len() + behind.len() + agent.len() + via.len() + 4;
        let mut text = String::with_capacity(length);
        for part in [before_to, "\"", agent, "\"", before_via, "\"", via, "\"", behind] {
            text.push_str(part);
        }
        text.into_bytes()
    }
}

// The place of a field in a copy: short ones in the order of the protocol, long ones, unknown ones as their sender wrote them.
fn place(name: &str) -> usize {
    let long = || LONG.iter().position(|long| *long == name);
    let short = || FIELDS.iter().position(|known| *known == name);
    long().map_or_else(|| short().unwrap_or(usize::MAX), |at| FIELDS.len() + at)
}

// What a copy says behind `via`.
fn in_delivery(outcome: Option<(&str, &Value)>) -> String {
    let text = outcome.map(|(name, outcome)| (name, pretty(&outcome).replace('\n', "\n    ")));
    text.map(|(name, text)| format!(",\n    \"{name}\": {text}")).unwrap_or_default()
}

// The lines of a pretty-printed object without its braces.
fn inner<'m>(fields: impl Iterator<Item = (&'m str, &'m Value)>) -> String {
    let text = pretty(&Fields(Cell::new(Some(fields))));
    text.strip_prefix("{\n").and_then(|text| text.strip_suffix("\n}")).unwrap_or(&text).to_owned()
}

/// Fields in this order, as an object.
struct Fields<I>(Cell<Option<I>>);

impl<'m, I: Iterator<Item = (&'m str, &'m Value)>> Serialize for Fields<I> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.take().into_iter().flatten())
    }
}

/// What the sender wrote into `to`, or the mentions that took its place.
pub(super) fn addressed_to(message: &Message) -> Value {
    match message.fields().get("to") {
        Some(to) => to.clone(),
        None => message.addresses().iter().map(|address| Value::from(address.as_str())).collect(),
    }
}

/// Puts a message into a record: its text, its digest, who wrote it.
pub(super) fn put(record: &mut Record, message: &Message, digest: Hash) {
    record.from = Some(message.from().into());
    record.id = Some(message.id().to_owned());
    record.digest = Some(digest);
    record.message = serde_json::value::to_raw_value(message.fields()).ok();
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
pub(super) fn own(kind: &str, to: &[Arc<str>], subject: &str, body: &str, more: Map<String, Value>) -> Message {
    let mut fields = Map::new();
    fields.insert("id".into(), id::mint().into());
    fields.insert("from".into(), id::MAILBAG.into());
    fields.insert("to".into(), if let [one] = to { json!(one) } else { json!(to) });
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
    Rejection { problems, id: sent, .. }: &Rejection,
) -> Message {
    // A file's name is its sender's to choose, and this is mail in the router's name.
    let (name, place) = (sanitize::line(original), sanitize::line(kept));
    let what = source.map_or(name.to_string(), |source| format!("Line {} of {name}", source.line));
    let mut body = format!("{what} was not delivered to anyone:\n");
    for problem in problems {
        body += &format!("- {problem}\n");
        if let Some(example) = &problem.example {
            body += &format!("  for example: {example}\n");
        }
    }
    let kind = if source.is_some() { "line is kept in" } else { "file is kept as" };
    body += &format!("The {kind} {place}; mend it and drop it again under any name.");
    let mut more = Map::new();
    if let Some(id) = sent {
        more.insert("in_reply_to".into(), id.as_str().into());
    }
    let mut metadata = json!({"file": original, "rejected": kept, "problems": problems});
    source.iter().for_each(|source| metadata["line"] = source.line.into());
    more.insert("metadata".into(), metadata);
    own("error", &[agent.into()], &format!("refused: {}", codes(problems)), &body, more)
}

/// As [`bounce`], to the sender of a message that came from another room.
pub(super) fn far_bounce(sender: &Arc<str>, here: &str, Rejection { problems, id: sent, .. }: &Rejection) -> Message {
    let what = sent.as_deref().map_or_else(|| "A message".to_owned(), |id| format!("The message {id}"));
    let mut body = format!("{what} was not delivered to anyone in {here}:\n");
    problems.iter().for_each(|problem| body += &format!("- {problem}\n"));
    let mut more = Map::new();
    sent.iter().for_each(|id| drop(more.insert("in_reply_to".into(), id.as_str().into())));
    more.insert("metadata".into(), json!({"problems": problems}));
    own("error", std::slice::from_ref(sender), &format!("refused: {}", codes(problems)), &body, more)
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
    let code = problems.first().map_or("refused", |problem| &problem.code);
    let mut explained = json!({
        "code": code,
        "agent": agent,
        "file": original,
        "seq": seq,
        "refused_at": at.to_string(),
        "problems": problems,
    });
    if let Some(Source { line, text, .. }) = source {
        (explained["line"], explained["text"]) = ((*line).into(), String::from_utf8_lossy(text).into());
    }
    (pretty(&explained) + "\n").into_bytes()
}

fn codes(problems: &[Problem]) -> String {
    let mut codes: Vec<String> = problems.iter().map(|problem| problem.code.replace('_', " ")).collect();
    codes.dedup();
    codes.join(", ")
}
