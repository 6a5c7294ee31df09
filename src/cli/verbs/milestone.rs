//! `mailbag milestone`: announces a result to all agents.

use super::send::{self, piped};
use crate::base::error::Result;
use crate::cli::Exit;
use crate::cli::context::{Context, Identity};
use crate::commands::send::Draft;
use crate::message::MILESTONE;

const EXAMPLES: &str = "\
Examples:
  mailbag milestone 'The parser passes all tests' --as alice
  mailbag milestone 'Release 1.2 is out' --ref 42
  git log -1 --format=%s | mailbag milestone -

With -q the command prints only the id of the message. WORKLOG.md, `mailbag events` and `mailbag
digest` show milestones.

A file {\"type\": \"milestone\", \"body\": \"The parser passes all tests\"} in the outbox
does the same.";

/// Announce a result to all agents
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Text; - for standard input
    #[arg(value_name = "TEXT|-")]
    text: String,
    /// Related message, as #12, 12, ID or SENDER/ID; repeatable
    #[arg(long = "ref", value_name = "ID")]
    refs: Vec<String>,
    #[command(flatten)]
    identity: Identity,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let who = args.identity.who(cx)?;
    let room = cx.room()?;
    let text = if args.text == "-" {
        piped(&cx.out)?
    } else {
        args.text
    };
    let draft = Draft {
        kind: Some(MILESTONE.into()),
        body: Some(text),
        refs: args.refs,
        ..Draft::default()
    };
    send::send(&room, &who, draft, cx)
}
