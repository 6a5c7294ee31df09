//! `mailbag decide`: decides an approval.

use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::{Context, Identity};
use crate::commands::approval::{self, Choice, Outcome};

const EXAMPLES: &str = "\
Examples:
  mailbag decide 12 yes
  mailbag decide alice/deploy-1 2 --note 'after the backup'

OPTION is an option of the approval, its number from 1, or its beginning. The first
valid decision counts; a later one is rejected, with status 1. Only an agent that
was asked can decide. Status 0 means that the decision is recorded.

A file {\"type\": \"decision\", \"in_reply_to\": \"12\", \"option\": \"yes\"} in the outbox
does the same.";

/// Decide an approval
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Approval, as 12, #12, ID or SENDER/ID
    #[arg(value_name = "APPROVAL")]
    approval: String,
    /// Option, its number, or its beginning
    #[arg(value_name = "OPTION")]
    option: String,
    /// Reason
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    identity: Identity,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let who = args.identity.who(cx)?;
    let room = cx.room()?;
    // The approval may not be in the log yet.
    cx.route_waiting(&room);
    let Args { approval, option, note, .. } = args;
    let choice = Choice { approval, option, note, at_terminal: cx.out.is_told_at_terminal() };
    let outcome = approval::decide(&room, &who, choice)?;
    cx.out.did(sentence(&outcome), "do not repeat the command");
    cx.out.show(&outcome, |out| out.done(sanitize::line(&sentence(&outcome))))?;
    Ok(Exit::Ok)
}

fn sentence(outcome: &Outcome) -> String {
    format!("decided {}: {}", outcome.approval, outcome.word())
}
