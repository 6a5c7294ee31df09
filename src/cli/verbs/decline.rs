//! `mailbag decline`: declines an offer of claims, or withdraws one.

use super::accept;
use crate::base::error::Result;
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::commands::claim::Ask;

const EXAMPLES: &str = "\
Examples:
  mailbag decline --as bob     # the only open offer to or of bob
  mailbag decline 12 --note 'I have no time this week'

`mailbag claims` lists open offers with their numbers. The recipient of an offer
declines it, its sender withdraws it. The owner keeps the work. Exit status 1
means rejected, for example because the offer has ended.

A file {\"type\": \"decline\", \"in_reply_to\": \"12\"} in the outbox does the same.";

/// Decline or withdraw an offer of claims
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    answer: accept::Answer,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    accept::answer(args.answer, Ask::Decline, cx)
}
