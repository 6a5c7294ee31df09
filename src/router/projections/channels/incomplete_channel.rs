//! Finds conversations that lack messages at their end, and repairs none.

use super::tail::LineClassifier;
use crate::base::error::{ErrorContext, Result};
use crate::disk::{Dir, file_meta, layout};
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

/// The conversations that end before this state's last message.
pub fn incomplete_channels(room: &Dir, state: &RoomState) -> Result<Vec<IncompleteChannel>> {
    let mut all = Vec::new();
    // Without the index of ids, the lines cannot be compared with the log. The next router builds it.
    if !state.ids.open_to_read(room) {
        return Ok(all);
    }
    for (channel, sent) in &state.channels {
        let last = sent.last;
        let last_shown = last_shown(room, state, channel)?;
        if last_shown < last {
            all.push(IncompleteChannel {
                channel: channel.clone(),
                last_shown,
                last,
            });
        }
    }
    Ok(all)
}

fn last_shown(room: &Dir, state: &RoomState, channel: &str) -> Result<u64> {
    let path = layout::conversation(channel);
    let Ok(mut file) = room.look(&path) else {
        return Ok(0);
    };
    let size = file_meta(&file)
        .doing_in("look at", room.path(), &path)?
        .size;
    Ok(LineClassifier::new(room, state, channel)
        .last_of_ours(&mut file, size, &room.at(&path))?
        .seq)
}
