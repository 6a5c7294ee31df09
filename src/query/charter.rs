//! The room's charter with its problems.

use crate::base::error::{Error, Problem, Result};
use crate::base::limits;
use crate::features::charter::{CHARTER, Charter, CharterFile};
use crate::query::candidates::RoomAvailability;
use crate::room::Room;
use crate::room::resolve;

/// The charter of a room, if it has one. Its problems include owners that no message would reach.
pub fn charter(room: &Room) -> Result<Option<Charter>> {
    let file = CharterFile::read(&room.dir)?;
    let mut charter = match &file {
        CharterFile::Text(text) => Charter::parse(text),
        CharterFile::Unreadable(Problem { what, fix, .. }) => {
            let path = room.dir.at(CHARTER);
            return Err(Error::state(path, what.clone(), fix.clone()));
        }
        CharterFile::Missing => return Ok(None),
    };
    let registry = room.registry_alone()?.with_lanes(charter.names().into());
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
    Ok(Some(charter))
}

/// The charter, if there is one that can be read.
pub fn readable(room: &Room) -> Option<Charter> {
    match CharterFile::read(&room.dir).inspect_err(|e| tracing::debug!("{e}")) {
        Ok(CharterFile::Text(text)) => Some(Charter::parse(&text)),
        _ => None,
    }
}
