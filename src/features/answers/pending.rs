//! The items that need an agent: questions, escalations and rejections.

use super::{OpenItem, OpenItemKind};
use crate::log::state::{OpenQuestion, RoomState};
use crate::message::id;
use crate::router::projections::pending::{AddressedItem, PendingItem};
use std::borrow::Cow;

/// All items, each with the agents that have to act.
pub(super) fn pending(state: &RoomState) -> Vec<AddressedItem<'_>> {
    let items = super::of(state).items.iter();
    items.map(|item| entry(state, item)).collect()
}

fn entry<'s>(state: &'s RoomState, item: &'s OpenItem) -> AddressedItem<'s> {
    let seq = item.seq;
    let (word, command) = match item.kind {
        OpenItemKind::Question => ("question", format!("mailbag reply {seq}")),
        OpenItemKind::Escalation => ("escalation", format!("mailbag read {seq}")),
        OpenItemKind::Rejection => ("rejection", format!("mailbag rejected show {seq}")),
    };
    let name = id::full_name(&item.from, &item.id);
    let asker = state.holder(&item.from, seq);
    let entry = PendingItem {
        title: item.title.clone(),
        priority: item.priority,
        blocked: item.kind == OpenItemKind::Question,
        command,
        ..PendingItem::new(word, seq, name, asker, item.since)
    };
    (Cow::Borrowed(&item.of[..]), entry)
}

/// The questions without an answer.
pub(super) fn questions(state: &RoomState) -> Vec<OpenQuestion> {
    let items = super::of(state).items.iter();
    let questions = items.filter(|item| item.kind == OpenItemKind::Question);
    let questions = questions.map(|item| OpenQuestion {
        seq: item.seq,
        kind: "question",
        at: item.since().to_string(),
        from: state.holder(&item.from, item.seq).to_string(),
        waiting_for: item.of.iter().map(ToString::to_string).collect(),
        message: id::full_name(&item.from, &item.id),
        text: item.title.clone(),
    });
    questions.collect()
}
