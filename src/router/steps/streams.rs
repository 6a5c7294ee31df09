//! Positions in the streams of other rooms.

use super::letter::Arrival;
use crate::base::error::{Error, Result};
use crate::base::hash::Hash;
use crate::disk::layout;
use crate::log::state::State;
use crate::message::id::far;
use crate::message::link::{self, Arrived, Item};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// A position in a stream.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Place {
    stream: Option<Arc<str>>,
    n: u64,
    digest: Hash,
}

impl Place {
    /// The position that the log has.
    pub(super) fn in_log(state: &State, tag: &str) -> Place {
        match state.links.get(tag).and_then(|link| link.came.as_ref()) {
            Some(came) => Place {
                stream: Some(came.stream.clone()),
                n: came.n,
                digest: came.digest,
            },
            None => Place {
                stream: None,
                n: 0,
                digest: link::FIRST,
            },
        }
    }

    /// The position after an item.
    pub(super) fn after(arrival: &Arrival) -> Place {
        let Arrived {
            stream, n, digest, ..
        } = &arrival.arrived;
        Place {
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
    pub(super) fn is_before(&self, arrival: &Arrival) -> bool {
        let Arrived { stream, n, .. } = &arrival.arrived;
        self.stream.as_ref().is_none_or(|known| known == stream)
            && *n == self.next()
            && arrival.prev == self.digest
    }
}

/// The positions in the streams after the items that were judged in this batch.
#[derive(Default)]
pub(super) struct Streams(HashMap<Arc<str>, Place>);

impl Streams {
    /// Moves the position after the next item. Fails if an earlier item has failed.
    pub(super) fn take(&mut self, state: &State, arrival: Option<&Arrival>) -> Result<()> {
        let Some(arrival) = arrival else {
            return Ok(());
        };
        let tag = &arrival.arrived.link;
        let at = self
            .0
            .entry(tag.clone())
            .or_insert_with(|| Place::in_log(state, tag));
        if !at.is_before(arrival) {
            let what = format!("an item of the room {tag} before this one is not committed");
            return Err(Error::Busy {
                what,
                cure: "it is tried again".into(),
            });
        }
        *at = Place::after(arrival);
        Ok(())
    }
}

/// Converts an item to a letter's content: the message in the terms of this room, or null for receipts alone.
/// `is_known` returns true if this room knows an agent or a message of the other room.
pub(super) fn open(
    item: Item,
    tag: &Arc<str>,
    is_known: &dyn Fn(&str, &str) -> bool,
) -> (Arrival, Value) {
    let Item {
        stream,
        n,
        prev,
        digest,
        seq,
        letter,
        receipts,
    } = item;
    let arrived = Arrived {
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
    let arrival = Arrival {
        arrived,
        prev,
        from: from.into(),
    };
    (arrival, content)
}
