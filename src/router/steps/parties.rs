//! Further recipients of messages in step 5, and titles of messages.

use crate::base::{limits, sanitize};
use crate::message::Message;
use crate::message::record::RecipientGroup;
use crate::message::title::title_of_fields;
use crate::room::resolve::RecipientRule;
use crate::router::parts::RoomConfig;
use std::sync::Arc;

/// Adds a recipient, unless it is one already or cannot get mail.
pub(super) fn add(
    config: &RoomConfig,
    to: &mut Vec<RecipientGroup>,
    via: RecipientRule,
    agent: &Arc<str>,
) {
    if to.iter().any(|group| group.agents.contains(agent)) || !config.registry().has_active(agent) {
        return;
    }
    match to.iter_mut().find(|group| group.via == via.as_str()) {
        Some(group) => group.agents.push(agent.clone()),
        None => to.push(RecipientGroup {
            via: via.as_str().into(),
            agents: vec![agent.clone()],
        }),
    }
}

/// The agents of a list that can get mail, each once.
pub(super) fn registered(
    config: &RoomConfig,
    agents: impl IntoIterator<Item = Arc<str>>,
) -> Vec<Arc<str>> {
    let mut to: Vec<Arc<str>> = Vec::new();
    for agent in agents {
        if !to.contains(&agent) && config.registry().has_active(&agent) {
            to.push(agent);
        }
    }
    to
}

/// The title of a message, or its id, truncated to a limit.
pub(super) fn title(message: &Message) -> String {
    let title = title_of_fields(message.fields());
    sanitize::brief(title.unwrap_or(message.id()), limits::TITLE)
}
