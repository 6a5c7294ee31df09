//! `mailbag wait`

use super::{read, rewake};
use crate::base::error::Result;
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::cli::show::waiting;
use crate::commands::announce;
use crate::commands::read as reading;
use crate::commands::wait::{Waited, Waiter, deadline};
use crate::query::identity::mailbox;
use crate::query::inbox::{self, Mail};
use crate::query::wait::{Filter, Newcomers};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  mailbag wait --as bob                       the next mail, for at most 30 seconds
  mailbag wait --as bob --timeout 10m --read  and mark it as read
  mailbag wait --from alice --type answer --timeout 1h
  mailbag wait --timeout 0                    look once

Mail that is unread already counts, the oldest that fits is shown. Without
--read it stays unread, and the next wait shows it again. While it waits it
routes, if no router runs. Exit status 4 says that nothing came in time.";

/// Wait for mail, and show it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Who waits; else MAILBAG_AGENT, else MAOS_AGENT_ID, else, at a terminal, the human
    #[arg(long = "as", value_name = "AGENT")]
    reader: Option<String>,
    /// Only mail of this sender; may be repeated
    #[arg(long, value_name = "AGENT")]
    from: Vec<String>,
    /// Only mail of this conversation: its name, or #12, a message in it
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// Only mail of this type; may be repeated
    #[arg(long = "type", value_name = "TYPE")]
    kinds: Vec<String>,
    /// How long: 500ms, 30s, 5m, 1h; 0 looks once
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = waiting::span)]
    timeout: Duration,
    /// Show everything that fits, not only the oldest
    #[arg(long)]
    all: bool,
    /// Mark what was shown as read
    #[arg(long)]
    read: bool,
    /// As Claude Code's background hook: wait until mail wakes the session, say so on standard error, exit with 2
    #[arg(long, conflicts_with_all = ["from", "thread", "kinds", "timeout", "all", "read"])]
    rewake: bool,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    if args.rewake {
        return rewake::run(args.reader.as_deref(), cx);
    }
    let until = deadline(args.timeout);
    let who = cx.who(args.reader.as_deref())?;
    let room = cx.room()?;
    let agent = mailbox(&room, &room.registry()?, &who.name, Some(who.source))?;
    let filter = Filter::new(&room, &agent, &args.from, args.thread, args.kinds)?;
    let mut waiter = Waiter::new(&room, &agent)?;
    cx.route(&room);
    let mut newcomers = Newcomers::default();
    let mut look = || {
        let mut mails = newcomers.look(&room, &agent)?;
        mails.retain(|mail| filter.fits(mail));
        mails.truncate(if args.all { usize::MAX } else { 1 });
        Ok((!mails.is_empty()).then_some(mails))
    };
    let mails: Vec<Mail> = match waiter.until(until, &mut look, &|e| cx.trouble(e))? {
        Waited::Found(mails) => mails,
        Waited::Signal(signal) => return waiting::end_by(signal, waiter),
        Waited::TimedOut => {
            let what = format!("no such mail came to {agent}");
            return Err(waiting::too_late(&what, args.timeout, "wait again, or longer with --timeout"));
        }
    };
    let mails = inbox::whole(&room, &mails)?;
    announce::telling(&room, &agent, &mails, || read::print(&agent, &mails, cx))?;
    if args.read {
        reading::mark_seen(&room, &agent, &mails)?;
    }
    Ok(Exit::Ok)
}
