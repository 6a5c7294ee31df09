//! `mailbag done`: completes, renews or releases a leased message.

use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::{Context, Identity};
use crate::cli::show::waiting;
use crate::commands::take::{self, Consumer, Operation, State};
use serde_json::json;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  mailbag done 42 --as builders        # complete it
  mailbag done 42 --renew --lease 1h   # extend the lease to an hour from now
  mailbag done 42 --give-back          # release it for another process

Completing moves the file from inbox/AGENT/taken/ to inbox/AGENT/seen/. If the
lease has expired and another process has leased the message, the command fails
and names the holder. A process that used `mailbag take --holder NAME` gives the
same --holder here.";

/// Complete, renew or release a leased message
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Message, as #12, 12, ID or SENDER/ID
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    identity: Identity,
    /// Longer lease, the message stays leased
    #[arg(long, conflicts_with = "give_back")]
    renew: bool,
    /// New lease duration, from now
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = waiting::span, requires = "renew")]
    lease: Duration,
    /// Release: the message returns to the inbox
    #[arg(long)]
    give_back: bool,
    /// Holder of the lease; default: the parent process
    #[arg(
        long,
        value_name = "NAME",
        env = "MAILBAG_HOLDER",
        hide_env_values = true
    )]
    holder: Option<String>,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let room = cx.room()?;
    let agent = args.identity.mailbox(cx, &room)?;
    let word = match (args.renew, args.give_back) {
        (true, _) => Operation::Renew(args.lease),
        (_, true) => Operation::GiveBack,
        _ => Operation::Done,
    };
    let (mail, state) = take::update(&room, &agent, &args.id, &Consumer::new(args.holder), word)?;
    cx.out.did(
        format!("the state of {} was changed", mail.id),
        "don't change it again",
    );
    let said = match state {
        State::Done => "done",
        State::DoneLate => {
            "done; the lease had expired, but no other process had leased the message"
        }
        State::DoneBefore => "already done",
        State::Renewed => "renewed",
        State::GivenBack => "released",
    };
    let report = json!({"id": mail.id, "seq": mail.seq, "state": state});
    cx.out.show(&report, |out| {
        out.done(format!("{}: {said}", sanitize::line(&mail.id)))
    })?;
    Ok(Exit::Ok)
}
