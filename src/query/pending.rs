//! Pending items of an agent or the human: decisions, answers, offers and failures.

use super::displayed::DisplayedApproval;
use crate::base::clock::{Stamp, rough_span};
use crate::base::error::Result;
use crate::features::answers::{self, OpenItemKind};
use crate::log::state::{self, RoomState};
use crate::message::id;
use crate::room::Room;
use crate::room::sessions::SessionCalls;
use crate::router::projections::pending;
pub use crate::router::projections::pending::{PendingItem, PendingItemKey};
use serde::Serialize;

/// The smallest number of equal reports that become one row.
const PAGE_GROUP: usize = 3;

/// The pending items of an agent.
#[derive(Debug, Serialize)]
pub struct PendingList {
    /// The agent.
    pub agent: String,
    /// The time of this state.
    pub at: String,
    /// The items, most urgent first.
    pub items: Vec<PendingItem>,
    /// The number of further items, which are not listed because newer ones have the same cause.
    pub older: usize,
}

/// The number of pending items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PendingCount {
    /// The number of listed items.
    pub items: usize,
    /// The number of older items, which are not listed.
    pub older: usize,
    /// The time of the oldest item.
    pub oldest: Option<String>,
}

impl PendingList {
    /// Adds the complete texts of the approvals. Fails if one cannot be read, after it has added the others.
    pub fn add_texts(&mut self, room: &Room) -> Result<()> {
        let mut outcome = Ok(());
        for item in &mut self.items {
            if let Err(e) = add_text(item, room) {
                outcome = Err(e);
            }
        }
        outcome
    }

    /// Counts the items.
    pub fn count(&self) -> PendingCount {
        PendingCount {
            items: self.items.len(),
            older: self.older,
            oldest: self.items.iter().map(|item| item.since.clone()).min(),
        }
    }

    /// A sentence about the items that are not listed. `None` if there are none.
    pub fn older_sentence(&self) -> Option<String> {
        let all = format!("`mailbag list --to {} --all`", self.agent);
        (self.older > 0).then(|| format!("and {} older, not listed: {all}", self.older))
    }
}

/// Adds the complete text of an approval.
pub fn add_text(item: &mut PendingItem, room: &Room) -> Result<()> {
    if let Some(digest) = &item.digest {
        item.text = Some(DisplayedApproval::of_record(room, item.seq, digest)?.text);
    }
    Ok(())
}

/// Counts the pending items of this agent in this state, if there is one.
pub fn count(room: &Room, state: Option<&RoomState>, agent: &str) -> PendingCount {
    let list = state.map(|state| of_state(room, state, agent));
    list.map_or(
        PendingCount {
            items: 0,
            older: 0,
            oldest: None,
        },
        |list| list.count(),
    )
}

/// The number of open questions in this state, and the oldest.
pub fn questions(state: Option<&RoomState>) -> PendingCount {
    let questions = state.map(RoomState::questions).unwrap_or_default();
    let items = state.into_iter();
    let items = items.flat_map(|state| answers::of(state).items().older());
    PendingCount {
        items: questions.len(),
        older: items
            .filter(|item| item.kind == OpenItemKind::Question)
            .count(),
        oldest: questions.into_iter().map(|question| question.at).min(),
    }
}

/// The pending items of this agent now.
pub fn pending(room: &Room, agent: &str) -> Result<PendingList> {
    Ok(of_state(room, &state::committed(&room.dir)?, agent))
}

/// As [`pending()`], with the complete texts of the approvals.
pub fn with_texts(room: &Room, agent: &str) -> Result<PendingList> {
    let mut list = pending(room, agent)?;
    list.add_texts(room)?;
    Ok(list)
}

/// The pending items of this agent in this state.
pub fn of_state(room: &Room, state: &RoomState, agent: &str) -> PendingList {
    let items = pending::items(state, &SessionCalls::of(&room.dir), agent);
    PendingList {
        agent: agent.to_owned(),
        at: Stamp::now().to_string(),
        items,
        older: pending::older(state, agent),
    }
}

/// A row of a list for a person.
pub enum PendingRow<'i> {
    /// An item.
    One(&'i PendingItem),
    /// Reports of one kind from the router, which are too many for a row each.
    Group(Vec<&'i PendingItem>),
}

/// The items as rows, in the order of the items. A group is in the place of its first item.
pub fn grouped<'i>(items: &[&'i PendingItem]) -> Vec<PendingRow<'i>> {
    let mut rows = Vec::new();
    let mut kinds: Vec<&str> = Vec::new();
    for &item in items {
        if !is_report(item) {
            rows.push(PendingRow::One(item));
            continue;
        }
        if kinds.contains(&item.kind) {
            continue;
        }
        kinds.push(item.kind);
        let equal = items.iter().copied();
        let equal: Vec<&PendingItem> = equal
            .filter(|other| other.kind == item.kind && is_report(other))
            .collect();
        if equal.len() >= PAGE_GROUP {
            rows.push(PendingRow::Group(equal));
        } else {
            rows.extend(equal.into_iter().map(PendingRow::One));
        }
    }
    rows
}

/// Returns true if the router reports this item, so that it can be one of many.
fn is_report(item: &PendingItem) -> bool {
    item.from == id::MAILBAG && matches!(item.kind, "escalation" | "rejection")
}

/// The age of a time.
pub fn age(since: &str) -> String {
    rough_span(Stamp::now().micros() - Stamp::parse(since).unwrap_or_default().micros())
}

/// The time left until a deadline.
pub fn left(deadline: &str) -> String {
    let left = Stamp::parse(deadline).unwrap_or_default().micros() - Stamp::now().micros();
    if left <= 0 {
        "overdue".to_owned()
    } else {
        format!("{} left", rough_span(left))
    }
}
