//! Events: what happened in a room, each in one envelope.

use crate::base::clock::Stamp;
use crate::base::error::{Error, Result, did_you_mean};
use crate::base::text::{joined, quoted};
pub use crate::features::worklog::envelope::Envelope;
use crate::features::worklog::envelope::event_kinds;
use crate::log::find::{self, CandidateLine};
use crate::log::{self, LogPosition};
use crate::message::dialects::PAYLOAD_FIELD;
use crate::message::record::Record;
use crate::query::newest::LogQuery;
use crate::query::time;
use crate::room::Room;
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::Arc;

/// An event, as programs get it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LogEvent {
    /// The id that its writer gave it, unique for each sender.
    pub id: String,
    /// The number of its record, unique in the room.
    pub seq: u64,
    /// The room's id.
    pub room: String,
    /// The type of the message, or `claim.`, `approval.` or `charter.` with a word.
    #[serde(rename = "type")]
    pub kind: String,
    /// The session that the message names in `metadata.session_id`.
    pub session_id: Option<String>,
    /// The agent; `mailbag` for the router.
    pub from: String,
    /// The accept time.
    pub accepted_at: String,
    /// The subject of the message.
    pub subject: Option<String>,
    /// The payload as it was written: the body and the metadata of the message, and the fields of the change.
    pub payload: Map<String, Value>,
    /// The links as they were written, and the message that it answers.
    pub links: Vec<Value>,
}

/// Selects events.
#[derive(Debug, Clone, Default)]
pub struct EventFilter {
    /// Accepted at this time or later.
    pub since: Option<Stamp>,
    /// Of this type, or of a type that begins with this word and a dot.
    pub kind: Option<String>,
}

impl EventFilter {
    /// Resolves the time. An unknown kind is an error, because the filter would never match.
    pub fn new(since: Option<&str>, kind: Option<String>) -> Result<EventFilter> {
        if let Some(kind) = &kind {
            check_kind(kind)?;
        }
        let since = since.map(time::past).transpose()?;
        Ok(EventFilter { since, kind })
    }

    fn fits(&self, event: &Envelope) -> bool {
        let kind = self.kind.as_ref();
        kind.is_none_or(|kind| is_of_kind(&event.kind, kind))
    }
}

/// Returns true if an event has this kind, or one that begins with this word and a dot.
fn is_of_kind(event: &str, kind: &str) -> bool {
    event
        .strip_prefix(kind)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn check_kind(kind: &str) -> Result<()> {
    if event_kinds().any(|known| is_of_kind(known, kind)) {
        return Ok(());
    }
    let mut words: Vec<&str> = event_kinds()
        .map(|known| known.split('.').next().unwrap_or(known))
        .collect();
    words.sort_unstable();
    words.dedup();
    let fix = did_you_mean(kind, event_kinds().chain(words.iter().copied()))
        .unwrap_or_else(|| format!("the types are {}", joined(&words)));
    Err(Error::usage(
        format!("{} is not a type of event", quoted(kind)),
        fix,
    ))
}

/// The events of a room.
pub struct LogEventReader {
    room: Room,
    id: String,
    filter: Arc<EventFilter>,
    from: LogPosition,
    end: LogPosition,
}

impl LogEventReader {
    /// Finds the events up to this moment.
    pub fn of(room: &Room, filter: EventFilter) -> Result<LogEventReader> {
        let end = log::end(&room.dir)?;
        let from = filter
            .since
            .map_or(Ok(log::START), |at| find::since(&room.dir, at))?;
        let id = room.id()?.unwrap_or_default();
        Ok(LogEventReader {
            room: room.clone(),
            id,
            filter: Arc::new(filter),
            from,
            end,
        })
    }

    /// The events so far, in the order of the log; with `last`, only the newest `last`.
    pub fn each(&self, last: Option<usize>) -> Result<impl Iterator<Item = Result<Envelope>>> {
        let filter = self.filter.clone();
        let query = LogQuery {
            room: self.room.dir.clone(),
            begin: self.from,
            end: Some(self.end),
            sieve: None,
            take: Arc::new(move |line: CandidateLine<'_>| {
                if !Envelope::may_be(line.bytes) {
                    return None;
                }
                let record: Record = serde_json::from_slice(line.bytes).ok()?;
                Envelope::of(&record).filter(|event| filter.fits(event))
            }),
        };
        query.values(last, &|_| {})
    }

    /// The event as programs get it.
    pub fn event(&self, envelope: Envelope) -> LogEvent {
        let Envelope {
            seq,
            id,
            at: accepted_at,
            kind,
            actor: from,
            session: session_id,
            subject,
            mut payload,
            links,
        } = envelope;
        let links = links_as_written(&mut payload, links);
        let payload = payload_as_written(payload);
        LogEvent {
            id,
            seq,
            room: self.id.clone(),
            kind,
            session_id,
            from,
            accepted_at,
            subject,
            payload,
            links,
        }
    }
}

/// The links of the writer, which can be more than references to messages, and then the other references.
fn links_as_written(payload: &mut Map<String, Value>, references: Vec<String>) -> Vec<Value> {
    let mut links = match payload.get_mut("links").map(Value::take) {
        Some(Value::Array(links)) => links,
        Some(other) => {
            payload.insert("links".into(), other);
            return references.into_iter().map(Value::from).collect();
        }
        None => Vec::new(),
    };
    payload.shift_remove("links");
    for reference in references {
        if !links
            .iter()
            .any(|link| link.as_str().or_else(|| link.get("id")?.as_str()) == Some(&reference))
        {
            links.push(reference.into());
        }
    }
    links
}

/// The payload with the body under the name that the writer gave it.
fn payload_as_written(mut payload: Map<String, Value>) -> Map<String, Value> {
    let Some(Value::String(field)) = payload.shift_remove(PAYLOAD_FIELD) else {
        return payload;
    };
    payload
        .into_iter()
        .map(|(key, value)| {
            if key == "body" {
                (field.clone(), value)
            } else {
                (key, value)
            }
        })
        .collect()
}
