//! Threads: the messages that share a thread id or answer each other, in log order.

mod search;

use crate::base::error::{Error, Result};
use crate::disk::Dir;
use crate::log::lookup::{self, LoggedMessage, UnresolvedReference, Viewer};
use crate::log::state::IndexedLog;
use crate::log::state::PastRenames;
use crate::message::address::quoted;
use crate::message::reference::{Reference, bare};
use crate::query::closed::ClosedMessages;
use crate::room::Room;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The whole thread of a message, or the thread with this name, limited to the messages that the reader may see.
pub fn thread(
    room: &Room,
    viewer: &Viewer,
    name: &str,
    last: Option<usize>,
) -> Result<Vec<LoggedMessage>> {
    let closed = ClosedMessages::read(&room.dir);
    let source = ThreadSource {
        room: &room.dir,
        log: closed.log()?,
        renames: closed.renames(),
    };
    let mut collector = begin(&source, viewer, name)?;
    for _ in 0..ROUNDS {
        if !collector.grow(&source)? {
            break;
        }
    }
    let mut all: Vec<LoggedMessage> = collector
        .members
        .into_values()
        .filter(|past| viewer.see(past))
        .collect();
    let first = last.map_or(0, |last| all.len().saturating_sub(last));
    let mut shown = all.split_off(first);
    for past in &mut shown {
        closed.note(past);
    }
    Ok(shown)
}

/// The log, and the renamings of agents.
struct ThreadSource<'a> {
    room: &'a Dir,
    log: IndexedLog<'a>,
    renames: PastRenames,
}

/// A message with all its fields, as `--json` shows a thread.
#[derive(Debug, Serialize)]
pub struct FullMessage<'a> {
    /// The fields that every list shows.
    #[serde(flatten)]
    pub past: &'a LoggedMessage,
    message: &'a Map<String, Value>,
}

/// These messages with all their fields.
pub fn whole(messages: &[LoggedMessage]) -> impl Iterator<Item = FullMessage<'_>> {
    messages.iter().map(|past| FullMessage {
        past,
        message: &past.message,
    })
}

/// Finds the thread by its name, or by any reference to one of its messages.
fn begin(source: &ThreadSource<'_>, viewer: &Viewer, name: &str) -> Result<PartialThread> {
    let room = source.room;
    if name.starts_with('#') {
        return found(source, viewer, &lookup::one_of(room, viewer, name)?.name());
    }
    match PartialThread::begin(source, viewer, name)? {
        Some(collector) => Ok(collector),
        // Neither a thread nor a complete message reference: it may be a unique prefix.
        None => match lookup::one_of(room, viewer, name) {
            Ok(past) => found(source, viewer, &past.name()),
            Err(Error::NotFound { what, fix }) => Err(Error::not_found(
                format!("{what}, and no thread with that name"),
                fix,
            )),
            Err(e) => Err(e),
        },
    }
}

fn found(source: &ThreadSource<'_>, viewer: &Viewer, name: &str) -> Result<PartialThread> {
    PartialThread::begin(source, viewer, name)?
        .ok_or_else(|| UnresolvedReference::Missing.error(viewer, name))
}

/// The most searches for earlier messages. Each finds one message of a chain of replies without a thread id. The first
/// message of a longer chain shows that it answers a message that is not in the list.
const ROUNDS: usize = 500;

/// The part of a thread that is known so far.
struct PartialThread {
    renames: PastRenames,
    members: BTreeMap<u64, LoggedMessage>,
    /// Members by id, and by the reference that they answer.
    by_id: BTreeMap<String, Vec<u64>>,
    by_answered: BTreeMap<String, Vec<u64>>,
    /// The records that members answer, as the router found them.
    answered: BTreeSet<u64>,
    /// Members that may answer a message that was not searched for.
    new: Vec<u64>,
    /// Messages that were found, but are not connected to the members.
    found: Vec<LoggedMessage>,
    /// Ids and thread names that were searched for.
    ids: BTreeSet<String>,
    threads: BTreeSet<String>,
    name: ThreadName,
    /// A second thread name: the requested name is a message of one thread and at the same time a thread id.
    also: Option<String>,
}

/// The name that the messages of a thread share.
enum ThreadName {
    /// This message has no thread id; it belongs to the thread of the message that it answers.
    OfWhatIsAnsweredBy(u64),
    /// The name is known.
    Known(String),
}

impl PartialThread {
    /// Finds the requested message or thread. `None` if there is none.
    fn begin(
        source: &ThreadSource<'_>,
        viewer: &Viewer,
        name: &str,
    ) -> Result<Option<PartialThread>> {
        let seq = Reference::parse(name).and_then(|reference| reference.seq());
        let by_seq = seq
            .map(|seq| source.log.line(seq))
            .transpose()?
            .flatten()
            .and_then(|line| LoggedMessage::read(&line.bytes))
            .filter(|past| viewer.see(past));
        let mut names: BTreeSet<String> = [name.to_owned(), bare(name).to_owned()].into();
        let newest = match &by_seq {
            Some(past) => Some(past.clone()),
            None => {
                let named = search::named(&source.log, &names)?.into_iter().rev();
                named
                    .filter(|past| viewer.see(past))
                    .find(|past| is_by_id(past, name) || is_in(past, name))
            }
        };
        let Some(newest) = newest else {
            return Ok(None);
        };
        let named = newest.in_reply_to.map(|id| bare(&id).to_owned());
        names.extend(
            named
                .into_iter()
                .chain(newest.answers.map(|seq| seq.to_string())),
        );
        names.insert(newest.thread_id.unwrap_or(newest.id));
        let found = search::search(&source.log, &names, &|_| false)?;
        let visible = |past: &&LoggedMessage| viewer.see(past);
        let meant: Vec<&LoggedMessage> = found
            .iter()
            .filter(visible)
            .filter(|past| is_by_id(past, name))
            .collect();
        let of_thread: Vec<&LoggedMessage> = found
            .iter()
            .filter(visible)
            .filter(|past| is_in(past, name))
            .collect();
        let message = match (meant.as_slice(), &by_seq) {
            ([], Some(by_seq)) if of_thread.is_empty() => Some(by_seq.clone()),
            ([], Some(past)) => return Err(thread_or_seq(name, past, of_thread[0])),
            ([], None) if of_thread.is_empty() => return Ok(None),
            ([], None) => None,
            ([one], by_seq) if by_seq.as_ref().is_none_or(|past| past.seq == one.seq) => {
                Some((*one).clone())
            }
            (many, by_seq) => {
                let many = many.iter().copied().chain(by_seq).cloned().collect();
                return Err(UnresolvedReference::Several(many).error(viewer, name));
            }
        };
        let also = (!of_thread.is_empty()).then(|| name.to_owned());
        let known = match &message {
            None => ThreadName::Known(name.to_owned()),
            Some(past) => ThreadName::OfWhatIsAnsweredBy(past.seq),
        };
        let mut collector = PartialThread {
            members: BTreeMap::new(),
            by_id: BTreeMap::new(),
            by_answered: BTreeMap::new(),
            answered: BTreeSet::new(),
            new: Vec::new(),
            found,
            ids: names.clone(),
            threads: names,
            name: known,
            also,
            renames: source.renames.clone(),
        };
        collector.add(message);
        collector.connect();
        Ok(Some(collector))
    }

    fn add(&mut self, found: impl IntoIterator<Item = LoggedMessage>) {
        for past in found {
            let seq = past.seq;
            if self.members.contains_key(&seq) {
                continue;
            }
            self.by_id.entry(past.id.clone()).or_default().push(seq);
            self.answered.extend(past.answers);
            if let Some(reference) = &past.in_reply_to {
                self.by_answered
                    .entry(bare(reference).to_owned())
                    .or_default()
                    .push(seq);
            }
            self.new.push(seq);
            self.members.insert(seq, past);
        }
    }

    /// The newest earlier member that a message answers.
    fn answered_by(&self, past: &LoggedMessage) -> Option<u64> {
        if let Some(seq) = past.answers.filter(|seq| self.members.contains_key(seq)) {
            return Some(seq);
        }
        let reference = past.in_reply_to.as_deref()?;
        let by_id = self
            .by_id
            .get(bare(reference))
            .into_iter()
            .flatten()
            .copied();
        let meant = by_id
            .chain(bare(reference).parse().ok())
            .filter(|&seq| seq < past.seq);
        meant
            .filter(|seq| {
                self.members
                    .get(seq)
                    .is_some_and(|member| answers(&self.renames, past, member))
            })
            .max()
    }

    /// Follows replies upward among the known members, as far as possible, to find the thread's name. The first message of
    /// a thread has no thread id; its own id is the name that replies use. Returns true if it found another message.
    fn follow_up(&mut self) -> bool {
        let ThreadName::OfWhatIsAnsweredBy(seq) = self.name else {
            return false;
        };
        let past = &self.members[&seq];
        let sought = past
            .in_reply_to
            .as_deref()
            .is_none_or(|reference| self.ids.contains(bare(reference)));
        self.name = match (&past.thread_id, self.answered_by(past)) {
            (Some(thread), _) => ThreadName::Known(thread.clone()),
            (None, Some(answered)) => ThreadName::OfWhatIsAnsweredBy(answered),
            (None, None) if sought => ThreadName::Known(past.id.clone()),
            (None, None) => return false,
        };
        true
    }

    /// Searches for messages that belong to the known ones. Returns whether there may be more.
    fn grow(&mut self, source: &ThreadSource<'_>) -> Result<bool> {
        let new = std::mem::take(&mut self.new);
        let unconnected = new
            .iter()
            .map(|seq| &self.members[seq])
            .filter(|past| self.answered_by(past).is_none());
        let answered = unconnected.filter_map(|past| past.in_reply_to.as_deref().map(bare));
        let mut names: BTreeSet<String> = answered
            .filter(|id| !self.ids.contains(*id))
            .map(str::to_owned)
            .collect();
        let thread = match &self.name {
            ThreadName::Known(thread) => {
                Some(thread.clone()).filter(|thread| !self.threads.contains(thread))
            }
            ThreadName::OfWhatIsAnsweredBy(_) => None,
        };
        if names.is_empty() && thread.is_none() {
            return Ok(false);
        }
        self.ids.extend(names.iter().cloned());
        let is_member = |seq| self.members.contains_key(&seq);
        names.extend(thread);
        self.ids.extend(names.iter().cloned());
        self.threads.extend(names.iter().cloned());
        self.found
            .extend(search::search(&source.log, &names, &is_member)?);
        self.connect();
        Ok(true)
    }

    /// Adds the found messages that belong to the thread. Repeats until a round adds nothing, because a message may be found
    /// before the message that connects it. Each round reads in the other direction, so that it follows a whole chain.
    fn connect(&mut self) {
        loop {
            let mut has_grown = false;
            for past in std::mem::take(&mut self.found).into_iter().rev() {
                if self.has(&past) {
                    self.add([past]);
                    has_grown = true;
                } else {
                    self.found.push(past);
                }
            }
            if !has_grown && !self.follow_up() {
                return;
            }
        }
    }

    fn has(&self, past: &LoggedMessage) -> bool {
        let of_thread = matches!(&self.name, ThreadName::Known(thread) if is_in(past, thread));
        let of_thread = of_thread || self.also.as_ref().is_some_and(|thread| is_in(past, thread));
        let names = [past.id.clone(), past.seq.to_string()];
        let mut answering = names
            .iter()
            .filter_map(|name| self.by_answered.get(name))
            .flatten();
        of_thread
            || self.answered.contains(&past.seq)
            || self.answered_by(past).is_some()
            || answering.any(|seq| answers(&self.renames, &self.members[seq], past))
    }
}

/// Whether a reference other than a number names this message.
fn is_by_id(past: &LoggedMessage, reference: &str) -> bool {
    Reference::parse(reference).is_some_and(|one| one.is_of(&past.from, &past.id, None))
}

/// Whether a message has this thread id.
fn is_in(past: &LoggedMessage, thread: &str) -> bool {
    past.thread_id.as_deref() == Some(thread)
}

/// Whether one message answers the other. A bare id means a message that the answer's sender wrote or received, also under
/// another name.
fn answers(renames: &PastRenames, answer: &LoggedMessage, to: &LoggedMessage) -> bool {
    let sender = renames.holder(&answer.from, answer.seq);
    answer.in_reply_to.as_deref().is_some_and(|reference| {
        to.is_named_by(reference)
            && answer.seq != to.seq
            && (reference.contains('/')
                || std::iter::once(&to.from)
                    .chain(&to.recipients)
                    .any(|name| renames.holder(name, to.seq) == sender))
    })
}

fn thread_or_seq(name: &str, by_seq: &LoggedMessage, of_thread: &LoggedMessage) -> Error {
    Error::usage(
        format!(
            "{} is ambiguous: a thread name and a message number",
            quoted(name)
        ),
        format!(
            "write #{} ({}) for the message, or #{} ({}) for the thread",
            by_seq.seq,
            by_seq.name(),
            of_thread.seq,
            of_thread.name()
        ),
    )
}
