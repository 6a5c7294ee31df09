//! Incomplete rooms: a copy that `mailbag backup` did not finish, and directories that lack a part of their room. A
//! router without the log would assign numbers again and deliver mail again. `spool/room` is restored from the log.

use super::Room;
use super::open::has_log;
use crate::base::error::{Error, Result};
use crate::disk::{Dir, layout};
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

    /// Restores `spool/room`, which names the room, from the log if it was removed.
    pub(super) fn restore_id(&self) -> Result<()> {
        if self.dir.stat(layout::ROOM_ID)?.is_some() || !has_log(&self.dir)? {
            return Ok(());
        }
        let Some(id) = state::replay(&self.dir)?.state.room else {
            return Ok(());
        };
        self.dir.make(layout::SPOOL)?;
        self.dir
            .replace(layout::ROOM_ID, format!("{id}\n").as_bytes())
    }

    /// Fails if mail was routed in this directory, and neither `spool/room` nor the log names the room.
    pub(super) fn check_named(self) -> Result<Room> {
        let room = self.check_finished()?;
        room.restore_id()?;
        if room.dir.stat(layout::ROOM_ID)?.is_some() {
            return Ok(room);
        }
        match room.find_routed() {
            Some(routed) => Err(room.incomplete(format!(
                "the log is missing, but {routed}/ contains mail that a router delivered"
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
        if let (0, Some(routed)) = (state.seq, room.find_routed()) {
            let what =
                format!("the log is empty, but {routed}/ contains mail that a router delivered");
            return Err(room.incomplete(what));
        }
        Ok(())
    }

    /// The first directory with files that only a router makes.
    fn find_routed(&self) -> Option<&'static str> {
        let kinds = [
            (layout::SENT, is_retired as fn(&Path) -> bool),
            (layout::REJECTED, is_retired),
            (layout::INBOXES, is_delivered),
        ];
        let found = kinds.into_iter().find(|(place, is_routed)| {
            let dir = self.dir.sub(place);
            dir.is_ok_and(|dir| has_file(&dir, *is_routed))
        });
        found.map(|(place, _)| place)
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
