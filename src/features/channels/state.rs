//! The number of messages in each channel.

use crate::features::AppliedRecord;
use crate::log::state::RoomState;
use crate::message::record::MessageHead;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The conversations of all channels.
pub type State = BTreeMap<Arc<str>, ChannelCounts>;

/// The messages of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChannelCounts {
    /// Their number.
    pub messages: u64,
    /// The record of the last one.
    pub last: u64,
    /// Its accept time, in microseconds.
    pub last_at: i64,
}

/// The channels with messages.
pub fn of(state: &RoomState) -> &State {
    &state.features.channels
}

pub(super) fn apply(state: &mut State, applied: &AppliedRecord<'_>) {
    let head = applied.record.accepted().and(applied.head);
    let Some(channel) = head.and_then(MessageHead::channel) else {
        return;
    };
    if !state.contains_key(channel) {
        state.insert(channel.into(), ChannelCounts::default());
    }
    if let Some(conversation) = state.get_mut(channel) {
        conversation.messages += 1;
        conversation.last = applied.record.seq;
        conversation.last_at = applied.time.micros();
    }
}
