//! `mailbag message …`: the commands for messages, in the form of other mail programs.

use super::{inbox, list, read, reply, search, send, thread, trace};
use crate::base::error::Result;
use crate::cli::Exit;
use crate::cli::context::CommandContext;

const EXAMPLES: &str = "\
Examples:
  mailbag message send bob 'hello' --as alice   # as `mailbag send`
  mailbag message list                          # as `mailbag list`";

/// Send, list, read or search messages
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, hide = true, alias = "messages")]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: MessageCommand,
}

#[derive(Debug, clap::Subcommand)]
enum MessageCommand {
    Send(send::Args),
    Inbox(inbox::Args),
    List(list::Args),
    Read(read::Args),
    Reply(reply::Args),
    Search(search::Args),
    Thread(thread::Args),
    Trace(trace::Args),
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<Exit> {
    match args.verb {
        MessageCommand::Send(args) => send::run(args, cx),
        MessageCommand::Inbox(args) => inbox::run(args, cx).map(Exit::from),
        MessageCommand::List(args) => list::run(args, cx).map(Exit::from),
        MessageCommand::Read(args) => read::run(args, cx).map(Exit::from),
        MessageCommand::Reply(args) => reply::run(args, cx),
        MessageCommand::Search(args) => search::run(args, cx).map(Exit::from),
        MessageCommand::Thread(args) => thread::run(args, cx).map(Exit::from),
        MessageCommand::Trace(args) => trace::run(args, cx).map(Exit::from),
    }
}
