//! The items that need the human: links with mail that is unconfirmed for a long time.

use crate::base::clock::Stamp;
use crate::base::limits;
use crate::base::text::count_of;
use crate::log::state::{RoomState, UnconfirmedItem};
use crate::message::id;
use crate::router::projections::pending::{AddressedItem, PendingItem};
use std::borrow::Cow;
use std::sync::Arc;

/// The links with mail that is unconfirmed for a long time: tag, first item, and number of items.
fn late(state: &RoomState) -> impl Iterator<Item = (&Arc<str>, &UnconfirmedItem, usize)> {
    let before = Stamp::now().micros() - limits::LINK_LATE.as_micros() as i64;
    state.links.iter().filter_map(move |(tag, link)| {
        let first = link.waiting().next().filter(|first| first.at <= before)?;
        Some((tag, first, link.waiting().count()))
    })
}

/// All items, each with the agents that have to act.
pub(super) fn pending(state: &RoomState) -> Vec<AddressedItem<'_>> {
    let items = late(state).map(|(tag, first, count)| {
        let title = format!(
            "{} for the room {tag} not confirmed there",
            count_of(count, "item")
        );
        let command = format!("mailbag link status {tag}");
        let item = PendingItem {
            title,
            command,
            ..PendingItem::new("link", 0, String::new(), id::MAILBAG, first.at)
        };
        (Cow::Owned(vec![Arc::from(id::HUMAN)]), item)
    });
    items.collect()
}

/// The tags of the links that are late. Lateness begins and ends without a record.
pub(super) fn late_tags(state: &RoomState) -> Vec<Arc<str>> {
    late(state).map(|(tag, ..)| tag.clone()).collect()
}
