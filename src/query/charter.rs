//! The room's charter with its problems.

use crate::base::error::{Error, Problem, Result};
use crate::base::limits;
use crate::base::written_path::write_path;
use crate::disk::layout;
use crate::query::candidates::RoomAvailability;
use crate::room::Room;
use crate::room::charter::{Charter, CharterFile};
use crate::room::resolve;
use serde::Serialize;
use std::path::PathBuf;

/// A charter with its file.
#[derive(Debug, Serialize)]
pub struct RoomCharter {
    /// The file.
    #[serde(serialize_with = "write_path")]
    pub path: PathBuf,
    /// The SHA-256 of its text, as in the notices of its changes.
    pub sha256: String,
    /// Its content.
    #[serde(flatten)]
    pub charter: Charter,
}

/// The charter of a room. Its problems include owners that no message would reach.
pub fn charter(room: &Room) -> Result<RoomCharter> {
    let path = room.dir.at(layout::CHARTER);
    let file = CharterFile::read(&room.dir)?;
    let mut charter = match &file {
        CharterFile::Text(text) => Charter::parse(text),
        CharterFile::Unreadable(Problem { what, fix, .. }) => {
            return Err(Error::state(path, what.clone(), fix.clone()));
        }
        CharterFile::Missing => {
            let fix = "write one, or run `mailbag charter init` for a template";
            return Err(Error::not_found(format!("no {}", path.display()), fix));
        }
    };
    let registry = room
        .registry_alone()?
        .with_lanes(charter.lanes.clone().into());
    let mut candidates = RoomAvailability::quick(room, &registry);
    for lane in charter.lanes.iter().filter(|lane| !lane.owners.is_empty()) {
        let explained = resolve::explain(
            &registry,
            None,
            std::slice::from_ref(&lane.address),
            &mut candidates,
        );
        let problems = explained
            .addresses
            .into_iter()
            .flat_map(|address| address.problems);
        charter
            .problems
            .extend(problems.map(|problem| problem.at(format!("line {}", lane.line))));
    }
    charter.problems.truncate(limits::PROBLEMS);
    Ok(RoomCharter {
        path,
        sha256: file.version(),
        charter,
    })
}

/// The charter, if there is one that can be read.
pub fn readable(room: &Room) -> Option<Charter> {
    match CharterFile::read(&room.dir).inspect_err(|e| tracing::debug!("{e}")) {
        Ok(CharterFile::Text(text)) => Some(Charter::parse(&text)),
        _ => None,
    }
}
