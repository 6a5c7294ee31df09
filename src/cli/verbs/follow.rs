//! `mailbag follow`: shows new messages of an inbox as they arrive.

use crate::base::error::Result;
use crate::base::{limits, sanitize};
use crate::cli::Exit;
use crate::cli::context::{Context, Identity};
use crate::cli::show::waiting;
use crate::commands::announce;
use crate::commands::wait::{Waiter, Wakeup, deadline};
use crate::query::inbox::{self, Mail};
use crate::query::view::{Invalid, View};
use crate::query::wait::NewMail;
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  mailbag follow --as bob            # one line per message
  mailbag follow --as bob --idle 0   # until Ctrl-C
  mailbag follow --json --idle 1h | while read -r mail; do ...; done

Starts with the unread messages and shows each message once. No message is marked
as read. Columns: accept time (UTC), number, sender, type, priority, subject and
body in one line. With --json, a line is a whole message.

The command ends after --idle without a new message, on SIGINT or SIGTERM, or when
the reader of its output ends. If no router runs, it delivers pending messages.";

/// Show new messages as they arrive
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    identity: Identity,
    /// Time without a new message after which the command ends; 0: never
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = waiting::span)]
    idle: Duration,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let room = cx.room()?;
    let agent = args.identity.mailbox(cx, &room)?;
    let mut waiter = Waiter::new(&room, &agent)?;
    cx.route(&room);
    let patience = || {
        if args.idle.is_zero() {
            None
        } else {
            deadline(args.idle)
        }
    };
    let mut new_mail = NewMail::default();
    let mut until = patience();
    loop {
        for head in new_mail.look(&room, &agent)? {
            for mail in inbox::whole(&room, &[head])? {
                let mails = std::slice::from_ref(&mail);
                announce::announcing(&room, &agent, mails, || print(&mail, cx))?;
            }
            until = patience();
        }
        // Look now and then, so that the command ends if the reader of its output has ended.
        let glance = Instant::now() + limits::TAKE_OVER;
        match waiter.wait(Some(until.map_or(glance, |until| until.min(glance)))) {
            Wakeup::Changed => {}
            Wakeup::Signal(_) => return Ok(Exit::Ok),
            Wakeup::Removed(e) => return Err(e),
            Wakeup::Trouble(e) => cx.trouble(&e),
            Wakeup::TimedOut
                if cx.out.is_unread() || until.is_some_and(|until| until <= Instant::now()) =>
            {
                return Ok(Exit::Ok);
            }
            Wakeup::TimedOut => {}
        }
    }
}

fn print(mail: &Mail, cx: &mut Context) -> Result<()> {
    cx.out
        .item(
            || mail.to_json().to_string(),
            |_| as_line(&View::from(mail)),
        )
        .and_then(|()| cx.out.flush())
}

fn as_line(view: &View<'_>) -> String {
    if let Some(Invalid { file, problem, .. }) = &view.invalid {
        return format!(
            "{}  {}",
            sanitize::line(&file.to_string_lossy()),
            sanitize::line(problem)
        );
    }
    let body = view.body.unwrap_or_default();
    let about = match (view.subject, body.trim().is_empty()) {
        (Some(subject), true) => folded(subject),
        (Some(subject), false) => folded(&format!("{subject} | {body}")),
        (None, _) => folded(body),
    };
    let about = match (&view.change, about.is_empty()) {
        (Some(change), false) => format!("{change} | {about}"),
        (Some(change), true) => change.to_string(),
        (None, _) => about,
    };
    let time = view
        .age()
        .map_or_else(|| view.time(), |age| format!("{} ({age})", view.time()));
    let cells = [
        &*time,
        &view.number(),
        view.from,
        view.kind,
        view.priority,
        &about,
    ];
    cells.map(|cell| sanitize::line(cell)).join("  ")
}

/// A text in one line of limited length.
fn folded(text: &str) -> String {
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match folded.char_indices().nth(limits::FOLLOW_CHARS) {
        Some((end, _)) => format!("{}…", &folded[..end]),
        None => folded,
    }
}
