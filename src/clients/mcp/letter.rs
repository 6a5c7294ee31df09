//! A message as it is shown: plain facts as text, and the same as data.

use crate::base::error::Result;
use crate::base::{limits, sanitize};
use crate::commands::files;
use crate::message::{DEFAULT_CHANNEL, DEFAULT_PRIORITY, FIELDS, unknown};
use crate::query::history::LoggedMessage;
use crate::query::inbox::Mail;
use crate::room::Room;
use serde_json::{Map, Value, json};

/// Fields that have a place of their own, or that say nothing to a reader.
const ELSEWHERE: [&str; 9] =
    ["id", "from", "to", "type", "subject", "body", "timestamp", "attachments", "requires_response"];

/// A message to be shown.
pub(super) struct Letter {
    /// What to call it: `#` and its seq, or its id where it has none.
    name: String,
    seq: Option<u64>,
    at: String,
    from: String,
    kind: String,
    subject: Option<String>,
    /// What else is known, each with the word for it.
    facts: Vec<(String, Value)>,
    body: Body,
}

/// A part of a body.
struct Body {
    text: String,
    /// Where the part begins and ends, in characters, and how many there are.
    from: usize,
    to: usize,
    of: usize,
}

impl Body {
    fn cut(whole: &str, from: usize, most: usize) -> Body {
        let of = whole.chars().count();
        let text: String = whole.chars().skip(from).take(most).collect();
        let to = from.min(of) + text.chars().count();
        Body { text: sanitize::block(text.trim_end_matches('\n')).into_owned(), from, to, of }
    }

    fn is_whole(&self) -> bool {
        self.from == 0 && self.to == self.of
    }
}

/// Which part of a body is to be shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// From this character on.
    pub(super) from: usize,
    /// At most so many.
    pub(super) most: usize,
}

impl Letter {
    /// A piece of mail.
    pub(super) fn of_mail(room: &Room, mail: &Mail, part: Part) -> Result<Letter> {
        let Some(content) = mail.content.as_object().filter(|_| mail.problem.is_none()) else {
            return Ok(Letter::of_no_message(mail, part));
        };
        let mut facts = Vec::new();
        let to = content.get("addressed_to").filter(|to| content.get("to") != Some(to));
        facts.extend(to.map(|to| ("to".to_owned(), short(to))));
        Letter::new(room, content, facts, part, (mail.seq, &mail.id, &mail.accepted_at, &mail.from, &mail.kind))
    }

    /// A message as the log has it.
    pub(super) fn of_past(room: &Room, past: &LoggedMessage, part: Part) -> Result<Letter> {
        let facts = vec![("to".to_owned(), json!(recipients(past)))];
        let known = (Some(past.seq), &past.id, &past.accepted_at, &*past.from, &past.kind);
        Letter::new(room, &past.message, facts, part, (known.0, known.1, known.2, known.3, known.4))
    }

    fn new(
        room: &Room,
        content: &Map<String, Value>,
        mut facts: Vec<(String, Value)>,
        part: Part,
        (seq, id, at, from, kind): (Option<u64>, &str, &str, &str, &str),
    ) -> Result<Letter> {
        if content.get("requires_response") == Some(&Value::Bool(true)) {
            facts.push(("wants_answer".into(), Value::Bool(true)));
        }
        let mut body = content.get("body").and_then(Value::as_str).unwrap_or_default().to_owned();
        let attached = attachments(room, content, &mut body)?;
        facts.extend((!attached.is_empty()).then(|| ("attached".to_owned(), json!(attached))));
        for field in FIELDS.iter().filter(|field| !ELSEWHERE.contains(field)) {
            let value = content.get(*field).filter(|value| says(field, value));
            facts.extend(value.map(|value| ((*field).to_owned(), short(value))));
        }
        // Whatever a sender calls its own fields, none of them is taken for one of these.
        facts.extend(unknown(content).map(|own| ("fields".to_owned(), short(&own))));
        Ok(Letter {
            name: name(seq, id),
            seq,
            at: to_the_second(at),
            from: sanitize::line(from).into_owned(),
            kind: sanitize::line(kind).into_owned(),
            subject: content.get("subject").and_then(Value::as_str).map(|text| sanitize::line(text).into_owned()),
            facts,
            body: Body::cut(&body, part.from, part.most),
        })
    }

    /// A file in the inbox that is no message: somebody put it there by hand.
    fn of_no_message(mail: &Mail, part: Part) -> Letter {
        let file = mail.file.to_string_lossy();
        let problem = mail.problem.clone().unwrap_or_default();
        Letter {
            name: sanitize::line(&file).into_owned(),
            seq: None,
            at: String::new(),
            from: String::new(),
            kind: "file".into(),
            subject: None,
            facts: vec![("problem".into(), short(&Value::from(problem)))],
            body: Body::cut(mail.content.as_str().unwrap_or_default(), part.from, part.most),
        }
    }

    /// How many characters of its body are shown.
    pub(super) fn length(&self) -> usize {
        self.body.to - self.body.from.min(self.body.to)
    }

    /// For reading. What the sender wrote is indented, so that none of it can be taken for the head of a message.
    pub(super) fn text(&self) -> String {
        let mut text = match self.from.is_empty() {
            true => self.name.clone(),
            false => format!("{} {} from {}, {}", self.name, self.kind, self.from, self.at),
        };
        if let Some(subject) = &self.subject {
            text += &format!(": {subject}");
        }
        for (word, value) in &self.facts {
            text += &match value {
                Value::Bool(true) => format!("\n{}", word.replace('_', " ")),
                value => format!("\n{}: {}", word.replace('_', " "), sanitize::line(&plain(value))),
            };
        }
        for line in self.body.text.lines() {
            text += if line.is_empty() { "\n" } else { "\n  " };
            text += line;
        }
        if !self.body.is_whole() {
            let Body { from, to, of, .. } = self.body;
            text += &format!("\n[characters {from} to {to} of {of}");
            if to < of {
                text += &format!(r#"; go on with fetch_inbox {{"id": "{}", "offset": {to}}}"#, self.name);
            }
            text += "]";
        }
        text
    }

    /// The same as data.
    pub(super) fn data(&self) -> Value {
        let mut data = Map::new();
        match self.seq {
            Some(seq) => data.insert("seq".into(), json!(seq)),
            None => data.insert("id".into(), json!(self.name)),
        };
        let fields = [("at", &self.at), ("from", &self.from), ("type", &self.kind)];
        let fields = fields.into_iter().chain(self.subject.as_ref().map(|subject| ("subject", subject)));
        data.extend(fields.filter(|(_, text)| !text.is_empty()).map(|(field, text)| (field.into(), json!(text))));
        data.extend(self.facts.iter().cloned());
        if !self.body.text.is_empty() {
            data.insert("body".into(), json!(self.body.text));
        }
        if !self.body.is_whole() {
            let Body { from, to, of, .. } = self.body;
            let mut cut = json!({"from": from, "to": to, "of": of});
            if to < of {
                cut["rest"] = json!(format!("fetch_inbox with this id and offset {to}"));
            }
            data.insert("cut".into(), cut);
        }
        Value::Object(data)
    }
}

/// What to call a message: a number costs a model far less than an id.
pub(super) fn name(seq: Option<u64>, id: &str) -> String {
    seq.map_or_else(|| sanitize::line(id).into_owned(), |seq| format!("#{seq}"))
}

/// Who got it, the first few.
pub(super) fn recipients(past: &LoggedMessage) -> Vec<String> {
    const FEW: usize = 5;
    let mut to: Vec<String> = past.recipients.iter().take(FEW).map(|agent| agent.to_string()).collect();
    match past.recipients.len() {
        0 => to.push(format!("channel {}", past.channel)),
        all if all > FEW => to.push(format!("{} more", all - FEW)),
        _ => {}
    }
    to
}

/// `2026-11-21T10:30:00Z`
pub(super) fn to_the_second(time: &str) -> String {
    let second = time.split_once('.').filter(|(_, fraction)| fraction.ends_with('Z')).map(|(second, _)| second);
    sanitize::line(&second.map_or_else(|| time.to_owned(), |second| format!("{second}Z"))).into_owned()
}

/// Does this field say more than what is so anyhow?
fn says(field: &str, value: &Value) -> bool {
    match (field, value.as_str()) {
        ("priority", Some(DEFAULT_PRIORITY)) | ("channel", Some(DEFAULT_CHANNEL)) => false,
        // A thread that nobody named goes on by itself, and can be asked for by any of its messages.
        ("thread_id", Some(thread)) => uuid::Uuid::parse_str(thread).is_err(),
        _ => true,
    }
}

/// The paths of what is attached; texts that stand in the message itself go behind its body.
fn attachments(room: &Room, content: &Map<String, Value>, body: &mut String) -> Result<Vec<String>> {
    let Some(items) = content.get("attachments").and_then(Value::as_array) else { return Ok(Vec::new()) };
    let context = files::context(room, &room.settings()?);
    let mut paths = Vec::new();
    for item in items {
        let text = |field: &str| item.get(field).and_then(Value::as_str);
        if let Some(path) = text("path") {
            paths.push(sanitize::line(&format!("{}/{path}", context.display())).into_owned());
        } else if let (Some(name), Some(content)) = (text("name"), text("content")) {
            *body += &format!("\n\n--- {}\n{content}", sanitize::line(name));
        }
    }
    Ok(paths)
}

/// A value without what is long in it.
fn short(value: &Value) -> Value {
    let text = plain(value);
    if text.chars().count() <= limits::FIELD_SHOWN {
        return shown(value);
    }
    let cut: String = text.chars().take(limits::FIELD_SHOWN).collect();
    Value::from(sanitize::line(&cut).into_owned() + "…")
}

/// A value with nothing hidden in its texts.
fn shown(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::from(sanitize::line(text).into_owned()),
        Value::Array(items) => items.iter().map(shown).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(field, value)| (sanitize::line(field).into_owned(), shown(value))).collect()
        }
        other => other.clone(),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            items.iter().map(plain).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}
