//! The charter: goals, lanes and acceptance criteria of a room, in a file that people and agents write. Its lanes are
//! addresses.

mod file;
mod parse;
mod watch;

pub use file::{CHARTER, Charter, CharterFile, CharterLane, CharterSetting};

use super::Feature;
use crate::base::error::Result;
use crate::room::Room;
use crate::room::registry::Lane;
use crate::router::LaneWatch;

pub(super) const FEATURE: CharterFeature = CharterFeature;

pub(super) struct CharterFeature;

/// The log has the changes as notices.
pub(super) type State = ();

impl Feature for CharterFeature {
    fn lanes(&self, room: &Room) -> Result<Vec<Lane>> {
        let file = room.once_saved(CHARTER, || CharterFile::read(&room.dir));
        Ok(file?.lanes())
    }

    fn watch_lanes(&self, waits: bool) -> Option<Box<dyn LaneWatch>> {
        Some(Box::new(watch::CharterWatch::new(waits)))
    }

    fn edited_names(&self) -> &'static [&'static str] {
        &[CHARTER]
    }
}
