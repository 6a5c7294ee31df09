//! `mailbag inbox`

use crate::base::error::Result;
use crate::base::{limits, sanitize};
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::cli::show::row::Row;
use crate::cli::show::table;
use crate::query::identity::mailbox;
use crate::query::inbox::{self, Mail};
use crate::room::inbox as inboxes;

const EXAMPLES: &str = "\
Examples:
  mailbag inbox bob
  mailbag inbox bob --limit 5           the five newest
  MAILBAG_AGENT=bob mailbag inbox --json

The oldest first, and of many the newest 50. At a terminal, each line is the
message's number, the local time, who it is from, its type, and its subject or
the first line of its body. In a pipe: when it was accepted (UTC), seq, id,
sender, type, priority, subject. JSON has all. Nothing is marked as read.";

/// List unread mail
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Whose; else MAILBAG_AGENT, else MAOS_AGENT_ID, else, at a terminal, the human's
    agent: Option<String>,
    /// Show at most N messages, the newest
    #[arg(long, value_name = "N", conflicts_with = "all")]
    limit: Option<usize>,
    /// Show all messages
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let who = cx.who(args.agent.as_deref())?;
    let room = cx.room()?;
    let registry = room.registry()?;
    let agent = mailbox(&room, &registry, &who.name, args.agent.is_none().then_some(who.source))?;
    cx.route(&room);
    let usual = if args.all || cx.out.json { usize::MAX } else { limits::INBOX_SHOWN };
    let (names, unread) = inboxes::newest(&room.dir, &agent, args.limit.unwrap_or(usual))?;
    let mails = inbox::heads(&room, &agent, &names)?;
    if cx.out.json {
        cx.out.json_list(mails.map(Ok))?;
        return Ok(Exit::Ok);
    }
    let mails: Vec<Mail> = mails.collect();
    if mails.is_empty() && unread == 0 {
        cx.out.note(&format!("{agent} has no unread mail"));
    }
    if cx.out.is_terminal() {
        mails.iter().try_for_each(|mail| Row::of_mail(mail).print(&mut cx.out))?;
    } else {
        table::print(&mut cx.out, &mails.iter().map(row).collect::<Vec<_>>())?;
    }
    if names.len() < unread {
        // What is talk comes after the data, also where both go to one place.
        cx.out.flush()?;
        cx.out.note(&format!("showing the newest {} of {unread} unread messages; --all shows all", names.len()));
    }
    Ok(Exit::Ok)
}

/// A message in one line, for a pipe.
pub(crate) fn row(mail: &Mail) -> Vec<String> {
    if let Some(problem) = &mail.problem {
        let file = mail.file.to_string_lossy();
        return vec![sanitize::line(&file).into_owned(), sanitize::line(problem).into_owned()];
    }
    let seq = mail.seq.map(|seq| seq.to_string()).unwrap_or_else(|| "-".into());
    let about = mail.subject.as_ref().or(mail.preview.as_ref()).map(String::as_str).unwrap_or_default();
    let at = to_the_second(&mail.accepted_at);
    let cells = [&at, &seq, &mail.id, &mail.from, &mail.kind, &mail.priority, about];
    cells.map(|cell| sanitize::line(cell).into_owned()).to_vec()
}

/// `2026-11-21T10:30:00Z`: the log's microseconds are of no use to a reader.
pub(crate) fn to_the_second(time: &str) -> String {
    match time.split_once('.') {
        Some((second, fraction)) if fraction.ends_with('Z') => format!("{second}Z"),
        _ => time.to_owned(),
    }
}
