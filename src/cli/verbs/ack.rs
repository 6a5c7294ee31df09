//! `mailbag ack`: sets the status of messages.

use crate::base::error::{Error, Result};
use crate::cli::context::{CommandContext, Freshness, IdentityArgs};
use crate::commands::ack::{self, AckRequest};
use crate::message::status::CopyStatus;
use clap::builder::{PossibleValue, PossibleValuesParser};

const EXAMPLES: &str = "\
Examples:
  mailbag ack 42 --as bob                       # bob acknowledges the message
  mailbag ack 42 43 --status actioned --as bob   # bob has done what was asked
  mailbag ack 42 --status resolved --note 'merged' --as bob
  mailbag ack msg_7 --status withdrawn --as alice
  mailbag ack msg_7 --status superseded --by 44 --as alice

A recipient can set acknowledged, actioned, resolved or abandoned, and seen, which
marks a message as read. The sender can set superseded or withdrawn, which removes
unread copies from the inboxes. A status never goes back. An ack wakes no agent; `mailbag trace` shows it.

A file {\"type\": \"ack\", \"refs\": [\"msg_7\"], \"status\": \"actioned\"} in the outbox
does the same.";

/// Set a message's status
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Message, as #12, 12, ID or SENDER/ID
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// New status
    #[arg(long, value_name = "STATUS", default_value = "acknowledged", value_parser = statuses(), ignore_case = true)]
    status: String,
    /// Message that replaces a superseded one
    #[arg(long, value_name = "ID")]
    by: Option<String>,
    /// Reason or comment
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    identity: IdentityArgs,
}

fn statuses() -> PossibleValuesParser {
    let known = CopyStatus::ACKS.map(|status| PossibleValue::new(status.as_str()));
    let others = CopyStatus::OTHER_WORDS.map(|(word, _)| PossibleValue::new(word).hide(true));
    PossibleValuesParser::new(known.into_iter().chain(others))
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let status = CopyStatus::of_ack(&args.status).unwrap_or(CopyStatus::Acknowledged);
    if args.by.is_some() && status != CopyStatus::Superseded {
        let what = "--by names the message that replaces a superseded one".to_owned();
        return Err(Error::usage(what, "add `--status superseded`"));
    }
    set(
        AckRequest {
            refs: args.ids,
            status,
            note: args.note,
            superseded_by: args.by,
        },
        &args.identity,
        cx,
    )
}

/// Sends an ack.
pub(crate) fn set(ack: AckRequest, identity: &IdentityArgs, cx: &mut CommandContext) -> Result<()> {
    let who = identity.who(cx)?;
    // The message may not be in the log yet.
    let room = cx.fresh_room(Freshness::Messages)?;
    let acked = ack::ack(&room, &who, ack)?;
    let (kept, outcome) = (acked.kept_elsewhere(), acked.outcome());
    let posted = cx.deliver(&room, acked.sent)?;
    if let Some(kept) = kept {
        cx.out.warn(&kept);
    }
    cx.out.show(&posted, |out| {
        if out.quiet || posted.pending.is_some() {
            return out.line(&posted.sent.id);
        }
        outcome.iter().try_for_each(|line| out.line(line))
    })
}
