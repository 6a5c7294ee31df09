//! `mailbag exec`

use crate::base::error::{Doing, Result};
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::cli::show::{output, waiting};
use crate::clients::exec::{Ended, Told, Wish, exec};
use std::ffi::OsString;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  mailbag exec --id alice --role engineer -- ./agent.sh
  mailbag exec --id bob --role reviewer --after alice -- claude -p 'review it'
  mailbag exec --id carol --after alice bob --timeout 1h -- make release

The command finds its room and its name in the environment (MAILBAG_ROOM,
MAILBAG_AGENT, MAOS_AGENT_ID and so on). Its output goes on as it is, but for
lines of standard output that are one of these, which become messages:
  {\"type\":\"status\",\"message\":\"reading\",\"progress\":0.1}
  {\"type\":\"artifact\",\"path\":\"notes.md\",\"description\":\"what I found\"}
  {\"type\":\"dependency\",\"waiting_for\":\"bob\",\"reason\":\"needs the port\"}
  {\"type\":\"complete\",\"result\":\"done\",\"outputs\":[\"notes.md\"]}
`mailbag who`, `log` and `watch` show them. When it ends the agent has completed,
or is blocked if the status is not 0, and goes offline. The status is that of
the command, or 128 and the number of the signal that ended it; 127 and 126 say
that it could not be started.

A wait ends too when somebody decides so: `mailbag reply ID 'go on' --type
decision`, where ID is the message that says that it waits. Exit status 4 says
that the time was over first.";

/// Run a command as an agent
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The agent that the command is; it is registered if it isn't
    #[arg(long, value_name = "AGENT")]
    id: String,
    /// Its role
    #[arg(long)]
    role: Option<String>,
    /// Wait until these agents have completed
    #[arg(long, value_name = "AGENT", num_args = 1..)]
    after: Vec<String>,
    /// How long to wait for them: 30s, 5m, 1h; else for ever
    #[arg(long, value_name = "TIME", requires = "after", value_parser = waiting::span)]
    timeout: Option<Duration>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let room = cx.room()?;
    let Args { id, role, after, timeout, command } = args;
    let role = role.filter(|role| !role.is_empty());
    let wish = Wish { id, role, after, timeout, command };
    let hear = |told| match told {
        Told::Note(text) => cx.out.note(&text),
        Told::Warning(text) => cx.out.warn(&text),
    };
    match exec(&room, &wish, Box::new(output::Raw), &hear)? {
        // The command's own, of which there are more than mailbag has.
        Ended::Status(status) => std::process::exit(status.into()),
        Ended::Signal(signal) => {
            signal_hook::low_level::emulate_default_handler(signal).doing("end by a signal", "this process")?;
            Ok(Exit::Ok)
        }
    }
}
