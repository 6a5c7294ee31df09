//! `mailbag reply`: replies to a message.

use super::pending;
use super::send::{self, MessageFieldArgs};
use crate::base::error::Result;
use crate::base::text::listed;
use crate::cli::Exit;
use crate::cli::context::{CommandContext, Freshness, IdentityArgs};
use crate::commands::reply::{ReplyDraft, reply};
use crate::message::APPROVAL;

const EXAMPLES: &str = "\
Examples:
  mailbag reply 42 'the port is 8080' --as bob
  mailbag reply 0192f3ab --all 'agreed' --as bob
  make test 2>&1 | mailbag reply 42 - --type error --as bob

The reply goes to the sender of the message, and with --all to its other recipients
too. A reply to your own message goes to its recipients. The reply has the thread
and channel of the message, and its subject after \"Re: \". Its type is answer if the
message is a question or requires a response, otherwise message.

Without BODY, or with -, the body is read from standard input. The command prints
what `mailbag send` prints; with -q only the id of the reply.";

/// Reply to a message
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Message to answer, as #12, 12, ID or SENDER/ID; default: list the open questions
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Body; - for standard input
    #[arg(value_name = "BODY|-")]
    body: Option<String>,
    /// Copies to all recipients of the message
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    identity: IdentityArgs,
    #[command(flatten)]
    fields: MessageFieldArgs,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<Exit> {
    let who = args.identity.who(cx)?;
    let room = cx.fresh_room(Freshness::Messages)?;
    let Some(id) = args.id else {
        return pending::list_settled_by("mailbag reply", &room, &args.identity, cx)
            .map(Exit::from);
    };
    let draft = args.fields.draft(args.body, &cx.out)?;
    let ReplyDraft {
        draft,
        left_out,
        answered,
    } = reply(&room, &who, &id, args.all, draft)?;
    if answered.kind == APPROVAL {
        cx.out.warn(&format!(
            "a reply decides nothing; to decide, run `mailbag decide {} OPTION`",
            answered.seq
        ));
    }
    if !left_out.is_empty() {
        cx.out.warn(&format!(
            "not sent to {}: retired or no longer registered",
            listed(&left_out)
        ));
    }
    send::send(&room, &who, draft, cx)
}
