//! Stale agents: agents that leave their mail unread for a long time. A session that may be alive is woken again,
//! then the human is notified.

use super::roster::{StaleAgent, stale};
use crate::base::clock::Stamp;
use crate::base::limits;
use crate::message::id;
use crate::room::inbox;
use crate::room::sessions::{self, SessionCalls};
use crate::router::upkeep::FeatureUpkeep;
use std::sync::Arc;
use std::time::Duration;

/// Wakes each stale agent with a session, and notifies the human if that did not help. Both happen once until the
/// agent is active again.
pub(super) fn check_stale_agents(upkeep: &mut FeatureUpkeep<'_>) {
    let view = &upkeep.view;
    let calls = SessionCalls::of(view.room());
    let (stale_after, now) = (view.settings().stale_after, Stamp::now());
    for stale in stale(view.registry(), view.state, &calls, stale_after, now) {
        let agent = &stale.agent.id;
        // Receipts of the last moment may not be in the log yet.
        if **agent == *id::HUMAN || upkeep.has_receipts_of(agent) {
            continue;
        }
        let is_alive = stale.agent.unread > 0 && calls.is_alive(agent);
        if !is_alive
            || has_waited(&stale, stale_after, now)
                .unwrap_or_else(|| !wake_again(upkeep, agent, now))
        {
            report_stale(upkeep, &stale);
        }
    }
}

/// Notes that announced mail is announced again, for the session of this agent. Returns false without such mail.
fn wake_again(upkeep: &mut FeatureUpkeep<'_>, agent: &Arc<str>, now: Stamp) -> bool {
    let room = upkeep.view.room();
    let mut announced = inbox::announced_at(room, agent).unwrap_or_default();
    let state = upkeep.view.state;
    let unread = state.mailboxes.unread(agent);
    let mail: Vec<_> = unread
        .filter_map(|(accepted, seq)| Some((seq, announced.remove(&accepted)?)))
        .collect();
    if mail.is_empty() {
        return false;
    }
    // Written first: a kill after it costs an announcement, and never causes a second one.
    if let Err(e) = sessions::note_woken_again(room, agent, now) {
        tracing::warn!("cannot announce mail to {agent} again: {e}");
        return false;
    }
    for (seq, marker) in mail {
        upkeep.announce_again(agent, seq, marker);
    }
    true
}

fn report_stale(upkeep: &mut FeatureUpkeep<'_>, stale: &StaleAgent) {
    let present = &stale.agent;
    let mail = match (present.unread, &present.oldest_unread) {
        (0, _) | (_, None) => "no unread mail, and the registry says that it is online".to_owned(),
        (1, Some(since)) => format!("1 unread message, since {since}"),
        (many, Some(since)) => format!("{many} unread messages, the oldest since {since}"),
    };
    let active = stale.active.map(|active| active.to_string());
    let last = match &active {
        Some(active) => format!("It was last active at {active}."),
        None => "It was never seen.".to_owned(),
    };
    let id = &present.id;
    let woken = stale
        .woken_again()
        .map(|at| format!(" It was woken again at {at}."))
        .unwrap_or_default();
    let body = format!(
        "{id} has {mail}. {last}{woken}\n\nYou are told once, until it is active again. `mailbag who` shows everybody. \
         If it is away on purpose:\n\n    mailbag agent set {id} --status offline"
    );
    let about = format!("stale:{id}:{}", active.as_deref().unwrap_or("never"));
    upkeep.notices.notify_human(
        upkeep.view.state,
        about,
        format!("{id} is stale: it has {mail}"),
        body,
    );
}

/// Returns whether the agent was woken again without effect, or `None` if it was not woken again since it was last
/// active.
fn has_waited(stale: &StaleAgent, stale_after: Duration, now: Stamp) -> Option<bool> {
    let again = stale.woken_again()?;
    Some(again.after(limits::WAKE_AGAIN.min(stale_after)) <= now)
}
