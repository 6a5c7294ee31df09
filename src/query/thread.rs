//! Threads: the messages that share a thread id or answer each other, in log order.

use crate::base::error::{Error, Result};
use crate::log;
use crate::log::lookup::{self, LocatedMessage, LoggedMessage, Unresolved, Viewer};
use crate::log::{Position, START, find};
use crate::message::address::quoted;
use crate::message::reference::{Fit, Reference, bare};
use crate::room::Room;
use regex::bytes::Regex;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The whole thread of a message, or the thread with this name, limited to what the reader may see.
pub fn thread(room: &Room, viewer: &Viewer, name: &str, last: Option<usize>) -> Result<Vec<LoggedMessage>> {
    let mut collector = begin(room, viewer, name)?;
    while collector.grow(room)? {}
    let mut all: Vec<LoggedMessage> =
        collector.members.into_values().map(|(past, _)| past).filter(|past| viewer.see(past)).collect();
    let first = last.map_or(0, |last| all.len().saturating_sub(last));
    Ok(all.split_off(first))
}

/// Finds the thread by its name, or by any reference to one of its messages.
fn begin(room: &Room, viewer: &Viewer, name: &str) -> Result<Collector> {
    if name.starts_with('#') {
        return found(room, viewer, &lookup::one_of(&room.dir, viewer, name)?.name());
    }
    match Collector::begin(room, viewer, name)? {
        Some(collector) => Ok(collector),
        // Neither a thread nor a complete message reference: it may be a unique prefix.
        None => match lookup::one_of(&room.dir, viewer, name) {
            Ok(past) => found(room, viewer, &past.name()),
            Err(Error::NotFound { what, cure }) => {
                Err(Error::NotFound { what: format!("{what}, and no thread with that name"), cure })
            }
            Err(e) => Err(e),
        },
    }
}

fn found(room: &Room, viewer: &Viewer, name: &str) -> Result<Collector> {
    Collector::begin(room, viewer, name)?.ok_or_else(|| Unresolved::Missing.error(viewer, name))
}

/// After this many passes over the log, the reply links are kept in memory, because a chain of replies may be long.
const PASSES: usize = 4;

/// The part of a thread that is known so far.
struct Collector {
    members: BTreeMap<u64, LocatedMessage>,
    /// Members by id, and by the reference that they answer.
    by_id: BTreeMap<String, Vec<u64>>,
    by_answered: BTreeMap<String, Vec<u64>>,
    /// Members whose replies were not searched for yet.
    new: Vec<u64>,
    /// Ids that were searched for.
    sought: BTreeSet<String>,
    name: Name,
    /// A second thread name: the requested name is a message of one thread and at the same time a thread id.
    also: Option<String>,
    passes: usize,
    links: Option<Vec<Link>>,
}

/// The name that the messages of a thread share.
enum Name {
    /// This message has no thread id; it belongs to the thread of the message that it answers.
    OfWhatIsAnsweredBy(u64),
    /// The name is known; its messages were not searched for yet.
    Known(String),
    /// Its messages were searched for.
    Gathered(String),
}

impl Collector {
    /// Finds the requested message or thread, and in the same pass all messages that have the name as thread id or answer
    /// it. `None` if nothing is found.
    fn begin(room: &Room, viewer: &Viewer, name: &str) -> Result<Option<Collector>> {
        let wanted = Wanted { thread: Some(name.to_owned()), ids: [bare(name).to_owned()].into(), ..Wanted::default() };
        let found = wanted.find(room, START)?;
        let seq = Reference::parse(name).and_then(|reference| reference.seq());
        let by_seq = seq.map(|seq| by_seq(room, seq)).transpose()?.flatten();
        let visible = |(past, _): &&LocatedMessage| viewer.see(past);
        let meant: Vec<&LocatedMessage> =
            found.iter().filter(visible).filter(|(past, _)| is_by_id(past, name)).collect();
        let of_thread: Vec<&LocatedMessage> =
            found.iter().filter(visible).filter(|(past, _)| is_in(past, name)).collect();
        let message = match (meant.as_slice(), by_seq.as_ref().filter(visible)) {
            ([], Some(by_seq)) if of_thread.is_empty() => Some(by_seq.clone()),
            ([], Some((past, _))) => return Err(thread_or_seq(name, past, &of_thread[0].0)),
            ([], None) if of_thread.is_empty() => return Ok(None),
            ([], None) => None,
            ([one], by_seq) if by_seq.is_none_or(|(past, _)| past.seq == one.0.seq) => Some((*one).clone()),
            (many, by_seq) => {
                let many = many.iter().copied().chain(by_seq).map(|(past, _)| past.clone()).collect();
                return Err(Unresolved::Several(many).error(viewer, name));
            }
        };
        let is_a_thread = !of_thread.is_empty();
        let known = match &message {
            None => Name::Gathered(name.to_owned()),
            Some((past, _)) => Name::OfWhatIsAnsweredBy(past.seq),
        };
        let mut collector = Collector {
            members: BTreeMap::new(),
            by_id: BTreeMap::new(),
            by_answered: BTreeMap::new(),
            new: Vec::new(),
            sought: BTreeSet::new(),
            name: known,
            also: Some(name.to_owned()).filter(|_| is_a_thread),
            passes: 1,
            links: None,
        };
        collector.add(message);
        collector.follow_up();
        if matches!(&collector.name, Name::Known(thread) if thread == name) {
            collector.name = Name::Gathered(name.to_owned());
        }
        collector.add_members(found);
        Ok(Some(collector))
    }

    fn add(&mut self, found: impl IntoIterator<Item = LocatedMessage>) {
        for (past, at) in found {
            let seq = past.seq;
            if self.members.contains_key(&seq) {
                continue;
            }
            self.by_id.entry(past.id.clone()).or_default().push(seq);
            if let Some(reference) = &past.in_reply_to {
                self.by_answered.entry(bare(reference).to_owned()).or_default().push(seq);
            }
            self.members.insert(seq, (past, at));
            self.new.push(seq);
        }
    }

    /// The newest earlier member that a message answers.
    fn answered_by(&self, past: &LoggedMessage) -> Option<u64> {
        let reference = past.in_reply_to.as_deref()?;
        let by_id = self.by_id.get(bare(reference)).into_iter().flatten().copied();
        let meant = by_id.chain(bare(reference).parse().ok()).filter(|&seq| seq < past.seq);
        meant.filter(|seq| self.members.get(seq).is_some_and(|(member, _)| answers(past, member))).max()
    }

    /// Finds the thread's name by following replies upward among the known members. The first message of a thread has no
    /// thread id; its own id is the name that replies use.
    fn follow_up(&mut self) {
        while let Name::OfWhatIsAnsweredBy(seq) = self.name {
            let past = &self.members[&seq].0;
            let answered = self.answered_by(past);
            let sought = past.in_reply_to.as_deref().is_none_or(|reference| self.sought.contains(bare(reference)));
            self.name = match (&past.thread_id, answered) {
                (Some(thread), _) => Name::Known(thread.clone()),
                (None, Some(answered)) => Name::OfWhatIsAnsweredBy(answered),
                (None, None) if sought => Name::Known(past.id.clone()),
                (None, None) => return,
            };
        }
    }

    /// Searches for messages that belong to the known ones. Returns whether there may be more.
    fn grow(&mut self, room: &Room) -> Result<bool> {
        let new: Vec<LocatedMessage> = self.new.drain(..).filter_map(|seq| self.members.get(&seq).cloned()).collect();
        let thread = match &self.name {
            Name::Known(thread) => Some(thread.clone()),
            _ => None,
        };
        if new.is_empty() && thread.is_none() {
            return Ok(false);
        }
        let not_here = new.iter().filter(|(past, _)| self.answered_by(past).is_none());
        let answered = not_here.filter_map(|(past, _)| past.in_reply_to.as_deref().map(bare));
        let ids: BTreeSet<String> = answered.filter(|id| !self.sought.contains(*id)).map(str::to_owned).collect();
        self.sought.extend(ids.iter().cloned());
        let answers = new.iter().flat_map(|(past, _)| [past.id.clone(), past.seq.to_string()]).collect();
        if let Some(thread) = &thread {
            self.name = Name::Gathered(thread.clone());
        }
        let found = self.look(room, Wanted { thread, ids, answers }, &new)?;
        self.add_members(found);
        self.follow_up();
        Ok(!self.new.is_empty() || matches!(self.name, Name::Known(_)))
    }

    fn look(&mut self, room: &Room, mut wanted: Wanted, new: &[LocatedMessage]) -> Result<Vec<LocatedMessage>> {
        let mut found = Vec::new();
        for seq in wanted.ids.iter().filter_map(|id| id.parse().ok()) {
            found.extend(by_seq(room, seq)?);
        }
        if self.passes >= PASSES {
            let links = match &mut self.links {
                Some(links) => links,
                none => none.insert(links(room)?),
            };
            for link in links.iter().filter(|link| wanted.has(link)) {
                found.extend(
                    log::read_one(&room.dir, link.at)?
                        .and_then(|line| Some((LoggedMessage::read(&line.bytes)?, line.at))),
                );
            }
            wanted.answers.clear();
            wanted.ids.retain(|id| !found.iter().any(|(past, _)| past.id == *id));
            if wanted.ids.is_empty() && wanted.thread.is_none() {
                return Ok(found);
            }
        }
        self.passes += 1;
        // A reply comes after the message that it answers; everything else may be anywhere.
        let anywhere = !wanted.ids.is_empty() || wanted.thread.is_some();
        let from = new.iter().map(|(_, at)| *at).min().filter(|_| !anywhere).unwrap_or(START);
        found.extend(wanted.find(room, from)?);
        Ok(found)
    }

    /// Adds the found messages that belong to the thread. Repeats until a round adds nothing, because a message may come
    /// before the one that connects it.
    fn add_members(&mut self, mut found: Vec<LocatedMessage>) {
        let mut known = usize::MAX;
        while self.members.len() != known {
            known = self.members.len();
            let (belong, rest): (Vec<LocatedMessage>, _) = found.into_iter().partition(|(past, _)| self.has(past));
            self.add(belong);
            found = rest;
        }
    }

    fn has(&self, past: &LoggedMessage) -> bool {
        let of_thread = matches!(&self.name, Name::Gathered(thread) if is_in(past, thread));
        let of_thread = of_thread || self.also.as_ref().is_some_and(|thread| is_in(past, thread));
        let names = [past.id.clone(), past.seq.to_string()];
        let mut answering = names.iter().filter_map(|name| self.by_answered.get(name)).flatten();
        of_thread || self.answered_by(past).is_some() || answering.any(|seq| answers(&self.members[seq].0, past))
    }
}

/// Whether a reference other than a number names this message.
fn is_by_id(past: &LoggedMessage, reference: &str) -> bool {
    let fit = Reference::parse(reference).and_then(|one| one.fit(&past.from, &past.id, None));
    fit == Some(Fit::Whole)
}

/// Whether a message has this thread id.
fn is_in(past: &LoggedMessage, thread: &str) -> bool {
    past.thread_id.as_deref() == Some(thread)
}

fn by_seq(room: &Room, seq: u64) -> Result<Option<LocatedMessage>> {
    let line = find::by_seq(&room.dir, seq)?;
    Ok(line.and_then(|line| Some((LoggedMessage::read(&line.bytes)?, line.at))))
}

/// Whether one message answers the other. A bare id means a message that the answer's sender wrote or received.
fn answers(answer: &LoggedMessage, to: &LoggedMessage) -> bool {
    answer.in_reply_to.as_deref().is_some_and(|reference| {
        let fit = Reference::parse(reference).and_then(|one| one.fit(&to.from, &to.id, Some(to.seq)));
        fit == Some(Fit::Whole) && answer.seq != to.seq && (reference.contains('/') || to.concerns(&answer.from))
    })
}

/// What a pass over the log searches for.
#[derive(Debug, Clone, Default)]
struct Wanted {
    /// Messages of this thread.
    thread: Option<String>,
    /// Messages with one of these ids.
    ids: BTreeSet<String>,
    /// Messages that answer one of these ids or numbers.
    answers: BTreeSet<String>,
}

/// A reply link from one message to another.
struct Link {
    id: String,
    answers: String,
    at: Position,
}

/// All reply links in the log.
fn links(room: &Room) -> Result<Vec<Link>> {
    let take = |line: &[u8], at| {
        let Links { id, message } = serde_json::from_slice(line).ok()?;
        let answers = bare(&message?.in_reply_to?).to_owned();
        Some(Link { id: id?.into_owned(), answers, at })
    };
    let mut all = Vec::new();
    for block in find::scan(&room.dir, (START, None), find::sieve(&[ANSWER.to_owned()])?, take)? {
        all.extend(block?.found);
    }
    Ok(all)
}

/// A text that the line of every reply contains.
const ANSWER: &str = "\"in_reply_to\":\"";

/// The fields of a line that link it to other messages.
#[derive(Deserialize)]
struct Links<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message: Option<Fields<'a>>,
}

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    thread_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    in_reply_to: Option<Cow<'a, str>>,
}

impl Wanted {
    fn find(self, room: &Room, from: Position) -> Result<Vec<LocatedMessage>> {
        let sieve = self.sieve()?;
        let take = move |line: &[u8], at| self.is_in(line).then(|| Some((LoggedMessage::read(line)?, at)))?;
        let mut all = Vec::new();
        for block in find::scan(&room.dir, (from, None), sieve, take)? {
            all.extend(block?.found);
        }
        Ok(all)
    }

    /// A fast filter that passes each line that may match. It uses the end of an id: ids made at about the same time share
    /// their beginning.
    fn sieve(&self) -> Result<Option<Regex>> {
        const ENOUGH: usize = 12;
        const FEW: usize = 30;
        let json = |text: &String| {
            let json = serde_json::to_string(text).unwrap_or_default();
            let long = text.len() > ENOUGH && json.is_ascii() && !json.contains('\\');
            if long { json[json.len() - ENOUGH - 1..].to_owned() } else { json }
        };
        let id = |text: &String| match text.len() > ENOUGH && text.is_ascii() {
            true => vec![format!("{}\"", &text[text.len() - ENOUGH..])],
            false => ["\"", "/", "#"].map(|before| format!("{before}{text}\"")).into(),
        };
        let few = self.answers.len() + self.ids.len() <= FEW;
        let named = self.ids.iter().chain(self.answers.iter().filter(|_| few));
        let mut texts: Vec<String> = named.flat_map(id).collect();
        texts.extend(self.thread.iter().map(json));
        if !few {
            texts.push(ANSWER.into());
        }
        texts.sort_unstable();
        texts.dedup();
        find::sieve(&texts)
    }

    fn has(&self, link: &Link) -> bool {
        self.ids.contains(&link.id) || self.answers.contains(&link.answers)
    }

    fn is_in(&self, line: &[u8]) -> bool {
        let Ok(links) = serde_json::from_slice::<Links<'_>>(line) else { return false };
        let Some(fields) = links.message else { return false };
        let has = |set: &BTreeSet<String>, text: Option<&str>| text.is_some_and(|text| set.contains(text));
        has(&self.ids, links.id.as_deref())
            || has(&self.answers, fields.in_reply_to.as_deref().map(bare))
            || self.thread.is_some() && fields.thread_id.as_deref() == self.thread.as_deref()
    }
}

fn thread_or_seq(name: &str, by_seq: &LoggedMessage, of_thread: &LoggedMessage) -> Error {
    Error::Usage {
        what: format!("{} is ambiguous: a thread name and a message number", quoted(name)),
        cure: format!(
            "write #{} ({}) for the message, or #{} ({}) for the thread",
            by_seq.seq,
            by_seq.name(),
            of_thread.seq,
            of_thread.name()
        ),
    }
}
