//! Incomplete rooms: a copy that `mailbag backup` did not finish, and directories that lack a part of their room. A
//! router without the log would assign numbers again and deliver mail again. `spool/room` is restored from the log.

use super::Room;
use super::open::has_log;
use crate::base::error::{Error, Result};
use crate::disk::{Dir, layout};
use crate::log::state;

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
        match room.find_routed() {
            Some(routed) if room.id()?.is_none() => Err(room.lacks_log("missing", routed)),
            _ => Ok(room),
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
        match room.find_routed() {
            Some(routed) if state.seq == 0 => Err(room.lacks_log("empty", routed)),
            _ => Ok(()),
        }
    }

    /// The first directory with mail that a router has moved there.
    fn find_routed(&self) -> Option<&'static str> {
        let places = [layout::SENT, layout::REJECTED, layout::INBOXES];
        places
            .into_iter()
            .find(|place| self.dir.sub(place).is_ok_and(|dir| has_mail(&dir)))
    }

    fn lacks_log(&self, state: &str, routed: &str) -> Error {
        self.incomplete(format!(
            "the log is {state}, but {routed}/ contains mail that a router delivered"
        ))
    }

    fn incomplete(&self, what: String) -> Error {
        Error::state(
            self.dir.path(),
            what,
            "use a complete copy, or delete this one and run `mailbag backup` again; nothing was changed",
        )
    }
}

/// Returns true if an agent's directory in this one has a message.
fn has_mail(dir: &Dir) -> bool {
    let agents = dir.list().into_iter().flatten().flatten();
    let mut names = agents
        .filter_map(|agent| dir.sub(agent.name).ok()?.list().ok())
        .flatten()
        .flatten();
    names.any(|entry| layout::is_message_file(&entry.name))
}
