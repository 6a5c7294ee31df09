//! A conversation: the messages that share a thread, and those that answer each other, in the order of the log.

use crate::base::error::{Error, Result};
use crate::log;
use crate::log::lookup::{self, Eyes, Past, Placed, Unclear};
use crate::log::{Position, START, find};
use crate::message::address::quoted;
use crate::message::reference::{Fit, Reference, bare};
use crate::room::Room;
use regex::bytes::Regex;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The whole conversation of a message, or of a thread by its name, as far as these eyes see it.
pub fn thread(room: &Room, eyes: &Eyes, name: &str, last: Option<usize>) -> Result<Vec<Past>> {
    let mut talk = begin(room, eyes, name)?;
    while talk.grow(room)? {}
    let mut all: Vec<Past> = talk.members.into_values().map(|(past, _)| past).filter(|past| eyes.see(past)).collect();
    let first = last.map_or(0, |last| all.len().saturating_sub(last));
    Ok(all.split_off(first))
}

/// The conversation of a message by any name that it has, or of a thread.
fn begin(room: &Room, eyes: &Eyes, name: &str) -> Result<Talk> {
    if name.starts_with('#') {
        return found(room, eyes, &lookup::one_of(&room.dir, eyes, name)?.name());
    }
    match Talk::begin(room, eyes, name)? {
        Some(talk) => Ok(talk),
        // No thread, and no whole name of a message: it may be the beginning of one.
        None => match lookup::one_of(&room.dir, eyes, name) {
            Ok(past) => found(room, eyes, &past.name()),
            Err(Error::NotFound { what, cure }) => {
                Err(Error::NotFound { what: format!("{what}, nor one of such a thread"), cure })
            }
            Err(e) => Err(e),
        },
    }
}

fn found(room: &Room, eyes: &Eyes, name: &str) -> Result<Talk> {
    Talk::begin(room, eyes, name)?.ok_or_else(|| Unclear::Missing.error(eyes, name))
}

/// After so many passes over the log, what answers what is kept in memory: a chain of answers may be long.
const PASSES: usize = 4;

/// What is known of a conversation so far.
struct Talk {
    members: BTreeMap<u64, Placed>,
    /// Members by their id, and by what they answer.
    by_id: BTreeMap<String, Vec<u64>>,
    by_answered: BTreeMap<String, Vec<u64>>,
    /// Members whose answers were not looked for yet.
    new: Vec<u64>,
    /// Ids that were looked for.
    sought: BTreeSet<String>,
    name: Name,
    /// A second name, if what was asked for is a message of one thread, and other messages have it as theirs.
    also: Option<String>,
    passes: usize,
    links: Option<Vec<Link>>,
}

/// The name that the messages of a conversation share.
enum Name {
    /// That of this message, which has none itself, is the name of what it answers.
    OfWhatIsAnsweredBy(u64),
    /// It is known, and its messages are still to be looked for.
    Known(String),
    /// Its messages were looked for.
    Gathered(String),
}

impl Talk {
    /// Finds the message or the thread that is meant; on the way, all that has this name as its thread or answers it.
    /// `None` if there is neither.
    fn begin(room: &Room, eyes: &Eyes, name: &str) -> Result<Option<Talk>> {
        let wanted = Wanted { thread: Some(name.to_owned()), ids: [bare(name).to_owned()].into(), ..Wanted::default() };
        let found = wanted.find(room, START)?;
        let seq = Reference::parse(name).and_then(|reference| reference.seq());
        let by_seq = seq.map(|seq| by_seq(room, seq)).transpose()?.flatten();
        let visible = |(past, _): &&Placed| eyes.see(past);
        let meant: Vec<&Placed> = found.iter().filter(visible).filter(|(past, _)| is_by_id(past, name)).collect();
        let of_thread: Vec<&Placed> = found.iter().filter(visible).filter(|(past, _)| is_in(past, name)).collect();
        let message = match (meant.as_slice(), by_seq.as_ref().filter(visible)) {
            ([], Some(by_seq)) if of_thread.is_empty() => Some(by_seq.clone()),
            ([], Some((past, _))) => return Err(thread_or_seq(name, past, &of_thread[0].0)),
            ([], None) if of_thread.is_empty() => return Ok(None),
            ([], None) => None,
            ([one], by_seq) if by_seq.is_none_or(|(past, _)| past.seq == one.0.seq) => Some((*one).clone()),
            (many, by_seq) => {
                let many = many.iter().copied().chain(by_seq).map(|(past, _)| past.clone()).collect();
                return Err(Unclear::Several(many).error(eyes, name));
            }
        };
        let is_a_thread = !of_thread.is_empty();
        let known = match &message {
            None => Name::Gathered(name.to_owned()),
            Some((past, _)) => Name::OfWhatIsAnsweredBy(past.seq),
        };
        let mut talk = Talk {
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
        talk.add(message);
        talk.climb();
        if matches!(&talk.name, Name::Known(thread) if thread == name) {
            talk.name = Name::Gathered(name.to_owned());
        }
        talk.take_in(found);
        Ok(Some(talk))
    }

    fn add(&mut self, found: impl IntoIterator<Item = Placed>) {
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

    /// The newest member before it that a message answers.
    fn answered_by(&self, past: &Past) -> Option<u64> {
        let reference = past.in_reply_to.as_deref()?;
        let by_id = self.by_id.get(bare(reference)).into_iter().flatten().copied();
        let meant = by_id.chain(bare(reference).parse().ok()).filter(|&seq| seq < past.seq);
        meant.filter(|seq| self.members.get(seq).is_some_and(|(member, _)| answers(past, member))).max()
    }

    /// Finds the conversation's name, as far as what is answered is known. The first message of one has none, and its id
    /// is the name that answers give it.
    fn climb(&mut self) {
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

    /// Looks for what belongs to what is known; says whether there may be more.
    fn grow(&mut self, room: &Room) -> Result<bool> {
        let new: Vec<Placed> = self.new.drain(..).filter_map(|seq| self.members.get(&seq).cloned()).collect();
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
        self.take_in(found);
        self.climb();
        Ok(!self.new.is_empty() || matches!(self.name, Name::Known(_)))
    }

    fn look(&mut self, room: &Room, mut wanted: Wanted, new: &[Placed]) -> Result<Vec<Placed>> {
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
                    log::read_one(&room.dir, link.at)?.and_then(|line| Some((Past::read(&line.bytes)?, line.at))),
                );
            }
            wanted.answers.clear();
            wanted.ids.retain(|id| !found.iter().any(|(past, _)| past.id == *id));
            if wanted.ids.is_empty() && wanted.thread.is_none() {
                return Ok(found);
            }
        }
        self.passes += 1;
        // Answers stand behind what they answer; the rest may be anywhere.
        let anywhere = !wanted.ids.is_empty() || wanted.thread.is_some();
        let from = new.iter().map(|(_, at)| *at).min().filter(|_| !anywhere).unwrap_or(START);
        found.extend(wanted.find(room, from)?);
        Ok(found)
    }

    /// Takes in what belongs. That may come before what it belongs to: until a round adds nothing.
    fn take_in(&mut self, mut found: Vec<Placed>) {
        let mut known = usize::MAX;
        while self.members.len() != known {
            known = self.members.len();
            let (belong, rest): (Vec<Placed>, _) = found.into_iter().partition(|(past, _)| self.has(past));
            self.add(belong);
            found = rest;
        }
    }

    fn has(&self, past: &Past) -> bool {
        let of_thread = matches!(&self.name, Name::Gathered(thread) if is_in(past, thread));
        let of_thread = of_thread || self.also.as_ref().is_some_and(|thread| is_in(past, thread));
        let names = [past.id.clone(), past.seq.to_string()];
        let mut answering = names.iter().filter_map(|name| self.by_answered.get(name)).flatten();
        of_thread || self.answered_by(past).is_some() || answering.any(|seq| answers(&self.members[seq].0, past))
    }
}

/// Is it what the reference names, if that is no number?
fn is_by_id(past: &Past, reference: &str) -> bool {
    let fit = Reference::parse(reference).and_then(|one| one.fit(&past.from, &past.id, None));
    fit == Some(Fit::Whole)
}

/// Is it in the thread of that name?
fn is_in(past: &Past, thread: &str) -> bool {
    past.thread_id.as_deref() == Some(thread)
}

fn by_seq(room: &Room, seq: u64) -> Result<Option<Placed>> {
    let line = find::by_seq(&room.dir, seq)?;
    Ok(line.and_then(|line| Some((Past::read(&line.bytes)?, line.at))))
}

/// Does one answer the other? A bare id means a message that the answer's sender wrote or got.
fn answers(answer: &Past, to: &Past) -> bool {
    answer.in_reply_to.as_deref().is_some_and(|reference| {
        let fit = Reference::parse(reference).and_then(|one| one.fit(&to.from, &to.id, Some(to.seq)));
        fit == Some(Fit::Whole) && answer.seq != to.seq && (reference.contains('/') || to.concerns(&answer.from))
    })
}

/// What a pass over the log looks for.
#[derive(Debug, Clone, Default)]
struct Wanted {
    /// Messages of this thread.
    thread: Option<String>,
    /// Messages with one of these ids.
    ids: BTreeSet<String>,
    /// Messages that answer one of these ids or numbers.
    answers: BTreeSet<String>,
}

/// A message that answers another.
struct Link {
    id: String,
    answers: String,
    at: Position,
}

/// Every message that answers another.
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

/// What stands in the line of every message that answers another.
const ANSWER: &str = "\"in_reply_to\":\"";

/// The part of a line that links it to others.
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
    fn find(self, room: &Room, from: Position) -> Result<Vec<Placed>> {
        let sieve = self.sieve()?;
        let take = move |line: &[u8], at| self.is_in(line).then(|| Some((Past::read(line)?, at)))?;
        let mut all = Vec::new();
        for block in find::scan(&room.dir, (from, None), sieve, take)? {
            all.extend(block?.found);
        }
        Ok(all)
    }

    /// Lets through each line that may be wanted. The end of an id tells more than its beginning, which ids that were
    /// made at about the same time share.
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

fn thread_or_seq(name: &str, by_seq: &Past, of_thread: &Past) -> Error {
    Error::Usage {
        what: format!("{} is a thread, and the number of a message", quoted(name)),
        cure: format!(
            "write #{} ({}) for the message, or #{} ({}) for the thread",
            by_seq.seq,
            by_seq.name(),
            of_thread.seq,
            of_thread.name()
        ),
    }
}
