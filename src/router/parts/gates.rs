//! When the deadlines of approvals take effect: only after the mail of those who can decide.

use super::{Intake, Pending};
use crate::base::clock::Stamp;
use crate::base::limits;
use crate::log::state::State;
use crate::log::state::approvals::Approval;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Approvals whose deadline has passed, until the log says what it brought.
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

impl Gates {
    /// Has an approval to be closed now?
    pub(crate) fn is_due(&self, state: &State) -> bool {
        let now = Instant::now();
        let is_due = |one: &Approval| self.due.get(&one.seq).is_some_and(|due| due.next <= now);
        !self.due.is_empty() && state.approvals.open().iter().any(is_due)
    }

    /// How long until there is something to do.
    pub(crate) fn until_next(&self, state: &State) -> Option<Duration> {
        let now = Stamp::now();
        let left = |one: &Approval| match self.due.get(&one.seq) {
            Some(due) => due.next.saturating_duration_since(Instant::now()),
            None => {
                let left = one.terms.deadline.unwrap_or(i64::MAX).saturating_sub(now.micros());
                Duration::from_micros(left.max(0) as u64)
            }
        };
        let with_deadline = state.approvals.open().iter().filter(|one| one.terms.deadline.is_some());
        with_deadline.map(left).min()
    }

    /// Queues the outboxes of those who can decide an approval that is due.
    pub(crate) fn keep(&mut self, state: &State, intake: &mut Intake) {
        if self.due.is_empty() && state.approvals.next_deadline().is_none_or(|next| next > Stamp::now()) {
            return;
        }
        let now = Instant::now();
        let due: Vec<&Approval> = state.approvals.due(Stamp::now()).collect();
        self.due.retain(|seq, _| due.iter().any(|one| one.seq == *seq));
        for one in due {
            self.due.entry(one.seq).or_insert_with(|| {
                one.to.iter().for_each(|agent| intake.outboxes().scan(agent));
                Due { since: now, next: now }
            });
        }
    }

    /// Can this approval be closed? Mail of those who can decide goes first, for a bounded time: none of them can keep an
    /// approval open.
    pub(crate) fn is_ready(&self, one: &Approval, intake: &Intake, pending: &Pending) -> bool {
        let Some(due) = self.due.get(&one.seq).filter(|due| due.next <= Instant::now()) else { return false };
        let has_failed = one.to.iter().any(|agent| pending.has_mail_of(agent));
        let grace = one.terms.deadline.map(|at| Stamp::from_micros(at).after(limits::DEADLINE_GRACE));
        let is_read = due.since.elapsed() >= limits::DEADLINE_GRACE || !intake.has_mail_of(&one.to);
        is_read && (!has_failed || grace.is_some_and(|grace| grace <= Stamp::now()))
    }

    /// All mail was read: what is still due is looked at again after a moment, because its record may have failed.
    pub(crate) fn looked(&mut self, intake: &Intake) {
        if intake.is_idle() {
            let next = Instant::now() + limits::RETRY_FIRST;
            self.due.values_mut().for_each(|due| due.next = due.next.max(next));
        }
    }
}
