//! How far committed records are: which have copies that could not be moved, and which can be recorded as settled.

use std::collections::BTreeSet;
use std::sync::Arc;

/// Records between their commit and the record that settles them.
#[derive(Default)]
pub(crate) struct Progress {
    /// Committed records whose copies, effect or claim could not be moved or made yet.
    stuck: BTreeSet<u64>,
    /// Records delivered and retired since the last barrier: the next barrier settles them.
    done: BTreeSet<u64>,
    /// Was a message applied to the registry since the last record that settles it?
    registry_changed: bool,
    /// Who got mail since this was last taken, and is woken by a program.
    to_wake: BTreeSet<Arc<str>>,
}

impl Progress {
    /// A step failed for this record for a temporary reason: it stays open.
    pub(crate) fn failed(&mut self, seq: u64) {
        self.stuck.insert(seq);
    }

    /// Is a record stuck?
    pub(crate) fn is_stuck(&self, seq: u64) -> bool {
        self.stuck.contains(&seq)
    }

    /// Is any record stuck?
    pub(crate) fn has_stuck(&self) -> bool {
        !self.stuck.is_empty()
    }

    /// Takes the stuck records, to try them again.
    pub(crate) fn take_stuck(&mut self) -> BTreeSet<u64> {
        std::mem::take(&mut self.stuck)
    }

    /// This record is delivered and retired.
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

    /// The log has these ranges as settled.
    pub(crate) fn settled(&mut self, ranges: &[(u64, u64)]) {
        self.done
            .retain(|seq| !ranges.iter().any(|(from, to)| (from..=to).contains(&seq)));
    }

    /// A message was applied to the registry.
    pub(crate) fn registry_changed(&mut self) {
        self.registry_changed = true;
    }

    /// The log has a record that settles changes of the registry.
    pub(crate) fn registry_settled(&mut self) {
        self.registry_changed = false;
    }

    /// Is a change of the registry not settled yet?
    pub(crate) fn has_open_changes(&self) -> bool {
        self.registry_changed && !self.done.is_empty()
    }

    /// Must the router settle before it ends? An open effect on the registry would be made again by the next pass, over
    /// what people changed since.
    pub(crate) fn must_settle(&self) -> bool {
        self.registry_changed
    }

    /// An agent that a program wakes got mail.
    pub(crate) fn wake(&mut self, agent: &Arc<str>) {
        self.to_wake.insert(agent.clone());
    }

    /// Who is to be woken since the last call.
    pub(crate) fn take_to_wake(&mut self) -> BTreeSet<Arc<str>> {
        std::mem::take(&mut self.to_wake)
    }
}
