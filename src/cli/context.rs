//! What every command is given: the room, the output, and who is asking.

use super::args::Global;
use super::output::Output;
use crate::actions::identity::{self, Who};
use crate::actions::send::mailbox;
use crate::error::{Doing, Result};
use crate::room::{self, Room};
use std::path::PathBuf;

/// What every command is given.
pub(super) struct Context {
    asked: Option<PathBuf>,
    /// Where everything is printed.
    pub(super) out: Output,
    /// How often `-v` was given.
    pub(super) verbose: u8,
}

impl Context {
    pub(super) fn new(global: &Global) -> Context {
        let asked = global.room.clone().filter(|room| !room.as_os_str().is_empty());
        Context { asked, out: Output::new(global.json, global.quiet), verbose: global.verbose }
    }

    /// The room that was asked for, or the one that stands here or above.
    pub(super) fn room(&self) -> Result<Room> {
        Room::open(&room::find(self.asked.as_deref(), &here()?)?)
    }

    /// The directory that `--room` or `MAILBAG_ROOM` names.
    pub(super) fn asked(&self) -> Option<PathBuf> {
        self.asked.clone()
    }

    /// Who is asking. Standard output tells whether a person is: programs run others with a pipe there.
    pub(super) fn who(&self, asked: Option<&str>) -> Result<Who> {
        identity::who(asked, || self.room(), self.out.is_terminal())
    }

    /// What waits is not routed by a command that waits for mail: somebody has to know.
    pub(super) fn trouble(&self, e: &crate::error::Error) {
        self.out.warn(&format!("what waits is not routed: {e}"));
    }

    /// Who looks, by id: an agent sees its own mail; the human, and who gives no name, sees all.
    pub(super) fn looker(&self, asked: Option<&str>, room: &Room) -> Result<Option<String>> {
        let who = match identity::who(asked, || self.room(), self.out.is_terminal()) {
            Ok(who) => who,
            Err(_) if asked.is_none() => return Ok(None),
            Err(e) => return Err(e),
        };
        mailbox(room, &room.registry()?, &who.name, Some(who.source)).map(Some)
    }

    /// As [`Context::route`], but begins no pass if nothing waits.
    pub(super) fn route_waiting(&self, room: &Room) {
        if let Err(e) = crate::actions::send::route_waiting(room) {
            self.out.warn(&format!("what waits was not routed: {e}"));
        }
    }

    /// Routes what waits, so that what is shown is fresh. That it fails is told, and hinders nobody from reading.
    pub(super) fn route(&self, room: &Room) {
        if let Err(e) = crate::actions::send::route(room) {
            self.out.warn(&format!("what waits was not routed: {e}"));
        }
    }
}

/// The working directory.
pub(super) fn here() -> Result<PathBuf> {
    std::env::current_dir().doing("find the working directory", ".")
}
