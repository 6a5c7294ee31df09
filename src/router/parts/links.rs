//! Acknowledgements from other rooms, until the log has them.

use crate::base::limits;
use crate::disk::Meta;
use crate::message::carried::StreamAcknowledgement;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

/// A version of a room's state, and the stream that it was compared with.
type LinkStateVersion = (Meta, Option<Arc<str>>);

/// The delivery state of links.
#[derive(Default)]
pub(crate) struct LinkAcknowledgements {
    /// The last version of each room's state, and the stream to that room at that time.
    read: HashMap<Arc<str>, LinkStateVersion>,
    acked: BTreeMap<Arc<str>, StreamAcknowledgement>,
    since: Option<Instant>,
}

impl LinkAcknowledgements {
    /// Returns true if no acknowledgement waits for the log.
    pub(crate) fn is_empty(&self) -> bool {
        self.acked.is_empty()
    }

    /// The time when the log must have the acknowledgements.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.since.map(|since| since + limits::RECEIPTS)
    }

    /// Returns true if this version of a room's state was read.
    pub(crate) fn is_known(&self, tag: &str, meta: &Meta, stream: Option<&Arc<str>>) -> bool {
        self.read
            .get(tag)
            .is_some_and(|(read, compared)| read == meta && compared.as_ref() == stream)
    }

    /// Notes that this version of a room's state was read.
    pub(crate) fn set_read(&mut self, tag: &Arc<str>, read: LinkStateVersion) {
        self.read.insert(tag.clone(), read);
    }

    /// Notes that another room has committed items.
    pub(crate) fn note(&mut self, acked: StreamAcknowledgement) {
        self.since.get_or_insert_with(Instant::now);
        self.acked.insert(acked.link.clone(), acked);
    }

    /// The acknowledgements for a record of the next batch.
    pub(crate) fn stage(&self) -> Vec<StreamAcknowledgement> {
        self.acked.values().cloned().collect()
    }

    /// Notes that the log has the acknowledgements.
    pub(crate) fn committed(&mut self) {
        self.acked.clear();
        self.since = None;
    }

    /// Delays the next try after a batch failed.
    pub(crate) fn delay(&mut self) {
        self.since = self.since.map(|_| Instant::now());
    }
}
