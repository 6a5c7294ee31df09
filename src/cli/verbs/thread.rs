//! `mailbag thread`: shows a conversation.

use super::list::head;
use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::context::{CommandContext, Freshness, IdentityArgs};
use crate::cli::show::frame;
use crate::cli::show::newest::NewestArgs;
use crate::cli::show::output::{BOLD, CommandOutput};
use crate::message::id;
use crate::query::history::LoggedMessage;
use crate::query::identity;
use crate::query::thread::{FullMessage, thread, whole};
use crate::query::view::MessageView;

const EXAMPLES: &str = "\
Examples:
  mailbag thread 42 --as bob      # the conversation of a message
  mailbag thread ports --last 5   # the newest messages of the thread `ports`
  mailbag thread alice/m-7 --json

The conversation of a message contains all messages with its thread_id, all answers
to it, the message that it answers, and so on, in the order of acceptance. An agent
sees the messages that it sent or received. No message is marked as read.";

/// Show a conversation
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Message, as #12, 12, ID or SENDER/ID, or thread
    #[arg(value_name = "ID|THREAD")]
    name: String,
    #[command(flatten)]
    newest: NewestArgs,
    #[command(flatten)]
    identity: IdentityArgs,
}

/// The indent of the text below the numbers.
const INDENT: &str = "        ";

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let room = cx.fresh_room(Freshness::Messages)?;
    let looker = args.identity.looker(cx, &room)?;
    let asker = looker.as_deref().unwrap_or(id::HUMAN);
    let mut messages = thread(
        &room,
        &identity::viewer(&room, asker)?,
        &args.name,
        args.newest.sought(&cx.out),
    )?;
    let is_cut = args.newest.cut(&mut messages, &cx.out);
    let mut is_first = true;
    cx.out.list(
        "messages",
        whole(&messages).map(Ok),
        "no matching messages",
        |out, FullMessage { past, .. }| {
            if !std::mem::take(&mut is_first) {
                out.line("")?;
            }
            show(past, &messages, out)
        },
    )?;
    if is_cut {
        args.newest.note(&mut cx.out)?;
    }
    Ok(())
}

fn show(past: &LoggedMessage, all: &[LoggedMessage], out: &mut CommandOutput) -> Result<()> {
    let view = MessageView::from(past);
    let head = head(&view, out);
    out.pieces(&[(BOLD, &head)])?;
    let waits = if view.marks_response() {
        "  requires a response"
    } else {
        ""
    };
    let mut facts = format!("{INDENT}{}  {}{waits}", view.kind, view.id);
    if let Some(reference) = &past.in_reply_to {
        facts += &format!("  answers {reference}");
        if !all.iter().any(|other| is_answered(other, past, reference)) {
            facts += " (not in this list)";
        }
    }
    if let Some(closed) = view.closed {
        facts += &format!("  {closed}");
    }
    frame::dim(out, &facts, INDENT)?;
    if let Some(change) = &view.change {
        frame::text(out, &sanitize::line(change), INDENT)?;
    }
    if let Some(subject) = view.subject {
        frame::text(out, &sanitize::line(subject), INDENT)?;
    }
    if let Some(body) = view.body {
        frame::text(out, body, INDENT)?;
    }
    for attachment in view.attachments() {
        frame::dim(
            out,
            &format!("{INDENT}attached: {}", attachment.name()),
            INDENT,
        )?;
    }
    Ok(())
}

/// Returns true if a message answers the other one, which it names with this reference.
fn is_answered(other: &LoggedMessage, answer: &LoggedMessage, reference: &str) -> bool {
    answer.answers == Some(other.seq) || other.is_named_by(reference)
}
