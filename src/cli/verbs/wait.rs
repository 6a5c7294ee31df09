//! `mailbag wait`: waits for a message and shows it.

use super::{read, rewake};
use crate::base::error::{Error, Result};
use crate::cli::Exit;
use crate::cli::context::{CommandContext, Freshness, IdentityArgs};
use crate::cli::show::waiting;
use crate::commands::announce;
use crate::commands::read as reading;
use crate::commands::wait::{InboxWaiter, WaitResult, deadline};
use crate::query::inbox::MailHold;
use crate::query::wait::WaitFilter;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  mailbag wait --as bob                        # for at most 30 seconds
  mailbag wait --as bob --timeout 10m --read   # and mark it as read
  mailbag wait --from alice --type answer --timeout 1h
  mailbag wait --timeout 0                     # look once

Shows the oldest matching message, also one that is already unread. Without --read
the message stays unread, and the next wait shows it again. If no router runs, the
command delivers pending messages. Exit status 4 means a timeout.";

/// Wait for a message and show it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    identity: IdentityArgs,
    /// Sender; repeatable
    #[arg(long, value_name = "AGENT")]
    from: Vec<String>,
    /// Conversation, by name or by a message in it, as #12
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// Type; repeatable
    #[arg(long = "type", value_name = "TYPE")]
    kinds: Vec<String>,
    /// Timeout: 500ms, 30s, 5m, 1h; 0: one look
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = waiting::span)]
    timeout: Duration,
    /// All matching messages, not only the oldest
    #[arg(long)]
    all: bool,
    /// Move of the shown messages to seen/
    #[arg(long)]
    read: bool,
    /// Mode of Claude Code's background hook: notice on standard error and exit status 2 when mail arrives
    #[arg(long, conflicts_with_all = ["from", "thread", "kinds", "timeout", "all", "read"])]
    rewake: bool,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<Exit> {
    if args.rewake {
        return rewake::run(args.identity.given(), cx);
    }
    let until = deadline(args.timeout);
    let room = cx.room()?;
    let agent = args.identity.mailbox(cx, &room)?;
    let filter = WaitFilter::new(&room, &agent, &args.from, args.thread, args.kinds)?;
    let mut waiter = InboxWaiter::new(&room, &agent)?;
    cx.refresh(&room, Freshness::Complete);
    let most = if args.all { usize::MAX } else { 1 };
    let trouble = |e: &Error| cx.warn_undelivered(e);
    let found = if args.read {
        waiter.mail_to_read(&filter, most, until, &trouble)?
    } else {
        waiter
            .mail(&filter, most, until, &trouble)?
            .map(MailHold::of)
    };
    let found = match found {
        WaitResult::Found(found) => found,
        WaitResult::Signal(signal) => return waiting::end_by(signal, waiter).map(Exit::from),
        WaitResult::TimedOut => {
            let what = format!("no matching message for {agent}");
            return Err(waiting::too_late(
                &what,
                args.timeout,
                "wait longer with --timeout",
            ));
        }
    };
    let mails = &found.mails;
    announce::announcing(&room, &agent, mails, || read::print("", mails, cx))?;
    if args.read {
        reading::mark_seen(&room, &agent, mails)?;
    }
    Ok(Exit::Ok)
}
