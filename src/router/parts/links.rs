//! What the router has heard of other rooms, until the log has it.

use crate::base::limits;
use crate::disk::Meta;
use crate::message::link::Acked;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

/// A version of a room's state, and the stream with which it was compared.
type Read = (Meta, Option<Arc<str>>);

/// How far other rooms are.
#[derive(Default)]
pub(crate) struct Links {
    /// The version of each room's state that was read last, and the stream to that room at that time.
    read: HashMap<Arc<str>, Read>,
    acked: BTreeMap<Arc<str>, Acked>,
    since: Option<Instant>,
}

impl Links {
    /// Is there nothing to write?
    pub(crate) fn is_empty(&self) -> bool {
        self.acked.is_empty()
    }

    /// When the log must have what was heard.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.since.map(|since| since + limits::RECEIPTS)
    }

    /// Was this version of a room's state read?
    pub(crate) fn is_known(&self, tag: &str, (meta, stream): (&Meta, &Option<Arc<str>>)) -> bool {
        self.read
            .get(tag)
            .is_some_and(|(read, compared)| read == meta && compared == stream)
    }

    /// This version of a room's state was read.
    pub(crate) fn has_read(&mut self, tag: &Arc<str>, read: Read) {
        self.read.insert(tag.clone(), read);
    }

    /// Another room has committed what was sent to it.
    pub(crate) fn note(&mut self, acked: Acked) {
        self.since.get_or_insert_with(Instant::now);
        self.acked.insert(acked.link.clone(), acked);
    }

    /// What was heard, for a record of the next batch.
    pub(crate) fn stage(&mut self) -> Vec<Acked> {
        self.since = None;
        std::mem::take(&mut self.acked).into_values().collect()
    }

    /// The record could not be committed: it is for the next batch.
    pub(crate) fn unstage(&mut self, acked: Vec<Acked>) {
        acked.into_iter().for_each(|acked| self.note(acked));
    }
}
