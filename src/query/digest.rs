//! The digest of a time: what was decided and reached, what is open, who owns what, and how much mail there was.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::layout;
use crate::log::find;
use crate::log::lookup::LoggedMessage;
use crate::log::state::approvals::Approval;
use crate::log::state::{self, State, Timed};
use crate::log::{self, Line};
use crate::message::envelope::Envelope;
use crate::message::id;
use crate::message::record::{Act, Event, Record};
use crate::message::reference::{Fit, Reference};
use crate::room::Room;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// What happened since a time.
#[derive(Debug, Serialize)]
pub struct Digest {
    /// The room's directory.
    pub room: String,
    /// The beginning of the time.
    pub since: String,
    /// Its end: now.
    pub until: String,
    /// Decisions.
    pub decisions: Part<Happened>,
    /// Milestones.
    pub milestones: Part<Happened>,
    /// Escalations, and claims that ended against their owner's will.
    pub escalations: Part<Happened>,
    /// Questions without an answer, from any time.
    pub questions: Part<Question>,
    /// Who owns what now.
    pub owners: Part<Owned>,
    /// Rejected messages.
    pub rejected: Part<Rejected>,
    /// How many messages each agent sent and got; those with the most messages first.
    pub agents: Part<Counts>,
}

/// A list that shows only so many.
#[derive(Debug, Serialize)]
pub struct Part<T> {
    /// The newest ones; of claims and agents, the first ones.
    pub items: VecDeque<T>,
    /// The number of the others.
    pub more: usize,
}

impl<T> Default for Part<T> {
    fn default() -> Part<T> {
        Part { items: VecDeque::new(), more: 0 }
    }
}

impl<T> Part<T> {
    fn push(&mut self, item: T) {
        self.items.push_back(item);
        if self.items.len() > limits::DIGEST {
            self.items.pop_front();
            self.more += 1;
        }
    }

    fn first(all: impl IntoIterator<Item = T>) -> Part<T> {
        let mut all = all.into_iter();
        Part { items: all.by_ref().take(limits::DIGEST).collect(), more: all.count() }
    }
}

/// An event.
#[derive(Debug, Serialize)]
pub struct Happened {
    /// The number of its record.
    pub seq: u64,
    /// Its time.
    pub at: String,
    /// The agent; `mailbag` for the router.
    pub actor: String,
    /// Its type.
    pub event_type: String,
    /// Its text.
    pub text: String,
}

/// A question without an answer.
#[derive(Debug, Serialize)]
pub struct Question {
    /// The number of its record.
    pub seq: u64,
    /// When it was asked.
    pub at: String,
    /// The agent that asks.
    pub from: String,
    /// The agents that have not answered.
    pub of: Vec<String>,
    /// Its message, as `<sender>/<id>`.
    pub name: String,
    /// Its subject, or the first line of its body.
    pub text: String,
}

/// A subject with its owner.
#[derive(Debug, Serialize)]
pub struct Owned {
    /// The subject.
    pub subject: String,
    /// The owner.
    pub owner: String,
    /// The time of the grant.
    pub since: String,
    /// The purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A rejected message.
#[derive(Debug, Serialize)]
pub struct Rejected {
    /// The number of its record.
    pub seq: u64,
    /// Its time.
    pub at: String,
    /// The sender.
    pub from: String,
    /// The first problem.
    pub problem: String,
}

/// The mail of one agent.
#[derive(Debug, Default, Serialize)]
pub struct Counts {
    /// Its id.
    pub agent: String,
    /// Accepted messages.
    pub sent: u64,
    /// Copies that it got.
    pub received: u64,
    /// Rejected messages.
    pub rejected: u64,
}

/// The digest from a time on.
pub fn digest(room: &Room, since: Stamp) -> Result<Digest> {
    let state = state::committed(&room.dir)?;
    let mut found = Found::default();
    let from = find::since(&room.dir, since)?;
    for entry in log::lines(&room.dir, from)?.records() {
        found.record(entry?);
    }
    let mut questions: BTreeMap<u64, Question> = found.asked;
    for timed in state.timers.iter() {
        if !questions.contains_key(&timed.seq)
            && let Some(question) = question(room, timed)?
        {
            questions.insert(timed.seq, question);
        }
    }
    for open in state.approvals.open() {
        questions.insert(open.seq, approval(open));
    }
    let mut open = Part::default();
    questions.into_values().for_each(|question| open.push(question));
    let mut agents: Vec<Counts> = found.counts.into_values().collect();
    agents.sort_by_key(|one| std::cmp::Reverse(one.sent + one.received + one.rejected));
    Ok(Digest {
        room: room.dir.path().display().to_string(),
        since: since.to_string(),
        until: Stamp::now().to_string(),
        decisions: found.decisions,
        milestones: found.milestones,
        escalations: found.escalations,
        questions: open,
        owners: Part::first(owned(&state)),
        rejected: found.rejected,
        agents: Part::first(agents),
    })
}

/// What the records of the time say.
#[derive(Default)]
struct Found {
    decisions: Part<Happened>,
    milestones: Part<Happened>,
    escalations: Part<Happened>,
    rejected: Part<Rejected>,
    counts: BTreeMap<Arc<str>, Counts>,
    /// Questions of the time without an answer. The deadlines have the older ones.
    asked: BTreeMap<u64, Question>,
    /// These by their ids.
    ids: HashMap<String, Vec<u64>>,
}

impl Found {
    fn record(&mut self, (line, record): (Line, Record)) {
        let from = record.from.clone().unwrap_or_else(|| id::MAILBAG.into());
        match record.event {
            Event::Accepted => {
                self.of(&from).sent += 1;
                record.recipients().for_each(|(agent, _)| self.of(agent).received += 1);
            }
            Event::Rejected => {
                let claim = record.claim.as_deref().and_then(layout::read_claim);
                let from: Arc<str> = claim.map_or(from.clone(), |claim| claim.agent.into());
                self.of(&from).rejected += 1;
                let problem = record.problems.first().map(|problem| problem.what.clone()).unwrap_or_default();
                let (seq, at) = (record.seq, record.at.clone());
                self.rejected.push(Rejected { seq, at, from: from.to_string(), problem });
            }
            _ => {}
        }
        self.ask_and_answer(&line, &record, &from);
        let Some(event) = Envelope::of(&record) else { return };
        let part = match () {
            () if event.is_decision() => &mut self.decisions,
            () if event.is_milestone() => &mut self.milestones,
            () if event.is_escalation() => &mut self.escalations,
            () => return,
        };
        let text = event.text();
        let Envelope { seq, at, kind: event_type, actor, .. } = event;
        part.push(Happened { seq, at, actor, event_type, text });
    }

    fn ask_and_answer(&mut self, line: &Line, record: &Record, from: &str) {
        if let Some(Act::Ack(receipts)) = &record.act {
            for receipt in receipts.iter().filter(|receipt| receipt.status.is_closed()) {
                receipt.seqs.iter().for_each(|seq| self.answered(*seq, &receipt.agent));
            }
        }
        let Some(said) = LoggedMessage::read(&line.bytes).filter(|_| record.event == Event::Accepted) else { return };
        if let Some(reference) = said.in_reply_to.as_deref().and_then(Reference::parse) {
            let by_id = reference.id().and_then(|id| self.ids.get(id)).into_iter().flatten().copied();
            let fits = |asked: &Question| {
                let (sender, id) = asked.name.split_once('/').unwrap_or_default();
                reference.fit(sender, id, Some(asked.seq)) == Some(Fit::Whole)
            };
            let meant: Vec<u64> =
                by_id.chain(reference.seq()).filter(|seq| self.asked.get(seq).is_some_and(fits)).collect();
            meant.into_iter().for_each(|seq| self.answered(seq, from));
        }
        if said.requires_response && !record.to.is_empty() {
            let of = said.recipients.iter().map(ToString::to_string).collect();
            self.ids.entry(said.id.clone()).or_default().push(said.seq);
            self.asked.insert(said.seq, asked_of(said, of));
        }
    }

    fn answered(&mut self, seq: u64, by: &str) {
        let Some(asked) = self.asked.get_mut(&seq) else { return };
        asked.of.retain(|of| of != by);
        if asked.of.is_empty() {
            self.asked.remove(&seq);
        }
    }

    fn of(&mut self, agent: &Arc<str>) -> &mut Counts {
        let counts = || Counts { agent: agent.to_string(), ..Counts::default() };
        self.counts.entry(agent.clone()).or_insert_with(counts)
    }
}

/// The question of a message with a deadline. `None` if no answer is missing.
fn question(room: &Room, timed: &Timed) -> Result<Option<Question>> {
    let Some(wanted) = timed.wanted.as_ref().filter(|wanted| wanted.answer) else { return Ok(None) };
    let of = wanted.of.iter().map(ToString::to_string).collect();
    let line = log::read_one(&room.dir, timed.place)?;
    Ok(line.and_then(|line| LoggedMessage::read(&line.bytes)).map(|asked| asked_of(asked, of)))
}

fn approval(open: &Approval) -> Question {
    let of = open.to.iter().map(ToString::to_string).collect();
    let (at, from) = (Stamp::from_micros(open.since).to_string(), open.from.to_string());
    Question { seq: open.seq, at, from, of, name: open.approval.clone(), text: open.terms.title.clone() }
}

fn asked_of(asked: LoggedMessage, of: Vec<String>) -> Question {
    let name = asked.name();
    let text = asked.subject.or(asked.preview).unwrap_or_default();
    Question { seq: asked.seq, at: asked.accepted_at, from: asked.from.to_string(), of, name, text }
}

fn owned(state: &State) -> impl Iterator<Item = Owned> {
    state.claims.held().iter().map(|held| Owned {
        subject: held.subject.to_string(),
        owner: held.owner.to_string(),
        since: Stamp::from_micros(held.since).to_string(),
        why: held.why.clone(),
    })
}
