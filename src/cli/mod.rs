//! The command line: parse, call a command or a query, show the result.
//!
//! In: the arguments and the environment. Out: data on standard output, messages on standard error, an exit status.
//!
//! `verbs` has one file for each command, and `show` the only printer.
//!
//! A decision does not belong here. The command line asks `query`, `commands`, `clients` and `doctor`, so that all faces give the
//! same answers.

mod args;
mod completing;
mod context;
mod exit;
mod mistakes;
mod show;
mod verbs;

use crate::base::error::Result;
use args::Cli;
pub use args::{command, groups};
use context::CommandContext;
pub use exit::Exit;
use show::output::CommandOutput;
use std::ffi::OsString;
use std::process::ExitCode;
use verbs::Command;

/// Runs the command line.
pub fn main() -> ExitCode {
    if completing::answer() {
        return Exit::Ok.into();
    }
    let words: Vec<OsString> = std::env::args_os().collect();
    let cli = match Cli::read(words.clone()) {
        Ok(cli) => cli,
        Err(e) => {
            let json = words.iter().any(|word| word == "--json");
            let exit = answer_mistake(&e, &words, json);
            // A client gives other statuses of a hook a meaning of its own.
            return if is_hook(&words) { Exit::Ok } else { exit }.into();
        }
    };
    let mut cx = CommandContext::new(&cli.global);
    let is_hook = matches!(cli.command, Some(Command::Hook(_)));
    let place = cli.command.as_ref().and_then(Command::room_directory);
    let taken = cx.take_owner(place);
    let done = taken.and_then(|()| dispatch(cli.command, &mut cx));
    let done = done.and_then(|exit| match cx.out.flush() {
        // The exit status is also a result.
        Err(e) if show::output::is_closed_pipe(&e) => Ok(exit),
        flushed => flushed.map(|()| exit),
    });
    match done {
        Ok(exit) => exit.into(),
        Err(e) if show::output::is_closed_pipe(&e) => Exit::Ok.into(),
        Err(e) => {
            // Show the results from before the failure.
            let _ = cx.out.flush();
            let e = cx.out.after_work(e);
            let root = args::command();
            let (command, _) = mistakes::named_command(&words, &root);
            // A program gets the names of the fields.
            let e = if cx.out.json {
                e
            } else {
                mistakes::in_words_of(e, command)
            };
            cx.out.error(&e);
            if is_hook {
                Exit::Ok.into()
            } else {
                Exit::of(&e).into()
            }
        }
    }
}

/// Returns true if a client runs these words as a hook.
fn is_hook(words: &[OsString]) -> bool {
    let root = command();
    let (_, name) = mistakes::named_command(words, &root);
    name == "mailbag hook" || words.iter().any(|word| word == "--rewake")
}

/// Shows the help that was asked for, or why the command line is not valid.
fn answer_mistake(error: &clap::Error, words: &[OsString], json: bool) -> Exit {
    let out = CommandOutput::new(json, false);
    match mistakes::answer(error, words, &command(), json) {
        Some(answer) => out.error(&answer),
        None => {
            if let Err(e) = show::output::usage(error, json)
                && !show::output::is_closed_pipe(&e)
            {
                out.error(&e);
                return Exit::of(&e);
            }
        }
    }
    if error.use_stderr() {
        Exit::Usage
    } else {
        Exit::Ok
    }
}

fn dispatch(command: Option<Command>, cx: &mut CommandContext) -> Result<Exit> {
    let Some(command) = command else {
        return verbs::overview(cx);
    };
    // The router always logs. Other commands log their deliveries only with -v.
    if cx.verbose > 0 && !matches!(command, Command::Run(_)) {
        verbs::run::start_logging(verbs::run::LogFormat::Text, cx);
    }
    command.run(cx)
}

#[cfg(test)]
mod tests {
    use super::is_hook;
    use std::ffi::OsString;

    #[test]
    fn a_hook_is_recognised_after_global_options() {
        for (line, expected) in [
            ("mailbag hook claude --nosuch", true),
            ("mailbag --room /x hook claude --nosuch", true),
            ("mailbag --room=/x --json -v hook claude --nosuch", true),
            ("mailbag --nosuch hook claude", true),
            ("mailbag wait --rewake --nosuch", true),
            ("mailbag send hook --nosuch", false),
            ("mailbag --room hook send --nosuch", false),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(is_hook(&words), expected, "{line}");
        }
    }
}
