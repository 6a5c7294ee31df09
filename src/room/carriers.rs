//! The carrier of a link: the lock that admits one carrier, and the carrier's note about its state.

use super::Room;
use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::disk::{LockFile, layout};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The state of a carrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CarrierState {
    /// It has a connection to the other room.
    Connected,
    /// It has no connection, and tries again.
    Waiting,
    /// The person has not agreed to the link.
    Untrusted,
    /// It has ended.
    Ended,
}

/// A carrier's note in the directory of its link. It counts only as long as the process runs, which holds the lock while
/// it is connected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CarrierNote {
    /// Its state.
    pub state: CarrierState,
    /// The time of the note, RFC 3339.
    pub since: String,
    /// Its process.
    pub pid: u32,
    /// Why it is not connected.
    pub reason: Option<String>,
}

impl Room {
    /// Takes the right to carry for a link, or says which process has it after this time.
    pub fn lock_link(&self, tag: &str, within: Duration) -> Result<LockFile> {
        let dir = self.dir.make_loose(layout::link(tag))?;
        dir.lock_within(layout::CARRIER_LOCK, within)
            .map_err(|e| match e {
                Error::Busy { what, .. } => Error::busy(
                    format!("another carrier serves the link {tag}: {what}"),
                    "one is enough; it does the work",
                ),
                e => e,
            })
    }

    /// Notes the state of a link's carrier.
    pub fn note_carrier(&self, tag: &str, state: CarrierState, reason: Option<&str>) -> Result<()> {
        let note = CarrierNote {
            state,
            since: Stamp::now().to_string(),
            pid: std::process::id(),
            reason: reason.map(str::to_owned),
        };
        let text = serde_json::to_string(&note).expect("plain data") + "\n";
        self.dir
            .make_loose(layout::link(tag))?
            .show(layout::CARRIER, text.as_bytes())
    }
}
