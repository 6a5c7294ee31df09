//! Steps 6 and 7: copies on disk, then one append that makes them count.

use super::check::{Ruling, Source};
use super::compose::{self, Copies};
use super::lines;
use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::disk::layout;
use crate::log::Position;
use crate::message::Message;
use crate::message::record::{Event, Group, Record, hash_line};
use crate::router::projections::channels;
use crate::router::{Addressed, Committed, Router, Staged, temporary};
use std::collections::HashSet;
use std::sync::Arc;

/// A letter, and what is to be done with it.
pub(crate) struct Ruled {
    pub(crate) claim: Option<String>,
    pub(crate) agent: Arc<str>,
    pub(crate) original: String,
    pub(crate) source: Option<Source>,
    pub(crate) ruling: Ruling,
}

/// A record to be written, with the staged files that belong to it.
pub(crate) struct Entry {
    pub(crate) record: Record,
    pub(crate) staged: Vec<String>,
    /// Its line in the conversation.
    shown: Option<channels::Line>,
}

impl Router {
    /// Step 6: gives each its number and time, in the order of the log, and writes a file for each recipient. One
    /// whose files can't be written waits as its claim.
    ///
    /// S2 → S3: staged = +stage
    pub(crate) fn stage(&mut self, Addressed(ruled): Addressed) -> Staged {
        let Staged(mut entries) = match ruled.is_empty() {
            true => return Staged(Vec::new()),
            false => self.stage_own(),
        };
        let mut left = HashSet::new();
        for mut one in ruled {
            // What can't be staged whole waits whole.
            if one.claim.as_ref().is_some_and(|claim| left.contains(claim)) {
                continue;
            }
            let last = entries.last().map(|entry| &entry.record);
            let seq = last.map_or(self.state.seq, |record| record.seq) + 1;
            let at = last.map_or(self.state.at, Record::stamp).next();
            let claim = one.claim.clone();
            let staged = lines::find_first(&mut one, &entries).and_then(|()| self.stage_one(one, seq, at));
            match staged {
                Ok(entry) => entries.push(entry),
                Err(e) => {
                    self.unstage_lines(claim.as_deref(), &mut entries);
                    left.extend(claim.clone());
                    self.put_back(claim, &e);
                }
            }
        }
        Staged(entries)
    }

    // The records that come before those of messages: the room's, in an empty log, and the one that settles changes of
    // the registry. Programs of earlier releases read `settled` only there, and would make such a change again.
    fn stage_own(&self) -> Staged {
        let room = (self.state.seq == 0).then_some(Event::Room);
        let settled = self.changes_are_open().then_some(Event::Settled);
        self.numbered(room.into_iter().chain(settled))
    }

    /// A batch without messages, for what is settled and what was seen to leave inboxes.
    pub(crate) fn stage_alone(&self) -> Staged {
        self.numbered([if self.changes_are_open() { Event::Settled } else { Event::Receipts }])
    }

    fn numbered(&self, events: impl IntoIterator<Item = Event>) -> Staged {
        let (mut seq, mut at) = (self.state.seq, self.state.at);
        let entry = |event| {
            (seq, at) = (seq + 1, at.next());
            let record = Record { seq, at: at.to_string(), ..Record::new(event) };
            Entry { record, staged: Vec::new(), shown: None }
        };
        Staged(events.into_iter().map(entry).collect())
    }

    // What the barrier of this batch will have settled, and what was seen to leave inboxes, is part of the first record, so
    // that messages have consecutive numbers.
    fn note_settled(&mut self, entries: &mut [Entry]) {
        if let Some(first) = entries.iter_mut().find(|entry| entry.record.event != Event::Room) {
            first.record.settled = ranges(self.done.iter().copied());
            first.record.receipts = self.stage_receipts();
        }
    }

    fn stage_one(&mut self, one: Ruled, seq: u64, at: Stamp) -> Result<Entry> {
        let number = one.claim.as_deref().and_then(layout::read_claim).map_or(0, |claim| claim.number);
        let mut entry = Entry { record: Record::new(Event::Accepted), staged: Vec::new(), shown: None };
        (entry.record.seq, entry.record.at, entry.record.claim) = (seq, at.to_string(), one.claim);
        entry.record.line = one.source.as_ref().map(|source| source.line);
        entry.record.more = one.source.as_ref().is_some_and(|source| source.more);
        let written = match one.ruling {
            Ruling::Duplicate { of, id, digest } => {
                entry.record.event = Event::Duplicate;
                (entry.record.of, entry.record.id, entry.record.digest) = (Some(of), Some(id), Some(digest));
                entry.record.from = Some(one.agent);
                Ok(())
            }
            Ruling::Again { .. } => Err(lines::not_found()),
            Ruling::Accept { message, digest, to, act } => {
                (entry.record.to, entry.record.act) = (to, act);
                self.time(&mut entry.record, &message, at);
                compose::put(&mut entry.record, &message, digest);
                let addressed_to = compose::addressed_to(&message);
                if !message.is_for_router() {
                    entry.shown = Some(self.channels.stage(&message, seq, &entry.record.at));
                }
                let copies = Copies::new(*message, &addressed_to, seq, &entry.record.at);
                self.stage_copies(&mut entry, &copies, number)
            }
            Ruling::Notice { about, message } => {
                (entry.record.event, entry.record.about) = (Event::Notice, Some(about));
                let to: Arc<str> = message.text("to").unwrap_or(crate::message::id::HUMAN).into();
                entry.record.to = router_to(to.clone());
                compose::put(&mut entry.record, &message, message.digest());
                let copies = Copies::new(*message, &(*to).into(), seq, &entry.record.at);
                self.stage_copies(&mut entry, &copies, 0)
            }
            Ruling::Reject { problems, id, ack } => {
                let agent = one.agent.clone();
                let bounced = self.stage_refusal(
                    &mut entry,
                    (&one.agent, &one.original, one.source),
                    id.as_deref(),
                    &problems,
                    at,
                );
                bounced.and_then(|copies| {
                    entry.record.problems = problems;
                    let known = self.registry.agent(&agent).is_some_and(|agent| !agent.is_retired());
                    entry.record.to = if known && !ack { router_to(agent) } else { Vec::new() };
                    self.stage_copies(&mut entry, &copies, number)
                })
            }
        };
        if let Err(e) = written {
            self.spool.unstage(entry.staged.iter().map(String::as_str));
            return Err(e);
        }
        Ok(entry)
    }

    // When it expires, and by when somebody has to answer: worked out once, as the settings stand now.
    fn time(&self, record: &mut Record, message: &Message, at: Stamp) {
        record.answers = message.text("in_reply_to").and_then(|to| self.state.timers.meant(to, message.from()));
        if record.to.is_empty() || message.kind() == "ack" {
            return;
        }
        let expires = message.text("expires_at").and_then(Stamp::parse);
        record.expires_at = expires.map(|at| at.to_string());
        let within = self.settings.answer_within.of(message.priority());
        let by = within.map(|within| at.after(within).to_string());
        if message.wants_answer() {
            record.answer_by = by;
        } else if message.priority() == "urgent" {
            record.ack_by = by;
        }
    }

    fn stage_refusal(
        &mut self,
        entry: &mut Entry,
        (agent, original, source): (&Arc<str>, &str, Option<Source>),
        sent: Option<&str>,
        problems: &[crate::base::error::Problem],
        at: Stamp,
    ) -> Result<Copies> {
        let record = &mut entry.record;
        record.event = Event::Rejected;
        let claimed = record.claim.as_deref().and_then(layout::read_claim);
        let (number, name) = claimed.map_or((0, original), |claim| (claim.number, claim.original));
        let kept = match &source {
            Some(source) => layout::refused_line(agent, record.seq, name, source.line),
            None => layout::rejected(agent).join(layout::retired(record.seq, name)),
        };
        let kept = kept.display().to_string();
        let bounce = compose::bounce(agent, original, source.as_ref(), &kept, sent, problems);
        let explanation = compose::explanation(agent, original, source.as_ref(), record.seq, at, problems);
        let staged = layout::staged_explanation(record.seq, number);
        compose::put(record, &bounce, bounce.digest());
        self.spool.stage(&staged, &explanation, None, &mut self.barrier)?;
        entry.staged.push(staged);
        Ok(Copies::new(bounce, &(**agent).into(), entry.record.seq, &entry.record.at))
    }

    fn stage_copies(&mut self, entry: &mut Entry, copies: &Copies, claim: u64) -> Result<()> {
        for (agent, via) in entry.record.recipients() {
            let staged = layout::staged(entry.record.seq, claim, agent);
            let reader = self.registry.agent(agent).and_then(|agent| self.room.reader(agent));
            self.spool.stage(&staged, &copies.copy(agent, via), reader, &mut self.barrier)?;
            entry.staged.push(staged);
        }
        Ok(())
    }

    pub(crate) fn put_back(&mut self, claim: Option<String>, e: &Error) {
        if let Some(claim) = claim {
            self.waiting.failed(&format!("{}/{claim}", layout::CLAIM), e.to_string());
        }
    }

    /// Step 7: barrier 1, one append, barrier 2. Before barrier 2 nothing has happened; behind it everything has.
    ///
    /// S3 → S4: committed = +log
    pub(crate) fn commit(&mut self, Staged(mut entries): Staged) -> Result<Committed> {
        if entries.is_empty() {
            return Ok(Committed(Vec::new()));
        }
        match self.still_ours() {
            Err(e) => return self.unstage(entries, temporary(e)?),
            Ok(room) => {
                let first = entries.first_mut().filter(|entry| entry.record.event == Event::Room);
                first.into_iter().for_each(|entry| entry.record.room = room.clone());
            }
        }
        let end = match self.log.end() {
            Ok(end) => end,
            Err(e) => return self.unstage(entries, temporary(e)?),
        };
        self.note_settled(&mut entries);
        self.barrier.pass()?;
        let (lines, places) = self.chain(&mut entries, end);
        if let Err(e) = self.log.append(&lines) {
            return self.unstage(entries, temporary(e)?);
        }
        self.log.commit(self.is_durable())?;
        self.held.clear();
        self.acted &= entries.iter().all(|entry| entry.record.event != Event::Settled);
        let mut seqs = Vec::with_capacity(entries.len());
        for (Entry { record, shown, .. }, (at, length, hash)) in entries.into_iter().zip(places) {
            shown.into_iter().for_each(|line| self.channels.queue(line));
            self.count(&record);
            if let Some(claim) = record.claim.as_ref().filter(|_| !self.waiting.is_empty()) {
                self.waiting.over(&format!("{}/{claim}", layout::CLAIM));
            }
            if !record.settled.is_empty() {
                self.done.retain(|seq| !record.settled.iter().any(|(a, b)| (a..=b).contains(&seq)));
            }
            if !record.receipts.is_empty() {
                self.receipts_are_written();
            }
            if !matches!(record.event, Event::Room | Event::Receipts | Event::Settled) {
                seqs.push(record.seq);
            }
            self.state.apply(record, at, length, hash);
        }
        self.channels.unstage();
        Ok(Committed(seqs))
    }

    // The lines of a batch, each with the hash of the one before, and where each will stand.
    fn chain(
        &self,
        entries: &mut [Entry],
        end: Position,
    ) -> (Vec<u8>, Vec<(Position, u64, crate::message::record::Hash)>) {
        let (mut lines, mut prev) = (Vec::with_capacity(entries.len() * 1024), self.state.prev);
        let (count, batch) = (entries.len() as u32, self.state.batch + 1);
        let mut places = Vec::with_capacity(entries.len());
        for (n, Entry { record, .. }) in entries.iter_mut().enumerate() {
            (record.batch, record.prev, record.count) = (batch, prev, (n == 0).then_some(count));
            let line = record.line();
            prev = hash_line(&line);
            let at = Position { offset: end.offset + lines.len() as u64, ..end };
            places.push((at, line.len() as u64, prev));
            lines.extend(line);
        }
        (lines, places)
    }

    // Nothing was committed: the copies go, the messages wait as claims.
    fn unstage(&mut self, entries: Vec<Entry>, e: Error) -> Result<Committed> {
        self.channels.unstage();
        for Entry { record, staged, .. } in entries {
            self.spool.unstage(staged.iter().map(String::as_str));
            self.put_back(record.claim.clone(), &e);
            self.unstage_receipts(record);
        }
        Ok(Committed(Vec::new()))
    }

    // Whoever moved or cleaned the room may have started another router in it. Gives the room's id where the log is empty.
    fn still_ours(&mut self) -> Result<Option<String>> {
        self.lock.check()?;
        let stands = self.room.dir.stat(layout::ROOM_ID)?;
        if stands.is_some() && stands == self.room_id {
            return Ok(None);
        }
        let id = self.room.id()?;
        match (&self.state.room, &id) {
            (Some(log), Some(id)) if log == id => {
                self.room_id = stands;
                Ok(None)
            }
            (None, Some(_)) => Ok(id),
            (log, id) => Err(Error::Moved {
                what: format!("spool/room says {}, the log {}", words(id), words(log)),
                cure: "somebody moved or cleaned the room; nothing more was changed".into(),
            }),
        }
    }

    fn count(&mut self, record: &Record) {
        match record.event {
            Event::Accepted => {
                self.tally.accepted += 1;
                self.tally.copies += record.recipients().count() as u64;
            }
            Event::Rejected => self.tally.refused += 1,
            Event::Duplicate => self.tally.duplicates += 1,
            _ => {}
        }
    }
}

fn words(id: &Option<String>) -> &str {
    id.as_deref().unwrap_or("nothing")
}

fn router_to(agent: Arc<str>) -> Vec<Group> {
    vec![Group { via: crate::room::resolve::Via::Router.as_str().into(), agents: vec![agent] }]
}

/// Numbers in order as ranges, both ends included.
fn ranges(numbers: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, to)) if *to + 1 == number => *to = number,
            _ => ranges.push((number, number)),
        }
    }
    ranges
}
