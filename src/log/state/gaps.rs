//! The gaps of the log that a person has accepted.

use super::RoomState;
use crate::log::{LogPosition, LogTip};
use crate::message::gap::LogGap;
use crate::message::record::{Event, Record};
use serde::{Deserialize, Serialize};

/// All accepted gaps, in the order of the log.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct AcceptedGaps(Vec<AcceptedGap>);

/// An accepted gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedGap {
    /// The first lost record.
    pub from: u64,
    /// The last lost record.
    pub to: u64,
    /// The position of the record that accepts the gap.
    pub at: LogPosition,
}

impl AcceptedGaps {
    /// The gap that a lost record belongs to.
    pub fn of(&self, seq: u64) -> Option<&AcceptedGap> {
        self.0.iter().find(|gap| (gap.from..=gap.to).contains(&seq))
    }
}

impl RoomState {
    /// The last record.
    pub fn tip(&self) -> LogTip {
        LogTip {
            at: self.last,
            end: self.end,
            seq: self.seq,
            hash: self.prev,
        }
    }

    pub(super) fn accept_gap(&mut self, record: &Record, at: LogPosition) {
        let Event::Gap { gap, .. } = &record.event else {
            return;
        };
        let LogGap { from, to, .. } = &**gap;
        self.gaps.0.push(AcceptedGap {
            from: *from,
            to: *to,
            at,
        });
    }
}
