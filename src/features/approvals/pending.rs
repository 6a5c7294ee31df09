//! The items that need an agent: approvals without a decision, and disagreements that were passed on to a supervisor.

use super::{Approvals, Dispute, OpenApproval};
use crate::base::clock::Stamp;
use crate::base::{limits, sanitize};
use crate::log::state::{OpenQuestion, RoomState};
use crate::message::{Priority, id};
use crate::router::projections::pending::{AddressedItem, PendingItem};
use std::borrow::Cow;

/// All items, each with the agents that have to act.
pub(super) fn pending(state: &RoomState) -> Vec<AddressedItem<'_>> {
    let open = super::of(state).open().iter().map(approval);
    let disputes = super::disputes(state).iter().filter_map(dispute);
    open.chain(disputes).collect()
}

fn approval(open: &OpenApproval) -> AddressedItem<'_> {
    let terms = &open.terms;
    let deadline = terms.deadline.map(Stamp::from_micros);
    let name = open.approval.clone();
    let item = PendingItem {
        title: terms.title.clone(),
        deadline: deadline.map(|at| at.to_string()),
        priority: terms.priority,
        options: terms.options.clone(),
        digest: Some(open.digest.clone()),
        blocked: true,
        command: format!("mailbag decide {} OPTION", open.seq),
        ..PendingItem::new("approval", open.seq, name, &open.from, open.since)
    };
    (Cow::Borrowed(&open.to[..]), item)
}

/// The escalation to a supervisor, until the supervisor acknowledges it or the disagreement ends.
fn dispute(one: &Dispute) -> Option<AddressedItem<'_>> {
    if one.pending.is_empty() {
        return None;
    }
    let seq = one.escalated?;
    let (name, since) = one.escalation()?;
    let title = format!("disagreement: {}", one.subject());
    let item = PendingItem {
        title: sanitize::brief(&title, limits::TITLE),
        priority: Priority::High,
        command: format!("mailbag read {seq}"),
        ..PendingItem::new("escalation", seq, name.to_owned(), id::MAILBAG, since)
    };
    Some((Cow::Borrowed(&one.pending[..]), item))
}

/// The approvals without a decision.
pub(super) fn questions(approvals: &Approvals) -> Vec<OpenQuestion> {
    let open = approvals.open().iter().map(|open| OpenQuestion {
        seq: open.seq,
        kind: "approval",
        at: Stamp::from_micros(open.since).to_string(),
        from: open.from.to_string(),
        waiting_for: open.to.iter().map(ToString::to_string).collect(),
        message: open.approval.clone(),
        text: open.terms.title.clone(),
    });
    open.collect()
}
