//! Where the streams of other rooms are, and which item follows.

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

/// Where a stream is.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Place {
    stream: Option<Arc<str>>,
    n: u64,
    digest: Hash,
}

impl Place {
    /// Where the stream from this room is in the log.
    pub(super) fn of(state: &State, tag: &str) -> Place {
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

    /// Where the stream is behind an item.
    pub(super) fn behind(arrival: &Arrival) -> Place {
        let Arrived {
            stream, n, digest, ..
        } = &arrival.arrived;
        Place {
            stream: Some(stream.clone()),
            n: *n,
            digest: *digest,
        }
    }

    /// The number of the item that follows.
    pub(super) fn next(&self) -> u64 {
        self.n + 1
    }

    /// Does this item follow?
    pub(super) fn fits(&self, arrival: &Arrival) -> bool {
        let Arrived { stream, n, .. } = &arrival.arrived;
        self.stream.as_ref().is_none_or(|known| known == stream)
            && *n == self.next()
            && arrival.prev == self.digest
    }
}

/// Where the streams are with the items that were judged in this batch.
#[derive(Default)]
pub(super) struct Streams(HashMap<Arc<str>, Place>);

impl Streams {
    /// The next item is judged. If one before it failed, it has to wait, too.
    pub(super) fn take(&mut self, state: &State, arrival: Option<&Arrival>) -> Result<()> {
        let Some(arrival) = arrival else {
            return Ok(());
        };
        let tag = &arrival.arrived.link;
        let at = self
            .0
            .entry(tag.clone())
            .or_insert_with(|| Place::of(state, tag));
        if !at.fits(arrival) {
            let what = format!("an item of the room {tag} before this one is not committed");
            return Err(Error::Busy {
                what,
                cure: "it is tried again".into(),
            });
        }
        *at = Place::behind(arrival);
        Ok(())
    }
}

/// An item as a letter's content: the message as this room has it, or nothing for receipts alone. `is_known` says whether this
/// room knows an agent or a message of the other room.
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
    let Some((from, to, mut message)) = letter else {
        return (
            Arrival {
                arrived,
                prev,
                from: layout::link_id(tag).into(),
            },
            Value::Null,
        );
    };
    link::bring_home(&mut message, tag, &|sender, id| {
        sender == from || is_known(sender, id)
    });
    message.insert("to".into(), to.into());
    (
        Arrival {
            arrived,
            prev,
            from: far(tag, &from).into(),
        },
        Value::Object(message),
    )
}
