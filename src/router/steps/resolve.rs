//! Step 5: detects duplicates and resolves recipients.

use super::batch_availability::BatchAvailability;
use super::batch_message::{BatchMessage, CheckedContent, MessageRejection, MessageRuling};
use super::check::{CheckedMessages, dropped_at};
use super::decisions::{BatchApprovals, DroppedMessage};
use super::dependent::leave_dependent;
use super::disputes::BatchDisputes;
use super::enclose::enclose;
use super::ids::{self, BatchIds, EarlierUse};
use super::owners::BatchClaims;
use super::streams::JudgedStreams;
use super::waiting::WaitingReports;
use super::{ack, border, compose, link_changes, unreached};
use crate::base::clock::Stamp;
use crate::base::error::{Error, Problem, Result};
use crate::base::hash::Hash;
use crate::base::limits;
use crate::disk::Dir;
use crate::disk::layout;
use crate::features;
use crate::log::find;
use crate::log::lookup::{self, Viewer};
use crate::log::state::RoomState;
use crate::message::record::{RecipientGroup, RouterAction};
use crate::message::schema::{self, ParsedFile};
use crate::message::{LINK, Message};
use crate::room::resolve::{self, Recipient};
use crate::router::parts::{
    AgentRename, DeadlineOf, DueDeadlines, MailIntake, NextClaimReview, NoticeQueue, NoticeText,
    PendingWork, RoomConfig, UnrankedAvailability, WaitingMail, claim_item,
};
use crate::router::temporary;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Step 5: a decision about each message, with its recipients.
#[must_use]
pub(in crate::router) struct AddressedMessages(Vec<BatchMessage<MessageRuling>>);

/// The parts of the router that step 5 uses.
pub(in crate::router) struct ResolveStep<'a> {
    pub(in crate::router) config: &'a RoomConfig,
    pub(in crate::router) intake: &'a mut MailIntake,
    pub(in crate::router) state: &'a RoomState,
    pub(in crate::router) notices: &'a mut NoticeQueue,
    pub(in crate::router) pending: &'a mut PendingWork,
    pub(in crate::router) leases: &'a mut NextClaimReview,
    pub(in crate::router) deadlines: &'a mut DueDeadlines,
}

impl ResolveStep<'_> {
    /// Resolves the recipients once: an agent that joins later does not get the message. Notices join the batch here.
    pub(in crate::router) fn run(self, checked: CheckedMessages) -> Result<AddressedMessages> {
        let ResolveStep {
            config,
            intake,
            state,
            notices,
            pending,
            leases,
            deadlines,
        } = self;
        let mut letters = checked.into_inner();
        leave_dependent(&mut letters, intake, config, state);
        let mut judge = MessageJudge::new(config, state);
        let mut ruled = judge.review(leases, intake, &letters);
        let (mut failed, mut ids, mut granted) = (Vec::new(), BatchIds::default(), Vec::new());
        for letter in letters {
            // The records of a file's lines are consecutive.
            if ruled
                .last()
                .is_some_and(|last: &BatchMessage<MessageRuling>| last.claim != letter.claim)
            {
                ruled.append(&mut granted);
            }
            let (mut letter, verdict) = letter.split();
            match judge.rule(&mut ids, &mut letter, verdict) {
                Ok(Some(mut ruling)) => {
                    if let MessageRuling::Reject(rejection) = &mut ruling {
                        judge.correct(&letter, rejection);
                    }
                    let changes_facts = ruling.changes_facts();
                    ruled.push(letter.with(ruling));
                    if changes_facts {
                        granted.extend(judge.crowd.owners.grant());
                    }
                    granted.append(&mut judge.notices);
                    if changes_facts {
                        granted.extend(judge.disputes.pass_on(&mut judge.crowd));
                    }
                }
                // A second message with the same id waits until the first is in the log.
                Ok(None) => intake.queue_claims(letter.claim),
                Err(e) => failed.push((letter.claim, temporary(e)?)),
            }
        }
        ruled.append(&mut granted);
        intake.queue_claims(put_back(&mut ruled, &failed));
        for (claim, e) in failed {
            if let Some(claim) = claim {
                pending.failed(&claim_item(&claim), e.to_string());
            }
        }
        if judge.crowd.owners.has_changed() {
            leases.reviewed(Some(Stamp::now()));
        }
        if deadlines.is_due(state, config) {
            let mail = WaitingMail { intake, pending };
            let is_ready = |seq| deadlines.is_ready(DeadlineOf::Decision(seq), &mail);
            ruled.extend(judge.decisions.expire(|one| is_ready(one.seq)));
            ruled.extend(judge.disputes.pass_on(&mut judge.crowd));
            ruled.extend(judge.disputes.ask_human(|one| is_ready(one.seq)));
            deadlines.delay_decisions(intake);
        }
        ruled.extend(notices.take().into_iter().map(NoticeText::letter));
        Ok(AddressedMessages(ruled))
    }
}

/// The batch that renames agents. Claims that can be granted then are granted with it.
pub(in crate::router) fn rename(
    config: &RoomConfig,
    state: &RoomState,
    renames: &[AgentRename],
) -> Result<AddressedMessages> {
    let mut owners = BatchClaims::new(config, state);
    let mut letters = Vec::new();
    for (of, to) in renames {
        let twice = received_twice(config.dir(), state, of, to)?;
        letters.extend(owners.rename(of, to, twice));
    }
    letters.extend(owners.grant());
    Ok(AddressedMessages(letters))
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

/// Removes the lines of files that failed. If one of them changes facts, the later changes were judged after it and
/// are also removed. Returns their files, which are tried again.
fn put_back(
    ruled: &mut Vec<BatchMessage<MessageRuling>>,
    failed: &[(Option<String>, Error)],
) -> HashSet<String> {
    let failed: HashSet<_> = failed.iter().map(|(claim, _)| claim.clone()).collect();
    let first = ruled
        .iter()
        .position(|letter| letter.is_in_order() && failed.contains(&letter.claim));
    let later = ruled.split_off(first.unwrap_or(ruled.len()));
    let again: HashSet<String> = later
        .iter()
        .filter(|letter| letter.is_in_order() && !failed.contains(&letter.claim))
        .filter_map(|letter| letter.claim.clone())
        .collect();
    ruled.extend(later.into_iter().filter(|letter| !letter.is_in_order()));
    ruled.retain(|letter| {
        let claim = letter.claim.as_ref();
        !failed.contains(&letter.claim) && claim.is_none_or(|claim| !again.contains(claim))
    });
    again
}

impl AddressedMessages {
    pub(super) fn into_inner(self) -> Vec<BatchMessage<MessageRuling>> {
        self.0
    }
}

/// The content of a picked-up file.
fn read_claim(room: &Dir, claim: &str) -> Result<Option<Vec<u8>>> {
    room.sub(layout::CLAIM)?
        .read(claim, limits::MESSAGE_BYTES_MOST)
}

/// Decides about the messages of one batch.
struct MessageJudge<'a> {
    config: &'a RoomConfig,
    state: &'a RoomState,
    crowd: BatchAvailability<'a>,
    decisions: BatchApprovals<'a>,
    disputes: BatchDisputes<'a>,
    /// The statuses that acks of this batch have set.
    acks: ack::AckedStatuses,
    /// The positions in the streams of other rooms.
    streams: JudgedStreams,
    /// The channels of the messages of this batch.
    channels: BTreeSet<String>,
    /// Agents that wait for other agents.
    waiting: WaitingReports,
    /// Addresses of the last message that reach no agent.
    unreached: Vec<Problem>,
    /// Notices that follow from the last message.
    notices: Vec<BatchMessage<MessageRuling>>,
}

impl<'a> MessageJudge<'a> {
    fn new(config: &'a RoomConfig, state: &'a RoomState) -> MessageJudge<'a> {
        MessageJudge {
            config,
            state,
            crowd: BatchAvailability::new(config, state),
            decisions: BatchApprovals::new(config, state),
            disputes: BatchDisputes::new(config, state),
            acks: HashMap::new(),
            streams: JudgedStreams::default(),
            channels: BTreeSet::new(),
            unreached: Vec::new(),
            waiting: WaitingReports::default(),
            notices: Vec::new(),
        }
    }

    /// Reviews the leases of claims if the review is due, or if a message of the batch depends on it. The notices of
    /// the review are first in the batch.
    fn review(
        &mut self,
        leases: &mut NextClaimReview,
        intake: &MailIntake,
        letters: &[BatchMessage<CheckedContent>],
    ) -> Vec<BatchMessage<MessageRuling>> {
        let messages = letters
            .iter()
            .filter_map(|letter| Some(&letter.content.as_ref().ok()?.as_ref()?.0));
        if !leases.is_due(self.state) && !messages.clone().any(|message| message.is_about_claims())
        {
            return Vec::new();
        }
        let waiting = self.state.claims.agents();
        let waiting = waiting.filter(|agent| intake.has_mail_of(std::slice::from_ref(*agent)));
        let active = messages
            .map(|message| message.from().into())
            .chain(waiting.cloned())
            .collect();
        let (letters, next) = self.crowd.owners.review(&active);
        leases.reviewed(next);
        letters
    }

    /// Returns `None` if the claim must wait for the next batch.
    fn rule(
        &mut self,
        ids: &mut BatchIds,
        letter: &mut BatchMessage<()>,
        verdict: CheckedContent,
    ) -> Result<Option<MessageRuling>> {
        self.streams.take(self.state, letter.arrival.as_deref())?;
        let (message, digest) = match verdict {
            Ok(Some(checked)) => checked,
            Ok(None) => return Ok(Some(MessageRuling::Receipts)),
            Err(rejection) => return Ok(Some(MessageRuling::Reject(rejection))),
        };
        let ruling = match ids.meet(letter, message.id(), &digest) {
            EarlierUse::Before => return Ok(None),
            EarlierUse::Ruled(ruling) => ruling,
            EarlierUse::New => match self.seen_before(&letter.agent, message.id(), &digest)? {
                Some(ruling) => ruling,
                None => self.accept(letter, message, digest)?,
            },
        };
        let unreached = std::mem::take(&mut self.unreached);
        if let MessageRuling::Accept { message, to, .. } = &ruling {
            self.notices
                .extend(unreached::notice(letter, message, to, &unreached));
        }
        ids.ruled(letter, &ruling);
        Ok(Some(ruling))
    }

    /// Corrects a rejected message, for its explanation. The other room has the file of a message that arrived by a link.
    fn correct(&self, letter: &BatchMessage<()>, rejection: &mut MessageRejection) {
        let registry = self.config.registry();
        let is_local = letter.arrival.is_none();
        let bytes = match (&letter.source, &letter.claim) {
            (Some(line), _) => Some(line.text.clone()),
            (None, Some(claim)) if is_local => read_claim(self.config.dir(), claim).ok().flatten(),
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
            let anyone = &mut UnrankedAvailability;
            resolve::resolve_message(registry, &letter.agent, &message, anyone).map(drop)
        };
        let former = registry.former(&letter.agent);
        let viewer = Viewer::only(&letter.agent, former, self.state.renames.clone());
        let asker = |reference: &str| {
            let log = self.state.indexed(self.config.dir());
            let found = lookup::find(&log, &viewer, &[reference.to_owned()]);
            let (asked, _) = found.ok()?.pop()?.ok()?;
            (asked.from != letter.agent).then(|| asked.from.to_string())
        };
        schema::keep_example(&mut rejection.problems, &sent, check, asker);
    }

    // Decides about a message with a (sender, id) pair that the log has: a duplicate if the content is the same, and
    // rejected otherwise. The ids of a segment that a person moved away are forgotten.
    fn seen_before(&self, agent: &str, id: &str, digest: &Hash) -> Result<Option<MessageRuling>> {
        let log = self.state.indexed(self.config.dir());
        for (_, record) in log.records_of(agent, id)? {
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
            return Ok(Some(ids::reused(what, id)));
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
        let agent = &letter.agent;
        let to = self
            .check_by_features(&message)
            .and_then(|()| self.address(agent, &message))
            .and_then(|to| border::check(agent, &message, to));
        let mut to = match to {
            Ok(to) => to,
            Err(problems) => return Ok(reject(&message, problems)),
        };
        let enclosed = match enclose(self.config, &message, &to)? {
            Ok(enclosed) => enclosed,
            Err(problems) => return Ok(reject(&message, problems)),
        };
        let mut withdrawn = None;
        let act = if message.kind() == "ack" {
            let room = ack::AckRoom {
                dir: self.config.dir(),
                state: self.state,
                approvals: self.decisions.approvals(),
                registry: self.config.registry(),
            };
            match ack::judge(&room, agent, &message, &mut self.acks)? {
                Ok(receipts) => {
                    withdrawn = self.decisions.withdraw(agent, &message, &receipts);
                    Some(RouterAction::Ack(receipts))
                }
                Err(problems) => return Ok(reject(&message, problems)),
            }
        } else {
            compose::act(&message)
        };
        let effect = if message.kind() == LINK {
            Some(
                link_changes::judge(self.config, self.state, &message)?.map(|changed| {
                    self.notices.extend(
                        changed
                            .notices
                            .into_iter()
                            .map(|notice| notice.following(letter)),
                    );
                    changed.effect
                }),
            )
        } else if message.is_about_claims() {
            Some(self.crowd.owners.judge(agent, &message, &mut to))
        } else if message.is_about_approvals() {
            let at = dropped_at(self.config, letter.claim.as_deref());
            let judged = self.decisions.judge(
                &DroppedMessage {
                    agent,
                    message: &message,
                    at,
                },
                &mut to,
            )?;
            Some(judged)
        } else if let Err(problem) =
            self.decisions
                .check_option(agent, &message, self.disputes.thread_of(&message))
        {
            Some(Err(vec![*problem]))
        } else {
            self.waiting
                .judge(self.config, self.state, &message, &mut to);
            withdrawn
                .or_else(|| self.disputes.judge(agent, &message, &mut to))
                .map(Ok)
        };
        match effect.transpose() {
            Ok(effect) => Ok(MessageRuling::Accept {
                message,
                digest,
                to,
                enclosed,
                act,
                effect: effect.map(Box::new),
            }),
            Err(problems) => Ok(reject(&message, problems)),
        }
    }

    /// Checks a message by the rules of each feature.
    fn check_by_features(&mut self, message: &Message) -> Result<(), Vec<Problem>> {
        for feature in features::ALL {
            feature.judge(self.state, &self.channels, message)?;
        }
        if !message.is_for_router() {
            self.channels.insert(message.channel().to_owned());
        }
        Ok(())
    }

    fn address(
        &mut self,
        agent: &str,
        message: &Message,
    ) -> Result<Vec<RecipientGroup>, Vec<Problem>> {
        let resolved =
            resolve::resolve_message(self.config.registry(), agent, message, &mut self.crowd)?;
        self.unreached = resolved.unreached;
        Ok(groups(resolved.recipients))
    }
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
