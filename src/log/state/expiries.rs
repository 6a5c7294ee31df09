//! Messages that expire, until the log records that they have expired.

use crate::base::clock::Stamp;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The times of expiry, in microseconds since 1970. Their senders chose them, so they do not move with the clock.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct MessageExpiries {
    times: BTreeMap<u64, i64>,
    due: BTreeSet<(i64, u64)>,
}

impl MessageExpiries {
    /// Adds the message of a record.
    pub(super) fn add(&mut self, seq: u64, at: Stamp) {
        self.times.insert(seq, at.micros());
        self.due.insert((at.micros(), seq));
    }

    /// All expiries, in their order: time and record.
    pub fn times(&self) -> impl Iterator<Item = (Stamp, u64)> {
        let due = self.due.iter();
        due.map(|&(due, seq)| (Stamp::from_micros(due), seq))
    }

    /// The expiries by now, in their order.
    pub fn due(&self, now: Stamp) -> impl Iterator<Item = (Stamp, u64)> {
        self.times().take_while(move |(at, _)| *at <= now)
    }

    /// Removes a message after the notice to its sender, or if no notice is needed. The next start builds the entry again.
    pub fn expired(&mut self, seq: u64) {
        if let Some(at) = self.times.remove(&seq) {
            self.due.remove(&(at, seq));
        }
    }
}
