//! The number of decisions, and the last record with an entry in the worklog.

use super::envelope::Envelope;
use crate::features::AppliedRecord;
use crate::log::state::RoomState;
use serde::{Deserialize, Serialize};

/// The entries of the log.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct State {
    /// The last record with an entry.
    pub last_entry: u64,
    /// The number of decisions.
    pub decisions: u64,
}

/// The entries of the log.
pub fn of(state: &RoomState) -> &State {
    &state.features.worklog
}

pub(super) fn apply(state: &mut State, applied: &AppliedRecord<'_>) {
    if let Some(event) = Envelope::entry_of(applied.record, applied.head) {
        state.last_entry = applied.record.seq;
        state.decisions += u64::from(event.is_decision());
    }
}
