//! Compares a file in an inbox with its record in the log.
//!
//! The router delivers a copy only after its record is committed, so a file without a record was placed there directly.

use super::Mail;
use crate::base::error::Result;
use crate::disk::layout;
use crate::log::find;
use crate::message::record::{Event, Record};
use crate::room::Room;
use crate::router::recover::lost_message_of_copy;
use serde_json::{Map, Value};

/// The problem of a file that the router did not deliver.
pub const PLACED_DIRECTLY: &str = "placed here directly, sender unknown";

/// How much of a file was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// All of it.
    Whole,
    /// Its beginning: the last field may be cut, and later fields are missing.
    Beginning,
}

/// Why a file is not mail of the sender that it names. `None` if it is, or if this user cannot read the log.
pub(super) fn find_problem(room: &Room, mail: &Mail, extent: Extent) -> Option<String> {
    match has_record(room, mail, extent) {
        Ok(true) => None,
        Ok(false) => Some(PLACED_DIRECTLY.into()),
        // Another user's agent reads its own inbox only, and other agents cannot write there.
        Err(e) if e.errno() == Some(libc::EACCES) => None,
        Err(e) => Some(format!("the sender cannot be checked: {e}")),
    }
}

fn has_record(room: &Room, mail: &Mail, extent: Extent) -> Result<bool> {
    let (Some(seq), Some(copy)) = (mail.seq, mail.content.as_object()) else { return Ok(false) };
    let Some(line) = find::from_seq(&room.dir, seq)? else { return Ok(false) };
    let Ok(record) = serde_json::from_slice::<Record>(&line.bytes) else { return Ok(false) };
    if let Some(gap) = record.gap.as_ref().filter(|gap| gap.contains(seq)) {
        let lost = lost_message_of_copy(mail.content.clone());
        return Ok(lost.is_some_and(|lost| gap.messages.contains(&lost)));
    }
    Ok(record.seq == seq
        && matches!(record.event, Event::Accepted | Event::Rejected | Event::Notice)
        && has_name(&record, mail)
        && has_outcome(&record, copy)
        && has_fields(&record, copy, extent)
        && is_recipient(room, &record, mail)?)
}

/// Returns true if the file has the name that the router gives to a copy of this record. A read copy can have a suffix.
fn has_name(record: &Record, mail: &Mail) -> bool {
    let name = layout::delivered(
        record.stamp(),
        record.from.as_deref().unwrap_or_default(),
        record.id.as_deref().unwrap_or_default(),
    );
    let is_unread = mail.file.parent().is_some_and(layout::is_inbox);
    mail.name == *name || !is_unread && layout::read_delivered(&mail.name) == Some(record.stamp())
}

/// Returns true if the agent with this inbox is a recipient, also under a former name.
fn is_recipient(room: &Room, record: &Record, mail: &Mail) -> Result<bool> {
    let Some(agent) = layout::inbox_owner(&mail.file) else { return Ok(false) };
    if record.copies().any(|(recipient, _)| **recipient == *agent) {
        return Ok(true);
    }
    let former = room.registry()?.former(agent);
    Ok(record.copies().any(|(recipient, _)| former.iter().any(|name| **name == **recipient)))
}

/// Returns true if the copy reports only an outcome that the record has.
fn has_outcome(record: &Record, copy: &Map<String, Value>) -> bool {
    let delivery = copy.get("delivery").and_then(Value::as_object);
    let has = |name| delivery.is_some_and(|delivery| delivery.contains_key(name));
    let decided = crate::message::decision::summary_of_copy(copy);
    let at = delivery.and_then(|delivery| delivery.get("accepted_at"));
    at.and_then(Value::as_str) == Some(&*record.at)
        && (record.ownership.is_some() || !has("claim"))
        && (record.decision.is_some() || !has("approval"))
        && (decided.is_none() || decided == record.decision.as_ref().and_then(|step| step.summary()))
}

/// Returns true if the fields of the copy are the fields of the record's message.
fn has_fields(record: &Record, copy: &Map<String, Value>, extent: Extent) -> bool {
    let message = record.message.as_ref().and_then(|message| serde_json::from_str(message.get()).ok());
    let Some(Value::Object(message)) = message else { return false };
    let last = copy.keys().next_back().filter(|_| extent == Extent::Beginning);
    let is_same = |(name, value): (&String, &Value)| match name.as_str() {
        // The router writes the recipient into `to`.
        "delivery" | "to" => true,
        "addressed_to" => message.get("to").is_none_or(|to| to == value),
        "timestamp" => message.get(name).map_or(value.as_str() == Some(&*record.at), |sent| sent == value),
        _ if last == Some(name) => match (value.as_str(), message.get(name).and_then(Value::as_str)) {
            (Some(cut), Some(sent)) => sent.starts_with(cut),
            _ => message.get(name) == Some(value),
        },
        _ => message.get(name) == Some(value),
    };
    let is_complete = || message.keys().all(|name| name == "to" || copy.contains_key(name));
    copy.iter().all(is_same) && (extent == Extent::Beginning || is_complete())
}
