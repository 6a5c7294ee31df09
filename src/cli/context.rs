//! The context of every command: the room, the output, and the identity of the caller.

use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::cli::show::output::CommandOutput;
use crate::commands::follow;
use crate::commands::post::{self, SendResult};
use crate::commands::send::{OutboxMessage, WRITTEN};
pub(super) use crate::disk::machine::here;
use crate::query::identity::{self, AgentIdentity};
use crate::room::{self, Room};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Options of every command.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Global options")]
pub(super) struct GlobalArgs {
    /// Room directory; default: MAILBAG_ROOM, MAOS_MESSAGE_DIR, or .mailbag here or in the nearest parent directory
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) room: Option<PathBuf>,
    /// JSON for output and errors
    #[arg(long, global = true)]
    pub(super) json: bool,
    /// Log of what the command does; twice for every detail
    #[arg(short, long, global = true, action = clap::ArgAction::Count, conflicts_with = "quiet")]
    pub(super) verbose: u8,
    /// Output without notes and confirmations
    #[arg(short, long, global = true)]
    pub(super) quiet: bool,
    /// Return without waiting for a running router
    #[arg(long, global = true)]
    pub(super) no_wait: bool,
}

/// The option with the agent that runs a command. A command with another default changes the help with `mut_arg`.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct IdentityArgs {
    /// Agent that runs the command; default: your session's agent, MAILBAG_AGENT, MAOS_AGENT_ID, or the human at a terminal
    #[arg(long = "as", value_name = "AGENT")]
    agent: Option<String>,
}

impl IdentityArgs {
    /// The name after `--as`.
    pub(super) fn given(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// The caller.
    pub(super) fn who(&self, cx: &CommandContext) -> Result<AgentIdentity> {
        cx.who(self.given())
    }

    /// The id of the agent that owns the mailbox.
    pub(super) fn mailbox(&self, cx: &CommandContext, room: &Room) -> Result<String> {
        self.who(cx)?.mailbox(room, &room.registry()?)
    }

    /// The id of the agent that looks. Without an identity the caller sees everything, as the human does.
    pub(super) fn looker(&self, cx: &CommandContext, room: &Room) -> Result<Option<String>> {
        let who = match self.who(cx) {
            Ok(who) => who,
            Err(_) if identity::named(self.given()).is_none() => return Ok(None),
            Err(e) => return Err(e),
        };
        who.mailbox(room, &room.registry()?).map(Some)
    }
}

/// The work before a command reads the room. A running router is always asked for a pass (P256). Without a router the
/// command does the work itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Freshness {
    /// A pass: deadlines, leases and receipts affect the answer.
    Complete,
    /// A pass only if files wait: the answer has only messages, and a pass reads the state of the whole room.
    Messages,
    /// No pass: the command only shows the room.
    AsIs,
}

/// Context of every command.
pub(super) struct CommandContext {
    asked: Option<PathBuf>,
    /// True after the check whether the room is a copy.
    compared: Cell<bool>,
    /// Where everything is printed.
    pub(super) out: CommandOutput,
    /// The number of `-v` options.
    pub(super) verbose: u8,
    no_wait: bool,
}

impl CommandContext {
    pub(super) fn new(global: &GlobalArgs) -> CommandContext {
        let given = global
            .room
            .clone()
            .filter(|room| !room.as_os_str().is_empty());
        let asked = given.or_else(room::named_by_environment);
        CommandContext {
            asked,
            compared: Cell::new(false),
            out: CommandOutput::new(global.json, global.quiet),
            verbose: global.verbose,
            no_wait: global.no_wait,
        }
    }

    /// Makes a process of root run as the owner of the room, which the command may name by its directory.
    pub(super) fn take_owner(&self, place: Option<&Path>) -> Result<()> {
        match here() {
            Ok(from) => room::take_owner(place.or(self.asked.as_deref()), &from),
            // A command that needs the working directory reports it.
            Err(_) => Ok(()),
        }
    }

    /// The room of `--room`, or the one found here or in a parent directory.
    pub(super) fn room(&self) -> Result<Room> {
        self.room_from(&here()?)
    }

    /// The room of a command that may route in it. Warns if the room is a copy.
    pub(super) fn room_to_route(&self) -> Result<Room> {
        let room = self.room()?;
        self.warn_of_copy(&room);
        Ok(room)
    }

    /// The room of a hook in this directory. `None` if no room is found or named, or if the room belongs to another
    /// user.
    pub(super) fn room_of_hook(&self, from: &Path) -> Result<Option<Room>> {
        match self.room_from(from) {
            Err(Error::Untrusted { .. }) => Ok(None),
            Err(Error::NotFound { .. }) if self.asked.is_none() => Ok(None),
            room => room.map(Some),
        }
    }

    fn room_from(&self, from: &Path) -> Result<Room> {
        Room::open(&room::find(self.asked.as_deref(), from)?)
    }

    /// The directory that `--room` or `MAILBAG_ROOM` names.
    pub(super) fn asked(&self) -> Option<PathBuf> {
        self.asked.clone()
    }

    /// The caller, by a name that was given or by the session and the environment.
    pub(super) fn who(&self, asked: Option<&str>) -> Result<AgentIdentity> {
        let room = self.room_to_route()?;
        identity::who(asked, || Ok(room))
    }

    /// Warns that this process cannot deliver pending messages.
    pub(super) fn warn_undelivered(&self, e: &crate::base::error::Error) {
        self.out
            .warn(&format!("cannot deliver pending messages: {e}"));
    }

    /// The longest wait of a reading command for a running router.
    pub(super) fn reader_wait(&self) -> Duration {
        if self.no_wait {
            Duration::ZERO
        } else {
            limits::READER_WAIT
        }
    }

    /// The longest wait of a writing command for a running router.
    pub(super) fn writer_wait(&self) -> Duration {
        if self.no_wait {
            Duration::ZERO
        } else {
            limits::WRITER_WAIT
        }
    }

    /// Opens the room and refreshes it: the first step of every command that reads messages.
    pub(super) fn fresh_room(&self, freshness: Freshness) -> Result<Room> {
        let room = self.room()?;
        self.refresh(&room, freshness);
        Ok(room)
    }

    /// Lets the router process the outboxes, so that the output is up to date. A failure is a warning.
    pub(super) fn refresh(&self, room: &Room, freshness: Freshness) {
        let within = self.reader_wait();
        let refreshed = match freshness {
            Freshness::Complete => follow::refresh(room, within),
            Freshness::Messages => follow::route_pending(room, within),
            Freshness::AsIs => {
                follow::let_router_process(room, within);
                Ok(())
            }
        };
        if let Err(e) = refreshed {
            self.warn_undelivered(&e);
        }
        if freshness != Freshness::AsIs {
            self.warn_of_copy(room);
        }
    }

    /// Warns once if the room is a copy, before a command that may route in it.
    fn warn_of_copy(&self, room: &Room) {
        if !self.compared.replace(true)
            && let Ok(Some(warning)) = room.copy_warning()
        {
            self.out.warn(&warning);
        }
    }

    /// Delivers a message that was just written.
    pub(super) fn deliver(&mut self, room: &Room, sent: OutboxMessage) -> Result<SendResult> {
        self.out.did(sent.written(), WRITTEN);
        let mut posted = post::delivery(room, sent, self.writer_wait())?;
        self.check_accepted(&mut posted)?;
        Ok(posted)
    }

    /// Warns if a message is not accepted yet, and if it reaches no agent. Fails if it is not accepted and that is not a
    /// temporary state.
    pub(super) fn check_accepted(&self, posted: &mut SendResult) -> Result<()> {
        if let Some(e) = posted.failure.take() {
            return Err(e);
        }
        if let Some(why) = &posted.pending {
            self.out.warn(&format!(
                "pending: {why}; {WRITTEN} ({})",
                posted.sent.file.display()
            ));
        }
        for line in posted.lines_about_unreached() {
            self.out.warn(&line);
        }
        Ok(())
    }
}
