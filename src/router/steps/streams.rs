//! The streams of other rooms.

use super::batch_message::ItemArrival;
use crate::base::error::{Error, Result};
use crate::disk::layout;
use crate::features::links::item as link;
use crate::features::links::item::LinkItem;
use crate::log::state::{IncomingStream, RoomState};
use crate::message::carried::IncomingItem;
use crate::message::id::far;
use serde_json::Value;
use std::sync::Arc;

/// The number of the next item of a stream.
pub(super) fn next_item(stream: Option<&IncomingStream>) -> u64 {
    stream.map_or(0, |stream| stream.n) + 1
}

/// Returns true if this item is the next one of its stream.
pub(super) fn is_next(stream: Option<&IncomingStream>, arrival: &ItemArrival) -> bool {
    let item = &arrival.arrived;
    let digest = stream.map_or(link::FIRST, |stream| stream.digest);
    stream.is_none_or(|known| known.stream == item.stream)
        && item.n == next_item(stream)
        && arrival.prev == digest
}

/// Fails if an item is not the next one of its stream.
pub(super) fn check_next(state: &RoomState, arrival: Option<&ItemArrival>) -> Result<()> {
    let Some(arrival) = arrival else {
        return Ok(());
    };
    let tag = &arrival.arrived.link;
    if is_next(state.links.came(tag), arrival) {
        return Ok(());
    }
    let what = format!("an item of the room {tag} before this one is not committed");
    Err(Error::busy(what, "it is tried again"))
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
