//! Looking up messages: resolving a reference among the messages that a reader may see, archived or not.

mod past;

pub use past::{LoggedMessage, Viewer};

use crate::base::error::{AMBIGUOUS_REFERENCE, Error, Problem, Result, UNKNOWN_REFERENCE};
use crate::base::limits;
use crate::disk::Dir;
use crate::log;
use crate::log::find::{self, CandidateLine};
use crate::log::state::{self, IdPrefix, Relation, Relations, RoomState};
use crate::log::{LogPosition, RawLogLine, START};
use crate::message::address::quoted;
use crate::message::id;
use crate::message::record::{EventKind, Record};
use crate::message::reference::{Reference, ReferenceResolution};
use std::time::{Duration, Instant};

/// The most positions that the index gives for a prefix. More of them are searched in the log.
const PREFIX_PLACES: usize = 1024;
/// The number of messages that are looked up to report that a prefix is ambiguous.
const PREFIX_MATCHES: usize = 64;

/// A message, and the position of its line.
pub type LocatedMessage = (LoggedMessage, LogPosition);

/// The message that a reference identifies.
pub type ResolvedReference = std::result::Result<LocatedMessage, UnresolvedReference>;

/// A reference that is searched.
struct SoughtReference {
    /// Its place in the list of references.
    place: usize,
    reference: Reference,
}

/// A record with the name in some references.
struct MatchedRecord {
    /// The places of these references.
    places: Vec<usize>,
    /// Its message, if the viewer may see it.
    message: Option<LocatedMessage>,
}

/// The records that match one complete reference.
#[derive(Default)]
struct CompleteMatches {
    /// The messages that the viewer may see.
    visible: Vec<LocatedMessage>,
    /// Whether a message has this name, even if the viewer may not see it.
    is_known: bool,
}

impl CompleteMatches {
    fn add(&mut self, message: Option<LocatedMessage>) {
        self.is_known = true;
        let new = message.filter(|(past, _)| {
            let mut others = self.visible.iter();
            !others.any(|(other, _)| other.seq == past.seq)
        });
        self.visible.extend(new);
    }
}

/// Why a reference does not identify one message.
#[derive(Debug, Clone)]
pub enum UnresolvedReference {
    /// No message matches.
    Missing,
    /// Several messages match.
    Several(Vec<LoggedMessage>),
}

/// After searches of the whole log that took this time together, a router pauses them.
const SEARCH_TIME: Duration = Duration::from_millis(500);

/// Limits the time that a caller that must stay responsive reads the whole log: after half a second, it pauses ten times as
/// long.
#[derive(Debug, Default)]
pub struct SearchLimiter {
    spent: Duration,
    paused_until: Option<Instant>,
}

impl SearchLimiter {
    fn begin(&self) -> Result<Instant> {
        let now = Instant::now();
        match self.paused_until {
            Some(end) if end > now => Err(Error::busy(
                "an acknowledgement refers to a message that requires a search of the whole log",
                "it will be searched shortly; refer to messages as #12 to find them immediately",
            )),
            _ => Ok(now),
        }
    }

    fn end(&mut self, took: Duration) {
        self.spent += took;
        if self.spent >= SEARCH_TIME {
            self.paused_until = Some(Instant::now() + self.spent * 10);
            self.spent = Duration::ZERO;
        }
    }
}

/// Resolves each complete reference among the messages that `viewer` may see. Fields of messages accept no other ones.
///
/// The ids of a state find messages in `log/` quickly; without a state, the committed state is read. The other references are
/// searched in the whole log, in one pass that parses only candidate lines.
pub fn find(
    room: &Dir,
    state: Option<&RoomState>,
    viewer: &Viewer,
    references: &[String],
    pace: &mut SearchLimiter,
) -> Result<Vec<ResolvedReference>> {
    let parsed = parse(references);
    let found = find_complete(room, state, viewer, &parsed, pace)?;
    Ok(found
        .into_iter()
        .map(|found| choose(viewer, found.visible))
        .collect())
}

/// Resolves references that a person or a tool wrote: as [`find()`], and by a prefix of an id. A complete id takes precedence,
/// even if its message was rejected or `viewer` may not see it.
pub fn find_typed(
    room: &Dir,
    state: Option<&RoomState>,
    viewer: &Viewer,
    references: &[String],
) -> Result<Vec<ResolvedReference>> {
    let (parsed, mut pace) = (parse(references), SearchLimiter::default());
    let found = find_complete(room, state, viewer, &parsed, &mut pace)?;
    let mut resolved = Vec::with_capacity(found.len());
    for (found, reference) in found.into_iter().zip(&parsed) {
        let prefix = reference.as_ref().and_then(Reference::prefix);
        let messages = match prefix {
            Some(prefix) if !found.is_known => find_by_prefix(room, state, viewer, prefix)?,
            _ => found.visible,
        };
        resolved.push(choose(viewer, messages));
    }
    Ok(resolved)
}

fn parse(references: &[String]) -> Vec<Option<Reference>> {
    references
        .iter()
        .map(|text| Reference::parse(text))
        .collect()
}

fn find_complete(
    room: &Dir,
    state: Option<&RoomState>,
    viewer: &Viewer,
    parsed: &[Option<Reference>],
    pace: &mut SearchLimiter,
) -> Result<Vec<CompleteMatches>> {
    let has_ids = parsed.iter().flatten().any(|one| one.id().is_some());
    let committed = if state.is_none() && has_ids {
        // A damaged line hides no message in the rest of the log.
        state::committed(room).ok()
    } else {
        None
    };
    let known = state.or(committed.as_ref());
    let mut found: Vec<CompleteMatches> = Vec::with_capacity(parsed.len());
    for reference in parsed {
        let mut matches = CompleteMatches::default();
        if let Some(reference) = reference {
            add_nearby(room, known, viewer, reference, &mut matches)?;
        }
        found.push(matches);
    }
    // The ids do not cover the archive. A router answers without it.
    let are_all_ids_known = match (state, known) {
        (Some(_), _) => true,
        (None, Some(known)) => known.ids.open_to_read(room) && log::archived(room)?.is_empty(),
        (None, None) => false,
    };
    let mut sought: Vec<SoughtReference> = Vec::new();
    for (place, reference) in parsed.iter().enumerate() {
        if let Some(reference) = reference
            && reference.id().is_some()
            && (!are_all_ids_known || found[place].visible.is_empty())
        {
            let reference = reference.clone();
            sought.push(SoughtReference { place, reference });
        }
    }
    if !sought.is_empty() {
        let indexed = known.map(|known| in_index(room, known, viewer, &sought));
        let all = match indexed.transpose()?.flatten() {
            Some(all) => all,
            None => {
                let began = pace.begin()?;
                let all = in_whole_log(room, viewer, sought)?;
                pace.end(began.elapsed());
                all
            }
        };
        for MatchedRecord { places, message } in all {
            for place in places {
                found[place].add(message.clone());
            }
        }
    }
    Ok(found)
}

/// Resolves one reference without a state. An error if it does not identify one message.
pub fn one_of(room: &Dir, viewer: &Viewer, reference: &str) -> Result<LoggedMessage> {
    locate_one(room, None, viewer, reference).map(|(past, _)| past)
}

/// Resolves one reference as [`find_typed()`] does. An error if it does not identify one message.
pub fn locate_one(
    room: &Dir,
    state: Option<&RoomState>,
    viewer: &Viewer,
    reference: &str,
) -> Result<LocatedMessage> {
    let found = find_typed(room, state, viewer, &[reference.to_owned()])?.pop();
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

/// Searches without reading the whole log: by number, and by id in a state.
fn add_nearby(
    room: &Dir,
    state: Option<&RoomState>,
    viewer: &Viewer,
    reference: &Reference,
    matches: &mut CompleteMatches,
) -> Result<()> {
    let mut lines: Vec<RawLogLine> = Vec::new();
    if let Some(seq) = reference.seq() {
        lines.extend(find::by_seq(room, seq)?);
    }
    if let (Some(state), Some(id)) = (state, reference.id())
        && state.ids.open_to_read(room)
    {
        let mut senders = state.former_names();
        senders.extend(state.active.keys().map(|sender| &**sender));
        senders.insert(id::MAILBAG);
        senders.retain(|sender| reference.sender().is_none_or(|wanted| wanted == *sender));
        for sender in senders {
            for place in state.ids.places(sender, id)? {
                lines.extend(log::read_one(room, place)?);
            }
        }
    }
    let sought = [SoughtReference {
        place: 0,
        reference: reference.clone(),
    }];
    for line in lines {
        if let Some(matched) = match_record(viewer, &sought, &line.bytes, line.at) {
            matches.add(matched.message);
        }
    }
    Ok(())
}

/// The record in a line, if it has the name in one of these references.
fn match_record(
    viewer: &Viewer,
    sought: &[SoughtReference],
    line: &[u8],
    at: LogPosition,
) -> Option<MatchedRecord> {
    let record: Record = serde_json::from_slice(line).ok()?;
    let name = record.name()?;
    let places: Vec<usize> = sought
        .iter()
        .filter(|one| one.reference.is_of(&name.from, &name.id, Some(record.seq)))
        .map(|one| one.place)
        .collect();
    if places.is_empty() {
        return None;
    }
    let past = LoggedMessage::of(record).filter(|past| viewer.see(past));
    Some(MatchedRecord {
        places,
        message: past.map(|past| (past, at)),
    })
}

/// The records that the index of relations finds. `None` if the index is not usable.
fn in_index(
    room: &Dir,
    state: &RoomState,
    viewer: &Viewer,
    sought: &[SoughtReference],
) -> Result<Option<Vec<MatchedRecord>>> {
    let Some(relations) = Relations::open(room, state) else {
        return Ok(None);
    };
    let mut all = Vec::new();
    for one in sought {
        let Some(id) = one.reference.id() else {
            continue;
        };
        let Some(places) = relations.places(&[Relation::Id(id)]) else {
            return Ok(None);
        };
        for at in places {
            if let Some(line) = log::read_one(room, at)? {
                let one = std::slice::from_ref(one);
                all.extend(match_record(viewer, one, &line.bytes, at));
            }
        }
    }
    Ok(Some(all))
}

/// One pass over the log.
fn in_whole_log(
    room: &Dir,
    viewer: &Viewer,
    sought: Vec<SoughtReference>,
) -> Result<Vec<MatchedRecord>> {
    let texts: Vec<String> = sought
        .iter()
        .filter_map(|one| Some(format!("\"id\":\"{}\"", one.reference.id()?)))
        .collect();
    let (viewer, sieve) = (viewer.clone(), find::LineFilter::of(&texts)?);
    let matches = find::scan(room, START, None, sieve, move |line: CandidateLine<'_>| {
        match_record(&viewer, &sought, line.bytes, line.at)
    })?;
    matches.values().collect()
}

/// The visible messages with an id that begins with this text. A few suffice to report that it is ambiguous.
fn find_by_prefix(
    room: &Dir,
    state: Option<&RoomState>,
    viewer: &Viewer,
    prefix: &str,
) -> Result<Vec<LocatedMessage>> {
    let committed = match state {
        Some(_) => None,
        None => state::committed(room).ok(),
    };
    let known = state.or(committed.as_ref());
    let relations = known.and_then(|known| Relations::open(room, known));
    if is_rejected(room, relations.as_ref(), prefix)? {
        return Ok(Vec::new());
    }
    let places = relations
        .zip(IdPrefix::of(prefix))
        .and_then(|(relations, first)| relations.places(&[Relation::Prefix(first)]))
        .filter(|places| places.len() <= PREFIX_PLACES);
    let mut found = Vec::new();
    if let Some(places) = places {
        for at in places {
            let line = log::read_one(room, at)?;
            found.extend(line.and_then(|line| read_begun(viewer, prefix, &line.bytes, at)));
        }
        return Ok(found);
    }
    let sieve = find::LineFilter::of(&[format!("\"id\":\"{prefix}")])?;
    let (viewer, prefix) = (viewer.clone(), prefix.to_owned());
    let matches = find::scan(room, START, None, sieve, move |line: CandidateLine<'_>| {
        read_begun(&viewer, &prefix, line.bytes, line.at)
    })?;
    matches.values().take(PREFIX_MATCHES).collect()
}

/// Returns true if a message with this id was rejected. The log has its id only in the notice to its sender.
fn is_rejected(room: &Dir, relations: Option<&Relations>, id: &str) -> Result<bool> {
    if let Some(places) = relations.and_then(|all| all.places(&[Relation::Answered(id)])) {
        for at in places {
            if log::read_one(room, at)?.is_some_and(|line| is_rejection_of(&line.bytes, id)) {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    let sieve = find::LineFilter::of(&[format!("\"in_reply_to\":\"{id}\"")])?;
    let id = id.to_owned();
    let matches = find::scan(room, START, None, sieve, move |line: CandidateLine<'_>| {
        is_rejection_of(line.bytes, &id).then_some(())
    })?;
    Ok(matches.values().next().transpose()?.is_some())
}

/// Returns true if the record in a line rejects a message with this id.
fn is_rejection_of(line: &[u8], id: &str) -> bool {
    let record: Option<Record> = serde_json::from_slice(line).ok();
    record
        .filter(|record| record.kind() == EventKind::Rejected)
        .and_then(|record| record.message_fields())
        .is_some_and(|message| message.get("in_reply_to").is_some_and(|named| named == id))
}

/// The message in a line, if its id begins with this text and the viewer may see it.
fn read_begun(
    viewer: &Viewer,
    prefix: &str,
    line: &[u8],
    at: LogPosition,
) -> Option<LocatedMessage> {
    LoggedMessage::read(line)
        .filter(|past| past.id.starts_with(prefix) && viewer.see(past))
        .map(|past| (past, at))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_searches_follow_each_other_and_long_ones_make_a_pause() {
        let mut pace = SearchLimiter::default();
        pace.end(SEARCH_TIME / 4);
        pace.end(SEARCH_TIME / 4);
        assert!(pace.begin().is_ok());
        pace.end(SEARCH_TIME / 2);
        let postponed = pace.begin().expect_err("a pause");
        assert!(postponed.to_string().contains("search of the whole log"));
    }
}
