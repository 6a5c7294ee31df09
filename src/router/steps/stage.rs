//! Step 6: gives records their numbers and times, and writes a file for each recipient.

use super::batch_message::{BatchMessage, MessageRejection, MessageRuling, ResentItem, SourceLine};
use super::compose;
use super::resolve::AddressedMessages;
use super::staging_unit::{StagingUnit, UnstagedMessages, has_cause, unit_of};
use crate::base::clock::Stamp;
use crate::base::error::{Error, Problem, Result};
use crate::base::test_sizes;
use crate::disk::layout;
use crate::log::state::RoomState;
use crate::message::copy::MessageCopies;
use crate::message::record::{
    self, AcceptedMessage, DuplicateMessage, Event, EventKind, FileRejection, MessageHead,
    MessageName, MessageOrigin, MessageTimes, RecipientGroup, Record,
};
use crate::message::{Message, Priority, id};
use crate::room::resolve::RecipientRule;
use crate::room::settings::AcceptedAddress;
use crate::router::parts::{
    DeliveryProgress, NoticeText, PendingWork, PostponedLines, RoomConfig, RouterStorage,
    claim_item,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

/// Step 6: copies and explanations are in `spool/stage`, numbered in the order of the log.
#[must_use]
pub(in crate::router) struct StagedBatch {
    entries: Vec<StagedRecord>,
    late: Vec<PostponedLines>,
}

/// A record for the log, with its message and its staged files.
pub(super) struct StagedRecord {
    pub(super) record: Record,
    pub(super) at: Stamp,
    /// The checked message, if the record accepts one.
    pub(super) message: Option<Box<Message>>,
    pub(super) staged: Vec<String>,
    /// The items that the record sends again.
    pub(super) again: Vec<ResentItem>,
}

/// The parts of the router that step 6 uses.
pub(in crate::router) struct StageStep<'a> {
    pub(in crate::router) config: &'a RoomConfig,
    pub(in crate::router) storage: &'a mut RouterStorage,
    pub(in crate::router) state: &'a RoomState,
    pub(in crate::router) progress: &'a DeliveryProgress,
    pub(in crate::router) pending: &'a mut PendingWork,
}

impl StagedRecord {
    /// A record without a message.
    pub(super) fn new(state: &RoomState, event: Event, seq: u64, at: Stamp) -> StagedRecord {
        StagedRecord {
            record: state.begin_record(event, seq, at),
            at,
            message: None,
            staged: Vec::new(),
            again: Vec::new(),
        }
    }
}

impl StagedBatch {
    /// Takes the lines that were left to a later batch.
    pub(in crate::router) fn take_late(&mut self) -> Vec<PostponedLines> {
        std::mem::take(&mut self.late)
    }

    pub(super) fn into_entries(self) -> Vec<StagedRecord> {
        self.entries
    }
}

impl StageStep<'_> {
    /// Gives each letter its number and time, in the order of the log, and writes a file for each recipient. If the
    /// files of a message cannot be written, the message is pending as its claim. If this takes long, further lines
    /// of files are left to a later batch, so that other mail does not wait for them.
    ///
    /// S2 → S3: staged = +stage
    pub(in crate::router) fn run(mut self, addressed: AddressedMessages) -> StagedBatch {
        let letters = addressed.into_inner();
        let mut late = Vec::new();
        if letters.is_empty() {
            return StagedBatch {
                entries: Vec::new(),
                late,
            };
        }
        let begun = Instant::now();
        let can_wait = claims_that_can_wait(&letters);
        let room = (self.state.seq == 0).then_some(Event::Room { room: None });
        let settled = self.progress.has_open_changes().then_some(Event::Settled);
        let mut entries = self.numbered(room.into_iter().chain(settled));
        let mut left = UnstagedMessages::default();
        let mut facts = Ok(());
        for mut letter in letters {
            if left.has(&letter)
                || !has_cause(&letter, entries.iter().rev().map(|entry| &entry.record))
            {
                continue;
            }
            let is_late = begun.elapsed() >= test_sizes::stage_time()
                && has_message(&entries)
                && can_wait.contains(&letter.claim);
            if leave(&letter, is_late, &mut entries, &mut late) {
                continue;
            }
            let is_in_order = letter.is_in_order();
            if let Err(e) = &facts
                && is_in_order
            {
                self.leave_out(&StagingUnit::of(&letter), e, &mut entries, &mut left);
                continue;
            }
            let (seq, at) = entries
                .last()
                .map_or((self.state.seq, self.state.at), |last| {
                    (last.record.seq, last.at)
                });
            let whole = StagingUnit::of(&letter);
            let staged = find_first(&mut letter, &entries)
                .and_then(|()| self.stage_one(letter, seq + 1, at.next()));
            match staged {
                Ok(entry) => entries.push(entry),
                Err(e) => {
                    let has_changed = self.leave_out(&whole, &e, &mut entries, &mut left);
                    if is_in_order || has_changed {
                        facts = Err(e);
                    }
                }
            }
        }
        StagedBatch { entries, late }
    }

    /// A batch without messages, for settled records and receipts.
    pub(in crate::router) fn settle(self) -> StagedBatch {
        let event = if self.progress.has_open_changes() {
            Event::Settled
        } else {
            Event::Receipts { origin: None }
        };
        StagedBatch {
            entries: self.numbered([event]),
            late: Vec::new(),
        }
    }

    /// Records without a message.
    fn numbered(&self, events: impl IntoIterator<Item = Event>) -> Vec<StagedRecord> {
        let (mut seq, mut at) = (self.state.seq, self.state.at);
        let mut entries = Vec::new();
        for event in events {
            (seq, at) = (seq + 1, at.next());
            entries.push(StagedRecord::new(self.state, event, seq, at));
        }
        entries
    }

    fn stage_one(
        &mut self,
        letter: BatchMessage<MessageRuling>,
        seq: u64,
        at: Stamp,
    ) -> Result<StagedRecord> {
        let (mut letter, ruling) = letter.split();
        let mut entry = StagedRecord::new(self.state, Event::Receipts { origin: None }, seq, at);
        let event = &mut entry.record.event;
        let written = match ruling {
            MessageRuling::Duplicate { of, id, digest } => {
                let origin = take_origin(&mut letter)?;
                let name = MessageName {
                    from: letter.agent,
                    id,
                    digest,
                };
                *event = Event::Duplicate(Box::new(DuplicateMessage { origin, name, of }));
                Ok(())
            }
            MessageRuling::Again { .. } => Err(not_found()),
            MessageRuling::Receipts => {
                *event = Event::Receipts {
                    origin: Some(Box::new(take_origin(&mut letter)?)),
                };
                Ok(())
            }
            MessageRuling::SendAgain(again) => {
                entry.again = again;
                Ok(())
            }
            MessageRuling::Accept {
                message,
                digest,
                to,
                enclosed,
                act,
                effect,
            } => {
                let (name, text) = compose::recorded(&message, digest);
                let mut accepted = AcceptedMessage {
                    origin: take_origin(&mut letter)?,
                    name,
                    answers: self.state.answered_by(&message, &to),
                    times: self.times_of(&message, &to, entry.record.time(at)),
                    to,
                    act,
                    fact: None,
                    outcome: None,
                    enclosed,
                    message: text,
                };
                if let Some(effect) = effect {
                    accepted.outcome = Some(effect.outcome).filter(|outcome| !outcome.is_null());
                    accepted.fact = Some(effect.fact);
                    entry.again = effect.again;
                }
                entry.record.event = Event::Accepted(Box::new(accepted));
                let copies = MessageCopies::new(&entry.record, &message);
                entry.message = Some(message);
                self.stage_copies(&mut entry, &copies)
            }
            MessageRuling::Notice {
                about,
                message,
                to,
                fact,
            } => {
                let is_far = to.iter().any(|agent| id::tag_of(agent).is_some());
                let (name, text) = compose::recorded(&message, message.digest());
                *event = Event::Notice(Box::new(record::RouterNotice {
                    name,
                    about,
                    to: group(
                        if is_far {
                            RecipientRule::Link
                        } else {
                            RecipientRule::Router
                        },
                        to,
                    ),
                    fact: fact.map(|fact| *fact),
                    message: text,
                }));
                let copies = MessageCopies::new(&entry.record, &message);
                self.stage_copies(&mut entry, &copies)
            }
            MessageRuling::Reject(rejection) => {
                self.stage_rejection(&mut entry, &mut letter, rejection)
            }
        };
        if let Err(e) = written {
            self.storage.unstage(&entry.staged);
            return Err(e);
        }
        Ok(entry)
    }

    /// The times of an accepted message. They depend on the settings at this time.
    fn times_of(&self, message: &Message, to: &[RecipientGroup], time: Stamp) -> MessageTimes {
        let mut times = MessageTimes::default();
        if to.is_empty() || message.kind() == "ack" {
            return times;
        }
        if self.config.settings().budget.replies > 0 {
            let head = MessageHead::of(message);
            let delay = self.state.loops.delay(message.from(), to, &head, time);
            times.announce_after = delay.map(|at| at.to_string());
        }
        let expires = message.text("expires_at").and_then(Stamp::parse);
        times.expires_at = expires.map(|at| at.to_string());
        let within = self.config.settings().answer_within.of(message.priority());
        let by = within.map(|within| time.after(within).to_string());
        // The link may not allow mail to the human, such as an escalation. The other room has the same deadline.
        if self.is_kept_from_human(message.from()) {
            return times;
        }
        if message.wants_answer() {
            times.answer_by = by;
        } else if message.priority() == Priority::Urgent {
            times.ack_by = by;
        }
        times
    }

    /// Returns true for a sender of another room that may not write to the human here.
    fn is_kept_from_human(&self, from: &str) -> bool {
        let Some(tag) = id::tag_of(from) else {
            return false;
        };
        let accept = self.config.registry().links().get(tag);
        accept.is_none_or(|accept| !accept.contains(&AcceptedAddress::Human))
    }

    fn stage_rejection(
        &mut self,
        entry: &mut StagedRecord,
        letter: &mut BatchMessage<()>,
        rejection: MessageRejection,
    ) -> Result<()> {
        let origin = take_origin(letter)?;
        if let Some(arrived) = &origin.arrived {
            let tag = arrived.link.clone();
            entry.record.event = self.reject_item(origin, &tag, &letter.agent, rejection);
            return Ok(());
        }
        let BatchMessage {
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
        let source: Option<&SourceLine> = source.as_ref();
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
        self.storage.stage(&staged, &explanation)?;
        entry.staged.push(staged);
        let to = if self.config.registry().has_active(agent) && !rejection.ack {
            group(RecipientRule::Router, vec![agent.clone()])
        } else {
            Vec::new()
        };
        entry.record.event = rejected(origin, &bounce, to, rejection.problems);
        let copies = MessageCopies::new(&entry.record, &bounce);
        self.stage_copies(entry, &copies)
    }

    /// The rejection of a message of another room. Its sender is notified there. A bounce has no bounce.
    fn reject_item(
        &self,
        origin: MessageOrigin,
        tag: &str,
        sender: &Arc<str>,
        rejection: MessageRejection,
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
            group(RecipientRule::Link, vec![sender.clone()])
        } else {
            Vec::new()
        };
        rejected(origin, &bounce, to, rejection.problems)
    }

    fn stage_copies(&mut self, entry: &mut StagedRecord, copies: &MessageCopies) -> Result<()> {
        let claim = entry
            .record
            .claim()
            .and_then(layout::read_claim)
            .map_or(0, |claim| claim.number);
        for (agent, via) in entry.record.copies() {
            let staged = layout::staged(entry.record.seq, claim, agent);
            self.storage.stage(&staged, &copies.copy(agent, via))?;
            entry.staged.push(staged);
        }
        Ok(())
    }

    /// Leaves out a letter that cannot be staged, with the entries of its whole and all later entries. All of them
    /// wait together. Notices stay due: the state or the queue of notices has their cause. Returns true if an entry
    /// changes facts.
    fn leave_out(
        &mut self,
        whole: &StagingUnit,
        e: &Error,
        entries: &mut Vec<StagedRecord>,
        left: &mut UnstagedMessages,
    ) -> bool {
        if let Some(claim) = &whole.claim {
            put_back(self.pending, claim, e);
            left.claims.insert(claim.clone());
        }
        if let Some(about) = &whole.about {
            self.pending.failed(&NoticeText::item(about), e.to_string());
            left.own.insert(unit_of(about).to_owned());
        }
        let first = entries.iter().position(|entry| whole.has(&entry.record));
        let removed = entries.split_off(first.unwrap_or(entries.len()));
        for entry in &removed {
            self.storage.unstage(&entry.staged);
        }
        removed
            .iter()
            .any(|entry| entry.record.fact().is_some() || entry.record.arrived().is_some())
    }
}

/// The claims with lines that can be left to a later batch. A sender's files stay in order, so only its last file can
/// wait, and changes of facts were judged in order.
fn claims_that_can_wait(letters: &[BatchMessage<MessageRuling>]) -> HashSet<Option<String>> {
    let last: HashMap<_, _> = letters
        .iter()
        .map(|letter| (&letter.agent, &letter.claim))
        .collect();
    let mut claims: HashSet<_> = last.into_values().cloned().collect();
    for letter in letters {
        if letter.is_in_order() {
            claims.remove(&letter.claim);
        }
    }
    claims
}

fn rejected(
    origin: MessageOrigin,
    bounce: &Message,
    to: Vec<RecipientGroup>,
    problems: Vec<Problem>,
) -> Event {
    let (name, message) = compose::recorded(bounce, bounce.digest());
    Event::Rejected(Box::new(FileRejection {
        origin,
        name,
        to,
        problems,
        message,
    }))
}

/// Takes the origin of a message. Only notices have no file.
fn take_origin(letter: &mut BatchMessage<()>) -> Result<MessageOrigin> {
    Ok(MessageOrigin {
        claim: letter.claim.take().ok_or_else(not_found)?,
        line: letter.source.as_ref().map(|source| source.line),
        more: letter.source.as_ref().is_some_and(|source| source.more),
        arrived: letter.arrival.take().map(|arrival| arrival.arrived),
    })
}

fn has_message(entries: &[StagedRecord]) -> bool {
    entries.iter().any(|entry| entry.record.claim().is_some())
}

/// Leaves a line to a later batch if it is late, or if an earlier line of its file is left. Returns false if it stays
/// in this batch.
fn leave(
    letter: &BatchMessage<MessageRuling>,
    is_late: bool,
    entries: &mut [StagedRecord],
    late: &mut Vec<PostponedLines>,
) -> bool {
    let (Some(claim), Some(_)) = (&letter.claim, &letter.source) else {
        return false;
    };
    let copies = match &letter.content {
        MessageRuling::Accept { to, .. } => to
            .iter()
            .map(|group| group.agents.len())
            .sum::<usize>()
            .max(1),
        _ => 1,
    };
    if PostponedLines::add_line(late, claim, copies) {
        return true;
    }
    if is_late {
        let mut before = entries
            .iter_mut()
            .rev()
            .find(|entry| entry.record.claim() == Some(claim.as_str()))
            .and_then(|before| before.record.origin_mut());
        if let Some(origin) = &mut before {
            origin.more = true;
        }
        late.push(PostponedLines {
            agent: letter.agent.clone(),
            claim: claim.clone(),
            lines: 1,
            copies,
            begun: before.is_some(),
        });
    }
    is_late
}

/// Lists a message as pending by its claim.
pub(super) fn put_back(pending: &mut PendingWork, claim: &str, e: &Error) {
    pending.failed(&claim_item(claim), e.to_string());
}

/// Makes a line that repeats an earlier line of the batch a duplicate of the earlier line's record.
fn find_first(letter: &mut BatchMessage<MessageRuling>, entries: &[StagedRecord]) -> Result<()> {
    let MessageRuling::Again { id, digest } = &letter.content else {
        return Ok(());
    };
    let first = entries
        .iter()
        .rev()
        .map(|entry| &entry.record)
        .find(|record| {
            record.kind() == EventKind::Accepted
                && record.from() == Some(&letter.agent)
                && record.id() == Some(&**id)
        });
    letter.content = MessageRuling::Duplicate {
        of: first.ok_or_else(not_found)?.seq,
        id: id.clone(),
        digest: *digest,
    };
    Ok(())
}

/// The earlier message could not be staged, so the later one also waits for the next batch.
fn not_found() -> Error {
    Error::busy(
        "an earlier message with the same id waits",
        "it is tried again",
    )
}

fn group(via: RecipientRule, agents: Vec<Arc<str>>) -> Vec<RecipientGroup> {
    vec![RecipientGroup {
        via: via.as_str().into(),
        agents,
    }]
}
