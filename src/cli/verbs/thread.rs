//! `mailbag thread`

use super::list::head;
use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::cli::show::frame;
use crate::cli::show::output::BOLD;
use crate::message::id;
use crate::query::history::{Eyes, Past};
use crate::query::thread::thread;
use serde::Serialize;
use serde_json::{Map, Value};

const EXAMPLES: &str = "\
Examples:
  mailbag thread 42 --as bob            the conversation of that message
  mailbag thread ports --last 5         the newest of the thread of that name
  mailbag thread alice/m-7 --json

The conversation of a message is all that has its thread_id, and all that
answers it or is answered by it, and so on, in the order of acceptance. An
agent sees what it sent and what it got. Nothing is marked as read.";

/// Show a whole conversation
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Message, as #12, 12, ID or SENDER/ID, or name of a thread
    #[arg(value_name = "ID|THREAD")]
    name: String,
    /// Only so many of the newest
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// Who looks; else MAILBAG_AGENT, else MAOS_AGENT_ID
    #[arg(long = "as", value_name = "AGENT")]
    looker: Option<String>,
}

/// How far what is said stands from the numbers.
const INDENT: &str = "        ";

/// A message with all its fields.
#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    past: &'a Past,
    message: &'a Map<String, Value>,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let room = cx.room()?;
    let looker = cx.looker(args.looker.as_deref(), &room)?;
    cx.route_waiting(&room);
    let asker = looker.as_deref().unwrap_or(id::HUMAN);
    let messages = thread(&room, &Eyes::of(asker), &args.name, args.last)?;
    if cx.out.json {
        cx.out.json_list(messages.iter().map(|past| Ok(Whole { past, message: &past.message })))?;
        return Ok(Exit::Ok);
    }
    for (n, past) in messages.iter().enumerate() {
        if n > 0 {
            cx.out.line("")?;
        }
        show(past, &messages, cx)?;
    }
    Ok(Exit::Ok)
}

fn show(past: &Past, all: &[Past], cx: &mut Context) -> Result<()> {
    let head = cx.out.paint(BOLD, &head(past));
    cx.out.line(head)?;
    let waits = if past.requires_response { "  waits for an answer" } else { "" };
    let mut facts = format!("{INDENT}{}  {}{waits}", past.kind, past.id);
    if let Some(reference) = &past.in_reply_to {
        facts += &format!("  answers {reference}");
        let is_here =
            |other: &Past| other.name() == *reference || other.id == *reference || other.seq.to_string() == *reference;
        if !all.iter().any(is_here) {
            facts += " (not shown here)";
        }
    }
    frame::dim(&mut cx.out, &facts, INDENT)?;
    if let Some(subject) = &past.subject {
        frame::text(&mut cx.out, &sanitize::line(subject), INDENT)?;
    }
    if let Some(body) = past.message.get("body").and_then(Value::as_str) {
        frame::text(&mut cx.out, body, INDENT)?;
    }
    for attachment in past.message.get("attachments").and_then(Value::as_array).into_iter().flatten() {
        let name = attachment.get("path").or_else(|| attachment.get("name")).and_then(Value::as_str);
        frame::dim(&mut cx.out, &format!("{INDENT}attached: {}", name.unwrap_or_default()), INDENT)?;
    }
    Ok(())
}
