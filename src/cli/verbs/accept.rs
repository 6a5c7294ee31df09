//! `mailbag accept`: accepts an offer of claims.

use super::claim::decide;
use crate::base::error::Result;
use crate::cli::Exit;
use crate::cli::context::{Context, Identity};
use crate::commands::claim::{self, Ask};

const EXAMPLES: &str = "\
Examples:
  mailbag accept --as bob      # the only open offer to bob
  mailbag accept 12 --note 'I take it'

`mailbag claims` lists open offers with their numbers. The work is yours when the
command ends with status 0. Status 1 means rejected, for example because the
offer has ended.

A file {\"type\": \"accept\", \"in_reply_to\": \"12\"} in the outbox does the same.";

/// Accept an offer of claims
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    answer: Answer,
}

/// What both answers to an offer take.
#[derive(Debug, clap::Args)]
pub(crate) struct Answer {
    /// Offer, as 12, #12, ID or SENDER/ID; default: the only one
    #[arg(value_name = "OFFER")]
    offer: Option<String>,
    /// Message for the other agent
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    identity: Identity,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    answer(args.answer, Ask::Accept, cx)
}

/// Answers an offer.
pub(crate) fn answer(
    args: Answer,
    ask: fn(Option<String>) -> Ask,
    cx: &mut Context,
) -> Result<Exit> {
    let who = args.identity.who(cx)?;
    let room = cx.room()?;
    // An offer that the caller was told of just now may not be in the log yet.
    cx.route_waiting(&room);
    decide(claim::ask(&room, &who, ask(args.offer), args.note)?, cx)
}
