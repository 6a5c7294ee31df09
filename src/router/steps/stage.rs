//! Step 6: records with their numbers and times, and a file for each recipient.

use super::letter::{Again, Letter, Rejection, Ruling, Source};
use super::resolve::Addressed;
use super::whole::{Left, Whole, has_cause};
use super::{ack, compose};
use crate::base::clock::Stamp;
use crate::base::error::{Error, Problem, Result};
use crate::disk::{failpoint, layout};
use crate::log::state::State;
use crate::message::copy::Copies;
use crate::message::record::{
    self, Accepted, Duplicate, Event, EventKind, Group, Head, MessageName, Origin, Record,
    Rejected, Times,
};
use crate::message::{self, Message, id};
use crate::room::owners::Readers;
use crate::room::resolve::Via;
use crate::room::settings::Accept;
use crate::router::parts::{Config, Late, Notice, Pending, Progress, Storage};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

/// Step 6: copies and explanations are in `spool/stage`, numbered in the order of the log.
#[must_use]
pub(in crate::router) struct Staged {
    entries: Vec<Entry>,
    late: Vec<Late>,
}

/// A record to be written, with its message and its staged files.
pub(super) struct Entry {
    pub(super) record: Record,
    pub(super) at: Stamp,
    /// The message as it was checked, of a record that accepts one.
    pub(super) message: Option<Box<Message>>,
    pub(super) staged: Vec<String>,
    /// The items that it sends again.
    pub(super) again: Vec<Again>,
}

/// What stages.
pub(in crate::router) struct Stage<'a> {
    pub(in crate::router) config: &'a Config,
    pub(in crate::router) storage: &'a mut Storage,
    pub(in crate::router) state: &'a State,
    pub(in crate::router) progress: &'a Progress,
    pub(in crate::router) pending: &'a mut Pending,
}

impl Staged {
    /// The lines that were left to a later batch.
    pub(in crate::router) fn take_late(&mut self) -> Vec<Late> {
        std::mem::take(&mut self.late)
    }

    pub(super) fn into_entries(self) -> Vec<Entry> {
        self.entries
    }
}

impl Stage<'_> {
    /// Gives each its number and time, in the order of the log, and writes a file for each recipient. A message whose files
    /// cannot be written is pending as its claim. If this takes long, the further lines of files are left to a later batch,
    /// so that other mail does not have to wait for them.
    ///
    /// S2 → S3: staged = +stage
    pub(in crate::router) fn run(mut self, addressed: Addressed) -> Staged {
        let letters = addressed.into_inner();
        let mut late = Vec::new();
        if letters.is_empty() {
            return Staged {
                entries: Vec::new(),
                late,
            };
        }
        let begun = Instant::now();
        // A sender's files stay in order, so only the last one can wait, and changes of facts were judged in order.
        let last: HashMap<_, _> = letters
            .iter()
            .map(|letter| (letter.agent.clone(), letter.claim.clone()))
            .collect();
        let owning = letters.iter().filter(|letter| letter.is_in_order());
        let owning: HashSet<_> = owning.map(|letter| letter.claim.clone()).collect();
        let may_wait = |letter: &Letter<_>| {
            last.get(&letter.agent) == Some(&letter.claim) && !owning.contains(&letter.claim)
        };
        // A record of its own settles a change of the registry: programs of earlier releases read `settled` only there, and
        // would make the change again.
        let room = (self.state.seq == 0).then_some(Event::Room { room: None });
        let settled = self.progress.has_open_changes().then_some(Event::Settled);
        let mut entries = self.numbered(room.into_iter().chain(settled));
        let (mut left, mut readers) = (Left::default(), Readers::default());
        let mut facts = Ok(());
        for mut letter in letters {
            if left.has(&letter)
                || !has_cause(&letter, entries.iter().rev().map(|entry| &entry.record))
            {
                continue;
            }
            let is_late = begun.elapsed() >= failpoint::stage_time() && has_message(&entries);
            if leave(
                &letter,
                is_late && may_wait(&letter),
                &mut entries,
                &mut late,
            ) {
                continue;
            }
            // Each was judged after those before it.
            if let (true, Err(e)) = (letter.is_in_order(), &facts) {
                self.leave_out(&Whole::of(&letter), e, &mut entries, &mut left);
                continue;
            }
            let changes = letter.is_in_order();
            let (seq, at) = entries
                .last()
                .map_or((self.state.seq, self.state.at), |last| {
                    (last.record.seq, last.at)
                });
            let whole = Whole::of(&letter);
            let staged = find_first(&mut letter, &entries);
            let staged =
                staged.and_then(|()| self.stage_one(letter, seq + 1, at.next(), &mut readers));
            match staged {
                Ok(entry) => entries.push(entry),
                Err(e) => {
                    let changed = self.leave_out(&whole, &e, &mut entries, &mut left);
                    if changes || changed {
                        facts = Err(e);
                    }
                }
            }
        }
        Staged { entries, late }
    }

    /// A batch without messages, for what is settled and for receipts.
    pub(in crate::router) fn settle(self) -> Staged {
        let event = if self.progress.has_open_changes() {
            Event::Settled
        } else {
            Event::Receipts { origin: None }
        };
        Staged {
            entries: self.numbered([event]),
            late: Vec::new(),
        }
    }

    /// Records without a message.
    fn numbered(&self, events: impl IntoIterator<Item = Event>) -> Vec<Entry> {
        let (mut seq, mut at) = (self.state.seq, self.state.at);
        let entry = |event| {
            (seq, at) = (seq + 1, at.next());
            let record = self.state.begin_record(event, seq, at);
            Entry {
                record,
                at,
                message: None,
                staged: Vec::new(),
                again: Vec::new(),
            }
        };
        events.into_iter().map(entry).collect()
    }

    fn stage_one(
        &mut self,
        letter: Letter<Ruling>,
        seq: u64,
        at: Stamp,
        readers: &mut Readers,
    ) -> Result<Entry> {
        let (mut letter, ruling) = letter.split();
        let mut entry = Entry {
            record: self
                .state
                .begin_record(Event::Receipts { origin: None }, seq, at),
            at,
            message: None,
            staged: Vec::new(),
            again: Vec::new(),
        };
        let event = &mut entry.record.event;
        let written = match ruling {
            Ruling::Duplicate { of, id, digest } => {
                let origin = take_origin(&mut letter)?;
                let name = MessageName {
                    from: letter.agent,
                    id,
                    digest,
                };
                *event = Event::Duplicate(Box::new(Duplicate { origin, name, of }));
                Ok(())
            }
            Ruling::Again { .. } => Err(not_found()),
            Ruling::Receipts => {
                *event = Event::Receipts {
                    origin: Some(Box::new(take_origin(&mut letter)?)),
                };
                Ok(())
            }
            Ruling::SendAgain(again) => {
                entry.again = again;
                Ok(())
            }
            Ruling::Accept {
                message,
                digest,
                to,
                enclosed,
                act,
                effect,
            } => {
                let (name, text) = compose::recorded(&message, digest);
                let mut accepted = Accepted {
                    origin: take_origin(&mut letter)?,
                    name,
                    answers: self.state.answered_by(&message, &to),
                    times: self.times_of(&message, &to, entry.record.time(at)),
                    to,
                    act,
                    fact: None,
                    outcome: None,
                    dismissed: ack::dismissed(self.state, &letter.agent, &message),
                    enclosed,
                    message: text,
                };
                if let Some(effect) = effect {
                    accepted.outcome = Some(effect.outcome).filter(|outcome| !outcome.is_null());
                    accepted.fact = Some(effect.fact);
                    entry.again = effect.again;
                }
                entry.record.event = Event::Accepted(Box::new(accepted));
                let copies = Copies::new(&entry.record, &message);
                entry.message = Some(message);
                self.stage_copies(&mut entry, &copies, readers)
            }
            Ruling::Notice {
                about,
                message,
                to,
                fact,
            } => {
                let is_far = to.iter().any(|agent| id::tag_of(agent).is_some());
                let (name, text) = compose::recorded(&message, message.digest());
                *event = Event::Notice(Box::new(record::Notice {
                    name,
                    about,
                    to: if is_far { of_link(to) } else { from_router(to) },
                    fact: fact.map(|fact| *fact),
                    message: text,
                }));
                let copies = Copies::new(&entry.record, &message);
                self.stage_copies(&mut entry, &copies, readers)
            }
            Ruling::Reject(rejection) => {
                self.stage_rejection(&mut entry, &mut letter, rejection, readers)
            }
        };
        if let Err(e) = written {
            self.storage.unstage(&entry.staged);
            return Err(e);
        }
        Ok(entry)
    }

    /// The times of a message that is accepted at this time. They depend on the settings at this time.
    fn times_of(&self, message: &Message, to: &[Group], time: Stamp) -> Times {
        let mut times = Times::default();
        if to.is_empty() || message.kind() == "ack" {
            return times;
        }
        if self.config.settings().budget.replies > 0 {
            let head = Head::of(message);
            let delay = self.state.loops.delay(message.from(), to, &head, time);
            times.announce_after = delay.map(|at| at.to_string());
        }
        let expires = message.text("expires_at").and_then(Stamp::parse);
        times.expires_at = expires.map(|at| at.to_string());
        let within = self.config.settings().answer_within.of(message.priority());
        let by = within.map(|within| time.after(within).to_string());
        // An escalation would bring mail from another room to the human, which the link may not allow. The other room has the
        // same deadline for its sender.
        if self.is_kept_from_human(message.from()) {
            return times;
        }
        if message.wants_answer() {
            times.answer_by = by;
        } else if message.priority() == message::URGENT {
            times.ack_by = by;
        }
        times
    }

    /// Returns true for a sender of another room that may not write to the human here.
    fn is_kept_from_human(&self, from: &str) -> bool {
        let accept = |tag| {
            self.config
                .registry()
                .links()
                .get(tag)
                .is_some_and(|accept| accept.contains(&Accept::Human))
        };
        id::tag_of(from).is_some_and(|tag| !accept(tag))
    }

    fn stage_rejection(
        &mut self,
        entry: &mut Entry,
        letter: &mut Letter<()>,
        rejection: Rejection,
        readers: &mut Readers,
    ) -> Result<()> {
        let origin = take_origin(letter)?;
        if let Some(arrived) = &origin.arrived {
            let tag = arrived.link.clone();
            entry.record.event = self.reject_item(origin, &tag, &letter.agent, rejection);
            return Ok(());
        }
        let Letter {
            agent,
            original,
            source,
            ..
        } = letter;
        let seq = entry.record.seq;
        let claimed = layout::read_claim(&origin.claim);
        let (number, name) =
            claimed.map_or((0, &**original), |claim| (claim.number, claim.original));
        let kept = match &source {
            Some(source) => layout::refused_line(agent, seq, name, source.line),
            None => layout::rejected(agent).join(layout::retired(seq, name)),
        };
        let source: Option<&Source> = source.as_ref();
        let bounce = compose::bounce(
            agent,
            original,
            source,
            &kept.display().to_string(),
            &rejection,
        );
        let explanation =
            compose::explanation(agent, original, source, seq, entry.at, &rejection.problems);
        let staged = layout::staged_explanation(seq, number);
        self.storage.stage(&staged, &explanation, None)?;
        entry.staged.push(staged);
        let known = self
            .config
            .registry()
            .agent(agent)
            .is_some_and(|agent| !agent.is_retired());
        let to = if known && !rejection.ack {
            from_router(vec![agent.clone()])
        } else {
            Vec::new()
        };
        entry.record.event = rejected(origin, &bounce, to, rejection.problems);
        let copies = Copies::new(&entry.record, &bounce);
        self.stage_copies(entry, &copies, readers)
    }

    /// The rejection of a message of another room. Its sender is notified there. A bounce is not answered with a bounce.
    fn reject_item(
        &self,
        origin: Origin,
        tag: &str,
        sender: &Arc<str>,
        rejection: Rejection,
    ) -> Event {
        let here = self
            .config
            .settings()
            .tag
            .clone()
            .unwrap_or_else(|| "the other room".into());
        let bounce = compose::far_bounce(sender, &here, &rejection);
        let is_answered = **sender != *id::far(tag, id::MAILBAG) && !rejection.ack;
        let to = if is_answered {
            of_link(vec![sender.clone()])
        } else {
            Vec::new()
        };
        rejected(origin, &bounce, to, rejection.problems)
    }

    fn stage_copies(
        &mut self,
        entry: &mut Entry,
        copies: &Copies,
        readers: &mut Readers,
    ) -> Result<()> {
        let claim = entry
            .record
            .claim()
            .and_then(layout::read_claim)
            .map_or(0, |claim| claim.number);
        for (agent, via) in entry.record.copies() {
            let staged = layout::staged(entry.record.seq, claim, agent);
            let reader = self
                .config
                .registry()
                .agent(agent)
                .and_then(|agent| readers.of(self.config.room(), agent));
            self.storage
                .stage(&staged, &copies.copy(agent, via), reader)?;
            entry.staged.push(staged);
        }
        Ok(())
    }

    /// A letter cannot be staged: what was staged of the same whole is removed, with what follows it, and all of it waits
    /// together. A message of the router's own stays due: the state, or the queue of notices, has its cause. `true` if one
    /// of them changes facts.
    fn leave_out(
        &mut self,
        whole: &Whole,
        e: &Error,
        entries: &mut Vec<Entry>,
        left: &mut Left,
    ) -> bool {
        if let Some(claim) = &whole.claim {
            put_back(self.pending, claim, e);
            left.claims.insert(claim.clone());
        }
        if let Some(about) = &whole.about {
            self.pending.failed(&Notice::item(about), e.to_string());
            left.own.insert(about.clone());
        }
        let first = entries.iter().position(|entry| whole.has(&entry.record));
        let gone = entries.split_off(first.unwrap_or(entries.len()));
        gone.iter()
            .for_each(|entry| self.storage.unstage(&entry.staged));
        let is_in_order = |record: &Record| record.fact().is_some() || record.arrived().is_some();
        gone.iter().any(|entry| is_in_order(&entry.record))
    }
}

fn rejected(origin: Origin, bounce: &Message, to: Vec<Group>, problems: Vec<Problem>) -> Event {
    let (name, message) = compose::recorded(bounce, bounce.digest());
    Event::Rejected(Box::new(Rejected {
        origin,
        name,
        to,
        problems,
        message,
    }))
}

/// The file of a message. Only the router's own messages have no file.
fn take_origin(letter: &mut Letter<()>) -> Result<Origin> {
    Ok(Origin {
        claim: letter.claim.take().ok_or_else(not_found)?,
        line: letter.source.as_ref().map(|source| source.line),
        more: letter.source.as_ref().is_some_and(|source| source.more),
        retries: letter.retries,
        arrived: letter.arrival.take().map(|arrival| arrival.arrived),
    })
}

fn has_message(entries: &[Entry]) -> bool {
    entries.iter().any(|entry| entry.record.claim().is_some())
}

/// Leaves a line to a later batch, if it is late or if an earlier line of its file is left. `false` if it stays.
fn leave(
    letter: &Letter<Ruling>,
    is_late: bool,
    entries: &mut [Entry],
    late: &mut Vec<Late>,
) -> bool {
    let Some(claim) = letter.claim.as_deref().filter(|_| letter.source.is_some()) else {
        return false;
    };
    let copies = match &letter.content {
        Ruling::Accept { to, .. } => to
            .iter()
            .map(|group| group.agents.len())
            .sum::<usize>()
            .max(1),
        _ => 1,
    };
    if let Some(late) = late.iter_mut().find(|late| late.claim == claim) {
        (late.lines, late.copies) = (late.lines + 1, late.copies + copies);
        return true;
    }
    if is_late {
        let before = entries
            .iter_mut()
            .rev()
            .find(|entry| entry.record.claim() == Some(claim));
        let begun = before.and_then(|before| before.record.origin_mut());
        let begun = begun.map(|origin| origin.more = true).is_some();
        late.push(Late {
            agent: letter.agent.clone(),
            claim: claim.to_owned(),
            lines: 1,
            copies,
            begun,
        });
    }
    is_late
}

/// A message is pending as its claim.
pub(super) fn put_back(pending: &mut Pending, claim: &str, e: &Error) {
    pending.failed(&format!("{}/{claim}", layout::CLAIM), e.to_string());
}

/// Makes a line that repeats an earlier line of the batch a duplicate of the earlier line's record.
fn find_first(letter: &mut Letter<Ruling>, entries: &[Entry]) -> Result<()> {
    let Ruling::Again { id, digest } = &letter.content else {
        return Ok(());
    };
    let is_it = |entry: &&Entry| {
        let record = &entry.record;
        record.kind() == EventKind::Accepted
            && record.from() == Some(&letter.agent)
            && record.id() == Some(&**id)
    };
    let of = entries
        .iter()
        .rev()
        .find(is_it)
        .ok_or_else(not_found)?
        .record
        .seq;
    letter.content = Ruling::Duplicate {
        of,
        id: id.clone(),
        digest: *digest,
    };
    Ok(())
}

/// The earlier message could not be staged, so the later one waits for the next batch as well.
fn not_found() -> Error {
    Error::Busy {
        what: "an earlier message with the same id waits".into(),
        cure: "it is tried again".into(),
    }
}

fn of_link(agents: Vec<Arc<str>>) -> Vec<Group> {
    vec![Group {
        via: Via::Link.as_str().into(),
        agents,
    }]
}

fn from_router(agents: Vec<Arc<str>>) -> Vec<Group> {
    vec![Group {
        via: Via::Router.as_str().into(),
        agents,
    }]
}
