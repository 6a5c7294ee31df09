//! `mailbag take`: leases the next message of a shared inbox, and completes, renews or releases a leased one.

use super::read;
use crate::base::error::{Error, Result};
use crate::base::sanitize;
use crate::cli::context::{CommandContext, Freshness, IdentityArgs};
use crate::cli::show::waiting;
use crate::commands::take::{
    self, Consumer, ExpiredLease, LeaseOperation, LeaseResult, LeasedMessage, MessageLease,
};
use crate::commands::wait::{InboxWaiter, WaitEnd, deadline};
use crate::query::inbox::{FullInboxMessage, InboxMessage};
use crate::room::Room;
use clap::builder::NonEmptyStringValueParser;
use serde::Serialize;
use std::borrow::Cow;
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  mailbag take --as builders      # lease the next message for 10 minutes
  mailbag take --as builders --wait 5m --lease 1h --holder builder-3
  mailbag take --done 42 --as builders        # complete it
  mailbag take --renew 42 --lease 1h          # extend the lease to an hour from now
  mailbag take --give-back 42                 # release it for another process

For several processes that share an inbox: each message goes to one process, the
most urgent first, then the oldest. The file moves to inbox/AGENT/taken/. When a
lease expires, the next `mailbag take` returns the message to the inbox and reports
that on standard error. Exit status 3 means that there is no message to lease, 4 a
timeout of --wait.

Completing moves the file from inbox/AGENT/taken/ to inbox/AGENT/seen/. If the
lease has expired and another process has leased the message, the command fails
and names the holder. A process that used --holder to lease a message gives the
same --holder to complete, renew or release it.";

/// Lease the next message of a shared inbox, or complete it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    identity: IdentityArgs,
    #[command(flatten)]
    leased: LeaseArgs,
    /// Lease duration, from now
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = waiting::some_span)]
    lease: Duration,
    /// Holder of the lease; default: the parent process
    #[arg(
        long,
        value_name = "NAME",
        env = "MAILBAG_HOLDER",
        hide_env_values = true,
        value_parser = NonEmptyStringValueParser::new()
    )]
    holder: Option<String>,
    /// Timeout to wait for a message; default: no wait
    #[arg(long, value_name = "TIME", value_parser = waiting::span, conflicts_with = "leased")]
    wait: Option<Duration>,
}

/// A message that is already leased, as #12, 12, ID or SENDER/ID, and its next state.
#[derive(Debug, clap::Args)]
#[group(id = "leased", multiple = false)]
struct LeaseArgs {
    /// Complete a leased message
    #[arg(long, value_name = "ID", conflicts_with = "lease")]
    done: Option<String>,
    /// Renew the lease of a message
    #[arg(long, value_name = "ID")]
    renew: Option<String>,
    /// Return a leased message to the inbox
    #[arg(long, value_name = "ID", conflicts_with = "lease")]
    give_back: Option<String>,
}

/// A leased message.
#[derive(Serialize)]
pub(super) struct TakeOutput<'a> {
    /// The message.
    message: FullInboxMessage<'a>,
    /// Its lease.
    lease: &'a MessageLease,
    /// Its file, relative to the room.
    file: Cow<'a, str>,
    /// Messages that returned to the inbox because their leases had expired.
    returned: &'a [ExpiredLease],
}

/// The new state of a leased message.
#[derive(Serialize)]
pub(super) struct LeaseOutput<'a> {
    /// Message id.
    id: &'a str,
    /// Number of its record.
    seq: Option<u64>,
    /// The result.
    state: LeaseResult,
}

impl LeaseArgs {
    /// The message and the operation, if an option names one.
    fn operation(self, lease: Duration) -> Option<(String, LeaseOperation)> {
        let done = self.done.map(|id| (id, LeaseOperation::Done));
        let renew = self.renew.map(|id| (id, LeaseOperation::Renew(lease)));
        let give_back = self.give_back.map(|id| (id, LeaseOperation::GiveBack));
        done.or(renew).or(give_back)
    }
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let room = cx.room()?;
    let agent = args.identity.mailbox(cx, &room)?;
    let consumer = Consumer::new(args.holder);
    if let Some((id, operation)) = args.leased.operation(args.lease) {
        let (mail, state) = take::update(&room, &agent, &id, &consumer, operation)?;
        return show_state(&mail, state, cx);
    }
    let until = args.wait.map(|wait| (wait, deadline(wait)));
    let mut waiter = until.map(|_| InboxWaiter::new(&room, &agent)).transpose()?;
    cx.refresh(&room, Freshness::Complete);
    let mut returned = Vec::new();
    let missing = format!("no message to lease in the inbox of {agent}");
    loop {
        let taking = take::take(&room, &agent, &consumer, args.lease)?;
        for lapsed in &taking.lapsed {
            tell(lapsed, cx);
        }
        returned.extend(taking.lapsed);
        if let Some(handed) = taking.handed {
            return hand(&room, &agent, &handed, &returned, cx);
        }
        if let Some(e) = taking.unreadable {
            return Err(e);
        }
        let (Some((wait, until)), Some(waiting_for_mail)) = (until, &mut waiter) else {
            return Err(Error::not_found(
                missing,
                "wait for a message with --wait TIME",
            ));
        };
        // A lease can expire during the command. The message can then be leased again.
        let next = taking
            .next
            .and_then(|next| Instant::now().checked_add(next));
        match waiting_for_mail.wait([until, next].into_iter().flatten().min()) {
            WaitEnd::Changed => {}
            WaitEnd::Removed(e) => return Err(e),
            WaitEnd::Trouble(e) => cx.warn_undelivered(&e),
            WaitEnd::Signal(signal) => {
                return waiter.map_or(Ok(()), |waiter| waiting::end_by(signal, waiter));
            }
            WaitEnd::TimedOut if until.is_some_and(|until| until <= Instant::now()) => {
                return Err(waiting::too_late(
                    &missing,
                    wait,
                    "wait again, or longer with --wait",
                ));
            }
            WaitEnd::TimedOut => {}
        }
    }
}

/// Shows the new state of a leased message.
fn show_state(mail: &InboxMessage, state: LeaseResult, cx: &mut CommandContext) -> Result<()> {
    cx.out.did(
        format!("the state of {} was changed", mail.id),
        "don't change it again",
    );
    let text = match state {
        LeaseResult::Done => "done",
        LeaseResult::DoneLate => {
            "done; the lease had expired, but no other process had leased the message"
        }
        LeaseResult::DoneBefore => "already done",
        LeaseResult::Renewed => "renewed",
        LeaseResult::GivenBack => "released",
    };
    let report = LeaseOutput {
        id: &mail.id,
        seq: mail.seq,
        state,
    };
    cx.out.show(&report, |out| {
        out.done(format!("{}: {text}", sanitize::line(&mail.id)))
    })
}

fn tell(lapsed: &ExpiredLease, cx: &CommandContext) {
    let holder = sanitize::line(lapsed.holder.as_deref().unwrap_or("an unknown process"));
    let (file, until) = (sanitize::line(&lapsed.file), cx.out.time(&lapsed.until));
    cx.out.warn(&format!(
        "returned {file} to the inbox: the lease of {holder} expired at {until}"
    ));
}

/// Shows the leased message. If it cannot be shown, it returns to the inbox.
fn hand(
    room: &Room,
    agent: &str,
    handed: &LeasedMessage,
    returned: &[ExpiredLease],
    cx: &mut CommandContext,
) -> Result<()> {
    let shown = show(handed, returned, cx);
    if shown.is_err() {
        take::put_back(room, agent, &handed.mail.name)?;
    }
    shown?;
    let until = cx.out.time(&handed.lease.until);
    cx.out
        .note(&format!("leased by {} until {until}", handed.lease.holder));
    Ok(())
}

fn show(handed: &LeasedMessage, returned: &[ExpiredLease], cx: &mut CommandContext) -> Result<()> {
    let report = TakeOutput {
        message: handed.mail.whole(),
        lease: &handed.lease,
        file: handed.mail.file.to_string_lossy(),
        returned,
    };
    cx.out.show(&report, |out| {
        read::show_each(std::slice::from_ref(&handed.mail), out)
    })?;
    cx.out.flush()
}
