//! `mailbag inbox`

use super::context::Context;
use super::{Exit, table, visible};
use crate::actions::inbox::{self, Mail};
use crate::actions::send::mailbox;
use crate::error::Result;

const EXAMPLES: &str = "\
Examples:
  mailbag inbox bob
  MAILBAG_AGENT=bob mailbag inbox --json

Each line: when it was accepted (UTC), seq, id, sender, type, priority, and
its subject or the first line of its body; the oldest first. Nothing is marked
as read.";

/// List unread mail
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Whose; else MAILBAG_AGENT, else MAOS_AGENT_ID, else, at a terminal, the human's
    agent: Option<String>,
}

pub(super) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let who = cx.who(args.agent.as_deref())?;
    let room = cx.room()?;
    let registry = room.registry()?;
    let agent = mailbox(&room, &registry, &who.name, args.agent.is_none().then_some(who.source))?;
    cx.route(&room);
    let mail = inbox::list(&room, &agent)?;
    if cx.out.json {
        cx.out.json(&mail)?;
        return Ok(Exit::Ok);
    }
    if mail.is_empty() {
        cx.out.note(&format!("{agent} has no unread mail"));
    }
    table::print(&mut cx.out, &mail.iter().map(row).collect::<Vec<_>>())?;
    Ok(Exit::Ok)
}

/// A message in one line.
pub(super) fn row(mail: &Mail) -> Vec<String> {
    if let Some(problem) = &mail.problem {
        let file = mail.file.to_string_lossy();
        return vec![visible::line(&file).into_owned(), visible::line(problem).into_owned()];
    }
    let seq = mail.seq.map(|seq| seq.to_string()).unwrap_or_else(|| "-".into());
    let about = mail.subject.as_ref().or(mail.preview.as_ref()).map(String::as_str).unwrap_or_default();
    let at = to_the_second(&mail.accepted_at);
    let cells = [&at, &seq, &mail.id, &mail.from, &mail.kind, &mail.priority, about];
    cells.map(|cell| visible::line(cell).into_owned()).to_vec()
}

/// `2026-11-21T10:30:00Z`: the log's microseconds are of no use to a reader.
pub(super) fn to_the_second(time: &str) -> String {
    match time.split_once('.') {
        Some((second, fraction)) if fraction.ends_with('Z') => format!("{second}Z"),
        _ => time.to_owned(),
    }
}
