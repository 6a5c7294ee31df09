//! The router's record of a message that this process sent.

use super::send::Sent;
use crate::base::clock::Stamp;
use crate::base::limits;
use crate::disk::layout;
use crate::message::record::{Event, Record};
use crate::room::{Room, inbox};
use std::time::Instant;

/// Does this record accept or reject the message of this agent?
pub(super) fn is_of(record: &Record, agent: &str, sent: &Sent) -> bool {
    let name = sent.file.file_name().and_then(|name| name.to_str());
    let picked_up = record.claim.as_deref().and_then(layout::read_claim);
    let is_ours = picked_up.is_some_and(|one| one.agent == agent && Some(one.original) == name);
    is_ours && matches!(record.event, Event::Accepted | Event::Rejected)
}

/// Marks the agent's own copy as read, once it is delivered, because the command shows what it says. A failure only costs
/// a second notice.
pub(super) fn mark_copy_seen(room: &Room, agent: &str, record: &Record) {
    if record.event != Event::Rejected && !record.recipients().any(|(recipient, _)| **recipient == *agent) {
        return;
    }
    let number = record.claim.as_deref().and_then(layout::read_claim).map_or(0, |claim| claim.number);
    let staged = layout::staged(record.seq, number, agent);
    let stage = room.dir.sub(layout::STAGE);
    let is_staged = || stage.as_ref().is_ok_and(|stage| stage.stat(&staged).is_ok_and(|meta| meta.is_some()));
    let deadline = Instant::now() + limits::TOOL_SENT;
    while is_staged() && Instant::now() < deadline {
        std::thread::sleep(limits::FOLLOW / 10);
    }
    let at = Stamp::parse(&record.at).unwrap_or_default();
    if let Err(e) = inbox::mark_copy_seen(&room.dir, agent, at) {
        tracing::warn!("{e}");
    }
}
