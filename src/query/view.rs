//! One view of a message. The command line, the MCP tools and `watch` build all that they show of a message from it.

use super::history::LoggedMessage;
use super::inbox::InboxMessage;
use super::pending;
use crate::base::clock::Stamp;
use crate::base::text::{joined, to_the_second};
use crate::message::{FIELDS, MessageActor, Priority, QUESTION, behaviour, id, texts, unknown};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// That text shows the age of messages that are older.
const BRIEFING_FRESH: Duration = Duration::from_secs(10 * 60);

/// Fields that a view has by name.
const NAMED: [&str; 7] = ["id", "from", "to", "type", "subject", "body", "timestamp"];

/// A message for display.
#[derive(Debug, Clone)]
pub struct MessageView<'a> {
    /// Record number, if known.
    pub seq: Option<u64>,
    /// Message id.
    pub id: &'a str,
    /// Accept time.
    pub accepted_at: &'a str,
    /// Sender.
    pub from: &'a str,
    /// Type.
    pub kind: &'a str,
    /// Priority.
    pub priority: Priority,
    /// Channel.
    pub channel: &'a str,
    /// Subject.
    pub subject: Option<&'a str>,
    /// First line of the body.
    pub preview: Option<&'a str>,
    /// Body.
    pub body: Option<&'a str>,
    /// Its change of claims, approvals, statuses or topics, in few words.
    pub change: Option<Cow<'a, str>>,
    /// Whether the sender expects a response.
    pub requires_response: bool,
    /// How the copy was closed, if that is known.
    pub closed: Option<&'a str>,
    /// Agents with a copy. `None` for a copy in an inbox, which does not know the others.
    pub copies: Option<&'a [Arc<str>]>,
    /// Recipients as the sender wrote them.
    pub addressed: Vec<&'a str>,
    /// All fields, unless only the head of the file was read.
    pub fields: Option<&'a Map<String, Value>>,
    /// For a file that is not a message: the file, the reason, and its text.
    pub invalid: Option<InvalidFile<'a>>,
}

/// A file in an inbox that is not a message.
#[derive(Debug, Clone)]
pub struct InvalidFile<'a> {
    /// The file, relative to the room.
    pub file: &'a Path,
    /// Why it is not a message.
    pub problem: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// Something that a sender attached.
#[derive(Debug, Clone, Copy)]
pub enum Attachment<'a> {
    /// A file in the shared context, by its path there.
    File(&'a str),
    /// A text with its name.
    Text(&'a str, &'a str),
}

impl<'a> Attachment<'a> {
    /// Its path or its name.
    pub fn name(self) -> &'a str {
        match self {
            Attachment::File(name) | Attachment::Text(name, _) => name,
        }
    }
}

impl<'a> From<&'a InboxMessage> for MessageView<'a> {
    fn from(mail: &'a InboxMessage) -> MessageView<'a> {
        let fields = match mail.problem {
            None => mail.content.as_object(),
            Some(_) => None,
        };
        let invalid = mail.problem.as_deref().map(|problem| InvalidFile {
            file: &mail.file,
            problem,
            text: mail.content.as_str().unwrap_or_default(),
        });
        // A claim or a decision may be addressed to no agent.
        let addressed = texts(fields.and_then(|fields| fields.get("addressed_to")));
        MessageView {
            seq: mail.seq,
            id: &mail.id,
            accepted_at: &mail.accepted_at,
            from: &mail.from,
            kind: &mail.kind,
            priority: mail.priority,
            channel: text(fields, "channel").unwrap_or_default(),
            subject: mail.subject.as_deref(),
            preview: mail.preview.as_deref(),
            body: text(fields, "body"),
            change: mail.change.as_deref().map(Cow::Borrowed),
            requires_response: mail.requires_response,
            copies: None,
            addressed: if addressed.is_empty() {
                texts(fields.and_then(|fields| fields.get("to")))
            } else {
                addressed
            },
            fields,
            closed: mail.closed.as_deref(),
            invalid,
        }
    }
}

impl<'a> From<&'a LoggedMessage> for MessageView<'a> {
    fn from(past: &'a LoggedMessage) -> MessageView<'a> {
        let fields = Some(&past.message);
        MessageView {
            seq: Some(past.seq),
            id: &past.id,
            accepted_at: &past.accepted_at,
            from: &past.from,
            kind: &past.kind,
            priority: past.priority,
            channel: &past.channel,
            subject: past.subject.as_deref(),
            preview: past.preview.as_deref(),
            body: text(fields, "body"),
            change: past.change.as_deref().map(Cow::Borrowed),
            requires_response: past.requires_response,
            copies: Some(&past.recipients),
            addressed: texts(past.message.get("to")),
            fields,
            closed: past.closed.as_deref(),
            invalid: None,
        }
    }
}

impl<'a> MessageView<'a> {
    /// Returns true if the sender expects a response and the type does not say so.
    pub fn marks_response(&self) -> bool {
        self.requires_response && self.kind != QUESTION
    }

    /// How the copy was closed, as a suffix of a line.
    pub fn closed_mark(&self) -> String {
        self.closed
            .map(|closed| format!(" ({closed})"))
            .unwrap_or_default()
    }

    /// The reference of the message: its number as `#2`, else its id. A person can paste it back, and for a model the
    /// number costs far less than the id.
    pub fn name(&self) -> Cow<'a, str> {
        match (self.seq, &self.invalid) {
            (Some(seq), _) => format!("#{seq}").into(),
            (None, Some(invalid)) => invalid.file.to_string_lossy(),
            (None, None) => self.id.into(),
        }
    }

    /// The number as `#2`, or a dash.
    pub fn number(&self) -> String {
        self.seq
            .map_or_else(|| "-".to_owned(), |seq| format!("#{seq}"))
    }

    /// The accept time, to the second.
    pub fn time(&self) -> String {
        to_the_second(self.accepted_at)
    }

    /// The age of a message in an inbox that is not fresh, because its text may be outdated.
    pub fn age(&self) -> Option<String> {
        if self.copies.is_some() {
            None
        } else {
            age_if_old(self.accepted_at)
        }
    }

    /// Its change, and its title. For a file that is not a message: its name and the reason.
    pub fn about(&self) -> Cow<'a, str> {
        match &self.invalid {
            Some(InvalidFile { file, problem, .. }) => {
                format!("{}: {problem}", file.display()).into()
            }
            None => {
                let about = self.subject.or(self.preview);
                match (&self.change, about) {
                    (Some(change), Some(about)) => format!("{change}: {about}").into(),
                    (Some(change), None) => change.clone(),
                    (None, about) => about.unwrap_or_default().into(),
                }
            }
        }
    }

    /// The first recipients and the number of the others. A message without recipients is in its channel only.
    pub fn recipients(&self, most: usize) -> Vec<String> {
        let copies = self.copies.unwrap_or_default();
        let mut to: Vec<String> = copies.iter().take(most).map(ToString::to_string).collect();
        match copies.len() {
            0 if behaviour(self.kind).acted_on_by == Some(MessageActor::Router) => {
                to.push(id::MAILBAG.to_owned())
            }
            0 => to.push(format!("channel {}", self.channel)),
            all if all > most => to.push(format!("{} more", all - most)),
            _ => {}
        }
        to
    }

    /// The recipients in few words: their names, or for many the address that the sender wrote and their number.
    pub fn to(&self, most: usize) -> String {
        let count = self.copies.map_or(0, <[_]>::len);
        let is_named = (1..=most).contains(&count)
            || behaviour(self.kind).acted_on_by == Some(MessageActor::Router);
        if is_named || self.addressed.is_empty() {
            self.recipients(most).join(", ")
        } else {
            format!("{} ({count})", self.addressed.join(", "))
        }
    }

    /// The kind of address that reached the recipient, such as `direct` or `role`.
    pub fn via(&self) -> Option<&'a str> {
        self.fields?
            .get("delivery")?
            .get("via")
            .and_then(Value::as_str)
    }

    /// The other fields of the protocol, in their order, and last the sender's own, which are one fact: a name that a
    /// sender chose must not look like a fact of the router.
    pub fn facts(&self) -> Vec<(&'static str, Cow<'a, Value>)> {
        let Some(fields) = self.fields else {
            return Vec::new();
        };
        let known = FIELDS.iter().filter(|name| !NAMED.contains(name));
        let known = known.filter_map(|name| Some((*name, Cow::Borrowed(fields.get(*name)?))));
        known
            .chain(unknown(fields).map(|own| ("fields", Cow::Owned(own))))
            .collect()
    }

    /// The attachments.
    pub fn attachments(&self) -> impl Iterator<Item = Attachment<'a>> + use<'a> {
        let items = self
            .fields
            .and_then(|fields| fields.get("attachments"))
            .and_then(Value::as_array);
        items.into_iter().flatten().filter_map(|item| {
            let text = |field: &str| item.get(field).and_then(Value::as_str);
            match (text("path"), text("name")) {
                (Some(path), _) => Some(Attachment::File(path)),
                (None, name) => Some(Attachment::Text(name.unwrap_or_default(), text("content")?)),
            }
        })
    }
}

/// The age of a message that was accepted more than ten minutes ago.
pub fn age_if_old(accepted_at: &str) -> Option<String> {
    let (accepted, now) = (Stamp::parse(accepted_at)?, Stamp::now());
    let is_fresh = accepted.is_within(BRIEFING_FRESH, now) || accepted > now;
    if is_fresh {
        None
    } else {
        Some(format!("{} old", pending::age(accepted_at)))
    }
}

/// A value of a field in one line: lists of texts with commas, everything else but texts as JSON.
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            joined(items.iter().map(plain))
        }
        other => other.to_string(),
    }
}

fn text<'a>(fields: Option<&'a Map<String, Value>>, field: &str) -> Option<&'a str> {
    fields?.get(field).and_then(Value::as_str)
}
