//! Channels, files with one message per line, and mentions: from the sender's file to the reader's
//! copy.

mod conversation;
mod foreign;
mod lines;
mod mentions;
mod mending;
mod showing;

use crate::files;
use crate::world::World;
use serde_json::Value;

/// The lines of a channel, read without any other file.
#[track_caller]
pub(crate) fn conversation(world: &World, channel: &str) -> Vec<Value> {
    let path = world.room(&format!("channels/{channel}/messages.ndjson"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert!(
        text.is_empty() || text.ends_with('\n'),
        "the last line is whole: {text}"
    );
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}")))
        .collect()
}

/// The bodies in a channel, in order.
#[track_caller]
pub(crate) fn said(world: &World, channel: &str) -> Vec<String> {
    conversation(world, channel)
        .iter()
        .map(|line| line["content"].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// The bytes of a channel's conversation.
#[track_caller]
pub(crate) fn bytes(world: &World, channel: &str) -> Vec<u8> {
    files::read(world.room(&format!("channels/{channel}/messages.ndjson")))
}
