//! Steps 5 and 6: judges each message against the state, with its recipients, and applies its record before the next
//! message is judged.

use super::ack::AckRoom;
use super::batch_message::{BatchMessage, CheckedContent, MessageRejection, MessageRuling};
use super::check::CheckedMessages;
use super::stage::{BatchStage, StagedBatch};
use super::streams::check_next;
use super::{ack, compose, unreached};
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
use crate::message::id::{HUMAN, tag_of};
use crate::message::record::{Facts, RecipientGroup, RouterAction};
use crate::message::schema::{self, ParsedFile};
use crate::message::{Message, TypeSenders, behaviour};
use crate::room::resolve::{self, Recipient, UnknownAvailability};
use crate::room::sessions::SessionCalls;
use crate::router::FailedBatch;
use crate::router::parts::{
    AgentRename, DeadlineOf, DueDeadlines, MailIntake, NoticeQueue, NoticeText, PendingWork,
    WaitingMail,
};
use crate::router::seam::{Cx, Draft};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::Arc;

/// The parts of the router that steps 5 and 6 use.
pub(in crate::router) struct JudgeStep<'a> {
    pub(in crate::router) stage: BatchStage<'a>,
    pub(in crate::router) intake: &'a mut MailIntake,
    pub(in crate::router) notices: &'a mut NoticeQueue,
    pub(in crate::router) pending: &'a mut PendingWork,
    pub(in crate::router) deadlines: &'a mut DueDeadlines,
}

impl JudgeStep<'_> {
    /// Resolves the recipients once: an agent that joins later does not get the message. Notices join the batch here.
    pub(in crate::router) fn run(
        self,
        checked: CheckedMessages,
    ) -> Result<StagedBatch, FailedBatch> {
        let letters = checked.into_inner();
        let mut judge = self.begin();
        judge.senders = letters.iter().map(|letter| letter.agent.clone()).collect();
        if judge.deadlines.is_due(judge.state()) {
            judge.record_due()?;
        }
        let mut letters = letters.into_iter().peekable();
        while let Some(letter) = letters.next() {
            let claim = letter.claim.clone();
            let judged = judge.judge(letter);
            judged.map_err(|e| FailedBatch::of_claim(claim.as_deref(), e))?;
            // The records of a file's lines are consecutive.
            if letters.peek().is_none_or(|next| next.claim != claim) {
                judge.follow_up()?;
            }
        }
        judge.senders.clear();
        if judge.deadlines.is_due(judge.state()) {
            judge.record_due()?;
            if judge.intake.is_idle() {
                judge.deadlines.delay_notices();
            }
        }
        for notice in judge.notices.take() {
            judge.record(notice.letter(Facts::default()))?;
        }
        Ok(judge.stage.finish()?)
    }

    /// The batch that renames agents.
    pub(in crate::router) fn rename(
        self,
        renames: &[AgentRename],
    ) -> Result<StagedBatch, FailedBatch> {
        let mut judge = self.begin();
        judge.has_new_facts = true;
        for rename in renames {
            let (of, to) = rename;
            let twice = received_twice(judge.stage.config.dir(), judge.state(), of, to)?;
            let facts = Facts::rename(of.clone(), to.clone(), twice);
            judge.record(rename_notice(rename).letter(facts))?;
        }
        judge.follow_up()?;
        Ok(judge.stage.finish()?)
    }
}

impl<'a> JudgeStep<'a> {
    fn begin(self) -> MessageJudge<'a> {
        MessageJudge {
            calls: SessionCalls::of(self.stage.config.dir()),
            stage: self.stage,
            intake: self.intake,
            notices: self.notices,
            pending: self.pending,
            deadlines: self.deadlines,
            senders: HashSet::new(),
            follow_ups: Vec::new(),
            has_new_facts: false,
        }
    }
}

/// The notice of a renamed agent.
fn rename_notice((of, to): &AgentRename) -> NoticeText {
    NoticeText {
        kind: "notification",
        about: format!("renamed {of} {to}"),
        to: Vec::new(),
        subject: format!("{of} is {to} now"),
        body: format!(
            "{to} has the unread mail and the claims of {of}, and {of} is an alias of {to}."
        ),
        more: Map::new(),
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
    intake: &'a mut MailIntake,
    notices: &'a mut NoticeQueue,
    pending: &'a PendingWork,
    deadlines: &'a mut DueDeadlines,
    /// The senders of the batch, until all its messages are judged.
    senders: HashSet<Arc<str>>,
    /// Records that follow from the present file.
    follow_ups: Vec<BatchMessage<MessageRuling>>,
    /// Whether the present file changes facts of features.
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

    fn cx(&self) -> Cx<'_> {
        Cx::new(self.stage.config, self.stage.journal, &self.calls)
    }

    /// Records a notice.
    fn record(&mut self, letter: BatchMessage<MessageRuling>) -> Result<(), FailedBatch> {
        let about = letter.content.about().map(str::to_owned);
        let recorded = self.stage.record(letter);
        recorded.map_err(|e| FailedBatch::of_notice(about.as_deref(), e))
    }

    /// Records the notices of features that are due, until no more can be recorded now.
    fn record_due(&mut self) -> Result<(), FailedBatch> {
        let mut recorded = HashSet::new();
        loop {
            let cx = Cx::new(self.stage.config, self.stage.journal, &self.calls);
            let due = self.deadlines.ask(cx, self.intake);
            let before = recorded.len();
            for one in due {
                let of = DeadlineOf::Notice(one.notice.about.clone());
                let mail = WaitingMail {
                    intake: self.intake,
                    pending: self.pending,
                    batch: &self.senders,
                };
                if self.deadlines.is_ready(&of, &mail) && recorded.insert(of) {
                    self.record(one.notice.letter(one.facts))?;
                }
            }
            if recorded.len() == before {
                return Ok(());
            }
        }
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

    /// Records the consequences of a file after its last line.
    fn follow_up(&mut self) -> Result<(), FailedBatch> {
        for letter in std::mem::take(&mut self.follow_ups) {
            self.has_new_facts |= letter.content.changes_facts();
            self.record(letter)?;
        }
        if std::mem::take(&mut self.has_new_facts) {
            self.record_due()?;
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

    /// Determines the recipients of a new message, and lets each feature judge it.
    fn accept(
        &mut self,
        letter: &BatchMessage<()>,
        message: Box<Message>,
        digest: Hash,
    ) -> Result<MessageRuling> {
        let cx = self.cx();
        let availability = &mut cx.availability();
        let resolved =
            resolve::resolve_message(cx.registry(), &letter.agent, &message, availability)
                .and_then(|resolved| check_sender(&letter.agent, &message).map(|()| resolved));
        let resolved = match resolved {
            Ok(resolved) => resolved,
            Err(problems) => return Ok(reject(&message, problems)),
        };
        let act = if message.kind() == "ack" {
            let room = AckRoom {
                log: &cx.log(),
                state: cx.state(),
                registry: cx.registry(),
            };
            match ack::judge(&room, &letter.agent, &message)? {
                Ok(receipts) => Some(RouterAction::Ack(receipts)),
                Err(problems) => return Ok(reject(&message, problems)),
            }
        } else {
            compose::act(&message)
        };
        let mut draft = Draft {
            message,
            from: letter.agent.clone(),
            claim: letter.claim.clone(),
            to: groups(resolved.recipients),
            act,
            facts: Facts::default(),
            delivery: Map::new(),
            notices: Vec::new(),
        };
        for feature in features::ALL {
            if let Err(problems) = feature.judge(cx, &mut draft)? {
                return Ok(reject(&draft.message, problems));
            }
        }
        for feature in features::ALL {
            feature.complete(cx, &mut draft);
        }
        let unreached = unreached::notice(letter, &draft.message, &draft.to, &resolved.unreached);
        draft.notices.extend(unreached);
        let notices = std::mem::take(&mut draft.notices);
        for notice in notices {
            self.follow_ups.push(notice.letter(Facts::default()));
        }
        Ok(MessageRuling::Accept {
            draft: Box::new(draft),
            digest,
        })
    }
}

/// Rejects a type that only the human may send.
fn check_sender(from: &str, message: &Message) -> Result<(), Vec<Problem>> {
    let kind = message.kind();
    let is_for_human = behaviour(kind).senders == TypeSenders::Human;
    if !is_for_human || from == HUMAN || tag_of(from).is_some() {
        return Ok(());
    }
    let what = format!("only the human can send messages of the type {kind}");
    let problem = Problem::new("not_yours", what).at("/type");
    Err(vec![problem.fix("ask the human: a question, to human")])
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
