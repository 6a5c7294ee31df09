//! A conversation: the messages that share a thread, and those that answer each other, in the order of the log.

use super::history::{Eyes, Past};
use super::reference::{self, bare, is_by_id};
use crate::error::{Error, Result};
use crate::find;
use crate::log::{Position, START};
use crate::room::Room;
use crate::{address::quoted, limits};
use regex::bytes::Regex;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The whole conversation of a message, or of a thread by its name, as far as these eyes see it.
pub fn thread(room: &Room, eyes: &Eyes, asker: &str, name: &str, last: Option<usize>) -> Result<Vec<Past>> {
    let mut talk = Talk::begin(room, eyes, asker, name)?;
    while talk.grow(room)? {}
    let mut all: Vec<Past> = talk.members.into_values().map(|(past, _)| past).filter(|past| eyes.see(past)).collect();
    let first = last.map_or(0, |last| all.len().saturating_sub(last));
    Ok(all.split_off(first))
}

/// A message, and where its line begins.
type Placed = (Past, Position);

/// What is known of a conversation so far.
struct Talk {
    /// The name that its messages share.
    thread: String,
    members: BTreeMap<u64, Placed>,
    /// Members whose answers were not looked for yet.
    new: Vec<u64>,
    /// Were the messages of the thread looked for?
    gathered: bool,
    /// Ids that were looked for.
    sought: BTreeSet<String>,
}

impl Talk {
    /// Finds the message or the thread that is meant; on the way, all that has this name as its thread or answers it.
    fn begin(room: &Room, eyes: &Eyes, asker: &str, name: &str) -> Result<Talk> {
        let wanted = Wanted { thread: Some(name.to_owned()), ids: [bare(name).to_owned()].into(), ..Wanted::default() };
        let mut found = wanted.find(room, START)?;
        let by_seq = name.parse().ok().map(|seq| find::by_seq(&room.dir, seq)).transpose()?.flatten();
        let by_seq = by_seq.and_then(|line| Some((Past::read(&line.bytes)?, line.at)));
        let visible = |(past, _): &&Placed| eyes.see(past);
        let meant: Vec<&Placed> = found.iter().filter(visible).filter(|(past, _)| is_by_id(past, name)).collect();
        let of_thread: Vec<&Placed> = found.iter().filter(visible).filter(|(past, _)| is_in(past, name)).collect();
        let message = match (meant.as_slice(), by_seq.as_ref().filter(visible)) {
            ([], Some(by_seq)) if of_thread.is_empty() => Some(by_seq.clone()),
            ([], Some((past, _))) => return Err(thread_or_seq(name, past, &of_thread[0].0)),
            ([], None) if of_thread.is_empty() => return Err(missing(eyes, asker, name)),
            ([], None) => None,
            ([one], _) => Some((*one).clone()),
            (many, _) => {
                let many: Vec<Past> = many.iter().map(|(past, _)| past.clone()).collect();
                return Err(reference::several(name, &many));
            }
        };
        let thread = message.as_ref().map(|(past, _)| past.thread_id.clone().unwrap_or_else(|| past.id.clone()));
        let thread = thread.unwrap_or_else(|| name.to_owned());
        let gathered = thread == name;
        found.extend(message.clone());
        let mut talk = Talk { thread, members: BTreeMap::new(), new: Vec::new(), gathered, sought: BTreeSet::new() };
        found.retain(|(past, _)| is_in(past, &talk.thread) || message.as_ref().is_some_and(|(m, _)| m.seq == past.seq));
        talk.add(found);
        Ok(talk)
    }

    fn add(&mut self, found: Vec<Placed>) {
        for (past, at) in found {
            let seq = past.seq;
            if self.members.insert(seq, (past, at)).is_none() {
                self.new.push(seq);
            }
        }
    }

    /// Looks for what belongs to what is known; says whether there may be more.
    fn grow(&mut self, room: &Room) -> Result<bool> {
        let new: Vec<Placed> = self.new.drain(..).filter_map(|seq| self.members.get(&seq).cloned()).collect();
        if new.is_empty() && self.gathered {
            return Ok(false);
        }
        let answered = new.iter().filter_map(|(past, _)| past.in_reply_to.as_deref().map(bare));
        let unknown = |id: &&str| !self.members.values().any(|(past, _)| past.id == **id);
        let ids: BTreeSet<String> =
            answered.filter(unknown).filter(|id| !self.sought.contains(*id)).map(str::to_owned).collect();
        let answers = new.iter().flat_map(|(past, _)| [past.id.clone(), past.seq.to_string()]).collect();
        // Answers stand behind what they answer; the rest may be anywhere.
        let anywhere = !ids.is_empty() || !self.gathered;
        let from = new.iter().map(|(_, at)| *at).min().filter(|_| !anywhere).unwrap_or(START);
        let thread = Some(self.thread.clone()).filter(|_| !self.gathered);
        self.gathered = true;
        self.sought.extend(ids.iter().cloned());
        let by_seq: Vec<u64> = ids.iter().filter_map(|id| id.parse().ok()).collect();
        let mut found = Wanted { thread, ids, answers }.find(room, from)?;
        for seq in by_seq {
            let line = find::by_seq(&room.dir, seq)?;
            found.extend(line.and_then(|line| Some((Past::read(&line.bytes)?, line.at))));
        }
        // Those that belong may come before what they belong to: until a round adds nothing.
        loop {
            let known = self.members.len();
            let (belong, rest) = found.into_iter().partition(|(past, _)| self.has(past));
            self.add(belong);
            found = rest;
            if self.members.len() == known {
                return Ok(!self.new.is_empty());
            }
        }
    }

    fn has(&self, past: &Past) -> bool {
        let members = || self.members.values().map(|(member, _)| member);
        is_in(past, &self.thread) || members().any(|member| answers(past, member) || answers(member, past))
    }
}

/// Is it in the thread of that name? The first message of one often has it as its id.
fn is_in(past: &Past, thread: &str) -> bool {
    past.thread_id.as_deref() == Some(thread)
}

/// Does one answer the other? A bare id means a message that the answer's sender wrote or got.
fn answers(answer: &Past, to: &Past) -> bool {
    answer.in_reply_to.as_deref().is_some_and(|reference| {
        let is_meant = is_by_id(to, reference) || reference.parse() == Ok(to.seq);
        is_meant && answer.seq != to.seq && (reference.contains('/') || to.concerns(&answer.from))
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
        let json = |text: &String| serde_json::to_string(text).unwrap_or_default();
        let id = |text: &String| match text.len() > ENOUGH && text.is_ascii() {
            true => vec![format!("{}\"", &text[text.len() - ENOUGH..])],
            false => vec![format!("\"{text}\""), format!("/{text}\"")],
        };
        let few = self.answers.len() + self.ids.len() <= limits::PROBLEMS;
        let named = self.ids.iter().chain(self.answers.iter().filter(|_| few));
        let mut texts: Vec<String> = named.flat_map(id).collect();
        texts.extend(self.thread.iter().map(json));
        if !few {
            texts.push("\"in_reply_to\":\"".into());
        }
        find::sieve(&texts)
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

fn missing(eyes: &Eyes, asker: &str, name: &str) -> Error {
    match reference::missing(eyes, asker, name) {
        Error::NotFound { what, cure } => Error::NotFound { what: format!("{what}, nor one of such a thread"), cure },
        other => other,
    }
}

fn thread_or_seq(name: &str, by_seq: &Past, of_thread: &Past) -> Error {
    Error::Usage {
        what: format!("{} is a thread, and a message has it as its seq", quoted(name)),
        cure: format!("write {} for the message, or {} for the thread", by_seq.name(), of_thread.name()),
    }
}
