//! Looking up messages: resolving a reference among the messages that a reader may see, archived or not.

pub use super::{LoggedMessage, Viewer};

use super::LogPosition;
use super::state::{IndexKey, IndexedLog};
use crate::base::error::{AMBIGUOUS_REFERENCE, Error, Problem, Result, UNKNOWN_REFERENCE};
use crate::base::limits;
use crate::disk::Dir;
use crate::log::find::{self, CandidateLine};
use crate::log::{self, state};
use crate::message::address::quoted;
use crate::message::record::EventKind;
use crate::message::reference::{Reference, ReferenceResolution};

/// The end of the log, in bytes, that is searched for a prefix of an id.
const PREFIX_BYTES: u64 = 16 << 20;
/// The number of messages that are looked up to report that a prefix is ambiguous.
const PREFIX_MATCHES: usize = 64;

/// A message, and the position of its line.
pub type LocatedMessage = (LoggedMessage, LogPosition);

/// The message that a reference identifies.
pub type ResolvedReference = std::result::Result<LocatedMessage, UnresolvedReference>;

/// The messages that match one complete reference.
#[derive(Default)]
struct CompleteMatches {
    /// The messages that the viewer may see.
    visible: Vec<LocatedMessage>,
    /// Whether a message has this name, even if the viewer may not see it.
    is_known: bool,
}

/// Why a reference does not identify one message.
#[derive(Debug, Clone)]
pub enum UnresolvedReference {
    /// No message matches.
    Missing,
    /// Several messages match.
    Several(Vec<LoggedMessage>),
}

/// Resolves each complete reference among the messages that `viewer` may see. Fields of messages accept no other ones.
pub fn find(
    log: &IndexedLog<'_>,
    viewer: &Viewer,
    references: &[String],
) -> Result<Vec<ResolvedReference>> {
    let mut resolved = Vec::with_capacity(references.len());
    for reference in references {
        let reference = Reference::parse(reference);
        let found = find_complete(log, viewer, reference.as_ref())?;
        resolved.push(choose(viewer, found.visible));
    }
    Ok(resolved)
}

/// Resolves references that a person or a tool wrote: as [`find()`], and by a prefix of the id of a recent message. A complete
/// id takes precedence, even if its message was rejected or `viewer` may not see it.
pub fn find_typed(
    log: &IndexedLog<'_>,
    viewer: &Viewer,
    references: &[String],
) -> Result<Vec<ResolvedReference>> {
    let mut resolved = Vec::with_capacity(references.len());
    for reference in references {
        let reference = Reference::parse(reference);
        let found = find_complete(log, viewer, reference.as_ref())?;
        let messages = match reference.as_ref().and_then(Reference::prefix) {
            Some(prefix) if !found.is_known => find_by_prefix(log, viewer, prefix)?,
            _ => found.visible,
        };
        resolved.push(choose(viewer, messages));
    }
    Ok(resolved)
}

fn find_complete(
    log: &IndexedLog<'_>,
    viewer: &Viewer,
    reference: Option<&Reference>,
) -> Result<CompleteMatches> {
    let mut found = CompleteMatches::default();
    let Some(reference) = reference else {
        return Ok(found);
    };
    let mut lines = Vec::new();
    if let Some(seq) = reference.seq() {
        lines.extend(log.line(seq)?);
    }
    if let Some(id) = reference.id() {
        let key = match reference.sender() {
            Some(sender) => IndexKey::Name(sender, id),
            None => IndexKey::Id(id),
        };
        lines.extend(log.lines(&[key])?);
    }
    for line in lines {
        let at = line.at;
        let Ok(record) = line.record() else { continue };
        let is_it = record
            .name()
            .is_some_and(|name| reference.is_of(&name.from, &name.id, Some(record.seq)));
        if !is_it {
            continue;
        }
        found.is_known = true;
        let is_new = found
            .visible
            .iter()
            .all(|(other, _)| other.seq != record.seq);
        let message = LoggedMessage::of(record).filter(|past| is_new && viewer.see(past));
        found.visible.extend(message.map(|past| (past, at)));
    }
    Ok(found)
}

/// Resolves one reference as [`find_typed()`] does. An error if it does not identify one message.
pub fn one_of(room: &Dir, viewer: &Viewer, reference: &str) -> Result<LoggedMessage> {
    let state = state::committed(room);
    // A damaged line hides no message in the rest of the log.
    let log = match &state {
        Ok(state) => state.indexed(room),
        Err(_) => IndexedLog::of_damaged(room)?,
    };
    locate_one(&log, viewer, reference).map(|(past, _)| past)
}

/// As [`one_of`], with the position of the message.
pub fn locate_one(
    log: &IndexedLog<'_>,
    viewer: &Viewer,
    reference: &str,
) -> Result<LocatedMessage> {
    let found = find_typed(log, viewer, &[reference.to_owned()])?.pop();
    found
        .unwrap_or(Err(UnresolvedReference::Missing))
        .map_err(|unclear| unclear.error(viewer, reference))
}

/// The thread of the message that `name` identifies by number. Otherwise `name` itself.
pub fn thread_name(room: &Dir, viewer: &Viewer, name: &str) -> Result<String> {
    let Some(seq) = Reference::parse(name).and_then(|reference| reference.seq()) else {
        return Ok(name.to_owned());
    };
    match find::by_seq(room, seq)?
        .and_then(|line| LoggedMessage::read(&line.bytes))
        .filter(|past| viewer.see(past))
    {
        Some(past) => Ok(past.thread_id.unwrap_or(past.id)),
        None if name.starts_with('#') => Err(UnresolvedReference::Missing.error(viewer, name)),
        None => Ok(name.to_owned()),
    }
}

fn choose(viewer: &Viewer, mut found: Vec<LocatedMessage>) -> ResolvedReference {
    // For a reader who may see all messages, its own messages take precedence.
    if found.iter().any(|(past, _)| viewer.is_own(past)) {
        found.retain(|(past, _)| viewer.is_own(past));
    }
    match ReferenceResolution::of(found) {
        ReferenceResolution::One(one) => Ok(one),
        ReferenceResolution::None => Err(UnresolvedReference::Missing),
        ReferenceResolution::Several(many) => Err(UnresolvedReference::Several(
            many.into_iter().map(|(past, _)| past).collect(),
        )),
    }
}

/// The visible messages with an id that begins with this text, among the newest ones. A few suffice to report that it is
/// ambiguous.
fn find_by_prefix(
    log: &IndexedLog<'_>,
    viewer: &Viewer,
    prefix: &str,
) -> Result<Vec<LocatedMessage>> {
    if is_rejected(log, prefix)? {
        return Ok(Vec::new());
    }
    let from = log::before_end(log.room(), PREFIX_BYTES)?;
    let sieve = find::LineFilter::of(&[format!("\"id\":\"{prefix}")])?;
    let (viewer, prefix) = (viewer.clone(), prefix.to_owned());
    let read = move |line: CandidateLine<'_>| {
        LoggedMessage::read(line.bytes)
            .filter(|past| past.id.starts_with(&prefix) && viewer.see(past))
            .map(|past| (past, line.at))
    };
    let matches = find::scan(log.room(), from, None, sieve, read)?;
    matches.values().take(PREFIX_MATCHES).collect()
}

/// Returns true if a message with this id was rejected. The log has its id only in the notice to its sender.
fn is_rejected(log: &IndexedLog<'_>, id: &str) -> Result<bool> {
    let answers = log.records(&[IndexKey::Answered(id)])?;
    Ok(answers.iter().any(|(_, record)| {
        record.kind() == EventKind::Rejected
            && record
                .message_fields()
                .is_some_and(|fields| fields.get("in_reply_to").is_some_and(|named| named == id))
    }))
}

impl UnresolvedReference {
    /// The error for a command.
    pub fn error(&self, viewer: &Viewer, reference: &str) -> Error {
        let (what, fix) = self.words(viewer, reference);
        match self {
            UnresolvedReference::Missing => Error::not_found(what, fix),
            UnresolvedReference::Several(_) => Error::usage(what, fix),
        }
    }

    /// The problem for a rejected message.
    pub fn problem(&self, viewer: &Viewer, reference: &str) -> Problem {
        let (what, fix) = self.words(viewer, reference);
        match self {
            UnresolvedReference::Missing => Problem::new(UNKNOWN_REFERENCE, what).fix(fix),
            UnresolvedReference::Several(_) => Problem::new(AMBIGUOUS_REFERENCE, what).fix(fix),
        }
    }

    fn words(&self, viewer: &Viewer, reference: &str) -> (String, String) {
        let reference = quoted(reference);
        match (self, viewer.only_of()) {
            (UnresolvedReference::Several(found), _) => {
                let names = found.iter().map(|past| (past.seq, past.name()));
                several(
                    &reference,
                    names.map(|(seq, name)| format!("#{seq} ({name})")),
                )
            }
            (UnresolvedReference::Missing, None) => (
                format!("the log has no message {reference}"),
                REFERENCE_FORMS.into(),
            ),
            (UnresolvedReference::Missing, Some(agent)) => (
                format!("{agent} neither sent nor received a message {reference}"),
                REFERENCE_FORMS.into(),
            ),
        }
    }
}

/// The forms of a complete reference.
const REFERENCE_FORMS: &str =
    "write its number as 12, its id, or SENDER/ID; `mailbag list` shows them";

/// The error text and the next step for an ambiguous reference.
pub fn several(reference: &str, names: impl Iterator<Item = String>) -> (String, String) {
    let names: Vec<String> = names.take(limits::PROBLEMS).collect();
    (
        format!("{reference} is ambiguous: several messages match"),
        format!("write one of {}", names.join(", ")),
    )
}
