//! The digest of a period: decisions, milestones, open questions, claims, and numbers of messages.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::disk::layout;
use crate::log;
use crate::log::find;
use crate::log::state::claims::OwnedClaim;
use crate::log::state::{self, OpenQuestion};
use crate::message::envelope::Envelope;
use crate::message::record::{EventKind, Record};
use crate::query::claims;
use crate::query::context::MessageSummary;
use crate::room::Room;
use crate::room::sessions::SessionCalls;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The most items in a part of the digest.
const DIGEST: usize = 100;

/// The digest from a time on.
#[derive(Debug, Serialize)]
pub struct LogDigest {
    /// The room's directory.
    pub room: String,
    /// The beginning of the time.
    pub since: String,
    /// Its end: now.
    pub until: String,
    /// Decisions.
    pub decisions: LimitedList<MessageSummary>,
    /// Milestones.
    pub milestones: LimitedList<MessageSummary>,
    /// Escalations, and claims that ended against their owner's will.
    pub escalations: LimitedList<MessageSummary>,
    /// Questions without an answer, from any time.
    pub questions: LimitedList<OpenQuestion>,
    /// The present claims.
    pub owners: LimitedList<OwnedClaim>,
    /// Rejected messages, each with its first problem.
    pub rejected: LimitedList<MessageSummary>,
    /// Numbers of sent and received messages by agent; the agent with the most messages first.
    pub agents: LimitedList<AgentMailCounts>,
}

/// A list with a limited number of items.
#[derive(Debug, Serialize)]
pub struct LimitedList<T> {
    /// The newest ones; of claims and agents, the first ones.
    pub items: VecDeque<T>,
    /// The number of the others.
    pub more: usize,
}

impl<T> Default for LimitedList<T> {
    fn default() -> LimitedList<T> {
        LimitedList {
            items: VecDeque::new(),
            more: 0,
        }
    }
}

impl<T> LimitedList<T> {
    fn push(&mut self, item: T) {
        self.items.push_back(item);
        if self.items.len() > DIGEST {
            self.items.pop_front();
            self.more += 1;
        }
    }

    fn first(all: impl IntoIterator<Item = T>) -> LimitedList<T> {
        let mut all = all.into_iter();
        LimitedList {
            items: all.by_ref().take(DIGEST).collect(),
            more: all.count(),
        }
    }
}

/// The mail of one agent.
#[derive(Debug, Default, Serialize)]
pub struct AgentMailCounts {
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
pub fn digest(room: &Room, since: Stamp) -> Result<LogDigest> {
    let mut state = state::committed(&room.dir)?;
    claims::drop_retired(&mut state.claims, &room.registry()?);
    let claims = claims::of_state(&state, &SessionCalls::of(&room.dir), None);
    let mut found = PeriodEvents::default();
    let from = find::since(&room.dir, since)?;
    for entry in log::lines(&room.dir, from)?.records() {
        found.record(entry?.1);
    }
    let mut questions = LimitedList::default();
    for question in state.questions() {
        questions.push(question);
    }
    let mut agents: Vec<AgentMailCounts> = found.counts.into_values().collect();
    agents.sort_by_key(|one| std::cmp::Reverse(one.sent + one.received + one.rejected));
    Ok(LogDigest {
        room: room.dir.path().display().to_string(),
        since: since.to_string(),
        until: Stamp::now().to_string(),
        decisions: found.decisions,
        milestones: found.milestones,
        escalations: found.escalations,
        questions,
        owners: LimitedList::first(claims.valid().map(|one| one.claim.clone())),
        rejected: found.rejected,
        agents: LimitedList::first(agents),
    })
}

/// The events of the period, from the records.
#[derive(Default)]
struct PeriodEvents {
    decisions: LimitedList<MessageSummary>,
    milestones: LimitedList<MessageSummary>,
    escalations: LimitedList<MessageSummary>,
    rejected: LimitedList<MessageSummary>,
    counts: BTreeMap<Arc<str>, AgentMailCounts>,
}

impl PeriodEvents {
    fn record(&mut self, record: Record) {
        let from: Arc<str> = record.sender().into();
        match record.kind() {
            EventKind::Accepted => {
                self.of(&from).sent += 1;
                for (agent, _) in record.recipients() {
                    self.of(agent).received += 1;
                }
            }
            EventKind::Rejected => {
                let claim = record.claim().and_then(layout::read_claim);
                let from: Arc<str> = claim.map_or(from.clone(), |claim| claim.agent.into());
                self.of(&from).rejected += 1;
                let problem = record
                    .problems()
                    .first()
                    .map(|problem| problem.what.clone())
                    .unwrap_or_default();
                self.rejected.push(MessageSummary {
                    seq: record.seq,
                    at: record.at.clone(),
                    from: from.to_string(),
                    kind: record.kind().as_str().to_owned(),
                    about: problem,
                    closed: None,
                    text: None,
                });
            }
            _ => {}
        }
        let Some(event) = Envelope::of(&record) else {
            return;
        };
        let part = match () {
            () if event.is_decision() => &mut self.decisions,
            () if event.is_milestone() => &mut self.milestones,
            () if event.is_escalation() => &mut self.escalations,
            () => return,
        };
        part.push(MessageSummary {
            about: event.text(),
            seq: event.seq,
            at: event.at,
            from: event.actor,
            kind: event.kind,
            closed: None,
            text: None,
        });
    }

    fn of(&mut self, agent: &Arc<str>) -> &mut AgentMailCounts {
        let counts = || AgentMailCounts {
            agent: agent.to_string(),
            ..AgentMailCounts::default()
        };
        self.counts.entry(agent.clone()).or_insert_with(counts)
    }
}
