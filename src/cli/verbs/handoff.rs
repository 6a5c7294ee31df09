//! `mailbag handoff`: offers claims to another agent.

use super::claim::decide;
use crate::base::error::Result;
use crate::cli::Exit;
use crate::cli::context::{Context, Identity, here};
use crate::commands::claim::{self, Ask};

const EXAMPLES: &str = "\
Examples:
  mailbag handoff bob 'src/auth/**' --note 'The tests are missing' --as alice
  mailbag handoff bob          # offer everything that you own
  mailbag decline 12           # withdraw the offer

You own the work until the other agent accepts. An offer ends when it is accepted
or declined, and when its subjects are released. Exit status 1 means rejected.

A file {\"type\": \"handoff\", \"to\": \"bob\", \"claims\": [\"src/auth/**\"]} in the
outbox does the same.";

/// Offer claims to another agent
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Agent that takes over the work
    #[arg(value_name = "AGENT")]
    to: String,
    /// Subjects as claimed; default: all
    #[arg(value_name = "SUBJECT")]
    subjects: Vec<String>,
    /// Message for the other agent
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    identity: Identity,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let agent = args.identity.mailbox(cx, &cx.room()?)?;
    let who = args.identity.who(cx)?;
    let room = cx.room()?;
    cx.route_waiting(&room);
    let subjects = claim::owned_subjects(&room, &here()?, &agent, &args.subjects)?;
    decide(
        claim::ask(
            &room,
            &who,
            Ask::Offer {
                to: args.to,
                subjects,
            },
            args.note,
        )?,
        cx,
    )
}
