//! Wakes: for each agent with unread mail, the messages with a requested wake, and the result of the last wake.

use super::Mailboxes;
use super::clock::ClockShift;
use crate::base::clock::Stamp;
use crate::message::waking::{WakeStep, WakeUpdate};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The wakes of all agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WakeStates {
    of: BTreeMap<Arc<str>, AgentWakes>,
    changed: u64,
}

/// The wakes of one agent. It is removed when the agent has read all mail with a requested wake.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct AgentWakes {
    /// The highest record with a requested wake.
    tried: u64,
    /// Up to this record no wake is due.
    done: u64,
    /// The last step.
    last: Option<LastWake>,
    /// The last failure, until a program succeeds.
    failed: Option<FailedWake>,
    /// When the agent was last woken again, in microseconds since 1970.
    again: Option<i64>,
}

/// The last step of an agent's wakes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastWake {
    /// The step.
    pub step: WakeStep,
    /// When it was recorded, in microseconds since 1970.
    pub at: i64,
}

/// A wake that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedWake {
    /// When it was recorded, in microseconds since 1970.
    pub at: i64,
    /// The reason.
    pub reason: String,
    /// The newest message that caused it.
    pub seq: u64,
}

impl WakeStates {
    /// Applies a step of the record `seq`.
    pub(super) fn apply(&mut self, waking: &WakeUpdate, seq: u64, at: Stamp) {
        let (Some(first), Some(last)) = (waking.seqs.first(), waking.seqs.last()) else {
            return;
        };
        let of = self.of.entry(waking.agent.clone()).or_default();
        of.last = Some(LastWake {
            step: waking.step,
            at: at.micros(),
        });
        match waking.step {
            WakeStep::Requested => (of.tried, of.done) = (of.tried.max(*last), of.done.max(*last)),
            WakeStep::Started => return,
            WakeStep::Succeeded if of.failed.take().is_none() => return,
            WakeStep::Succeeded => {}
            WakeStep::Failed => {
                of.done = of.done.min(first.saturating_sub(1));
                let reason = waking.reason.clone().unwrap_or_default();
                of.failed = Some(FailedWake {
                    at: at.micros(),
                    reason,
                    seq: *last,
                });
            }
            WakeStep::Again => {
                (of.tried, of.again) = (of.tried.max(*last), Some(at.micros()));
                of.done = of.done.min(first.saturating_sub(1));
                return;
            }
        }
        self.changed = seq;
    }

    /// Moves all times.
    pub(super) fn shift(&mut self, shift: ClockShift) {
        for of in self.of.values_mut() {
            let steps = [
                of.last.as_mut().map(|last| &mut last.at),
                of.failed.as_mut().map(|failed| &mut failed.at),
            ];
            for at in steps.into_iter().flatten().chain(of.again.as_mut()) {
                shift.apply(at);
            }
        }
    }

    /// Mail left this agent's inbox in the record `at`.
    pub(super) fn left(&mut self, agent: &Arc<str>, mailboxes: &Mailboxes, at: u64) {
        let Some(of) = self.of.get(agent) else { return };
        if mailboxes
            .unread(agent)
            .next()
            .is_none_or(|(_, oldest)| oldest > of.tried)
        {
            let had_failed = self.of.remove(agent).is_some_and(|of| of.failed.is_some());
            self.changed = if had_failed { at } else { self.changed };
        }
    }

    /// The human dismissed the failure of this agent's wake in the record `at`. The next mail wakes it as before.
    pub(super) fn dismiss(&mut self, agent: &str, at: u64) {
        if self
            .of
            .get_mut(agent)
            .is_some_and(|of| of.failed.take().is_some())
        {
            self.changed = at;
        }
    }

    /// The agents with a failed last wake, if it was for this message and no newer one.
    pub fn failed_for(&self, seq: u64) -> impl Iterator<Item = &Arc<str>> {
        self.failures()
            .filter(move |(_, failed)| failed.seq == seq && seq > 0)
            .map(|(agent, _)| agent)
    }

    /// Moves the wakes of one agent to another, which may have wakes of its own.
    pub(super) fn rename(&mut self, of: &str, at: u64) {
        if self.of.remove(of).is_some_and(|of| of.failed.is_some()) {
            self.changed = at;
        }
    }

    /// The last record that changed the list of failures; 0 for none.
    pub fn changed_at(&self) -> u64 {
        self.changed
    }

    /// Returns true if a wake is due for one of these messages: none was requested, or it failed.
    pub fn is_due(&self, agent: &str, seqs: &[u64]) -> bool {
        seqs.last()
            .is_some_and(|last| self.of.get(agent).is_none_or(|of| *last > of.done))
    }

    /// Returns true if a wake was ever requested for this message, or a later one of this agent.
    pub fn was_tried(&self, agent: &str, seq: u64) -> bool {
        self.of.get(agent).is_some_and(|of| seq <= of.tried)
    }

    /// The last step for this agent.
    pub fn last(&self, agent: &str) -> Option<&LastWake> {
        self.of.get(agent)?.last.as_ref()
    }

    /// The last failure for this agent, if no program succeeded since and the mail is still unread.
    pub fn failure(&self, agent: &str) -> Option<&FailedWake> {
        self.of.get(agent)?.failed.as_ref()
    }

    /// All agents with a failed last wake, in the order of their names.
    pub fn failures(&self) -> impl Iterator<Item = (&Arc<str>, &FailedWake)> {
        self.of
            .iter()
            .filter_map(|(agent, of)| Some((agent, of.failed.as_ref()?)))
    }

    /// When this agent was last woken again for mail that it left unread.
    pub fn again(&self, agent: &str) -> Option<Stamp> {
        self.of.get(agent)?.again.map(Stamp::from_micros)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::status::CopyStatus;

    fn step(wakes: &mut WakeStates, step: WakeStep, seqs: &[u64], seq: u64) {
        let reason = (step == WakeStep::Failed).then(|| "no such program".to_owned());
        let waking = WakeUpdate {
            step,
            agent: "bob".into(),
            seqs: seqs.to_vec(),
            reason,
        };
        wakes.apply(&waking, seq, Stamp::from_micros(seq as i64));
    }

    #[test]
    fn a_message_is_due_once_unless_its_wake_failed_or_it_is_announced_again() {
        let mut wakes = WakeStates::default();
        assert!(wakes.is_due("bob", &[5]));
        step(&mut wakes, WakeStep::Requested, &[3, 5], 6);
        assert!(
            !wakes.is_due("bob", &[3, 5])
                && wakes.is_due("bob", &[3, 7])
                && !wakes.is_due("bob", &[])
        );
        step(&mut wakes, WakeStep::Failed, &[3, 5], 8);
        assert!(
            wakes.is_due("bob", &[3]) && wakes.failure("bob").is_some() && wakes.changed_at() == 8
        );
        step(&mut wakes, WakeStep::Requested, &[3, 5], 9);
        step(&mut wakes, WakeStep::Succeeded, &[3, 5], 10);
        assert!(
            !wakes.is_due("bob", &[5])
                && wakes.failure("bob").is_none()
                && wakes.changed_at() == 10
        );
        step(&mut wakes, WakeStep::Again, &[5], 11);
        assert!(wakes.is_due("bob", &[5]) && wakes.again("bob") == Some(Stamp::from_micros(11)));
    }

    #[test]
    fn nothing_is_kept_of_mail_that_was_read() {
        let (mut wakes, mut mailboxes, bob) = (
            WakeStates::default(),
            Mailboxes::default(),
            Arc::from("bob"),
        );
        mailboxes.deliver(&bob, Stamp::from_micros(1), 5);
        step(&mut wakes, WakeStep::Requested, &[5], 6);
        step(&mut wakes, WakeStep::Failed, &[5], 7);
        wakes.left(&bob, &mailboxes, 8);
        assert!(wakes.failure("bob").is_some(), "it is still unread");
        mailboxes.advance(&bob, 5, CopyStatus::Seen, true);
        wakes.left(&bob, &mailboxes, 9);
        assert_eq!((wakes.failures().count(), wakes.changed_at()), (0, 9));
        assert_eq!(wakes.of.len(), 0);
    }
}
