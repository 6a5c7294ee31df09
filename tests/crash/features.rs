//! Messages of each type that changes the state of a room.

mod approvals;
mod claims;
mod names;
mod receipts;

use super::explore::Exploration;
use super::story::Story;
use crate::sim::Fate;

/// Every crash, but no call that fails, where a failure allows another ending.
fn holds_at_crashes(story: &Story) {
    let mut exploration = Exploration::new(story);
    exploration.explore(&Fate::ALL);
    exploration.judge();
}
