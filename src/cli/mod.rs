//! The command line: parse, call a command or a query, show what it returned.
//!
//! In: the arguments and the environment. Out: data on standard output, messages on standard error, an exit status.
//!
//! `verbs` has one file for each command, `show` the only printer, and `watch` the live view.
//!
//! What does not belong here: decisions. A face only asks `query`, `commands`, `clients` and `doctor`, so that every
//! other face gets the same answer.

mod args;
mod completing;
mod context;
mod exit;
mod show;
mod spoken;
mod verbs;
mod watch;

use crate::base::error::Result;
use args::{Cli, Command};
use clap::Parser;
use context::Context;
pub use exit::Exit;
use std::process::ExitCode;

/// Runs what the command line says.
pub fn main() -> ExitCode {
    if completing::answer() {
        return Exit::Ok.into();
    }
    let cli = match Cli::try_parse_from(spoken::understood(std::env::args_os())) {
        Ok(cli) => cli,
        Err(e) => {
            show::output::usage(&e, std::env::args_os().any(|word| word == "--json"));
            // A client takes any other status of a hook for a word of its own.
            let is_hook = std::env::args_os().nth(1).is_some_and(|word| word == "hook")
                || std::env::args_os().any(|word| word == "--rewake");
            return if e.use_stderr() && !is_hook { Exit::Usage.into() } else { Exit::Ok.into() };
        }
    };
    let mut cx = Context::new(&cli.global);
    let is_hook = matches!(cli.command, Command::Hook(_));
    let done = dispatch(cli.command, &mut cx).and_then(|exit| cx.out.flush().map(|()| exit));
    match done {
        Ok(exit) => exit.into(),
        Err(e) if show::output::is_closed_pipe(&e) => Exit::Ok.into(),
        Err(e) => {
            // What was found before it went wrong is shown as well.
            let _ = cx.out.flush();
            let e = cx.out.behind(e);
            cx.out.error(&e);
            if is_hook { Exit::Ok.into() } else { Exit::of(&e).into() }
        }
    }
}

/// The whole command line, for man pages and completions.
pub fn command() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

fn dispatch(command: Command, cx: &mut Context) -> Result<Exit> {
    // The router logs for itself; a command that routes on its way does so where it is asked to say more.
    if cx.verbose > 0 && !matches!(command, Command::Run(_)) {
        verbs::run::start_logging(verbs::run::Format::Text, cx);
    }
    match command {
        Command::Init(args) => verbs::init::run(args, cx),
        Command::Agent(args) => verbs::agent::run(args, cx),
        Command::Send(args) => verbs::send::run(args, cx),
        Command::Ack(args) => verbs::ack::run(args, cx),
        Command::Trace(args) => verbs::trace::run(args, cx),
        Command::Inbox(args) => verbs::inbox::run(args, cx),
        Command::Read(args) => verbs::read::run(args, cx),
        Command::Wait(args) => verbs::wait::run(args, cx),
        Command::Ask(args) => verbs::ask::run(args, cx),
        Command::Follow(args) => verbs::follow::run(args, cx),
        Command::Take(args) => verbs::take::run(args, cx),
        Command::Done(args) => verbs::done::run(args, cx),
        Command::Reply(args) => verbs::reply::run(args, cx),
        Command::Thread(args) => verbs::thread::run(args, cx),
        Command::List(args) => verbs::list::run(args, cx),
        Command::Search(args) => verbs::search::run(args, cx),
        Command::Channel(args) => verbs::channel::run(args, cx),
        Command::Topic(args) => verbs::topic::run(args, cx),
        Command::Join(args) => verbs::join::run(args, cx),
        Command::Who(args) => verbs::who::run(args, cx),
        Command::Explain(args) => verbs::explain::run(args, cx),
        Command::Share(args) => verbs::share::run(args, cx),
        Command::Exec(args) => verbs::exec::run(args, cx),
        Command::Check(args) => verbs::check::run(args, cx),
        Command::Watch(args) => watch::run(args, cx),
        Command::Rejected(args) => verbs::rejected::run(args, cx),
        Command::Status(args) => verbs::status::run(args, cx),
        Command::Trust(args) => verbs::trust::run(args, cx),
        Command::Doctor(args) => verbs::doctor::run(args, cx),
        Command::Log(args) => verbs::log::run(args, cx),
        Command::Archive(args) => verbs::archive::run(args, cx),
        Command::Backup(args) => verbs::backup::run(args, cx),
        Command::Run(args) => verbs::run::run(args, cx),
        Command::Mcp(args) => verbs::mcp::run(args, cx),
        Command::Settings(args) => verbs::settings::run(args, cx),
        Command::Schema(args) => verbs::schema::run(args, cx),
        Command::Hook(args) => verbs::hook::run(args, cx),
        Command::Helper(args) => verbs::helper::run(args, cx),
        Command::Install(args) => verbs::install::run(args, cx),
        Command::Uninstall(args) => verbs::uninstall::run(args, cx),
        Command::Demo(args) => verbs::demo::run(args, cx),
        Command::Completions(args) => verbs::completions::run(args, cx),
        Command::Man(args) => verbs::man::run(args, cx),
    }
}
