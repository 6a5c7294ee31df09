//! Finds the messages of a thread, by the index of relations, or by passes over the log if the index is not usable. A pass
//! parses only the lines that may matter.

use crate::base::error::Result;
use crate::log::find::{self, CandidateLine, LineFilter};
use crate::log::lookup::LoggedMessage;
use crate::log::state::{PastRenames, Relation, Relations};
use crate::log::{self, LogPosition, START};
use crate::message::reference::bare;
use crate::room::Room;
use memchr::memmem::Finder;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

/// The log, its index if it is usable, and the renamings of agents.
pub(super) struct ThreadSource<'a> {
    pub(super) room: &'a Room,
    pub(super) relations: Option<&'a Relations>,
    pub(super) renames: PastRenames,
}

impl ThreadSource<'_> {
    /// The messages that have one of these names as their id, number or thread id, in the order of the log. `None` if
    /// the index is not usable.
    fn named(&self, names: &BTreeSet<String>) -> Result<Option<Vec<LoggedMessage>>> {
        let mut found = BTreeMap::new();
        for name in names {
            let by_name = [Relation::Id(name), Relation::Thread(name)];
            let Some(places) = self.places(&by_name) else {
                return Ok(None);
            };
            let mut lines = self.lines(places)?;
            if let Ok(seq) = name.parse() {
                lines.extend(find::by_seq(&self.room.dir, seq)?);
            }
            for line in lines.iter().filter(|line| is_named(&line.bytes, names)) {
                found.extend(LoggedMessage::read(&line.bytes).map(|past| (past.seq, past)));
            }
        }
        Ok(Some(found.into_values().collect()))
    }

    /// As [`search`]. `None` if the index is not usable.
    fn search(
        &self,
        names: &BTreeSet<String>,
        is_known: &dyn Fn(u64) -> bool,
    ) -> Result<Option<Vec<LoggedMessage>>> {
        let Some(named) = self.named(names)? else {
            return Ok(None);
        };
        let mut found = BTreeMap::new();
        let mut answered: Vec<String> = names.iter().cloned().collect();
        let mut new = named;
        loop {
            for past in new.drain(..) {
                answered.extend([past.id.clone(), past.seq.to_string()]);
                found.insert(past.seq, past);
            }
            let Some(name) = answered.pop() else {
                return Ok(Some(found.into_values().collect()));
            };
            let Some(places) = self.places(&[Relation::Answered(&name)]) else {
                return Ok(None);
            };
            let hash = hash(&name);
            for line in self.lines(places)? {
                if answered_by(&line.bytes).contains(&hash) {
                    let past = LoggedMessage::read(&line.bytes);
                    new.extend(
                        past.filter(|past| !found.contains_key(&past.seq) && !is_known(past.seq)),
                    );
                }
            }
        }
    }

    fn places(&self, relations: &[Relation<'_>]) -> Option<Vec<LogPosition>> {
        self.relations?.places(relations)
    }

    fn lines(&self, places: Vec<LogPosition>) -> Result<Vec<log::RawLogLine>> {
        let lines = places.into_iter();
        let lines = lines.map(|place| log::read_one(&self.room.dir, place).transpose());
        lines.flatten().collect()
    }
}

/// A message that may have one of these names and satisfies `is_it`, if there is one. The newest part of the log is
/// searched first, because most threads in use are recent.
pub(super) fn newest(
    source: &ThreadSource<'_>,
    names: &BTreeSet<String>,
    is_it: impl Fn(&LoggedMessage) -> bool + Send + Sync + 'static,
) -> Result<Option<LoggedMessage>> {
    if let Some(named) = source.named(names)? {
        return Ok(named.into_iter().rev().find(|past| is_it(past)));
    }
    let room = source.room;
    let take = move |line: CandidateLine<'_>| LoggedMessage::read(line.bytes).filter(&is_it);
    for block in find::scan(&room.dir, START, None, sieve(names)?, take)?.newest_first() {
        if let Some(past) = block?.found.pop() {
            return Ok(Some(past));
        }
    }
    Ok(None)
}

/// All messages that have one of these names as their id, number or thread id, and all that answer one of these messages,
/// directly or not: a reply is later in the log than the answered message. Known answers, with all answers to them, are
/// left out.
pub(super) fn search(
    source: &ThreadSource<'_>,
    names: BTreeSet<String>,
    is_known: &dyn Fn(u64) -> bool,
) -> Result<Vec<LoggedMessage>> {
    enum RelatedLine {
        Named(Box<LoggedMessage>),
        /// The hashes of the references of the message at this position.
        Reply(Vec<u64>, LogPosition),
    }
    if let Some(found) = source.search(&names, is_known)? {
        return Ok(found);
    }
    let room = source.room;
    // Several messages can name one that is not in the log, as a correlation id.
    let mut replies = ReplySearch {
        names: names.iter().map(|name| hash(name)).collect(),
        ..ReplySearch::default()
    };
    let sieve = sieve(&names)?;
    let sieve = sieve
        .map(|sieve| Ok(sieve.or(LineFilter::of(&ANSWERS.map(str::to_owned))?)))
        .transpose()?;
    let take = move |line: CandidateLine<'_>| {
        if line.part == NAMES && is_named(line.bytes, &names) {
            return LoggedMessage::read(line.bytes).map(|past| RelatedLine::Named(past.into()));
        }
        Some(answered_by(line.bytes))
            .filter(|all| !all.is_empty())
            .map(|all| RelatedLine::Reply(all, line.at))
    };
    for block in find::scan(&room.dir, START, None, sieve, take)? {
        for line in block?.found {
            match line {
                RelatedLine::Named(past) => replies.add(*past),
                RelatedLine::Reply(answered, at)
                    if answered.iter().any(|one| replies.names.contains(one)) =>
                {
                    replies.read(room, at)?;
                }
                RelatedLine::Reply(..) => {}
            }
        }
    }
    Ok(replies.found)
}

/// A sieve for the lines with one of these names. It uses the end of a long name: ids made at about the same time share
/// their beginning.
fn sieve(names: &BTreeSet<String>) -> Result<Option<LineFilter>> {
    const ENOUGH: usize = 12;
    let texts = |name: &String| {
        let json = serde_json::to_string(name).unwrap_or_default();
        let number = name
            .parse()
            .ok()
            .map(|number: u64| format!("{{\"seq\":{number},"));
        let long = name.len() > ENOUGH && json.is_ascii() && !json.contains('\\');
        let text = if long {
            vec![json[json.len() - ENOUGH - 1..].to_owned()]
        } else {
            ["id", "thread_id"]
                .map(|field| format!("\"{field}\":{json}"))
                .into()
        };
        text.into_iter().chain(number)
    };
    LineFilter::of(&names.iter().flat_map(texts).collect::<Vec<_>>())
}

fn is_named(line: &[u8], names: &BTreeSet<String>) -> bool {
    let Ok(RelationFields { seq, id, message }) = serde_json::from_slice(line) else {
        return false;
    };
    let has = |text: Option<Cow<'_, str>>| text.is_some_and(|text| names.contains(&*text));
    has(id)
        || names.contains(&seq.to_string())
        || has(message.and_then(|message| message.thread_id))
}

/// The fields of a line that connect it to other messages.
#[derive(Deserialize)]
struct RelationFields<'a> {
    seq: u64,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message: Option<MessageRelationFields<'a>>,
}

#[derive(Deserialize)]
struct MessageRelationFields<'a> {
    #[serde(borrow)]
    thread_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    in_reply_to: Option<Cow<'a, str>>,
}

/// The part of the sieve that searches for names.
const NAMES: usize = 0;
/// Texts in lines of replies. Each such line contains at least one.
const ANSWERS: [&str; 2] = [NAMED, RECORDED];
/// The text before the message that a reply names.
const NAMED: &str = "\"in_reply_to\":\"";
/// The text before the number of the answered record.
const RECORDED: &str = "\"answers\":";

/// A reply link from one message to another: the hashes of their ids. The answered one can also be a number.
pub(super) struct ReplyRelation {
    id: u64,
    answers: u64,
    seq: u64,
    at: LogPosition,
}

/// The hashes of the message that a line names, and of the number of the record that it answers.
fn answered_by(line: &[u8]) -> Vec<u64> {
    named(line).into_iter().chain(recorded(line)).collect()
}

/// The hash of the id or number that a line names. The JSON is parsed only if the text does not suffice.
fn named(line: &[u8]) -> Option<u64> {
    static NAMES: LazyLock<Finder> = LazyLock::new(|| Finder::new(NAMED));
    let (reference, rest) = quoted_after(&NAMES, line)?;
    if !reference.contains('\\') && NAMES.find(rest).is_none() {
        return Some(hash(bare(reference)));
    }
    let fields: RelationFields<'_> = serde_json::from_slice(line).ok()?;
    Some(hash(bare(&fields.message?.in_reply_to?)))
}

fn recorded(line: &[u8]) -> Option<u64> {
    static NUMBER: LazyLock<Finder> = LazyLock::new(|| Finder::new(RECORDED));
    let text = &line[NUMBER.find(line)? + RECORDED.len()..];
    let digits = text.iter().position(|byte| !byte.is_ascii_digit())?;
    Some(hash(std::str::from_utf8(&text[..digits]).ok()?))
}

/// The text in quotation marks after a match, and the rest of the line.
fn quoted_after<'a>(finder: &Finder, line: &'a [u8]) -> Option<(&'a str, &'a [u8])> {
    let text = &line[finder.find(line)? + finder.needle().len()..];
    let end = memchr::memchr(b'"', text)?;
    Some((std::str::from_utf8(&text[..end]).ok()?, &text[end..]))
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// All reply links in the log.
pub(super) fn links(room: &Room) -> Result<Vec<ReplyRelation>> {
    let id = Finder::new("\"id\":\"");
    let take = move |line: CandidateLine<'_>| {
        let (id, _) = quoted_after(&id, line.bytes)?;
        let seq = find::head(line.bytes)?.seq;
        Some((hash(id), answered_by(line.bytes), (seq, line.at)))
    };
    let mut all = Vec::new();
    for block in find::scan(
        &room.dir,
        START,
        None,
        LineFilter::of(&ANSWERS.map(str::to_owned))?,
        take,
    )? {
        for (id, answered, (seq, at)) in block?.found {
            all.extend(answered.into_iter().map(|answers| ReplyRelation {
                id,
                answers,
                seq,
                at,
            }));
        }
    }
    Ok(all)
}

/// The messages with these ids that are replies, and all that answer them. Known answers, with all answers to them, are
/// left out.
pub(super) fn follow(
    room: &Room,
    links: &[ReplyRelation],
    ids: &BTreeSet<String>,
    is_known: &dyn Fn(u64) -> bool,
) -> Result<Vec<LoggedMessage>> {
    let ids: HashSet<u64> = ids.iter().map(|id| hash(id)).collect();
    let mut replies = ReplySearch::default();
    for link in links {
        let names = [link.id, link.answers];
        let is_related =
            names.iter().any(|name| ids.contains(name)) || replies.names.contains(&link.answers);
        if is_related && !is_known(link.seq) {
            replies.read(room, link.at)?;
        }
    }
    Ok(replies.found)
}

/// Messages, and the hashes of the names that replies use.
#[derive(Default)]
struct ReplySearch {
    found: Vec<LoggedMessage>,
    names: HashSet<u64>,
}

impl ReplySearch {
    fn read(&mut self, room: &Room, at: LogPosition) -> Result<()> {
        let line = log::read_one(&room.dir, at)?;
        if let Some(past) = line.and_then(|line| LoggedMessage::read(&line.bytes)) {
            self.add(past);
        }
        Ok(())
    }

    fn add(&mut self, past: LoggedMessage) {
        if self.found.last().is_some_and(|last| last.seq == past.seq) {
            return;
        }
        self.names
            .extend([hash(&past.id), hash(&past.seq.to_string())]);
        self.found.push(past);
    }
}
