//! Events: the records about the work that people read, in one form for all kinds.

use crate::base::text::joined;
use crate::message::record::{EventKind, MessageHead, Record};
use crate::message::{DECISION, TYPES, behaviour, text_items};
use memchr::memmem::Finder;
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// The first word of the subject of a notice about a change of the charter.
const CHARTER: &str = "charter";

/// The kinds of the changes that are events.
const CHANGE_KINDS: [&str; 14] = [
    "approval.asked",
    "approval.decided",
    "approval.escalated",
    "approval.expired",
    "approval.withdrawn",
    "charter.changed",
    "claim.accepted",
    "claim.declined",
    "claim.granted",
    "claim.lapsed",
    "claim.offered",
    "claim.overridden",
    "claim.released",
    "claim.renamed",
];
/// The types of messages that are events, as a line of the log has them.
static EVENT_TYPES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let kinds = TYPES.iter().filter(|kind| behaviour(kind).event);
    kinds.map(|kind| format!("\"type\":\"{kind}\"")).collect()
});
/// Marks before the message of a line that make it an event whatever its type: a change of claims
/// or approvals, or the charter as its subject.
static CHANGES: LazyLock<[Finder<'static>; 3]> = LazyLock::new(|| {
    let charter = format!("\"about\":\"{CHARTER} ");
    [
        "\"facts\":{\"claims\":",
        "\"facts\":{\"approvals\":",
        &charter,
    ]
    .map(|mark| Finder::new(mark).into_owned())
});
/// Where the message of a line begins, and where its type may be.
static PLACES: LazyLock<[Finder<'static>; 2]> =
    LazyLock::new(|| ["\"message\":", "\"type\":\""].map(Finder::new));

/// An event.
#[derive(Debug, Clone, PartialEq)]
pub struct Envelope {
    /// The number of its record.
    pub seq: u64,
    /// The id of its message.
    pub id: String,
    /// The accept time of its record.
    pub at: String,
    /// The kind: the type of a message, or `claim.`, `approval.` or `charter.` with a word.
    pub kind: String,
    /// The agent that made it happen; `mailbag` for the router.
    pub actor: String,
    /// The session that it names.
    pub session: Option<String>,
    /// The subject of its message.
    pub subject: Option<String>,
    /// The rest: the body and the metadata of the message, and the fields of the change.
    pub payload: Map<String, Value>,
    /// The messages that it refers to.
    pub links: Vec<String>,
}

impl Envelope {
    /// Cheap pre-filter: returns false for most lines that are not events.
    pub fn may_be(line: &[u8]) -> bool {
        let [begin, kind] = &*PLACES;
        let (own, message) = line.split_at(begin.find(line).unwrap_or(line.len()));
        CHANGES.iter().any(|change| change.find(own).is_some())
            || kind.find_iter(message).any(|at| {
                EVENT_TYPES
                    .iter()
                    .any(|event| message[at..].starts_with(event.as_bytes()))
            })
    }

    /// Like [`Envelope::entry`], for a caller that has the head of an accepted message. The head
    /// suffices for most messages.
    pub fn entry_of(record: &Record, head: Option<&MessageHead<'_>>) -> Option<Envelope> {
        let is_possible = match head {
            Some(head) => may_be_event(record) || behaviour(head.kind()).event,
            None => record.kind() == EventKind::Notice,
        };
        if is_possible {
            Envelope::entry(record)
        } else {
            None
        }
    }

    /// The event of a record with an entry in the worklog. This is the only definition of such a record.
    pub fn entry(record: &Record) -> Option<Envelope> {
        Envelope::of(record).filter(Envelope::is_for_worklog)
    }

    /// The event of a record. `None` if the record is not an event.
    pub fn of(record: &Record) -> Option<Envelope> {
        if !matches!(record.kind(), EventKind::Accepted | EventKind::Notice) {
            return None;
        }
        let mut fields = record.message_fields()?;
        let text = |field: &str| fields.get(field).and_then(Value::as_str).map(str::to_owned);
        let actor = record.sender().to_owned();
        let (kind, payload) = match (
            record.facts.claims.as_ref(),
            record.facts.approvals.as_ref(),
            text("type")?,
        ) {
            (Some(change), ..) => change.event(record.kind(), &actor),
            (_, Some(step), kind) => step.event(kind),
            (_, _, kind) if behaviour(&kind).event => (kind, Map::new()),
            _ if is_about_charter(record) => (format!("{CHARTER}.changed"), Map::new()),
            _ => return None,
        };
        debug_assert!(event_kinds().any(|known| known == kind), "{kind}");
        let (subject, body) = (text("subject"), text("body"));
        let links = links(&fields);
        let mut metadata = fields.remove("metadata").and_then(|value| match value {
            Value::Object(metadata) => Some(metadata),
            _ => None,
        });
        let session = metadata
            .as_mut()
            .and_then(|metadata| metadata.shift_remove("session_id"));
        let session = session
            .or_else(|| fields.remove("session_id"))
            .and_then(|one| one.as_str().map(str::to_owned));
        let mut whole: Map<String, Value> = body
            .map(|body| ("body".to_owned(), body.into()))
            .into_iter()
            .collect();
        whole.extend(metadata.into_iter().flatten());
        whole.extend(payload);
        let (seq, at, id) = (
            record.seq,
            record.at.clone(),
            record.id().unwrap_or_default().to_owned(),
        );
        Some(Envelope {
            seq,
            id,
            at,
            kind,
            actor,
            session,
            subject,
            payload: whole,
            links,
        })
    }

    /// One line of text: subject and body, else the fields of the payload.
    pub fn text(&self) -> String {
        let field = |name: &str| self.payload.get(name).and_then(Value::as_str);
        let mut said = vec![self.subject.as_deref(), field("body")];
        if self.kind == "approval.decided" {
            said.splice(0..0, [field("title"), field("option")]);
        }
        let said: Vec<&str> = said
            .into_iter()
            .flatten()
            .filter(|text| !text.is_empty())
            .collect();
        if !said.is_empty() {
            return said.join(": ");
        }
        let fields = self.payload.iter().filter(|(_, value)| !value.is_null());
        let field = |(name, value): (&String, &Value)| match value {
            Value::String(text) => format!("{name} {text}"),
            Value::Array(items) => {
                let items = items.iter().map(|item| {
                    item.as_str()
                        .map_or_else(|| item.to_string(), str::to_owned)
                });
                format!("{name} {}", joined(items))
            }
            value => format!("{name} {value}"),
        };
        fields.map(field).collect::<Vec<_>>().join("; ")
    }

    /// Returns true for a decision. This is the only definition, for the context, the status and the worklog.
    pub fn is_decision(&self) -> bool {
        matches!(
            self.kind.as_str(),
            DECISION | "decision.recorded" | "approval.decided" | "approval.expired"
        )
    }

    /// Returns true if the worklog shows it: claims only if they ended against the owner's will,
    /// approvals only their outcome.
    pub fn is_for_worklog(&self) -> bool {
        let is_change = self.kind.starts_with("claim.")
            || matches!(self.kind.as_str(), "approval.asked" | "approval.withdrawn");
        !is_change || matches!(self.kind.as_str(), "claim.lapsed" | "claim.overridden")
    }
}

/// All kinds of events.
pub fn event_kinds() -> impl Iterator<Item = &'static str> {
    let of_messages = TYPES.iter().copied().filter(|kind| behaviour(kind).event);
    of_messages.chain(CHANGE_KINDS)
}

/// Returns true if a record can be an event whatever the type of its message.
fn may_be_event(record: &Record) -> bool {
    record.facts.claims.as_ref().is_some() || record.facts.approvals.as_ref().is_some()
}

fn is_about_charter(record: &Record) -> bool {
    record.kind() == EventKind::Notice
        && record
            .about()
            .is_some_and(|about| about.split(' ').next() == Some(CHARTER))
}

/// The messages in `refs` and `in_reply_to`.
fn links(fields: &Map<String, Value>) -> Vec<String> {
    let refs = text_items(fields, "refs");
    let answered = fields.get("in_reply_to").and_then(Value::as_str);
    let mut links: Vec<String> = Vec::new();
    for link in refs.chain(answered) {
        if !links.iter().any(|known| known == link) {
            links.push(link.to_owned());
        }
    }
    links
}
