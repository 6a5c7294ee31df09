//! `mailbag reply`

use super::send::{self, Fields};
use crate::base::error::Result;
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::commands::reply::{Reply, reply};

const EXAMPLES: &str = "\
Examples:
  mailbag reply 42 'the port is 8080' --as bob
  mailbag reply 0192f3-… --all 'agreed' --as bob
  make test 2>&1 | mailbag reply 42 - --type error --as bob

A message that you got or sent is named by its number, its id, the beginning
of its id, or SENDER/ID. The reply goes to its sender, with --all to its other recipients too; to its
recipients if you sent it yourself. It belongs to the same conversation and
channel, and has the same subject with \"Re: \" before it. Its type is answer
if the message is a question or waits for a response, else message.

Without BODY, or for -, the body is read from standard input. The id of the
reply is printed.";

/// Answer a message
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Message to answer, as #12, 12, ID or SENDER/ID
    id: String,
    /// The text
    #[arg(value_name = "BODY|-")]
    body: Option<String>,
    /// To its sender and all its other recipients
    #[arg(long)]
    all: bool,
    /// Who replies; else MAILBAG_AGENT, else MAOS_AGENT_ID, else, at a terminal, the human
    #[arg(long = "as", value_name = "AGENT")]
    sender: Option<String>,
    #[command(flatten)]
    fields: Fields,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let who = cx.who(args.sender.as_deref())?;
    let room = cx.room()?;
    let draft = args.fields.draft(args.body, "write the body behind the id, or pipe it")?;
    cx.route_waiting(&room);
    let Reply { draft, left_out, .. } = reply(&room, &who, &args.id, args.all, draft)?;
    if !left_out.is_empty() {
        cx.out.warn(&format!("not to {}, who can't be written to any more", left_out.join(", ")));
    }
    send::send(&room, &who, draft, cx)
}
