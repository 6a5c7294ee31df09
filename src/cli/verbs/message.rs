//! `mailbag message …`: the commands for messages, in the form of other mail programs.

use super::{inbox, list, send};
use crate::base::error::Result;
use crate::cli::Exit;
use crate::cli::context::CommandContext;

const EXAMPLES: &str = "\
Examples:
  mailbag message send bob 'hello' --as alice   # as `mailbag send`
  mailbag message list                          # as `mailbag list`";

/// Send or list messages
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, hide = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: MessageCommand,
}

#[derive(Debug, clap::Subcommand)]
enum MessageCommand {
    Send(send::Args),
    Inbox(inbox::Args),
    List(list::Args),
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<Exit> {
    match args.verb {
        MessageCommand::Send(args) => send::run(args, cx),
        MessageCommand::Inbox(args) => inbox::run(args, cx).map(Exit::from),
        MessageCommand::List(args) => list::run(args, cx).map(Exit::from),
    }
}
