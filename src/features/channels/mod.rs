//! Channels: each conversation is a file that only grows, with one line for each message.

mod files;
mod foreign;
mod holes;
mod incomplete_channel;
mod letter_case;
mod line;
mod paths;
mod projection;
mod state;
mod tail;

pub use incomplete_channel::{
    CheckedChannels, IncompleteChannel, UnreadableChannel, check_channels,
};
pub use line::{ChannelLine, line, of_record};
pub use paths::conversation;
pub use state::{ChannelCounts, State, of};

use super::{AppliedRecord, Feature, States};
use crate::base::error::{Problem, Result};
use crate::disk::Dir;
use crate::router::projections::Projection;
use crate::router::seam::{Cx, Draft};

pub(super) const FEATURE: Channels = Channels;

pub(super) struct Channels;

impl Feature for Channels {
    fn judge(
        &self,
        cx: Cx<'_>,
        draft: &mut Draft,
    ) -> Result<std::result::Result<(), Vec<Problem>>> {
        Ok(letter_case::check(of(cx.state()), &draft.message))
    }

    fn apply(&self, states: &mut States, applied: &AppliedRecord<'_>) {
        state::apply(&mut states.channels, applied);
    }

    fn derived(&self, room: &Dir) -> Option<Box<dyn Projection>> {
        Some(Box::new(files::ChannelFiles::new(room.clone())))
    }

    fn derived_names(&self) -> &'static [&'static str] {
        &[paths::CHANNELS]
    }
}
