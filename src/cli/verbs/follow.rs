//! `mailbag follow`

use super::inbox::to_the_second;
use crate::base::error::Result;
use crate::base::{limits, sanitize};
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::cli::show::waiting;
use crate::commands::announce;
use crate::commands::wait::{Waiter, Wakeup, deadline};
use crate::query::identity::mailbox;
use crate::query::inbox::{self, Mail};
use crate::query::wait::Newcomers;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  mailbag follow --as bob                one line for each message, as it comes
  mailbag follow --as bob --idle 0       without an end
  mailbag follow --json --idle 1h | while read -r mail; do ...; done

It begins with what is unread, and shows each message once; nothing is marked
as read. Each line: when it was accepted (UTC), seq, sender, type, priority,
its subject and its body, folded. With --json a line is a whole message. It
ends when nothing has come for the time of --idle, when it is asked to by
SIGINT or SIGTERM, and when nobody reads its output any more. While it waits
it routes, if no router runs.";

/// Show new mail as it comes, one line each
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Whose; else MAILBAG_AGENT, else MAOS_AGENT_ID, else, at a terminal, the human's
    #[arg(long = "as", value_name = "AGENT")]
    reader: Option<String>,
    /// End when nothing has come for so long; 0 goes on without an end
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = waiting::span)]
    idle: Duration,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let who = cx.who(args.reader.as_deref())?;
    let room = cx.room()?;
    let agent = mailbox(&room, &room.registry()?, &who.name, Some(who.source))?;
    let mut waiter = Waiter::new(&room, &agent)?;
    cx.route(&room);
    let patience = || if args.idle.is_zero() { None } else { deadline(args.idle) };
    let mut newcomers = Newcomers::default();
    let mut until = patience();
    loop {
        for head in newcomers.look(&room, &agent)? {
            for mail in inbox::whole(&room, &[head])? {
                let mails = std::slice::from_ref(&mail);
                announce::telling(&room, &agent, mails, || print(&mail, cx))?;
            }
            until = patience();
        }
        // Now and then, so that one that nobody reads any more doesn't stay for good.
        let glance = Instant::now() + limits::TAKE_OVER;
        match waiter.wait(Some(until.map_or(glance, |until| until.min(glance)))) {
            Wakeup::Changed => {}
            Wakeup::Signal(_) => return Ok(Exit::Ok),
            Wakeup::Trouble(e) => cx.trouble(&e),
            Wakeup::TimedOut if cx.out.is_unread() || until.is_some_and(|until| until <= Instant::now()) => {
                return Ok(Exit::Ok);
            }
            Wakeup::TimedOut => {}
        }
    }
}

fn print(mail: &Mail, cx: &mut Context) -> Result<()> {
    let line = if cx.out.json { as_json(mail).to_string() } else { as_line(mail) };
    cx.out.json_text(&line).and_then(|()| cx.out.flush())
}

fn as_json(mail: &Mail) -> Value {
    match &mail.problem {
        Some(problem) => json!({"file": mail.file.to_string_lossy(), "problem": problem}),
        None => mail.content.clone(),
    }
}

fn as_line(mail: &Mail) -> String {
    if let Some(problem) = &mail.problem {
        return format!("{}  {}", sanitize::line(&mail.file.to_string_lossy()), sanitize::line(problem));
    }
    let body = mail.content.get("body").and_then(Value::as_str).unwrap_or_default();
    let about = match (mail.subject.as_deref(), body.trim().is_empty()) {
        (Some(subject), true) => state(subject),
        (Some(subject), false) => state(&format!("{subject} | {body}")),
        (None, _) => state(body),
    };
    let seq = mail.seq.map_or_else(|| "-".to_owned(), |seq| seq.to_string());
    let at = to_the_second(&mail.accepted_at);
    let cells = [&at, &seq, &mail.from, &mail.kind, &mail.priority, &about];
    cells.map(|cell| sanitize::line(cell)).join("  ")
}

/// Text on one line, and not too long a one.
fn state(text: &str) -> String {
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match folded.char_indices().nth(limits::FOLDED) {
        Some((end, _)) => format!("{}…", &folded[..end]),
        None => folded,
    }
}
