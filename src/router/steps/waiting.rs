//! The agents that wait for another one, as they reported in `metadata.waiting_for`.

use super::parties;
use crate::base::clock::Stamp;
use crate::features::presence::{self, WorkReport};
use crate::log::state::RoomState;
use crate::message::Message;
use crate::message::record::RecipientGroup;
use crate::room::resolve::RecipientRule;
use crate::router::parts::RoomConfig;

/// Adds the agents that wait for the sender of a report of completion without `to`.
pub(super) fn add_waiting(
    config: &RoomConfig,
    state: &RoomState,
    message: &Message,
    to: &mut Vec<RecipientGroup>,
) {
    let Some(report) = WorkReport::of_message(message, Stamp::now()) else {
        return;
    };
    let agents = config.registry().agents();
    let Some(sender) = agents.iter().find(|agent| *agent.id == *message.from()) else {
        return;
    };
    if !report.is_completed() || message.has_recipients() {
        return;
    }
    for agent in agents.iter().filter(|agent| agent.id != sender.id) {
        let report = presence::of(state).report_of(&agent.id);
        let waits = report.into_iter().flat_map(|report| &report.waiting_for);
        if waits
            .filter_map(|name| config.registry().find(name))
            .any(|one| one.id == sender.id)
        {
            parties::add(config, to, RecipientRule::Waiting, &agent.id);
        }
    }
}
