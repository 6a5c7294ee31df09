//! Steps of wakes that are not in the log yet, and the answers to those who asked for a wake.

use crate::base::limits;
use crate::disk::Dir;
use crate::log::state::State;
use crate::message::waking::{WakeStep, Waking};
use crate::room::inbox;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Steps of wakes on their way into the log.
#[derive(Default)]
pub(crate) struct Wakes {
    noted: Vec<Waking>,
    /// When the log must have them.
    due: Option<Instant>,
    /// For each agent for which a wake was asked, whether its program may be started now.
    answers: BTreeMap<Arc<str>, bool>,
    /// Agents whose mail is to be announced again.
    again: Vec<Arc<str>>,
}

impl Wakes {
    /// Is there nothing to write?
    pub(crate) fn is_empty(&self) -> bool {
        self.noted.is_empty()
    }

    /// When the log must have the steps.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Notes a step. A request for mail for which a wake was requested already is refused instead, so that no mail wakes
    /// twice, whatever was killed since.
    pub(crate) fn note(&mut self, state: &State, mut waking: Waking) {
        // What stands in a copy could be from anybody.
        waking.seqs.retain(|seq| {
            waking.step != WakeStep::Requested || state.mailboxes.is_unread(&waking.agent, *seq)
        });
        let wait = match waking.step {
            WakeStep::Requested if !state.wakes.is_due(&waking.agent, &waking.seqs) => {
                self.answers.insert(waking.agent, false);
                return;
            }
            WakeStep::Requested | WakeStep::Again => Duration::ZERO,
            // Most programs end at once, and the two steps are written together.
            WakeStep::Started => limits::IDLE,
            WakeStep::Succeeded | WakeStep::Failed => limits::RECEIPTS,
        };
        let due = Instant::now() + wait;
        self.due = Some(self.due.map_or(due, |before| before.min(due)));
        self.noted.push(waking);
    }

    /// Is such a step of this agent noted?
    pub(crate) fn has(&self, step: WakeStep, agent: &str) -> bool {
        self.noted
            .iter()
            .any(|waking| waking.step == step && &*waking.agent == agent)
    }

    /// The steps for a record of the next batch.
    pub(crate) fn stage(&mut self) -> Vec<Waking> {
        self.due = None;
        std::mem::take(&mut self.noted)
    }

    /// The record could not be committed: the steps are for the next batch.
    pub(crate) fn unstage(&mut self, mut wakes: Vec<Waking>) {
        if !wakes.is_empty() {
            wakes.append(&mut self.noted);
            (self.noted, self.due) = (wakes, Some(Instant::now() + limits::RETRY_FIRST));
        }
    }

    /// The log has these steps: what was requested may start, and what is announced again loses its markers. A kill before
    /// that costs a wake, and never causes a second one.
    pub(crate) fn committed(&mut self, wakes: &[Waking], state: &State, room: &Dir) {
        for Waking {
            step, agent, seqs, ..
        } in wakes
        {
            match step {
                WakeStep::Requested => drop(self.answers.insert(agent.clone(), true)),
                WakeStep::Again => {
                    let at = state
                        .mailboxes
                        .unread(agent)
                        .filter(|(_, seq)| seqs.binary_search(seq).is_ok());
                    let forgotten =
                        inbox::forget_announced(room, agent, &at.map(|(at, _)| at).collect());
                    forgotten.unwrap_or_else(|e| {
                        tracing::warn!("cannot announce mail to {agent} again: {e}")
                    });
                    self.again.push(agent.clone());
                }
                _ => {}
            }
        }
    }

    /// The answers since the last call.
    pub(crate) fn take_answers(&mut self) -> BTreeMap<Arc<str>, bool> {
        std::mem::take(&mut self.answers)
    }

    /// The agents whose mail is announced again, since the last call.
    pub(crate) fn take_again(&mut self) -> Vec<Arc<str>> {
        std::mem::take(&mut self.again)
    }
}
