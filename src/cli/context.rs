//! What every command is given: the room, the output, and who is asking.

use crate::base::error::{Doing, Result};
use crate::cli::show::output::Output;
use crate::query::identity::{self, Who, mailbox};
use crate::room::{self, Room};
use std::path::PathBuf;

/// What every command takes.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Everywhere")]
pub(super) struct Global {
    /// The room; else .mailbag here or in the nearest directory above
    #[arg(long, global = true, value_name = "DIR", env = "MAILBAG_ROOM", hide_env_values = true)]
    pub(super) room: Option<PathBuf>,
    /// Data and errors as JSON
    #[arg(long, global = true)]
    pub(super) json: bool,
    /// Say more (twice: everything)
    #[arg(short, long, global = true, action = clap::ArgAction::Count, conflicts_with = "quiet")]
    pub(super) verbose: u8,
    /// Print only data and errors
    #[arg(short, long, global = true)]
    pub(super) quiet: bool,
}

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
    pub(super) fn trouble(&self, e: &crate::base::error::Error) {
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
        if let Err(e) = crate::commands::send::route_waiting(room) {
            self.out.warn(&format!("what waits was not routed: {e}"));
        }
    }

    /// Routes what waits, so that what is shown is fresh. That it fails is told, and hinders nobody from reading.
    pub(super) fn route(&self, room: &Room) {
        if let Err(e) = crate::commands::send::route(room) {
            self.out.warn(&format!("what waits was not routed: {e}"));
        }
    }
}

/// The working directory.
pub(super) fn here() -> Result<PathBuf> {
    std::env::current_dir().doing("find the working directory", ".")
}
