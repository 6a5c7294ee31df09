//! Deadlines of approvals and disagreements. A deadline takes effect only after the mail of the agents that can
//! decide. If all of them are gone, the human decides.

use super::{MailIntake, PendingWork, RoomConfig};
use crate::base::clock::Stamp;
use crate::base::limits;
use crate::log::state::RoomState;
use crate::log::state::approvals::OpenApproval;
use crate::log::state::disputes::Dispute;
use crate::message::id;
use crate::room::registry::Registry;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time that the outcome of a deadline waits for unreadable mail of the deciders.
const DEADLINE_GRACE: Duration = Duration::from_secs(10);

/// Deadlines that have passed and have no result in the log yet.
#[derive(Default)]
pub(crate) struct DecisionDeadlines {
    due: BTreeMap<u64, DueDecision>,
}

struct DueDecision {
    /// The time when the outboxes of the deciding agents were queued.
    since: Instant,
    /// The time of the next try.
    next: Instant,
}

/// An approval, or a disagreement with a supervisor.
struct DecisionDeadline<'a> {
    seq: u64,
    deadline: Stamp,
    /// The agents that can decide before the deadline.
    to: &'a [Arc<str>],
}

/// Mail that is not routed yet.
pub(crate) struct WaitingMail<'a> {
    pub(crate) intake: &'a MailIntake,
    pub(crate) pending: &'a PendingWork,
}

impl DecisionDeadlines {
    /// Returns true if a deadline must take effect now.
    pub(crate) fn is_due(&self, state: &RoomState, config: &RoomConfig) -> bool {
        let now = Instant::now();
        !self.due.is_empty()
            && gates(state, config)
                .any(|gate| self.due.get(&gate.seq).is_some_and(|due| due.next <= now))
    }

    /// The time until the next deadline or try.
    pub(crate) fn until_next(&self, state: &RoomState, config: &RoomConfig) -> Option<Duration> {
        let now = Stamp::now();
        gates(state, config)
            .map(|gate| match self.due.get(&gate.seq) {
                Some(due) => due.next.saturating_duration_since(Instant::now()),
                None => gate.deadline.saturating_duration_since(now),
            })
            .min()
    }

    /// Queues the outboxes of the agents that can decide due gates.
    pub(crate) fn queue_outboxes(
        &mut self,
        state: &RoomState,
        config: &RoomConfig,
        intake: &mut MailIntake,
    ) {
        let now = Stamp::now();
        let due: Vec<DecisionDeadline<'_>> = gates(state, config)
            .filter(|gate| gate.deadline <= now)
            .collect();
        self.due
            .retain(|seq, _| due.iter().any(|gate| gate.seq == *seq));
        for gate in due {
            self.due.entry(gate.seq).or_insert_with(|| {
                for agent in gate.to {
                    intake.outboxes().scan(agent);
                }
                DueDecision {
                    since: Instant::now(),
                    next: Instant::now(),
                }
            });
        }
    }

    /// Returns true if this deadline can take effect. Mail of the agents that can decide is routed first. The time
    /// for this is bounded, so that no agent can prevent the effect.
    pub(crate) fn is_ready(
        &self,
        seq: u64,
        deadline: Option<i64>,
        to: &[Arc<str>],
        mail: &WaitingMail<'_>,
    ) -> bool {
        let Some(due) = self.due.get(&seq).filter(|due| due.next <= Instant::now()) else {
            return false;
        };
        let WaitingMail { intake, pending } = mail;
        let has_failed = to.iter().any(|agent| pending.has_mail_of(agent));
        let grace = deadline.map(|at| Stamp::from_micros(at).after(DEADLINE_GRACE));
        let is_read = due.since.elapsed() >= DEADLINE_GRACE || !intake.has_mail_of(to);
        is_read && (!has_failed || grace.is_some_and(|grace| grace <= Stamp::now()))
    }

    /// Delays the next try of all gates if all mail was read. Their records may have failed.
    pub(crate) fn delay_retry(&mut self, intake: &MailIntake) {
        if intake.is_idle() {
            let next = Instant::now() + limits::RETRY_FIRST;
            for due in self.due.values_mut() {
                due.next = due.next.max(next);
            }
        }
    }
}

/// Returns true if only the human can decide, because all agents that could decide were retired or removed.
pub(crate) fn is_left_to_human(one: &OpenApproval, registry: &Registry) -> bool {
    let can_ask = *one.from != *id::HUMAN && registry.has_active(id::HUMAN);
    can_ask && !one.to.iter().any(|agent| registry.has_active(agent))
}

fn gates<'a>(
    state: &'a RoomState,
    config: &'a RoomConfig,
) -> impl Iterator<Item = DecisionDeadline<'a>> {
    let approvals = state.approvals.open().iter().filter_map(|one| {
        let since = is_left_to_human(one, config.registry()).then_some(one.since);
        let deadline = since.or(one.terms.deadline)?;
        Some(DecisionDeadline {
            seq: one.seq,
            deadline: Stamp::from_micros(deadline),
            to: &one.to,
        })
    });
    let disputes = state.disputes.iter().filter_map(|one| {
        let deadline = one
            .due
            .or_else(|| is_argued_out(one, config).then_some(one.since))?;
        Some(DecisionDeadline {
            seq: one.seq,
            deadline: Stamp::from_micros(deadline),
            to: &one.asked,
        })
    });
    approvals.chain(disputes)
}

/// Returns true if the disagreement had enough rounds and must be escalated.
pub(crate) fn is_argued_out(one: &Dispute, config: &RoomConfig) -> bool {
    let terms = config.settings().escalation.as_ref();
    one.escalated.is_none() && terms.is_some_and(|terms| one.rounds >= terms.attempts)
}
