//! The letter case of channel names. A channel is a directory, and some file systems ignore letter case.

use super::State;
use crate::base::error::Problem;
use crate::base::sanitize;
use crate::message::{DEFAULT_CHANNEL, Message};

/// Rejects a new channel if only letter case distinguishes its name from another channel's name.
pub(super) fn check(channels: &State, message: &Message) -> Result<(), Vec<Problem>> {
    let channel = message.channel();
    if message.is_for_router() || channel == DEFAULT_CHANNEL || channels.contains_key(channel) {
        return Ok(());
    }
    let known = channels.keys().map(|known| &**known);
    let same = known
        .chain([DEFAULT_CHANNEL])
        .find(|known| *known != channel && known.eq_ignore_ascii_case(channel));
    let Some(same) = same else {
        return Ok(());
    };
    let what = format!(
        "there is a channel {}, and {} differs from it only in letter case",
        sanitize::line(same),
        sanitize::line(channel)
    );
    Err(vec![
        Problem::new("channel_case", what)
            .at("/channel")
            .fix(format!("write {}", sanitize::line(same))),
    ])
}
