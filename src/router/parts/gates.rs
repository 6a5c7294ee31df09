//! When the deadlines of approvals and disagreements take effect: only after the mail of those who can decide. And when
//! the human has to decide, because everybody else is gone.

use super::{Config, Intake, Pending};
use crate::base::clock::Stamp;
use crate::base::limits;
use crate::log::state::State;
use crate::log::state::approvals::Approval;
use crate::log::state::disputes::Dispute;
use crate::message::id;
use crate::room::registry::Registry;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Deadlines that have passed, until the log says what they brought.
#[derive(Default)]
pub(crate) struct Gates {
    due: BTreeMap<u64, Due>,
}

struct Due {
    /// When the outboxes of those who can decide were queued.
    since: Instant,
    /// When the router looks again.
    next: Instant,
}

/// An approval, or a disagreement with a supervisor.
struct Gate<'a> {
    seq: u64,
    deadline: Stamp,
    /// Who can decide until then.
    to: &'a [Arc<str>],
}

impl Gates {
    /// Has a deadline to take effect now?
    pub(crate) fn is_due(&self, state: &State, config: &Config) -> bool {
        let now = Instant::now();
        let is_due = |gate: Gate<'_>| self.due.get(&gate.seq).is_some_and(|due| due.next <= now);
        !self.due.is_empty() && gates(state, config).any(is_due)
    }

    /// How long until there is something to do.
    pub(crate) fn until_next(&self, state: &State, config: &Config) -> Option<Duration> {
        let now = Stamp::now();
        let left = |gate: Gate<'_>| match self.due.get(&gate.seq) {
            Some(due) => due.next.saturating_duration_since(Instant::now()),
            None => Duration::from_micros(
                gate.deadline.micros().saturating_sub(now.micros()).max(0) as u64,
            ),
        };
        gates(state, config).map(left).min()
    }

    /// Queues the outboxes of those who can decide what is due.
    pub(crate) fn keep(&mut self, state: &State, config: &Config, intake: &mut Intake) {
        let now = Stamp::now();
        let due: Vec<Gate<'_>> = gates(state, config)
            .filter(|gate| gate.deadline <= now)
            .collect();
        self.due
            .retain(|seq, _| due.iter().any(|gate| gate.seq == *seq));
        for gate in due {
            self.due.entry(gate.seq).or_insert_with(|| {
                gate.to
                    .iter()
                    .for_each(|agent| intake.outboxes().scan(agent));
                Due {
                    since: Instant::now(),
                    next: Instant::now(),
                }
            });
        }
    }

    /// Can this deadline take effect? Mail of those who can decide goes first, for a bounded time: none of them can keep it
    /// from taking effect.
    pub(crate) fn is_ready(
        &self,
        (seq, deadline, to): (u64, Option<i64>, &[Arc<str>]),
        intake: &Intake,
        pending: &Pending,
    ) -> bool {
        let Some(due) = self.due.get(&seq).filter(|due| due.next <= Instant::now()) else {
            return false;
        };
        let has_failed = to.iter().any(|agent| pending.has_mail_of(agent));
        let grace = deadline.map(|at| Stamp::from_micros(at).after(limits::DEADLINE_GRACE));
        let is_read = due.since.elapsed() >= limits::DEADLINE_GRACE || !intake.has_mail_of(to);
        is_read && (!has_failed || grace.is_some_and(|grace| grace <= Stamp::now()))
    }

    /// All mail was read: what is still due is looked at again after a moment, because its record may have failed.
    pub(crate) fn looked(&mut self, intake: &Intake) {
        if intake.is_idle() {
            let next = Instant::now() + limits::RETRY_FIRST;
            self.due
                .values_mut()
                .for_each(|due| due.next = due.next.max(next));
        }
    }
}

/// Is the human the only one left to ask? So it is when everybody who could decide was retired or removed.
pub(crate) fn is_left_to_human(one: &Approval, registry: &Registry) -> bool {
    let gets_mail = |agent: &str| {
        registry
            .agent(agent)
            .is_some_and(|agent| !agent.is_retired())
    };
    let can_ask = *one.from != *id::HUMAN && gets_mail(id::HUMAN);
    can_ask && !one.to.iter().any(|agent| gets_mail(agent))
}

fn gates<'a>(state: &'a State, config: &'a Config) -> impl Iterator<Item = Gate<'a>> {
    let gate = |one: &'a Approval| {
        let at_once = is_left_to_human(one, config.registry()).then_some(one.since);
        let deadline = at_once.or(one.terms.deadline)?;
        Some(Gate {
            seq: one.seq,
            deadline: Stamp::from_micros(deadline),
            to: &one.to,
        })
    };
    let approvals = state.approvals.open().iter().filter_map(gate);
    let disputes = state.disputes.iter().filter_map(|one| {
        let deadline = one
            .due
            .or_else(|| is_argued_out(one, config).then_some(one.since))?;
        Some(Gate {
            seq: one.seq,
            deadline: Stamp::from_micros(deadline),
            to: &one.asked,
        })
    });
    approvals.chain(disputes)
}

/// Returns true if the disagreement had enough rounds, and is not passed on.
pub(crate) fn is_argued_out(one: &Dispute, config: &Config) -> bool {
    let terms = config.settings().escalation.as_ref();
    !one.escalated && terms.is_some_and(|terms| one.rounds >= terms.attempts)
}
