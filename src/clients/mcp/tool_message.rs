//! A message as a tool returns it: as text for reading, and with the same facts as structured content.

use crate::base::error::Result;
use crate::base::sanitize;
use crate::commands::files;
use crate::message::{DEFAULT_CHANNEL, Priority};
use crate::query::view::{Attachment, InvalidFile, MessageView, plain};
use crate::room::Room;
use serde_json::{Map, Value, json};

/// The number of characters of a field that a tool shows; a body has a limit of its own.
const FIELD_SHOWN: usize = 300;

/// Maximum number of recipients by name.
pub(super) const NAMES: usize = 5;

/// A message to return.
pub(super) struct ToolMessage {
    /// Its number as `#2`, else its id.
    name: String,
    seq: Option<u64>,
    at: String,
    /// Its age, if it is an old message in an inbox.
    age: Option<String>,
    from: String,
    kind: String,
    subject: Option<String>,
    /// The other facts, each with its name.
    facts: Vec<(&'static str, Value)>,
    body: BodyExcerpt,
}

/// A part of a body.
struct BodyExcerpt {
    text: String,
    /// First and last character of the part, and the number of all.
    from: usize,
    to: usize,
    of: usize,
}

impl BodyExcerpt {
    fn cut(whole: &str, from: usize, most: usize) -> BodyExcerpt {
        let of = whole.chars().count();
        let text: String = whole.chars().skip(from).take(most).collect();
        let to = from.min(of) + text.chars().count();
        BodyExcerpt {
            text: sanitize::block(text.trim_end_matches('\n')).into_owned(),
            from,
            to,
            of,
        }
    }

    fn is_whole(&self) -> bool {
        self.from == 0 && self.to == self.of
    }
}

/// The part of a body to return.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyRange {
    /// First character.
    pub(super) from: usize,
    /// Maximum number of characters.
    pub(super) most: usize,
}

impl ToolMessage {
    /// The message of a view.
    pub(super) fn new(room: &Room, view: &MessageView<'_>, part: BodyRange) -> Result<ToolMessage> {
        let mut letter = ToolMessage {
            name: sanitize::line(&view.name()).into_owned(),
            seq: view.seq,
            at: sanitize::line(&view.time()).into_owned(),
            age: view.age(),
            from: sanitize::line(view.from).into_owned(),
            kind: sanitize::line(view.kind).into_owned(),
            subject: view.subject.map(|text| sanitize::line(text).into_owned()),
            facts: Vec::new(),
            body: BodyExcerpt::cut("", part.from, part.most),
        };
        if let Some(InvalidFile { problem, text, .. }) = view.invalid {
            letter.kind = "file".into();
            letter.facts = vec![("problem", short(&Value::from(problem)))];
            letter.body = BodyExcerpt::cut(text, part.from, part.most);
            return Ok(letter);
        }
        let mut body = view.body.unwrap_or_default().to_owned();
        let attached = attachments(room, view, &mut body)?;
        letter.body = BodyExcerpt::cut(&body, part.from, part.most);
        let facts = &mut letter.facts;
        if let Some(to) = to(view) {
            facts.push(("to", to));
        }
        if let Some(closed) = view.closed {
            facts.push(("closed", closed.into()));
        }
        if view.requires_response {
            facts.push(("wants_answer", true.into()));
        }
        if !attached.is_empty() {
            facts.push(("attached", json!(attached)));
        }
        for (field, value) in view.facts() {
            if says(field, &value) {
                facts.push((field, short(&value)));
            }
        }
        Ok(letter)
    }

    /// The number of characters of its body that are returned.
    pub(super) fn length(&self) -> usize {
        self.body.to - self.body.from.min(self.body.to)
    }

    /// For reading. The text of the sender is indented, so that it cannot look like the head of a message.
    pub(super) fn text(&self) -> String {
        let mut text = if self.from.is_empty() {
            self.name.clone()
        } else {
            format!(
                "{} {} from {}, {}",
                self.name, self.kind, self.from, self.at
            )
        };
        text.extend(self.age.iter().flat_map(|age| [", ", age]));
        if let Some(subject) = &self.subject {
            text += &format!(": {subject}");
        }
        for (word, value) in &self.facts {
            text += &match value {
                Value::Bool(true) => format!("\n{}", word.replace('_', " ")),
                value => format!(
                    "\n{}: {}",
                    word.replace('_', " "),
                    sanitize::line(&plain(value))
                ),
            };
        }
        for line in self.body.text.lines() {
            text += if line.is_empty() { "\n" } else { "\n  " };
            text += line;
        }
        if !self.body.is_whole() {
            let BodyExcerpt { from, to, of, .. } = self.body;
            text += &format!("\n[characters {from} to {to} of {of}");
            if to < of {
                text += &format!(
                    r#"; continue with fetch_inbox {{"id": "{}", "offset": {to}}}"#,
                    self.name
                );
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
        let fields = fields
            .into_iter()
            .chain(self.subject.as_ref().map(|subject| ("subject", subject)));
        data.extend(
            fields
                .filter(|(_, text)| !text.is_empty())
                .map(|(field, text)| (field.into(), json!(text))),
        );
        data.extend(self.age.iter().map(|age| ("age".to_owned(), json!(age))));
        data.extend(
            self.facts
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone())),
        );
        if !self.body.text.is_empty() {
            data.insert("body".into(), json!(self.body.text));
        }
        if !self.body.is_whole() {
            let BodyExcerpt { from, to, of, .. } = self.body;
            let mut cut = json!({"from": from, "to": to, "of": of});
            if to < of {
                cut["rest"] = json!(format!("fetch_inbox with this id and offset {to}"));
            }
            data.insert("cut".into(), cut);
        }
        Value::Object(data)
    }
}

/// The recipients. A copy shows the sender's list, unless the reader is the only recipient.
fn to(view: &MessageView<'_>) -> Option<Value> {
    if view.copies.is_some() {
        return Some(json!(view.recipients(NAMES)));
    }
    let fields = view.fields?;
    fields
        .get("addressed_to")
        .filter(|to| fields.get("to") != Some(to))
        .map(short)
}

/// Returns true if this field adds information to the result.
fn says(field: &str, value: &Value) -> bool {
    match (field, value.as_str()) {
        ("attachments" | "requires_response", _) => false,
        ("priority", Some(word)) => !Priority::from_word(word).is_normal(),
        ("channel", Some(DEFAULT_CHANNEL)) => false,
        // A generated thread id is of no use to a model: any message of the thread names it.
        ("thread_id", Some(thread)) => uuid::Uuid::parse_str(thread).is_err(),
        _ => true,
    }
}

/// The paths of attached files. Attached texts go after the body.
fn attachments(room: &Room, view: &MessageView<'_>, body: &mut String) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    let mut context = None;
    for attachment in view.attachments() {
        match attachment {
            Attachment::File(path) => {
                if context.is_none() {
                    context = Some(files::context(room, &room.settings()?));
                }
                let context = context
                    .iter()
                    .map(|context| format!("{}/{path}", context.display()));
                paths.extend(context.map(|path| sanitize::line(&path).into_owned()));
            }
            Attachment::Text(name, content) => {
                *body += &format!("\n\n--- {}\n{content}", sanitize::line(name))
            }
        }
    }
    Ok(paths)
}

/// A value, shortened.
fn short(value: &Value) -> Value {
    let text = plain(value);
    if text.chars().count() <= FIELD_SHOWN {
        return shown(value);
    }
    let cut: String = text.chars().take(FIELD_SHOWN).collect();
    Value::from(sanitize::line(&cut).into_owned() + "…")
}

/// A value with hidden characters made visible.
fn shown(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::from(sanitize::line(text).into_owned()),
        Value::Array(items) => items.iter().map(shown).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(field, value)| (sanitize::line(field).into_owned(), shown(value)))
            .collect(),
        other => other.clone(),
    }
}
