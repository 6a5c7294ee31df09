//! Positions in the streams of other rooms.

use super::letter::ItemArrival;
use crate::base::error::{Error, Result};
use crate::base::hash::Hash;
use crate::disk::layout;
use crate::log::state::RoomState;
use crate::message::id::far;
use crate::message::link::{self, IncomingItem, LinkItem};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// A position in a stream.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct StreamPosition {
    stream: Option<Arc<str>>,
    n: u64,
    digest: Hash,
}

impl StreamPosition {
    /// The position that the log has.
    pub(super) fn in_log(state: &RoomState, tag: &str) -> StreamPosition {
        match state.links.get(tag).and_then(|link| link.came.as_ref()) {
            Some(came) => StreamPosition {
                stream: Some(came.stream.clone()),
                n: came.n,
                digest: came.digest,
            },
            None => StreamPosition {
                stream: None,
                n: 0,
                digest: link::FIRST,
            },
        }
    }

    /// The position after an item.
    pub(super) fn after(arrival: &ItemArrival) -> StreamPosition {
        let IncomingItem {
            stream, n, digest, ..
        } = &arrival.arrived;
        StreamPosition {
            stream: Some(stream.clone()),
            n: *n,
            digest: *digest,
        }
    }

    /// The number of the next item.
    pub(super) fn next(&self) -> u64 {
        self.n + 1
    }

    /// Returns true if this item is the next one.
    pub(super) fn is_before(&self, arrival: &ItemArrival) -> bool {
        let IncomingItem { stream, n, .. } = &arrival.arrived;
        self.stream.as_ref().is_none_or(|known| known == stream)
            && *n == self.next()
            && arrival.prev == self.digest
    }
}

/// The positions in the streams after the items that were judged in this batch.
#[derive(Default)]
pub(super) struct IncomingPositions(HashMap<Arc<str>, StreamPosition>);

impl IncomingPositions {
    /// Moves the position after the next item. Fails if an earlier item has failed.
    pub(super) fn take(&mut self, state: &RoomState, arrival: Option<&ItemArrival>) -> Result<()> {
        let Some(arrival) = arrival else {
            return Ok(());
        };
        let tag = &arrival.arrived.link;
        let at = self
            .0
            .entry(tag.clone())
            .or_insert_with(|| StreamPosition::in_log(state, tag));
        if !at.is_before(arrival) {
            let what = format!("an item of the room {tag} before this one is not committed");
            return Err(Error::Busy {
                what,
                cure: "it is tried again".into(),
            });
        }
        *at = StreamPosition::after(arrival);
        Ok(())
    }
}

/// Converts an item to a letter's content: the message in the terms of this room, or null for receipts alone.
/// `is_known` returns true if this room knows an agent or a message of the other room.
pub(super) fn open(
    item: LinkItem,
    tag: &Arc<str>,
    is_known: &dyn Fn(&str, &str) -> bool,
) -> (ItemArrival, Value) {
    let LinkItem {
        stream,
        n,
        prev,
        digest,
        seq,
        letter,
        receipts,
    } = item;
    let arrived = IncomingItem {
        link: tag.clone(),
        stream,
        n,
        digest,
        seq,
        receipts,
    };
    let (from, content) = match letter {
        None => (layout::link_id(tag), Value::Null),
        Some((from, to, mut message)) => {
            link::bring_home(&mut message, tag, &|sender, id| {
                sender == from || is_known(sender, id)
            });
            message.insert("to".into(), to.into());
            (far(tag, &from), Value::Object(message))
        }
    };
    let arrival = ItemArrival {
        arrived,
        prev,
        from: from.into(),
    };
    (arrival, content)
}
