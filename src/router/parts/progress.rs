//! The progress of committed records: records with undelivered copies, and records that can be settled.

use std::collections::BTreeSet;

/// Records between their commit and the record that settles them.
#[derive(Default)]
pub(crate) struct DeliveryProgress {
    /// Committed records with a copy, effect or claim that could not be processed yet.
    stuck: BTreeSet<u64>,
    /// Delivered and retired records that the next barrier settles.
    done: BTreeSet<u64>,
    /// Whether a message changed the registry since the last record that settles such changes.
    registry_changed: bool,
}

impl DeliveryProgress {
    /// Notes that a step failed for a temporary reason. The record stays open.
    pub(crate) fn failed(&mut self, seq: u64) {
        self.stuck.insert(seq);
    }

    pub(crate) fn is_stuck(&self, seq: u64) -> bool {
        self.stuck.contains(&seq)
    }

    pub(crate) fn has_stuck(&self) -> bool {
        !self.stuck.is_empty()
    }

    /// Takes the stuck records for another try.
    pub(crate) fn take_stuck(&mut self) -> BTreeSet<u64> {
        std::mem::take(&mut self.stuck)
    }

    /// Notes that this record is delivered and retired.
    pub(crate) fn done(&mut self, seq: u64) {
        self.done.insert(seq);
    }

    /// The records that the next barrier settles, as ranges with both ends included.
    pub(crate) fn to_settle(&self) -> Vec<(u64, u64)> {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for &seq in &self.done {
            match ranges.last_mut() {
                Some((_, to)) if *to + 1 == seq => *to = seq,
                _ => ranges.push((seq, seq)),
            }
        }
        ranges
    }

    /// Removes ranges that the log has as settled.
    pub(crate) fn settled(&mut self, ranges: &[(u64, u64)]) {
        self.done
            .retain(|seq| !ranges.iter().any(|(from, to)| (from..=to).contains(&seq)));
    }

    /// Notes that a message changed the registry.
    pub(crate) fn registry_changed(&mut self) {
        self.registry_changed = true;
    }

    /// Notes that the log has a record that settles changes of the registry.
    pub(crate) fn registry_settled(&mut self) {
        self.registry_changed = false;
    }

    /// Returns true if a change of the registry is not settled yet.
    pub(crate) fn has_open_changes(&self) -> bool {
        self.registry_changed && !self.done.is_empty()
    }

    /// Returns true if the router must settle before it ends. The next pass would make an open change of the registry
    /// again, over changes that people made since.
    pub(crate) fn must_settle(&self) -> bool {
        self.registry_changed
    }
}
