//! Step 6: applies each judged record to the state, with its number and time, and writes a file for each recipient.

use super::batch_message::{BatchMessage, MessageRejection, MessageRuling, SourceLine};
use super::compose;
use super::numbering::HeldReceipts;
use crate::base::clock::Stamp;
use crate::base::error::{Error, Problem, Result};
use crate::disk::layout;
use crate::log::state::RoomState;
use crate::message::copy::MessageCopies;
use crate::message::record::{
    self, AcceptedMessage, DuplicateMessage, Event, EventKind, FileRejection, MessageHead,
    MessageName, MessageOrigin, MessageTimes, RecipientGroup, Record,
};
use crate::message::status::Receipt;
use crate::message::{Message, id};
use crate::room::resolve::RecipientRule;
use crate::router::parts::{
    DeliveryProgress, Journal, LinkAcknowledgements, ObservedReceipts, RoomConfig, RouterStorage,
};
use crate::router::projections::ProjectedMessage;
use crate::router::seam::Draft;
use std::sync::Arc;

/// Step 6: the records of the batch are applied, and copies and explanations are in `spool/stage`.
#[must_use]
#[derive(Default)]
pub(in crate::router) struct StagedBatch {
    /// The records with files to move.
    pub(super) seqs: Vec<u64>,
    pub(super) accepted: Vec<ProjectedMessage>,
    /// The files that the records name.
    pub(super) claims: Vec<String>,
    /// The subjects of the notices.
    pub(super) abouts: Vec<String>,
    /// The records that the batch settles.
    pub(super) settled: Vec<(u64, u64)>,
    /// Whether it settles changes of the registry.
    pub(super) settles_registry: bool,
}

/// The batch that is being judged, and the parts of the router that it changes.
pub(in crate::router) struct BatchStage<'a> {
    pub(in crate::router) config: &'a mut RoomConfig,
    pub(in crate::router) storage: &'a mut RouterStorage,
    pub(in crate::router) journal: &'a mut Journal,
    pub(in crate::router) progress: &'a DeliveryProgress,
    pub(in crate::router) receipts: &'a ObservedReceipts,
    pub(in crate::router) links: &'a LinkAcknowledgements,
    pub(in crate::router) batch: OpenStage,
}

/// The part of a batch that is staged so far.
#[derive(Default)]
pub(in crate::router) struct OpenStage {
    staged: StagedBatch,
    /// Receipts for further records.
    receipts: Vec<Vec<Receipt>>,
    /// Receipts for other rooms.
    held: HeldReceipts,
    /// Whether a record has the receipts and the settled records.
    has_changes: bool,
}

/// A record with its message.
struct JudgedRecord {
    record: Record,
    at: Stamp,
    /// The checked message, if the record accepts one.
    message: Option<Box<Message>>,
}

impl BatchStage<'_> {
    /// The state after the last record of the batch.
    pub(super) fn state(&self) -> &RoomState {
        self.journal.state()
    }

    /// Applies a judged message to the state, and writes a file for each recipient.
    ///
    /// S2 → S3: staged = +stage
    pub(super) fn record(&mut self, letter: BatchMessage<MessageRuling>) -> Result<()> {
        if !self.journal.has_records() {
            self.begin()?;
        }
        let (mut letter, ruling) = letter.split();
        let mut judged = self.begin_record(Event::Receipts { origin: None });
        let event = &mut judged.record.event;
        match ruling {
            MessageRuling::Duplicate { of, id, digest } => {
                let origin = take_origin(&mut letter)?;
                let name = MessageName {
                    from: letter.agent,
                    id,
                    digest,
                };
                *event = Event::Duplicate(Box::new(DuplicateMessage { origin, name, of }));
            }
            MessageRuling::Receipts => {
                *event = Event::Receipts {
                    origin: Some(Box::new(take_origin(&mut letter)?)),
                };
            }
            MessageRuling::Accept { draft, digest } => {
                let Draft {
                    message,
                    to,
                    act,
                    facts,
                    delivery,
                    ..
                } = *draft;
                let (name, text) = compose::recorded(&message, digest);
                if let Some(act) = &act {
                    self.config.follow(&name.from, act);
                }
                let accepted = AcceptedMessage {
                    origin: take_origin(&mut letter)?,
                    name,
                    times: self.times_of(&message, &to, judged.record.time(judged.at)),
                    to,
                    act,
                    delivery,
                    message: text,
                };
                judged.record.facts = facts;
                judged.record.event = Event::Accepted(Box::new(accepted));
                self.stage_copies(&judged.record, &message)?;
                judged.message = Some(message);
            }
            MessageRuling::Notice {
                about,
                message,
                to,
                facts,
            } => {
                let is_far = to.iter().any(|agent| id::tag_of(agent).is_some());
                let (name, text) = compose::recorded(&message, message.digest());
                let rule = if is_far {
                    RecipientRule::Link
                } else {
                    RecipientRule::Router
                };
                *event = Event::Notice(Box::new(record::RouterNotice {
                    name,
                    about,
                    to: group(rule, to),
                    message: text,
                }));
                judged.record.facts = *facts;
                self.stage_copies(&judged.record, &message)?;
            }
            MessageRuling::Reject(rejection) => {
                self.stage_rejection(&mut judged, &mut letter, rejection)?
            }
        }
        self.add(judged)
    }

    /// The batch with everything that waited for its end.
    pub(super) fn finish(mut self) -> Result<StagedBatch> {
        if !self.journal.has_records() {
            return Ok(StagedBatch::default());
        }
        for receipts in std::mem::take(&mut self.batch.receipts) {
            let mut judged = self.begin_record(Event::Receipts { origin: None });
            judged.record.receipts = receipts;
            self.add(judged)?;
        }
        if !self.batch.held.is_empty() {
            let mut judged = self.begin_record(Event::Receipts { origin: None });
            let held = &mut self.batch.held;
            held.flush(self.journal.state(), &mut judged.record);
            self.add(judged)?;
        }
        Ok(self.batch.staged)
    }

    /// A batch without messages, for settled records and receipts.
    pub(in crate::router) fn settle(mut self) -> Result<StagedBatch> {
        self.begin()?;
        if !self.batch.has_changes {
            let judged = self.begin_record(Event::Receipts { origin: None });
            self.add(judged)?;
        }
        self.finish()
    }

    /// The records at the start of a batch.
    fn begin(&mut self) -> Result<()> {
        let room = self.journal.check_room(self.config.room())?;
        if self.state().seq == 0 {
            let judged = self.begin_record(Event::Room { room });
            self.add(judged)?;
        }
        if self.progress.has_open_changes() {
            let judged = self.begin_record(Event::Settled {});
            self.add(judged)?;
        }
        Ok(())
    }

    fn begin_record(&self, event: Event) -> JudgedRecord {
        let (record, at) = self.journal.begin_record(event);
        JudgedRecord {
            record,
            at,
            message: None,
        }
    }

    /// Applies a record to the state. The first one also has the settled records and the receipts, so that messages
    /// have consecutive numbers.
    fn add(&mut self, judged: JudgedRecord) -> Result<()> {
        let JudgedRecord {
            mut record,
            at,
            message,
        } = judged;
        let OpenStage {
            staged,
            receipts,
            held,
            has_changes,
        } = &mut self.batch;
        if record.kind() != EventKind::Room && !std::mem::replace(has_changes, true) {
            staged.settled = self.progress.to_settle();
            *receipts = self.receipts.stage(self.config.dir(), self.storage);
            record.settled.clone_from(&staged.settled);
            record.receipts = if receipts.is_empty() {
                Vec::new()
            } else {
                receipts.remove(0)
            };
            record.acked = self.links.stage();
        }
        let is_far = |(agent, _): (&Arc<str>, &str)| id::tag_of(agent).is_some();
        let parsed = if message.is_none() && record.recipients().any(is_far) {
            record.message_fields()
        } else {
            None
        };
        let fields = message.as_ref().map(|message| message.fields());
        held.number(
            self.journal.state(),
            &mut record,
            fields.or(parsed.as_ref()),
        );
        staged.claims.extend(record.claim().map(str::to_owned));
        staged.abouts.extend(record.about().map(str::to_owned));
        match record.kind() {
            EventKind::Settled => staged.settles_registry = true,
            EventKind::Room => {}
            EventKind::Receipts if record.claim().is_none() => {}
            _ => staged.seqs.push(record.seq),
        }
        let (seq, time) = (record.seq, record.at.clone());
        self.journal.add(record, at, message.as_deref())?;
        staged
            .accepted
            .extend(message.map(|message| ProjectedMessage {
                seq,
                at: time,
                message,
            }));
        Ok(())
    }

    /// The times of an accepted message. They depend on the settings at this time.
    fn times_of(&self, message: &Message, to: &[RecipientGroup], time: Stamp) -> MessageTimes {
        let mut times = MessageTimes::default();
        if to.is_empty() || message.kind() == "ack" {
            return times;
        }
        if self.config.settings().budget.replies > 0 {
            let head = MessageHead::of(message);
            let talks = &self.state().talks;
            let after = talks.announce_after(message.from(), to, &head, time);
            times.announce_after = after.map(|at| at.to_string());
        }
        let expires = message.text("expires_at").and_then(Stamp::parse);
        times.expires_at = expires.map(|at| at.to_string());
        times
    }

    fn stage_rejection(
        &mut self,
        judged: &mut JudgedRecord,
        letter: &mut BatchMessage<()>,
        rejection: MessageRejection,
    ) -> Result<()> {
        let origin = take_origin(letter)?;
        if let Some(arrived) = &origin.arrived {
            let tag = arrived.link.clone();
            judged.record.event = self.reject_item(origin, &tag, &letter.agent, rejection);
            return Ok(());
        }
        let BatchMessage {
            agent,
            original,
            source,
            ..
        } = letter;
        let seq = judged.record.seq;
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
            compose::explanation(agent, original, source, seq, judged.at, &rejection.problems);
        let staged = layout::staged_explanation(seq, number);
        self.storage.stage(&staged, &explanation)?;
        let to = if self.config.registry().has_active(agent) && !rejection.ack {
            group(RecipientRule::Router, vec![agent.clone()])
        } else {
            Vec::new()
        };
        judged.record.event = rejected(origin, &bounce, to, rejection.problems);
        self.stage_copies(&judged.record, &bounce)
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

    fn stage_copies(&mut self, record: &Record, message: &Message) -> Result<()> {
        let copies = MessageCopies::new(record, message);
        let claim = record
            .claim()
            .and_then(layout::read_claim)
            .map_or(0, |claim| claim.number);
        for (agent, via) in record.copies() {
            let staged = layout::staged(record.seq, claim, agent);
            self.storage.stage(&staged, &copies.copy(agent, via))?;
        }
        Ok(())
    }
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
        arrived: letter.arrival.take().map(|arrival| arrival.arrived),
    })
}

/// A message without a file has no origin.
fn not_found() -> Error {
    Error::busy("a message has no file", "it is tried again")
}

fn group(via: RecipientRule, agents: Vec<Arc<str>>) -> Vec<RecipientGroup> {
    vec![RecipientGroup {
        via: via.as_str().into(),
        agents,
    }]
}
