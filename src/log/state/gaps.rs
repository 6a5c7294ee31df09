//! The gaps of the log that a person has accepted.

use super::RoomState;
use crate::log::{LogPosition, LogTip};
use crate::message::gap::LogGap;
use crate::message::record::Record;
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

    /// Returns true if the log has no gap.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    // A gap with many lost messages has several records, one after the other.
    fn insert(&mut self, gap: AcceptedGap) {
        if self
            .0
            .last()
            .is_none_or(|last| (last.from, last.to) != (gap.from, gap.to))
        {
            self.0.push(gap);
        }
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
        let Some(LogGap { from, to, .. }) = record.gap() else {
            return;
        };
        self.gaps.insert(AcceptedGap {
            from: *from,
            to: *to,
            at,
        });
        self.ids.add(record, at);
    }
}
