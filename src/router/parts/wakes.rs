//! Steps of wakes that are not in the log yet, and the replies to requests for wakes.

use crate::base::limits;
use crate::disk::Dir;
use crate::log::state::RoomState;
use crate::message::waking::{WakeStep, WakeUpdate};
use crate::room::inbox;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Steps of wakes on their way into the log.
#[derive(Default)]
pub(crate) struct WakeQueue {
    noted: Vec<WakeUpdate>,
    /// The time when the log must have the steps.
    due: Option<Instant>,
    /// Whether the program of each agent with a requested wake may be started now.
    answers: BTreeMap<Arc<str>, bool>,
    /// Agents with mail to announce again.
    again: Vec<Arc<str>>,
}

impl WakeQueue {
    /// Returns true if no step waits for the log.
    pub(crate) fn is_empty(&self) -> bool {
        self.noted.is_empty()
    }

    /// The time when the log must have the steps.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Notes a step. A second request for the same mail is rejected, so that no mail wakes twice, even after a kill.
    pub(crate) fn note(&mut self, state: &RoomState, mut waking: WakeUpdate) {
        // Any program may have written the numbers in a copy.
        waking.seqs.retain(|seq| {
            waking.step != WakeStep::Requested || state.mailboxes.is_unread(&waking.agent, *seq)
        });
        let wait = match waking.step {
            WakeStep::Requested if !state.wakes.is_due(&waking.agent, &waking.seqs) => {
                self.answers.insert(waking.agent, false);
                return;
            }
            WakeStep::Requested | WakeStep::Again => Duration::ZERO,
            // Most programs end immediately, and both steps are written together.
            WakeStep::Started => limits::IDLE,
            WakeStep::Succeeded | WakeStep::Failed => limits::RECEIPTS,
        };
        let due = Instant::now() + wait;
        self.due = Some(self.due.map_or(due, |before| before.min(due)));
        self.noted.push(waking);
    }

    /// Returns true if such a step of this agent is noted.
    pub(crate) fn has(&self, step: WakeStep, agent: &str) -> bool {
        self.noted
            .iter()
            .any(|waking| waking.step == step && &*waking.agent == agent)
    }

    /// Takes the steps for a record of the next batch.
    pub(crate) fn stage(&mut self) -> Vec<WakeUpdate> {
        self.due = None;
        std::mem::take(&mut self.noted)
    }

    /// Keeps the steps of an uncommitted record for the next batch.
    pub(crate) fn unstage(&mut self, mut wakes: Vec<WakeUpdate>) {
        if !wakes.is_empty() {
            wakes.append(&mut self.noted);
            (self.noted, self.due) = (wakes, Some(Instant::now() + limits::RETRY_FIRST));
        }
    }

    /// Applies committed steps: requested programs may start, and markers of mail to announce again are removed. A
    /// kill before that costs a wake, and never causes a second one.
    pub(crate) fn committed(&mut self, wakes: &[WakeUpdate], state: &RoomState, room: &Dir) {
        for WakeUpdate {
            step, agent, seqs, ..
        } in wakes
        {
            match step {
                WakeStep::Requested => {
                    self.answers.insert(agent.clone(), true);
                }
                WakeStep::Again => {
                    let unread = state.mailboxes.unread(agent);
                    let times = unread
                        .filter(|(_, seq)| seqs.binary_search(seq).is_ok())
                        .map(|(at, _)| at)
                        .collect();
                    if let Err(e) = inbox::forget_announced(room, agent, &times) {
                        tracing::warn!("cannot announce mail to {agent} again: {e}");
                    }
                    self.again.push(agent.clone());
                }
                _ => {}
            }
        }
    }

    /// Takes the replies since the last call.
    pub(crate) fn take_answers(&mut self) -> BTreeMap<Arc<str>, bool> {
        std::mem::take(&mut self.answers)
    }

    /// Takes the agents with mail to announce again, since the last call.
    pub(crate) fn take_again(&mut self) -> Vec<Arc<str>> {
        std::mem::take(&mut self.again)
    }
}
