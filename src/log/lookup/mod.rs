//! Looking up messages: resolving a reference among the messages that a reader may see, archived or not.

mod past;

pub use past::{LoggedMessage, Viewer};

use crate::base::error::{Error, Problem, Result, UNKNOWN_REFERENCE};
use crate::base::limits;
use crate::disk::Dir;
use crate::log;
use crate::log::find::{self, CandidateLine};
use crate::log::state::{self, IdPrefix, Relation, Relations, RoomState};
use crate::log::{LogPosition, RawLogLine, START};
use crate::message::address::quoted;
use crate::message::id;
use crate::message::reference::{Reference, ReferenceMatch, ReferenceResolution, choose};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The most positions that the index gives for a beginning. More of them are searched in the log.
const BEGINNING_PLACES: usize = 1024;
/// The number of messages that are looked up to report that a reference is ambiguous.
const BEGINNINGS: usize = 64;

/// A message, and the position of its line.
pub type LocatedMessage = (LoggedMessage, LogPosition);

/// The place of a reference in a list, how a message matches it, and the message.
type FoundMessage = (usize, ReferenceMatch, LocatedMessage);

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

/// Resolves each reference among the messages that `viewer` may see.
///
/// The ids of a state find messages in `log/` quickly; without a state, the committed state is read. The other references are
/// searched in the whole log, in one pass that parses only candidate lines.
pub fn find(
    room: &Dir,
    state: Option<&RoomState>,
    viewer: &Viewer,
    references: &[String],
    pace: &mut SearchLimiter,
) -> Result<Vec<std::result::Result<LocatedMessage, UnresolvedReference>>> {
    let parsed: Vec<Option<Reference>> = references
        .iter()
        .map(|text| Reference::parse(text))
        .collect();
    let has_ids = parsed.iter().flatten().any(|one| one.id().is_some());
    let committed = if state.is_none() && has_ids {
        // A damaged line hides no message in the rest of the log.
        state::committed(room).ok()
    } else {
        None
    };
    let known = state.or(committed.as_ref());
    let mut found: Vec<Vec<(ReferenceMatch, LocatedMessage)>> = Vec::with_capacity(parsed.len());
    for reference in &parsed {
        let near = reference
            .as_ref()
            .map(|reference| nearby(room, known, viewer, reference))
            .transpose()?;
        found.push(near.unwrap_or_default());
    }
    // The ids do not cover the archive. A router answers without it.
    let are_all_ids_known = match (state, known) {
        (Some(_), _) => true,
        (None, Some(known)) => known.ids.open_to_read(room) && log::archived(room)?.is_empty(),
        (None, None) => false,
    };
    let mut sought: Vec<(usize, Reference)> = Vec::new();
    for (n, reference) in parsed.into_iter().enumerate() {
        if let Some(reference) = reference
            && reference.id().is_some()
            && (!are_all_ids_known || found[n].is_empty())
        {
            sought.push((n, reference));
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
        for (n, fit, placed) in all {
            if !found[n]
                .iter()
                .any(|(_, (past, _))| past.seq == placed.0.seq)
            {
                found[n].push((fit, placed));
            }
        }
    }
    Ok(found.into_iter().map(|found| one(viewer, found)).collect())
}

/// Resolves one reference without a state. An error if it does not identify one message.
pub fn one_of(room: &Dir, viewer: &Viewer, reference: &str) -> Result<LoggedMessage> {
    locate_one(room, None, viewer, reference).map(|(past, _)| past)
}

/// Resolves one reference as [`find()`] does. An error if it does not identify one message.
pub fn locate_one(
    room: &Dir,
    state: Option<&RoomState>,
    viewer: &Viewer,
    reference: &str,
) -> Result<LocatedMessage> {
    let (references, mut pace) = ([reference.to_owned()], SearchLimiter::default());
    let found = find(room, state, viewer, &references, &mut pace)?.pop();
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

fn one(
    viewer: &Viewer,
    mut found: Vec<(ReferenceMatch, LocatedMessage)>,
) -> std::result::Result<LocatedMessage, UnresolvedReference> {
    // For a reader who may see all messages, its own messages take precedence.
    for fit in [ReferenceMatch::Whole, ReferenceMatch::Beginning] {
        let has_own = found
            .iter()
            .any(|(of, (past, _))| *of == fit && viewer.is_own(past));
        if has_own {
            found.retain(|(of, (past, _))| *of != fit || viewer.is_own(past));
        }
    }
    match choose(found) {
        ReferenceResolution::One(one) => Ok(one),
        ReferenceResolution::None => Err(UnresolvedReference::Missing),
        ReferenceResolution::Several(many) => Err(UnresolvedReference::Several(
            many.into_iter().map(|(past, _)| past).collect(),
        )),
    }
}

/// Searches without reading the whole log: by number, and by full id in a state.
fn nearby(
    room: &Dir,
    state: Option<&RoomState>,
    viewer: &Viewer,
    reference: &Reference,
) -> Result<Vec<(ReferenceMatch, LocatedMessage)>> {
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
    let mut found: Vec<(ReferenceMatch, LocatedMessage)> = Vec::new();
    for line in lines {
        let Some(past) = LoggedMessage::read(&line.bytes) else {
            continue;
        };
        if viewer.see(&past)
            && reference.fit(&past.from, &past.id, Some(past.seq)) == Some(ReferenceMatch::Whole)
            && !found.iter().any(|(_, (other, _))| other.seq == past.seq)
        {
            found.push((ReferenceMatch::Whole, (past, line.at)));
        }
    }
    Ok(found)
}

/// The messages that the index of relations finds. `None` if the index is not usable, or cannot find all of them.
fn in_index(
    room: &Dir,
    state: &RoomState,
    viewer: &Viewer,
    sought: &[(usize, Reference)],
) -> Result<Option<Vec<FoundMessage>>> {
    let Some(relations) = Relations::open(room, state) else {
        return Ok(None);
    };
    let mut all = Vec::new();
    for one in sought {
        let Some(id) = one.1.id() else { continue };
        let Some(places) = relations.places(&[Relation::Id(id)]) else {
            return Ok(None);
        };
        let mut found = read_fitting(room, viewer, one, places)?;
        // A message with exactly this id takes precedence over ids that begin with it.
        if found.is_empty() {
            let beginning = IdPrefix::of(id).map(Relation::Beginning);
            match beginning.and_then(|beginning| relations.places(&[beginning])) {
                Some(places) if places.len() <= BEGINNING_PLACES => {
                    found = read_fitting(room, viewer, one, places)?;
                }
                _ => return Ok(None),
            }
        }
        all.extend(found);
    }
    Ok(Some(all))
}

/// The messages at these positions that a reference may mean.
fn read_fitting(
    room: &Dir,
    viewer: &Viewer,
    sought: &(usize, Reference),
    places: Vec<LogPosition>,
) -> Result<Vec<FoundMessage>> {
    let (n, reference) = sought;
    let mut found = Vec::new();
    for place in places {
        if let Some(line) = log::read_one(room, place)?
            && let Some(past) = LoggedMessage::read(&line.bytes).filter(|past| viewer.see(past))
            && let Some(fit) = reference.fit(&past.from, &past.id, None)
        {
            found.push((*n, fit, (past, place)));
        }
    }
    Ok(found)
}

/// One pass over the log. For a prefix of an id, a few matches suffice to report that it is ambiguous.
fn in_whole_log(
    room: &Dir,
    viewer: &Viewer,
    sought: Vec<(usize, Reference)>,
) -> Result<Vec<FoundMessage>> {
    let texts: Vec<String> = sought
        .iter()
        .filter_map(|(_, reference)| Some(format!("\"id\":\"{}", reference.id()?)))
        .collect();
    let (viewer, begun) = (viewer.clone(), AtomicUsize::new(0));
    let sieve = find::LineFilter::of(&texts)?;
    let matches = find::scan(room, START, None, sieve, move |line: CandidateLine<'_>| {
        let past = LoggedMessage::read(line.bytes).filter(|past| viewer.see(past))?;
        let mut fits: Vec<(usize, ReferenceMatch)> = Vec::new();
        for (n, reference) in &sought {
            fits.extend(
                reference
                    .fit(&past.from, &past.id, None)
                    .map(|fit| (*n, fit)),
            );
        }
        fits.retain(|(_, fit)| {
            *fit == ReferenceMatch::Whole || begun.fetch_add(1, Ordering::Relaxed) < BEGINNINGS
        });
        (!fits.is_empty()).then_some((fits, (past, line.at)))
    })?;
    let mut found = Vec::new();
    for block in matches {
        for (fits, placed) in block?.found {
            found.extend(fits.into_iter().map(|(n, fit)| (n, fit, placed.clone())));
        }
    }
    Ok(found)
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
            UnresolvedReference::Several(_) => Problem::new("ambiguous_reference", what).fix(fix),
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

/// The forms of a reference.
const REFERENCE_FORMS: &str = "write its number as 12, its id, the beginning of its id, or SENDER/ID; `mailbag list` and `mailbag log` show them";

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
