//! Stale agents: agents that leave their mail unread for a long time. A session that may be alive is woken again,
//! then the human is notified.

use crate::base::clock::Stamp;
use crate::base::limits;
use crate::message::id;
use crate::message::waking::{WakeStep, WakeUpdate};
use crate::room::inbox;
use crate::room::sessions::SessionCalls;
use crate::router::Router;
use crate::router::projections::roster::{StaleAgent, stale};
use std::sync::Arc;
use std::time::Duration;

impl Router {
    /// Wakes each stale agent with a session, and notifies the human if that did not help. Both happen once until the
    /// agent is active again.
    pub(in crate::router) fn check_stale_agents(&mut self) {
        if self.is_held() {
            return;
        }
        let calls = SessionCalls::of(self.config.dir());
        let stale_after = self.config.settings().stale_after;
        let now = Stamp::now();
        for stale in stale(
            self.config.registry(),
            self.journal.state(),
            &calls,
            stale_after,
            now,
        ) {
            let agent = &stale.agent.id;
            // Receipts of the last moment may not be in the log yet.
            if **agent == *id::HUMAN
                || self.receipts.is_of(agent)
                || self.wakes.has(WakeStep::Again, agent)
            {
                continue;
            }
            let is_alive = stale.agent.unread > 0 && calls.is_alive(agent);
            if !is_alive
                || self
                    .has_waited(&stale, stale_after, now)
                    .unwrap_or_else(|| !self.wake_again(agent))
            {
                self.report_stale(&stale);
            }
        }
    }

    /// Returns whether the agent was woken again without effect, or `None` if it was not woken again since it was
    /// last active.
    fn has_waited(&self, stale: &StaleAgent, stale_after: Duration, now: Stamp) -> Option<bool> {
        let wakes = &self.journal.state().wakes;
        let again = wakes
            .again(&stale.agent.id)
            .filter(|at| Some(*at) > stale.active)?;
        let has_failed = wakes
            .failure(&stale.agent.id)
            .is_some_and(|failed| failed.at > again.micros());
        Some(has_failed || again.after(limits::WAKE_AGAIN.min(stale_after)) <= now)
    }

    /// Notes that mail with an announcement or a requested wake is announced again. Returns false without such mail.
    fn wake_again(&mut self, agent: &Arc<str>) -> bool {
        let announced = inbox::announced_at(self.config.dir(), agent).unwrap_or_default();
        let state = self.journal.state();
        let unread = state.mailboxes.unread(agent).rev();
        let tried = unread
            .filter(|(at, seq)| announced.contains_key(at) || state.wakes.was_tried(agent, *seq));
        let mut mail: Vec<(Stamp, u64)> = tried.take(limits::WAKE_MESSAGES).collect();
        mail.reverse();
        if mail.is_empty() {
            return false;
        }
        // The markers are removed, so the log records the announcement.
        for (accepted, seq) in &mail {
            if let Some(at) = announced.get(accepted) {
                self.receipts.announced(agent, *seq, *at);
            }
        }
        let seqs = mail.into_iter().map(|(_, seq)| seq).collect();
        self.wakes.note(
            state,
            WakeUpdate {
                step: WakeStep::Again,
                agent: agent.clone(),
                seqs,
                reason: None,
            },
        );
        true
    }

    fn report_stale(&mut self, stale: &StaleAgent) {
        let present = &stale.agent;
        let mail = match (present.unread, &present.oldest_unread) {
            (0, _) | (_, None) => {
                "no unread mail, and the registry says that it is online".to_owned()
            }
            (1, Some(since)) => format!("1 unread message, since {since}"),
            (many, Some(since)) => format!("{many} unread messages, the oldest since {since}"),
        };
        let active = stale.active.map(|active| active.to_string());
        let last = match &active {
            Some(active) => format!("It was last active at {active}."),
            None => "It was never seen.".to_owned(),
        };
        let id = &present.id;
        let state = self.journal.state();
        let again = state.wakes.again(id).filter(|at| Some(*at) > stale.active);
        let failed = state
            .wakes
            .failure(id)
            .map(|failed| format!(" The last wake failed: {}.", failed.reason));
        let woken = match again {
            Some(at) => format!(" It was woken again at {at}.{}", failed.unwrap_or_default()),
            None => failed.unwrap_or_default(),
        };
        let body = format!(
            "{id} has {mail}. {last}{woken}\n\nYou are told once, until it is active again. `mailbag who` shows everybody. \
             If it is away on purpose:\n\n    mailbag agent set {id} --status offline"
        );
        let about = format!("stale:{id}:{}", active.as_deref().unwrap_or("never"));
        self.notices
            .notify_human(state, about, format!("{id} is stale: it has {mail}"), body);
    }
}
