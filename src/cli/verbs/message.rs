//! `mailbag message …`: the commands for messages, in the form of other mail programs.

use super::{inbox, list, read, reply, search, send, thread, trace};
use crate::base::error::Result;
use crate::cli::Exit;
use crate::cli::context::Context;

const EXAMPLES: &str = "\
Examples:
  mailbag message send bob 'hello' --as alice   # as `mailbag send`
  mailbag message list                          # as `mailbag list`";

/// Send, list, read or search messages
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, hide = true, alias = "messages")]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Send(send::Args),
    Inbox(inbox::Args),
    List(list::Args),
    Read(read::Args),
    Reply(reply::Args),
    Search(search::Args),
    Thread(thread::Args),
    Trace(trace::Args),
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    match args.verb {
        Verb::Send(args) => send::run(args, cx),
        Verb::Inbox(args) => inbox::run(args, cx),
        Verb::List(args) => list::run(args, cx),
        Verb::Read(args) => read::run(args, cx),
        Verb::Reply(args) => reply::run(args, cx),
        Verb::Search(args) => search::run(args, cx),
        Verb::Thread(args) => thread::run(args, cx),
        Verb::Trace(args) => trace::run(args, cx),
    }
}
