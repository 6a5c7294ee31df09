//! The items that need an agent: offers to it.

use super::ClaimOffer;
use crate::base::text::listed;
use crate::log::state::RoomState;
use crate::router::projections::pending::{AddressedItem, PendingItem};
use std::borrow::Cow;

/// All items, each with the agents that have to act.
pub(super) fn pending(state: &RoomState) -> Vec<AddressedItem<'_>> {
    let offers = super::of(state).offered().iter();
    let items = offers.map(|one| (Cow::Owned(vec![one.to.clone()]), offer(one)));
    items.collect()
}

fn offer(one: &ClaimOffer) -> PendingItem {
    PendingItem {
        title: listed(&one.subjects),
        command: format!("mailbag handoff --accept {}", one.seq),
        ..PendingItem::new("offer", one.seq, one.offer.clone(), &one.from, one.since)
    }
}
