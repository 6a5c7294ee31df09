//! Finds conversations that lack messages at their end, and repairs none.

use super::tail::LineClassifier;
use super::{of, paths};
use crate::base::error::{Error, ErrorContext, Result};
use crate::disk::Dir;
use crate::log::state::RoomState;
use std::sync::Arc;

/// A conversation that ends before the log does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncompleteChannel {
    /// The channel.
    pub channel: Arc<str>,
    /// The record of its last line, or 0 without lines.
    pub last_shown: u64,
    /// The record that it should show last.
    pub last: u64,
}

/// A conversation that cannot be read.
#[derive(Debug)]
pub struct UnreadableChannel {
    /// The channel.
    pub channel: Arc<str>,
    /// The reason.
    pub error: Error,
}

/// The conversations that have problems.
#[derive(Debug, Default)]
pub struct CheckedChannels {
    /// The conversations that end before the log does.
    pub incomplete: Vec<IncompleteChannel>,
    /// The conversations that cannot be read.
    pub unreadable: Vec<UnreadableChannel>,
}

/// Compares each conversation with this state's last message.
pub fn check_channels(room: &Dir, state: &RoomState) -> CheckedChannels {
    let mut checked = CheckedChannels::default();
    for (channel, sent) in of(state) {
        let last = sent.last;
        let channel = channel.clone();
        match last_shown(room, state, &channel) {
            Ok(last_shown) if last_shown < last => checked.incomplete.push(IncompleteChannel {
                channel,
                last_shown,
                last,
            }),
            Ok(_) => {}
            Err(error) => checked
                .unreadable
                .push(UnreadableChannel { channel, error }),
        }
    }
    checked
}

fn last_shown(room: &Dir, state: &RoomState, channel: &str) -> Result<u64> {
    let path = paths::conversation(channel);
    let Some(mut file) = room.look_if_exists(&path)? else {
        return Ok(0);
    };
    let meta = file.meta().doing_in("look at", room.path(), &path)?;
    meta.check_regular(&room.at(&path))?;
    Ok(LineClassifier::new(room, state, channel)
        .last_of_ours(&mut file, meta.size, &room.at(&path))?
        .seq)
}
