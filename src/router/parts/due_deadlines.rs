//! Deadlines that have passed. A deadline takes effect only after the waiting mail of the agents that can meet it.

use super::{MailIntake, PendingWork, RoomConfig};
use crate::base::clock::Stamp;
use crate::base::limits;
use crate::log;
use crate::log::state::approvals::OpenApproval;
use crate::log::state::disputes::Dispute;
use crate::log::state::{MessageDeadline, RoomState};
use crate::message::id;
use crate::message::record::Record;
use crate::room::registry::Registry;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time that the outcome of a deadline waits for unreadable mail of the agents that can meet it.
const DEADLINE_GRACE: Duration = Duration::from_secs(10);
/// The longest time between two tries of a deadline.
const RETRY_MOST: Duration = Duration::from_secs(2);

/// An object with a deadline, by its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DeadlineOf {
    /// An approval or a disagreement.
    Decision(u64),
    /// A message that expires, or that needs an answer or an acknowledgement.
    Message(u64),
}

/// Deadlines that have passed and have no result in the log yet.
#[derive(Default)]
pub(crate) struct DueDeadlines(BTreeMap<DeadlineOf, DueDeadline>);

struct DueDeadline {
    at: Stamp,
    /// The agents with mail that is routed first.
    hear: Vec<Arc<str>>,
    /// The time when their outboxes were queued.
    since: Instant,
    /// The time of the next try.
    next: Instant,
}

/// Mail that is not routed yet.
pub(crate) struct WaitingMail<'a> {
    pub(crate) intake: &'a MailIntake,
    pub(crate) pending: &'a PendingWork,
}

impl DueDeadlines {
    /// Returns true if a deadline must take effect now.
    pub(crate) fn is_due(&self, state: &RoomState, config: &RoomConfig) -> bool {
        let (now, time) = (Instant::now(), Stamp::now());
        let mut next = self.0.iter().filter(|(_, due)| due.next <= now);
        next.any(|(of, _)| match of {
            DeadlineOf::Decision(_) => decisions(state, config).any(|one| one.0 == *of),
            DeadlineOf::Message(seq) => {
                let timed = state.timers.get(*seq);
                timed.is_some_and(|timed| timed.first() <= time)
            }
        })
    }

    /// The time until the next deadline or try.
    pub(crate) fn until_next(&self, state: &RoomState, config: &RoomConfig) -> Option<Duration> {
        let (now, time) = (Instant::now(), Stamp::now());
        let is_new = |of: &DeadlineOf| !self.0.contains_key(of);
        let messages = state.timers.times();
        let message = messages.map(|(at, seq)| (DeadlineOf::Message(seq), at));
        let new = decisions(state, config)
            .map(|(of, at, _)| (of, at))
            .filter(|(of, _)| is_new(of))
            .chain(message.into_iter().find(|(of, _)| is_new(of)))
            .map(|(_, at)| at.saturating_duration_since(time));
        let again = self.0.values();
        again
            .map(|due| due.next.saturating_duration_since(now))
            .chain(new)
            .min()
    }

    /// Queues the outboxes of the agents that can meet due deadlines.
    pub(crate) fn queue_outboxes(
        &mut self,
        state: &RoomState,
        config: &RoomConfig,
        intake: &mut MailIntake,
    ) {
        let now = Stamp::now();
        let mut due: BTreeMap<DeadlineOf, (Stamp, Vec<Arc<str>>)> = decisions(state, config)
            .filter(|(_, at, _)| *at <= now)
            .map(|(of, at, hear)| (of, (at, hear)))
            .collect();
        for timed in state.timers.due(now) {
            let of = DeadlineOf::Message(timed.seq);
            let hear = if self.0.contains_key(&of) {
                Vec::new()
            } else {
                parties(&timed, config)
            };
            due.insert(of, (timed.first(), hear));
        }
        self.0.retain(|of, _| due.contains_key(of));
        for (of, (at, hear)) in due {
            self.0.entry(of).or_insert_with(|| {
                for agent in &hear {
                    intake.outboxes().scan(agent);
                }
                let now = Instant::now();
                DueDeadline {
                    at,
                    hear,
                    since: now,
                    next: now,
                }
            });
        }
    }

    /// Returns true if this deadline can take effect: the mail of the agents that can meet it was routed. The time for
    /// this is bounded, so that no agent can prevent the effect.
    pub(crate) fn is_ready(&self, of: DeadlineOf, mail: &WaitingMail<'_>) -> bool {
        let Some(due) = self.0.get(&of).filter(|due| due.next <= Instant::now()) else {
            return false;
        };
        let WaitingMail { intake, pending } = mail;
        let has_failed = due.hear.iter().any(|agent| pending.has_mail_of(agent));
        let is_read = due.since.elapsed() >= DEADLINE_GRACE || !intake.has_mail_of(&due.hear);
        is_read && (!has_failed || due.at.after(DEADLINE_GRACE) <= Stamp::now())
    }

    /// Delays the next try of a deadline. Its record may have failed, or a copy is leased.
    pub(crate) fn delay(&mut self, of: DeadlineOf) {
        if let Some(due) = self.0.get_mut(&of) {
            let wait = due.since.elapsed().clamp(limits::RETRY_FIRST, RETRY_MOST);
            due.next = due.next.max(Instant::now() + wait);
        }
    }

    /// Delays the next try of all deadlines, because the batch with their effects failed.
    pub(crate) fn delay_all(&mut self) {
        let all: Vec<DeadlineOf> = self.0.keys().copied().collect();
        for of in all {
            self.delay(of);
        }
    }

    /// Delays the next try of all decisions if all mail was read.
    pub(crate) fn delay_decisions(&mut self, intake: &MailIntake) {
        let decisions = self.0.keys().copied();
        let decisions: Vec<DeadlineOf> = decisions
            .filter(|of| intake.is_idle() && matches!(of, DeadlineOf::Decision(_)))
            .collect();
        for of in decisions {
            self.delay(of);
        }
    }
}

/// Returns true if only the human can decide, because all agents that could decide were retired or removed.
pub(crate) fn is_left_to_human(one: &OpenApproval, registry: &Registry) -> bool {
    let can_ask = *one.from != *id::HUMAN && registry.has_active(id::HUMAN);
    can_ask && !one.to.iter().any(|agent| registry.has_active(agent))
}

/// The agents that can meet the deadlines of a message: its sender, the agents that have to answer, and its recipients if it
/// expires.
fn parties(timed: &MessageDeadline, config: &RoomConfig) -> Vec<Arc<str>> {
    let mut hear = vec![timed.from.clone()];
    hear.extend(timed.wanted.iter().flat_map(|wanted| wanted.of.clone()));
    if timed.expires.is_some() {
        let record = log::read_record(config.dir(), timed.place).ok().flatten();
        let recipients = record.iter().flat_map(Record::recipients);
        hear.extend(recipients.map(|(agent, _)| agent.clone()));
    }
    for agent in &mut hear {
        *agent = config.current_name(agent);
    }
    hear.sort_unstable();
    hear.dedup();
    hear
}

/// The deadlines of approvals, and of disagreements with a supervisor, with the agents that can meet them.
fn decisions<'a>(
    state: &'a RoomState,
    config: &'a RoomConfig,
) -> impl Iterator<Item = (DeadlineOf, Stamp, Vec<Arc<str>>)> {
    let approvals = state.approvals.open().iter().filter_map(|one| {
        let since = is_left_to_human(one, config.registry()).then_some(one.since);
        let deadline = since.or(one.terms.deadline)?;
        let hear = one.to.iter().chain([&one.from]).cloned().collect();
        Some((one.seq, deadline, hear))
    });
    let disputes = state.disputes.iter().filter_map(|one| {
        let deadline = one
            .due
            .or_else(|| is_argued_out(one, config).then_some(one.since))?;
        let parties = one.positions.iter().map(|position| &position.from);
        let hear = one.asked.iter().chain(parties).cloned().collect();
        Some((one.seq, deadline, hear))
    });
    approvals
        .chain(disputes)
        .map(|(seq, at, hear)| (DeadlineOf::Decision(seq), Stamp::from_micros(at), hear))
}

/// Returns true if the disagreement had enough rounds and must be escalated.
pub(crate) fn is_argued_out(one: &Dispute, config: &RoomConfig) -> bool {
    let terms = config.settings().escalation.as_ref();
    one.escalated.is_none() && terms.is_some_and(|terms| one.rounds >= terms.attempts)
}
