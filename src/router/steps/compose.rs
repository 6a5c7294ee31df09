//! What the router writes: the copy that a recipient gets, the explanation of a refusal, the bounce and the notice.

use super::check::Source;
use super::print::pretty;
use crate::base::clock::Stamp;
use crate::base::error::Problem;
use crate::base::sanitize;
use crate::message::record::{Act, Hash, Record};
use crate::message::{FIELDS, Message, id};
use serde_json::{Map, Value, json};

/// A message ready to be copied for any number of recipients: what is the same in all copies, pretty-printed once.
pub(crate) struct Copies {
    before_to: String,
    before_via: String,
    behind: String,
}

/// Fields without a bound that lets a reader find what is behind them in the beginning of a file. The body comes first
/// of them: its beginning is of use.
const LONG: [&str; 6] = ["body", "addressed_to", "refs", "context", "attachments", "metadata"];

impl Copies {
    /// `at` fills in for a timestamp that the sender left out.
    pub(crate) fn new(message: Message, addressed_to: &Value, seq: u64, at: &str) -> Copies {
        let mut fields = message.into_fields();
        let mut head = Map::new();
        for name in ["id", "timestamp", "from"] {
            let value = fields.shift_remove(name);
            head.insert(name.into(), value.unwrap_or_else(|| at.into()));
        }
        fields.shift_remove("to");
        fields.insert("addressed_to".into(), addressed_to.clone());
        let mut rest = Map::new();
        let short = FIELDS.iter().filter(|name| !LONG.contains(name));
        for name in short.chain(&LONG) {
            rest.extend(fields.shift_remove(*name).map(|value| ((*name).to_owned(), value)));
        }
        rest.extend(fields);
        Copies {
            before_to: format!("{{\n{},\n  \"to\": ", inner(&head)),
            before_via: format!(
                ",\n  \"delivery\": {{\n    \"seq\": {seq},\n    \"accepted_at\": \"{at}\",\n    \"via\": "
            ),
            behind: format!("\n  }},\n{}\n}}\n", inner(&rest)),
        }
    }

    /// The copy for one recipient. Neither an agent's name nor `via` needs escaping.
    pub(crate) fn copy(&self, agent: &str, via: &str) -> Vec<u8> {
        let Copies { before_to, before_via, behind } = self;
        let length = before_to.len() + before_via.len() + behind.len() + agent.len() + via.len() + 4;
        let mut text = String::with_capacity(length);
        for part in [before_to, "\"", agent, "\"", before_via, "\"", via, "\"", behind] {
            text.push_str(part);
        }
        text.into_bytes()
    }
}

// The lines of a pretty-printed object without its braces.
fn inner(fields: &Map<String, Value>) -> String {
    let text = pretty(fields);
    text.trim_start_matches("{\n").trim_end_matches("\n}").to_owned()
}

/// What the sender wrote into `to`, or the mentions that stood for it.
pub(crate) fn addressed_to(message: &Message) -> Value {
    match message.fields().get("to") {
        Some(to) => to.clone(),
        None => message.addresses().iter().map(|address| Value::from(address.as_str())).collect(),
    }
}

/// Puts a message into a record: its text, its digest, who wrote it.
pub(crate) fn put(record: &mut Record, message: &Message, digest: Hash) {
    record.from = Some(message.from().into());
    record.id = Some(message.id().to_owned());
    record.digest = Some(digest);
    record.message = serde_json::value::to_raw_value(message.fields()).ok();
}

/// What the router has to do for a message of this type.
pub(crate) fn act(message: &Message) -> Option<Act> {
    let topic = || message.text("topic").map(str::to_owned);
    match message.kind() {
        "subscribe" => topic().map(Act::Subscribe),
        "unsubscribe" => topic().map(Act::Unsubscribe),
        _ => None,
    }
}

/// A message that the router itself writes.
pub(crate) fn own(kind: &str, to: &str, subject: &str, body: &str, more: Map<String, Value>) -> Message {
    let mut fields = Map::new();
    fields.insert("id".into(), id::mint().into());
    fields.insert("from".into(), id::MAILBAG.into());
    fields.insert("to".into(), to.into());
    fields.insert("type".into(), kind.into());
    fields.insert("subject".into(), subject.into());
    fields.insert("body".into(), body.into());
    fields.extend(more);
    Message::from_fields(fields).expect("it has every field that a message needs")
}

/// The message that tells a sender that its file was refused, and why.
pub(crate) fn bounce(
    agent: &str,
    original: &str,
    source: Option<&Source>,
    kept: &str,
    sent: Option<&str>,
    problems: &[Problem],
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
        more.insert("in_reply_to".into(), id.into());
    }
    let mut metadata = json!({"file": original, "rejected": kept, "problems": problems});
    source.iter().for_each(|source| metadata["line"] = source.line.into());
    more.insert("metadata".into(), metadata);
    own("error", agent, &format!("refused: {}", codes(problems)), &body, more)
}

/// The `.error.json` beside a refused file, or in the place of a refused line.
pub(crate) fn explanation(
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
