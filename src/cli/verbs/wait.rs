//! `mailbag wait`: waits for a message and shows it, or starts a command for each message.

use super::{read, rewake};
use crate::base::error::{Error, Result};
use crate::cli::Exit;
use crate::cli::context::{CommandContext, Freshness, IdentityArgs};
use crate::cli::show::output::CommandOutput;
use crate::cli::show::waiting;
use crate::commands::announce;
use crate::commands::read as reading;
use crate::commands::wait::{InboxWaiter, WaitResult, deadline};
use crate::commands::wait_exec::MailCommand;
use crate::query::inbox::{InboxMessage, MailHold};
use crate::query::wait::WaitFilter;
use crate::room::Room;
use crate::room::actor::reject_agent;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  mailbag wait --as bob                        # for at most 30 seconds
  mailbag wait --as bob --timeout 10m --read   # and mark it as read
  mailbag wait --from alice --type answer --timeout 1h
  mailbag wait --timeout 0                     # look once
  mailbag wait --as bob --exec 'claude -p'     # start a command for each message

Shows the oldest matching message, also one that is already unread. Without --read
the message stays unread, and the next wait shows it again. If no router runs, the
command delivers pending messages. Exit status 4 means a timeout.

--exec runs until a signal. For each message, oldest first, it starts the command line
with /bin/sh -c, with the message on standard input, as `mailbag read` shows it or, with
--json, as one JSON object. MAILBAG_AGENT names the agent, so `mailbag reply` in the
command line replies as this agent. After status 0 the message is marked as read. After
another status it stays unread, and the command is started again: after 1 second, then 2,
4 and so on up to 5 minutes. A signal is also sent to the command, and ends the wait when
the command has ended. An agent in a client's session cannot use --exec.";

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
    #[arg(long, conflicts_with_all = ["from", "thread", "kinds", "timeout", "all", "read", "exec"])]
    rewake: bool,
    /// Command line to start for each message, until a signal
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["timeout", "all", "read"])]
    exec: Option<String>,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<Exit> {
    if args.rewake {
        return rewake::run(args.identity.given(), cx);
    }
    if args.exec.is_some() {
        // A rule that allows `wait` would allow an agent every command.
        reject_agent("wait with --exec")?;
    }
    let until = deadline(args.timeout);
    let room = cx.room()?;
    let agent = args.identity.mailbox(cx, &room)?;
    let filter = WaitFilter::new(&room, &agent, &args.from, args.thread, args.kinds)?;
    let mut waiter = InboxWaiter::new(&room, &agent)?;
    cx.refresh(&room, Freshness::Complete);
    if let Some(line) = &args.exec {
        let signal = exec(line, &room, &agent, &filter, &mut waiter, cx)?;
        return waiting::end_by(signal, waiter).map(Exit::from);
    }
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

/// Starts the command line for each message until a signal.
fn exec(
    line: &str,
    room: &Room,
    agent: &str,
    filter: &WaitFilter,
    waiter: &mut InboxWaiter,
    cx: &CommandContext,
) -> Result<i32> {
    let input = |mail: &InboxMessage| {
        CommandOutput::capture(cx.out.json, |out| {
            out.show(&mail.whole(), |out| {
                read::show_each(std::slice::from_ref(mail), out)
            })
        })
    };
    let command = MailCommand {
        room,
        agent,
        line,
        filter,
        input: &input,
        failed: &|e| cx.out.warn(&e.to_string()),
        trouble: &|e| cx.warn_undelivered(e),
    };
    command.run_for_each(waiter)
}
