//! `mailbag exec`: runs a command as an agent.

use crate::base::error::{ErrorContext, Result};
use crate::cli::context::CommandContext;
use crate::cli::show::{output, waiting};
use crate::clients::exec::{CommandEnd, ExecMessage, ExecRequest, exec};
use std::ffi::OsString;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  mailbag exec --id alice --role engineer -- ./agent.sh
  mailbag exec --id bob --role reviewer --after alice -- claude -p 'review it'
  mailbag exec --id carol --after alice bob --timeout 1h -- make release
  mailbag exec --id dave -- claude            # in a terminal, as usual

The environment of the command has MAILBAG_ROOM, MAILBAG_AGENT, MAOS_AGENT_ID and
others. Its output is passed on unchanged, except for these lines on standard
output, which become messages:
  {\"type\":\"status\",\"message\":\"reading\",\"progress\":0.1}
  {\"type\":\"artifact\",\"path\":\"notes.md\",\"description\":\"what I found\"}
  {\"type\":\"dependency\",\"waiting_for\":\"bob\",\"reason\":\"needs the port\"}
  {\"type\":\"complete\",\"result\":\"done\",\"outputs\":[\"notes.md\"]}
A command whose standard output is a terminal inherits the terminal, and its output is
not read for these lines.

`mailbag who`, `list` and `watch` show them. When the command ends with status 0,
the agent has completed; with another status it is blocked. Then the agent is
offline. The exit status is that of the command, 128 plus the number of the
signal that ended it, or 126 or 127 if it cannot be started.

--after also ends when `mailbag reply ID 'go on' --type decision` answers the
message that announces the wait. Exit status 4 means a timeout.";

/// Run a command as an agent
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Agent for the command; registered if unknown
    #[arg(long, visible_alias = "as", value_name = "AGENT")]
    id: String,
    /// Role of the agent
    #[arg(long)]
    role: Option<String>,
    /// Agents that must complete first
    #[arg(long, value_name = "AGENT", num_args = 1..)]
    after: Vec<String>,
    /// Timeout of --after: 30s, 5m, 1h; default: none
    #[arg(long, value_name = "TIME", requires = "after", value_parser = waiting::span)]
    timeout: Option<Duration>,
    /// Command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    match attend(args, cx)? {
        // The command may use statuses that mailbag itself does not have.
        CommandEnd::Status(status) => std::process::exit(status.into()),
        CommandEnd::Signal(signal) => {
            signal_hook::low_level::emulate_default_handler(signal)
                .doing("end by a signal", "this process")?;
            Ok(())
        }
    }
}

fn attend(args: Args, cx: &mut CommandContext) -> Result<CommandEnd> {
    let room = cx.room()?;
    let Args {
        id,
        role,
        after,
        timeout,
        command,
    } = args;
    let role = role.filter(|role| !role.is_empty());
    let request = ExecRequest {
        id,
        role,
        after,
        timeout,
        command,
    };
    let hear = |told| match told {
        ExecMessage::Note(text) => cx.out.note(&text),
        ExecMessage::Warning(text) => cx.out.warn(&text),
    };
    exec(&room, &request, Box::new(output::RawOutput), &hear)
}
