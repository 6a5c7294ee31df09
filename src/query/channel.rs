//! Lists channels, and the agents that take part in one.

use super::history::{MessageCriteria, MessageFilter};
use super::list;
use super::who::{self, KnownAgents};
use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::features::channels;
use crate::log::state;
use crate::message::DEFAULT_CHANNEL;
use crate::room::Room;
use serde::Serialize;
use std::collections::BTreeSet;

/// A channel.
#[derive(Debug, Clone, Serialize)]
pub struct Channel {
    /// Its name.
    pub channel: String,
    /// Number of messages sent to it.
    pub messages: u64,
    /// Accept time of the last message.
    pub last: String,
}

/// All channels of the room, sorted by name. They come from the state, so no conversation is read.
pub fn list(room: &Room) -> Result<Vec<Channel>> {
    let state = state::committed(&room.dir)?;
    let channels = channels::of(&state).iter();
    Ok(channels
        .map(|(channel, said)| Channel {
            channel: channel.to_string(),
            messages: said.messages,
            last: Stamp::from_micros(said.last_at).to_string(),
        })
        .collect())
}

/// The agents that sent or got a message of this channel. All agents take part in the default channel.
pub fn agents(room: &Room, channel: &str) -> Result<KnownAgents> {
    let mut agents = who::everybody(room)?;
    if channel == DEFAULT_CHANNEL {
        return Ok(agents);
    }
    let criteria = MessageCriteria {
        channel: Some(channel.to_owned()),
        ..MessageCriteria::default()
    };
    let mut taking_part = BTreeSet::new();
    for message in list::list(room, MessageFilter::new(room, criteria)?, None)? {
        let message = message?;
        taking_part.insert(message.from.to_string());
        taking_part.extend(message.recipients.iter().map(ToString::to_string));
    }
    agents
        .roster
        .agents
        .retain(|agent| taking_part.contains(&*agent.id));
    agents
        .remote
        .retain(|agent| taking_part.contains(&*agent.id));
    Ok(agents)
}
