//! Features: everything beyond plain mail, with one folder for each. A folder has the feature's state, rules, judging,
//! derived files and names on disk.
//!
//! The core (`base` to `router`) knows no feature. It names only `ALL`, [`Facts`] and [`States`], and calls the methods
//! of `Feature`. A feature may use the core, and the features that `tests/tidy/features.rs` lists for it.
//!
//! To remove a feature, remove its folder, its two lines here, and its facts in `facts.rs`. The delivery of mail does not belong here, nor do
//! commands and their output.

pub mod answers;
pub mod approvals;
pub mod archive;
pub mod channels;
pub mod charter;
pub mod claims;
mod facts;
pub mod links;
pub mod mailbox;
pub mod presence;
pub mod worklog;

pub use facts::Facts;

use crate::base::clock::Stamp;
use crate::base::error::{Problem, Result};
use crate::disk::Dir;
use crate::log::state::{OpenQuestion, RoomState};
use crate::message::Message;
use crate::message::record::{MessageHead, Record};
use crate::message::schema::CheckedFields;
use crate::message::subject::ClaimSubject;
use crate::room::Room;
use crate::room::registry::{Lane, OtherRooms};
use crate::room::settings::Settings;
use crate::router::LaneWatch;
use crate::router::projections::Projection;
use crate::router::projections::pending::AddressedItem;
use crate::router::seam::{Cx, Draft, Due};
use crate::router::upkeep::FeatureUpkeep;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The calls from the core to a feature. Each has a default that does nothing.
pub(crate) trait Feature: Sync {
    /// Adds the violations of rules that a schema cannot express. Fields of the wrong type are skipped, because the schema
    /// reports them.
    fn check(
        &self,
        _fields: &CheckedFields,
        _kind: &str,
        _now: Stamp,
        _problems: &mut Vec<Problem>,
    ) {
    }

    /// Judges a message after its recipients are resolved: rejects it with its problems, or lets it make changes and
    /// reach more agents. An error is temporary.
    fn judge(
        &self,
        _cx: Cx<'_>,
        _draft: &mut Draft,
    ) -> Result<std::result::Result<(), Vec<Problem>>> {
        Ok(Ok(()))
    }

    /// Completes the record of a message that all features accepted.
    fn complete(&self, _cx: Cx<'_>, _draft: &mut Draft) {}

    /// The notices that are due now, and when to ask again. The router asks at that time, after changes of facts, and when
    /// the registry or the settings have changed.
    fn due(&self, _cx: Cx<'_>) -> Due {
        Due::default()
    }

    /// Applies a record to the feature's own state, after the core has applied the record.
    fn apply(&self, _states: &mut States, _applied: &AppliedRecord<'_>) {}

    /// Moves the state of one agent to another, in the record `seq`.
    fn rename(&self, _states: &mut States, _of: &str, _to: &Arc<str>, _seq: u64) {}

    /// Cuts the times of the state after the clock was set back, in the record `seq`.
    fn cut_times(&self, _states: &mut States, _now: Stamp, _seq: u64) {}

    /// The owners of work, for the address `owner:<subject>`.
    fn owners(&self, _state: &RoomState, _subject: &ClaimSubject) -> Vec<Arc<str>> {
        Vec::new()
    }

    /// The items that need an agent.
    fn pending<'s>(&self, _state: &'s RoomState) -> Vec<AddressedItem<'s>> {
        Vec::new()
    }

    /// The agents of the items that are not listed, because newer ones have the same cause.
    fn unlisted<'s>(&self, _state: &'s RoomState) -> Vec<&'s [Arc<str>]> {
        Vec::new()
    }

    /// The last record that changed the items; 0 for none.
    fn pending_changed_at(&self, _state: &RoomState) -> u64 {
        0
    }

    /// The names of the items that began or ended with the passing of time alone.
    fn pending_by_time(&self, _state: &RoomState) -> Vec<Arc<str>> {
        Vec::new()
    }

    /// The open questions, in the order of the log.
    fn questions(&self, _state: &RoomState) -> Vec<OpenQuestion> {
        Vec::new()
    }

    /// The files that follow from the log.
    fn derived(&self, _room: &Dir) -> Option<Box<dyn Projection>> {
        None
    }

    /// Does work that follows from the passing of time. Called when no mail waits.
    fn upkeep(&self, _upkeep: &mut FeatureUpkeep<'_>) {}

    /// Reads the names for addresses that it adds.
    fn lanes(&self, _room: &Room) -> Result<Vec<Lane>> {
        Ok(Vec::new())
    }

    /// Watches these names while a router runs. A single pass does not wait for a file that is still being written:
    /// `waits` is false.
    fn watch_lanes(&self, _waits: bool) -> Option<Box<dyn LaneWatch>> {
        None
    }

    /// The rooms that addresses can lead to, with the addresses here that their mail may have.
    fn rooms(&self, _settings: &Settings) -> OtherRooms {
        OtherRooms::default()
    }

    /// The names of files in the room that people edit.
    fn edited_names(&self) -> &'static [&'static str] {
        &[]
    }

    /// The names of derived files and of their directories in the room.
    fn derived_names(&self) -> &'static [&'static str] {
        &[]
    }
}

/// A record that the core has applied.
pub(crate) struct AppliedRecord<'a> {
    pub(crate) record: &'a Record,
    /// The head of its message, if the record is about a message.
    pub(crate) head: Option<&'a MessageHead<'a>>,
    /// Its message, if the router has checked it now.
    pub(crate) message: Option<&'a Message>,
    /// The time of the machine's clock.
    pub(crate) time: Stamp,
}

/// Lists the features. A feature may read only features before it.
macro_rules! features {
    ($($name:ident),* $(,)?) => {
        /// All features, in the order of the list.
        pub(crate) const ALL: &[&dyn Feature] = &[$(&$name::FEATURE),*];

        /// The state of each feature. Only the feature reads it, and others ask the feature.
        #[derive(Debug, Clone, Default, Serialize, Deserialize)]
        pub struct States {
            $($name: $name::State,)*
        }
    };
}

features! { answers, links, claims, approvals, presence, charter, channels, worklog, mailbox, archive }

impl States {
    /// Applies a record to the state of each feature. The arguments are as in [`AppliedRecord`].
    pub(crate) fn apply(
        &mut self,
        record: &Record,
        head: Option<&MessageHead<'_>>,
        message: Option<&Message>,
        time: Stamp,
    ) {
        let applied = AppliedRecord {
            record,
            head,
            message,
            time,
        };
        for feature in ALL {
            feature.apply(self, &applied);
        }
    }
}
