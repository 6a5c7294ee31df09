//! Incomplete copies: a copy that `mailbag backup` did not finish, and directories that lack a part of their room. A
//! router in one of them would assign numbers again and deliver mail again.

use super::Room;
use crate::base::error::{Error, Result};
use crate::disk::{Dir, layout};
use crate::log;
use crate::log::state;
use std::path::Path;

impl Room {
    /// Fails if this is a copy that `mailbag backup` did not finish.
    pub(super) fn check_finished(self) -> Result<Room> {
        if self.dir.stat(layout::INCOMPLETE)?.is_none() {
            return Ok(self);
        }
        Err(self.incomplete(format!(
            "`mailbag backup` did not finish this copy: it contains the file {}",
            layout::INCOMPLETE
        )))
    }

    /// Fails if mail was routed in this directory and `spool/room`, which names the room, does not exist.
    pub(super) fn check_named(self) -> Result<Room> {
        let room = self.check_finished()?;
        if room.dir.stat(layout::ROOM_ID)?.is_some() {
            return Ok(room);
        }
        match room.find_routed()? {
            Some(routed) => Err(room.incomplete(format!(
                "{} is missing, but {routed}/ contains mail that a router delivered",
                layout::ROOM_ID
            ))),
            None => Ok(room),
        }
    }

    /// Fails if this directory lacks a part of its room.
    pub fn check_whole(&self) -> Result<()> {
        let room = self.clone().check_named()?;
        room.registry_alone()?;
        let (id, state) = (room.id()?, state::committed(&room.dir)?);
        if id.is_none() || state.seq > 0 && id != state.room {
            let [id, logged] = [&id, &state.room].map(|id| id.as_deref().unwrap_or("no room"));
            return Err(room.incomplete(format!(
                "{} names {id}, and the log names {logged}",
                layout::ROOM_ID
            )));
        }
        if let (0, Some(routed)) = (state.seq, room.find_routed()?) {
            let what =
                format!("the log is empty, but {routed}/ contains mail that a router delivered");
            return Err(room.incomplete(what));
        }
        Ok(())
    }

    /// The first directory with files that only a router makes.
    pub fn find_routed(&self) -> Result<Option<&'static str>> {
        for (place, is_routed) in [
            (layout::SENT, is_retired as fn(&Path) -> bool),
            (layout::REJECTED, is_retired),
            (layout::INBOXES, is_delivered),
        ] {
            if self
                .dir
                .sub(place)
                .is_ok_and(|dir| has_file(&dir, is_routed))
            {
                return Ok(Some(place));
            }
        }
        Ok((log::now(&self.dir)? != log::START).then_some(layout::LOG))
    }

    fn incomplete(&self, what: String) -> Error {
        Error::state(
            self.dir.path(),
            what,
            "use a complete copy, or delete this one and run `mailbag backup` again; nothing was changed",
        )
    }
}

fn is_retired(name: &Path) -> bool {
    name.to_str()
        .is_some_and(|name| layout::read_retired(name).is_some())
}

fn is_delivered(name: &Path) -> bool {
    layout::read_delivered(name.as_os_str()).is_some()
}

/// Returns true if an agent's directory in this one has such a file.
fn has_file(dir: &Dir, is_routed: fn(&Path) -> bool) -> bool {
    let agents = dir.list().into_iter().flatten().flatten();
    let directories = agents.filter_map(|agent| dir.sub(agent.name).ok());
    let mut names = directories
        .filter_map(|agent| agent.list().ok())
        .flatten()
        .flatten();
    names.any(|entry| is_routed(Path::new(&entry.name)))
}
