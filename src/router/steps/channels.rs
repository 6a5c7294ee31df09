//! Part of step 5: the names of channels. Each is the name of a directory, and some file systems ignore letter case.

use crate::base::error::Problem;
use crate::base::sanitize;
use crate::log::state::RoomState;
use crate::message::{DEFAULT_CHANNEL, Message};

/// The new channels of the present batch.
#[derive(Default)]
pub(super) struct NewChannels(Vec<String>);

impl NewChannels {
    /// Rejects a new channel if only letter case distinguishes its name from another channel's name.
    pub(super) fn check(
        &mut self,
        state: &RoomState,
        message: &Message,
    ) -> Result<(), Vec<Problem>> {
        let channel = message.channel();
        if message.is_for_router()
            || channel == DEFAULT_CHANNEL
            || state.channels.contains_key(channel)
        {
            return Ok(());
        }
        let known = state
            .channels
            .keys()
            .map(|known| &**known)
            .chain(self.0.iter().map(String::as_str));
        let same = known
            .chain([DEFAULT_CHANNEL])
            .find(|known| known.eq_ignore_ascii_case(channel));
        match same {
            Some(same) if same != channel => {
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
            Some(_) => Ok(()),
            None => {
                self.0.push(channel.to_owned());
                Ok(())
            }
        }
    }
}
