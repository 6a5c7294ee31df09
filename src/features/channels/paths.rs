//! The names of the feature's files in the room.

use std::path::{Path, PathBuf};

/// The directory of conversations.
pub(super) const CHANNELS: &str = "channels";
/// The file of a conversation in a channel's directory.
pub(super) const CONVERSATION: &str = "messages.ndjson";
/// The target of a conversation's link to the roster.
pub(super) const ROSTER_FROM_CHANNEL: &str = "../../roster.json";
/// Notes about lines that were cut out of conversations. Each stays until the log has the notices about the cut.
pub(super) const CUT: &str = "spool/cut";
/// The temporary file for cut lines and their notes, in the spool. Recovery removes it after a kill.
pub(super) const CUT_DRAFT: &str = ".cut.tmp";

/// A channel's directory.
pub(super) fn channel(name: &str) -> PathBuf {
    Path::new(CHANNELS).join(name)
}

/// A channel's conversation, with one message per line.
pub fn conversation(channel: &str) -> PathBuf {
    self::channel(channel).join(CONVERSATION)
}

/// The file for lines that another program wrote into a channel's conversation. It has no number at its start, unlike a
/// routed file.
pub(super) fn cut_out(channel: &str, digest: &str) -> String {
    format!("channel-{channel}-{digest}.ndjson")
}
