//! The process between `mailbag exec` and a command in a terminal. It leads the session of the terminal, passes signals on, and
//! repeats the command's changes: it suspends itself after the command, and ends with the command's status.

use super::{CommandEnd, SIGNALS};
use crate::base::error::{ErrorContext, Result};
use crate::disk::machine;
use crate::disk::terminal::{self, ChildChange, signal, signal_group};
use signal_hook::consts::{SIGCHLD, SIGCONT};
use signal_hook::iterator::Signals;
use std::ffi::OsString;
use std::process::Command;

/// Runs a command for a `mailbag exec` that has started this process, and returns how it ended.
pub fn monitor(command: &[OsString]) -> Result<CommandEnd> {
    let (program, arguments) = command
        .split_first()
        .expect("the command line asks for a command");
    terminal::lead().doing("lead the session of", "the terminal")?;
    let signals = machine::unignored_signals(&SIGNALS)
        .into_iter()
        .chain([SIGCHLD, SIGCONT]);
    let mut signals = Signals::new(signals).doing("listen to", "signals")?;
    let mut command = Command::new(program);
    command.args(arguments);
    machine::end_with_us(&mut command);
    let Some(child) = terminal::start_in_front(&mut command).doing("start", "the command")? else {
        return Ok(CommandEnd::Status(126));
    };
    for number in signals.forever() {
        match number {
            SIGCHLD => {
                while let Some(change) = terminal::change(child) {
                    match change {
                        ChildChange::Stopped => terminal::stop(),
                        ChildChange::Status(status) => return Ok(CommandEnd::Status(status)),
                        ChildChange::Signal(number) => {
                            terminal::without_dump();
                            return Ok(CommandEnd::Signal(number));
                        }
                    }
                }
            }
            SIGCONT => signal_group(child, SIGCONT),
            number => signal(child, number),
        }
    }
    unreachable!("the signals end only with this process")
}
