//! Steps 5 and 6: judges each message against the state, with its recipients, and applies its record before the next
//! message is judged.

use super::ack::AckRoom;
use super::availability::AgentAvailability;
use super::batch_message::{BatchMessage, CheckedContent, MessageRejection, MessageRuling};
use super::check::{CheckedMessages, dropped_at};
use super::decisions::{ApprovalJudge, DroppedMessage};
use super::disputes::DisputeJudge;
use super::enclose::enclose;
use super::owners::{self, ClaimJudge};
use super::stage::{BatchStage, StagedBatch};
use super::streams::check_next;
use super::waiting::add_waiting;
use super::{ack, border, compose, link_changes, unreached};
use crate::base::clock::Stamp;
use crate::base::error::{Problem, Result};
use crate::base::hash::Hash;
use crate::base::limits;
use crate::disk::Dir;
use crate::disk::layout;
use crate::features;
use crate::log::find;
use crate::log::lookup::{self, Viewer};
use crate::log::state::IndexedLog;
use crate::log::state::RoomState;
use crate::message::record::{RecipientGroup, RouterAction};
use crate::message::schema::{self, ParsedFile};
use crate::message::subject::ComparisonBudget;
use crate::message::{LINK, Message};
use crate::room::resolve::{self, Recipient, UnknownAvailability};
use crate::room::sessions::SessionCalls;
use crate::router::FailedBatch;
use crate::router::parts::{
    AgentRename, DeadlineOf, DueDeadlines, MailIntake, NextClaimReview, NoticeQueue, NoticeText,
    PendingWork, WaitingMail,
};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;

/// The parts of the router that steps 5 and 6 use.
pub(in crate::router) struct JudgeStep<'a> {
    pub(in crate::router) stage: BatchStage<'a>,
    pub(in crate::router) intake: &'a mut MailIntake,
    pub(in crate::router) notices: &'a mut NoticeQueue,
    pub(in crate::router) pending: &'a mut PendingWork,
    pub(in crate::router) leases: &'a mut NextClaimReview,
    pub(in crate::router) deadlines: &'a mut DueDeadlines,
}

impl JudgeStep<'_> {
    /// Resolves the recipients once: an agent that joins later does not get the message. Notices join the batch here.
    pub(in crate::router) fn run(
        self,
        checked: CheckedMessages,
    ) -> Result<StagedBatch, FailedBatch> {
        let JudgeStep {
            stage,
            intake,
            notices,
            pending,
            leases,
            deadlines,
        } = self;
        let letters = checked.into_inner();
        let mut judge = MessageJudge {
            calls: SessionCalls::of(stage.config.dir()),
            stage,
            follow_ups: Vec::new(),
            has_new_facts: false,
        };
        judge.review(leases, intake, &letters)?;
        let mut letters = letters.into_iter().peekable();
        while let Some(letter) = letters.next() {
            let claim = letter.claim.clone();
            let judged = judge.judge(letter);
            judged.map_err(|e| FailedBatch::of_claim(claim.as_deref(), e))?;
            // The records of a file's lines are consecutive.
            if letters.peek().is_none_or(|next| next.claim != claim) && judge.follow_up()? {
                leases.reviewed(Some(Stamp::now()));
            }
        }
        if deadlines.is_due(judge.state(), judge.stage.config) {
            let mail = WaitingMail { intake, pending };
            judge.expire(|seq| deadlines.is_ready(DeadlineOf::Decision(seq), &mail))?;
            deadlines.delay_decisions(intake);
        }
        for notice in notices.take() {
            judge.record(notice.letter())?;
        }
        Ok(judge.stage.finish()?)
    }

    /// The batch that renames agents. Claims that can be granted then are granted with it.
    pub(in crate::router) fn rename(
        self,
        renames: &[AgentRename],
    ) -> Result<StagedBatch, FailedBatch> {
        let mut judge = MessageJudge {
            calls: SessionCalls::of(self.stage.config.dir()),
            stage: self.stage,
            follow_ups: Vec::new(),
            has_new_facts: true,
        };
        for rename in renames {
            let (of, to) = rename;
            let twice = received_twice(judge.stage.config.dir(), judge.state(), of, to)?;
            let waiting = judge.claims().waiting_of(of, to);
            judge.record(owners::rename(rename, twice))?;
            let steps = ComparisonBudget::of_message();
            for one in waiting.into_iter().rev() {
                let Some(ended) = judge.claims().stop_circle(rename, one, &steps) else {
                    break;
                };
                judge.record(ended)?;
            }
        }
        judge.follow_up()?;
        Ok(judge.stage.finish()?)
    }
}

/// The records with an unread copy of one agent and any copy of another agent.
fn received_twice(room: &Dir, state: &RoomState, of: &str, to: &str) -> Result<Vec<u64>> {
    let mut twice = Vec::new();
    for (_, seq) in state.mailboxes.unread(of) {
        let Some(line) = find::by_seq(room, seq)? else {
            continue;
        };
        let Ok(record) = line.record() else {
            continue;
        };
        if record
            .copies()
            .any(|(agent, _)| **state.holder(agent, seq) == *to)
        {
            twice.push(seq);
        }
    }
    Ok(twice)
}

/// The content of a picked-up file.
fn read_claim(room: &Dir, claim: &str) -> Result<Option<Vec<u8>>> {
    room.sub(layout::CLAIM)?
        .read(claim, limits::MESSAGE_BYTES_MOST)
}

/// Judges the messages of one batch.
struct MessageJudge<'a> {
    stage: BatchStage<'a>,
    calls: SessionCalls,
    /// Notices that follow from the present file.
    follow_ups: Vec<BatchMessage<MessageRuling>>,
    /// Whether the present file changes the ownership of work or the open decisions.
    has_new_facts: bool,
}

impl MessageJudge<'_> {
    fn state(&self) -> &RoomState {
        self.stage.state()
    }

    /// The log with the records of this batch.
    fn log(&self) -> IndexedLog<'_> {
        self.stage.journal.indexed(self.stage.config.dir())
    }

    fn claims(&self) -> ClaimJudge<'_> {
        ClaimJudge::new(self.stage.config, self.state())
    }

    fn approvals(&self) -> ApprovalJudge<'_> {
        ApprovalJudge::new(self.stage.config, self.state())
    }

    fn disputes(&self) -> DisputeJudge<'_> {
        DisputeJudge::new(self.stage.config, self.state())
    }

    fn availability(&self) -> AgentAvailability<'_> {
        AgentAvailability {
            config: self.stage.config,
            state: self.state(),
            calls: &self.calls,
        }
    }

    /// Records a notice.
    fn record(&mut self, letter: BatchMessage<MessageRuling>) -> Result<(), FailedBatch> {
        let about = letter.content.about().map(str::to_owned);
        let recorded = self.stage.record(letter);
        recorded.map_err(|e| FailedBatch::of_notice(about.as_deref(), e))
    }

    /// Reviews the leases of claims if the review is due, or if a message of the batch depends on it. The notices of
    /// the review are first in the batch.
    fn review(
        &mut self,
        leases: &mut NextClaimReview,
        intake: &MailIntake,
        letters: &[BatchMessage<CheckedContent>],
    ) -> Result<(), FailedBatch> {
        let messages = letters
            .iter()
            .filter_map(|letter| Some(&letter.content.as_ref().ok()?.as_ref()?.0));
        if !leases.is_due(self.state())
            && !messages.clone().any(|message| message.is_about_claims())
        {
            return Ok(());
        }
        let waiting = self.state().claims.agents();
        let waiting = waiting.filter(|agent| intake.has_mail_of(std::slice::from_ref(*agent)));
        let active: HashSet<Arc<str>> = messages
            .map(|message| message.from().into())
            .chain(waiting.cloned())
            .collect();
        let (steps, next) = self.claims().review(&self.calls, &active);
        leases.reviewed(next);
        let changes = !steps.is_empty();
        for step in steps {
            if let Some(notice) = self.claims().notice_of(step) {
                self.record(notice)?;
            }
        }
        self.grant()?;
        if changes {
            leases.reviewed(Some(Stamp::now()));
        }
        Ok(())
    }

    /// Judges a message, and applies its record.
    fn judge(&mut self, letter: BatchMessage<CheckedContent>) -> Result<()> {
        let (letter, verdict) = letter.split();
        let mut ruling = self.rule(&letter, verdict)?;
        if let MessageRuling::Reject(rejection) = &mut ruling {
            self.correct(&letter, rejection);
        }
        self.has_new_facts |= ruling.changes_facts();
        self.stage.record(letter.with(ruling))
    }

    /// Records the consequences of a file after its last line. Returns true if claims or approvals have changed.
    fn follow_up(&mut self) -> Result<bool, FailedBatch> {
        let has_new_facts = std::mem::take(&mut self.has_new_facts);
        if has_new_facts {
            self.grant()?;
        }
        for letter in std::mem::take(&mut self.follow_ups) {
            self.record(letter)?;
        }
        if has_new_facts {
            self.pass_on_disputes()?;
        }
        Ok(has_new_facts)
    }

    /// Grants waiting claims.
    fn grant(&mut self) -> Result<(), FailedBatch> {
        let mut place = 0;
        while let Some((at, granted)) = self.claims().grant(place) {
            place = at;
            self.record(granted)?;
        }
        Ok(())
    }

    fn pass_on_disputes(&mut self) -> Result<(), FailedBatch> {
        for letter in self.disputes().pass_on(&mut self.availability()) {
            self.record(letter)?;
        }
        Ok(())
    }

    /// Applies the deadlines of decisions.
    fn expire(&mut self, is_ready: impl Fn(u64) -> bool) -> Result<(), FailedBatch> {
        for letter in self.approvals().expire(|one| is_ready(one.seq)) {
            self.record(letter)?;
        }
        self.pass_on_disputes()?;
        for letter in self.disputes().ask_human(|one| is_ready(one.seq)) {
            self.record(letter)?;
        }
        Ok(())
    }

    fn rule(
        &mut self,
        letter: &BatchMessage<()>,
        verdict: CheckedContent,
    ) -> Result<MessageRuling> {
        check_next(self.state(), letter.arrival.as_deref())?;
        let (message, digest) = match verdict {
            Ok(Some(checked)) => checked,
            Ok(None) => return Ok(MessageRuling::Receipts),
            Err(rejection) => return Ok(MessageRuling::Reject(rejection)),
        };
        match self.seen_before(&letter.agent, message.id(), &digest)? {
            Some(ruling) => Ok(ruling),
            None => self.accept(letter, message, digest),
        }
    }

    /// Corrects a rejected message, for its explanation. The other room has the file of a message that arrived by a link.
    fn correct(&self, letter: &BatchMessage<()>, rejection: &mut MessageRejection) {
        let registry = self.stage.config.registry();
        let is_local = letter.arrival.is_none();
        let bytes = match (&letter.source, &letter.claim) {
            (Some(line), _) => Some(line.text.clone()),
            (None, Some(claim)) if is_local => {
                read_claim(self.stage.config.dir(), claim).ok().flatten()
            }
            _ => None,
        };
        let sent = match schema::parse(&bytes.unwrap_or_default()) {
            ParsedFile::Value(value) => value,
            _ => Value::Null,
        };
        let name = registry
            .agent(&letter.agent)
            .and_then(|agent| agent.name.as_deref());
        let check = |value: Value| {
            let message = schema::check_as(value, &letter.agent, name.as_slice(), Stamp::now())?;
            let anyone = &mut UnknownAvailability;
            resolve::resolve_message(registry, &letter.agent, &message, anyone).map(drop)
        };
        let former = registry.former(&letter.agent);
        let viewer = Viewer::only(&letter.agent, former, self.state().renames.clone());
        let asker = |reference: &str| {
            let found = lookup::find(&self.log(), &viewer, &[reference.to_owned()]);
            let (asked, _) = found.ok()?.pop()?.ok()?;
            (asked.from != letter.agent).then(|| asked.from.to_string())
        };
        schema::keep_example(&mut rejection.problems, &sent, check, asker);
    }

    // Decides about a message with a (sender, id) pair that the log has: a duplicate if the content is the same, and
    // rejected otherwise. The ids of a segment that a person moved away are forgotten.
    fn seen_before(&self, agent: &str, id: &str, digest: &Hash) -> Result<Option<MessageRuling>> {
        for (_, record) in self.log().records_of(agent, id)? {
            let Some(name) = record.accepted().map(|accepted| &accepted.name) else {
                continue;
            };
            if name.digest == *digest {
                return Ok(Some(MessageRuling::Duplicate {
                    of: record.seq,
                    id: id.to_owned(),
                    digest: *digest,
                }));
            }
            let what = format!(
                "the id {id:?} was used before, by message {} of {}, with other content",
                record.seq, record.at
            );
            return Ok(Some(reused(what, id)));
        }
        Ok(None)
    }

    /// Determines the recipients and the effect of a new message.
    fn accept(
        &mut self,
        letter: &BatchMessage<()>,
        message: Box<Message>,
        digest: Hash,
    ) -> Result<MessageRuling> {
        let (agent, config) = (&letter.agent, &*self.stage.config);
        let mut missed = Vec::new();
        let to = self
            .check_by_features(&message)
            .and_then(|()| self.address(agent, &message, &mut missed))
            .and_then(|to| border::check(agent, &message, to));
        let mut to = match to {
            Ok(to) => to,
            Err(problems) => return Ok(reject(&message, problems)),
        };
        let enclosed = match enclose(config, &message, &to)? {
            Ok(enclosed) => enclosed,
            Err(problems) => return Ok(reject(&message, problems)),
        };
        let mut withdrawn = None;
        let act = if message.kind() == "ack" {
            let room = AckRoom {
                log: &self.log(),
                state: self.state(),
                registry: config.registry(),
            };
            match ack::judge(&room, agent, &message)? {
                Ok(receipts) => {
                    withdrawn = self.approvals().withdraw(agent, &receipts);
                    Some(RouterAction::Ack(receipts))
                }
                Err(problems) => return Ok(reject(&message, problems)),
            }
        } else {
            compose::act(&message)
        };
        let mut follow_ups = Vec::new();
        let effect = if message.kind() == LINK {
            let judged = link_changes::judge(config, self.stage.journal, &message)?;
            Some(judged.map(|changed| {
                follow_ups = changed.notices;
                changed.effect
            }))
        } else if message.is_about_claims() {
            Some(self.claims().judge(agent, &message, &mut to))
        } else if message.is_about_approvals() {
            let dropped = DroppedMessage {
                agent,
                message: &message,
                at: dropped_at(config, letter.claim.as_deref()),
            };
            Some(self.approvals().judge(&dropped, &mut to)?)
        } else if let Err(problem) =
            self.approvals()
                .check_option(agent, &message, self.disputes().thread_of(&message))
        {
            Some(Err(vec![*problem]))
        } else {
            add_waiting(config, self.state(), &message, &mut to);
            withdrawn
                .or_else(|| self.disputes().judge(agent, &message, &mut to))
                .map(Ok)
        };
        let effect = match effect.transpose() {
            Ok(effect) => effect,
            Err(problems) => return Ok(reject(&message, problems)),
        };
        follow_ups
            .extend(unreached::notice(letter, &message, &to, &missed).map(NoticeText::letter));
        self.follow_ups.extend(follow_ups);
        Ok(MessageRuling::Accept {
            message,
            digest,
            to,
            enclosed,
            act,
            effect: effect.map(Box::new),
        })
    }

    /// Checks a message by the rules of each feature.
    fn check_by_features(&self, message: &Message) -> Result<(), Vec<Problem>> {
        for feature in features::ALL {
            feature.judge(self.state(), message)?;
        }
        Ok(())
    }

    /// The recipients of a message. Adds the addresses that reach no agent.
    fn address(
        &self,
        agent: &str,
        message: &Message,
        missed: &mut Vec<Problem>,
    ) -> Result<Vec<RecipientGroup>, Vec<Problem>> {
        let registry = self.stage.config.registry();
        let resolved =
            resolve::resolve_message(registry, agent, message, &mut self.availability())?;
        *missed = resolved.unreached;
        Ok(groups(resolved.recipients))
    }
}

/// Rejects a message with an id that was used before for other content.
fn reused(what: String, id: &str) -> MessageRuling {
    let problem = Problem::new("id_reused", what)
        .at("/id")
        .fix("give each message its own id, or leave it out");
    MessageRuling::Reject(MessageRejection {
        problems: vec![problem],
        id: Some(id.to_owned()),
        ack: false,
    })
}

fn reject(message: &Message, problems: Vec<Problem>) -> MessageRuling {
    MessageRuling::Reject(MessageRejection {
        problems,
        id: Some(message.id().to_owned()),
        ack: message.kind() == "ack",
    })
}

fn groups(recipients: Vec<Recipient>) -> Vec<RecipientGroup> {
    let mut groups: Vec<RecipientGroup> = Vec::new();
    for Recipient { agent, via } in recipients {
        match groups
            .iter_mut()
            .rev()
            .find(|group| group.via == via.as_str())
        {
            Some(group) => group.agents.push(agent),
            None => groups.push(RecipientGroup {
                via: via.as_str().into(),
                agents: vec![agent],
            }),
        }
    }
    groups
}
