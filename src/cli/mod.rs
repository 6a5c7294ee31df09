//! The command line: parse, call an action, show.

mod ack;
mod agent;
mod archive;
mod args;
mod ask;
mod backup;
mod channel;
mod check;
mod completing;
mod completions;
mod context;
mod demo;
mod doctor;
mod done;
mod exec;
mod exit;
mod explain;
mod follow;
mod frame;
mod helper;
mod hook;
mod inbox;
mod init;
mod install;
mod join;
mod list;
mod log;
mod man;
mod mcp;
mod output;
mod read;
mod rejected;
mod reply;
mod rewake;
mod row;
mod run;
mod schema;
mod search;
mod send;
mod settings;
mod share;
mod spoken;
mod status;
mod table;
mod take;
mod thread;
mod topic;
mod trace;
mod trust;
mod uninstall;
mod wait;
mod waiting;
mod watch;
mod who;

use crate::error::Result;
use crate::visible;
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
            output::usage(&e, std::env::args_os().any(|word| word == "--json"));
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
        Err(e) if output::is_closed_pipe(&e) => Exit::Ok.into(),
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
        run::start_logging(run::Format::Text, cx);
    }
    match command {
        Command::Init(args) => init::run(args, cx),
        Command::Agent(args) => agent::run(args, cx),
        Command::Send(args) => send::run(args, cx),
        Command::Ack(args) => ack::run(args, cx),
        Command::Trace(args) => trace::run(args, cx),
        Command::Inbox(args) => inbox::run(args, cx),
        Command::Read(args) => read::run(args, cx),
        Command::Wait(args) => wait::run(args, cx),
        Command::Ask(args) => ask::run(args, cx),
        Command::Follow(args) => follow::run(args, cx),
        Command::Take(args) => take::run(args, cx),
        Command::Done(args) => done::run(args, cx),
        Command::Reply(args) => reply::run(args, cx),
        Command::Thread(args) => thread::run(args, cx),
        Command::List(args) => list::run(args, cx),
        Command::Search(args) => search::run(args, cx),
        Command::Channel(args) => channel::run(args, cx),
        Command::Topic(args) => topic::run(args, cx),
        Command::Join(args) => join::run(args, cx),
        Command::Who(args) => who::run(args, cx),
        Command::Explain(args) => explain::run(args, cx),
        Command::Share(args) => share::run(args, cx),
        Command::Exec(args) => exec::run(args, cx),
        Command::Check(args) => check::run(args, cx),
        Command::Watch(args) => watch::run(args, cx),
        Command::Rejected(args) => rejected::run(args, cx),
        Command::Status(args) => status::run(args, cx),
        Command::Trust(args) => trust::run(args, cx),
        Command::Doctor(args) => doctor::run(args, cx),
        Command::Log(args) => log::run(args, cx),
        Command::Archive(args) => archive::run(args, cx),
        Command::Backup(args) => backup::run(args, cx),
        Command::Run(args) => run::run(args, cx),
        Command::Mcp(args) => mcp::run(args, cx),
        Command::Settings(args) => settings::run(args, cx),
        Command::Schema(args) => schema::run(args, cx),
        Command::Hook(args) => hook::run(args, cx),
        Command::Helper(args) => helper::run(args, cx),
        Command::Install(args) => install::run(args, cx),
        Command::Uninstall(args) => uninstall::run(args, cx),
        Command::Demo(args) => demo::run(args, cx),
        Command::Completions(args) => completions::run(args, cx),
        Command::Man(args) => man::run(args, cx),
    }
}
