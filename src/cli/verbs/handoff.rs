//! `mailbag handoff`: offers claims to another agent, and answers offers.

use super::claim::decide;
use crate::base::error::{Error, Result};
use crate::base::sanitize;
use crate::base::text::joined;
use crate::cli::context::{CommandContext, Freshness, IdentityArgs, here};
use crate::commands::claim::{self, ClaimAction};
use crate::query::claims::{self, ClaimOffer};

const EXAMPLES: &str = "\
Examples:
  mailbag handoff bob 'src/auth/**' --note 'The tests are missing' --as alice
  mailbag handoff bob                       # offer everything that you own
  mailbag handoff --accept --as bob         # accept the only open offer to bob
  mailbag handoff --accept 12 --note 'I take it'
  mailbag handoff --decline 12              # decline an offer, or withdraw your own

You own the work until the other agent accepts. An offer ends when it is accepted,
declined or withdrawn, and when its subjects are released. `mailbag claims` lists
open offers with their numbers. Exit status 1 means rejected, for example because
the offer has ended.

A file {\"type\": \"handoff\", \"to\": \"bob\", \"claims\": [\"src/auth/**\"]} or
{\"type\": \"accept\", \"in_reply_to\": \"12\"} in the outbox does the same.";

/// Offer claims to another agent, or answer an offer
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Agent that takes over the work
    #[arg(value_name = "AGENT", required_unless_present_any = ["accept", "decline"])]
    to: Option<String>,
    /// Subjects as claimed; default: all
    #[arg(value_name = "SUBJECT")]
    subjects: Vec<String>,
    /// Accept an offer: 12, #12, ID or SENDER/ID; default: the only one
    #[arg(long, value_name = "OFFER", num_args = 0..=1, conflicts_with_all = ["to", "decline"])]
    accept: Option<Option<String>>,
    /// Decline or withdraw an offer, as for --accept
    #[arg(long, value_name = "OFFER", num_args = 0..=1, conflicts_with = "to")]
    decline: Option<Option<String>>,
    /// Message for the other agent
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    identity: IdentityArgs,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let who = args.identity.who(cx)?;
    // An offer that the caller was notified of just now may not be in the log yet.
    let room = cx.fresh_room(Freshness::Messages)?;
    if matches!(args.accept.as_ref().or(args.decline.as_ref()), Some(None)) {
        let agent = args.identity.mailbox(cx, &room)?;
        let offers = claims::list(&room, Some(&agent))?.offers;
        if offers.len() > 1 {
            return Err(several(&offers, args.accept.is_some()));
        }
    }
    let ask = match (args.accept, args.decline, args.to) {
        (Some(offer), ..) => ClaimAction::Accept(offer),
        (_, Some(offer), _) => ClaimAction::Decline(offer),
        (_, _, to) => {
            let agent = args.identity.mailbox(cx, &room)?;
            let subjects = claim::owned_subjects(&room, &here()?, &agent, &args.subjects)?;
            let to = to.unwrap_or_default();
            ClaimAction::Offer { to, subjects }
        }
    };
    decide(claim::ask(&room, &who, ask, args.note)?, cx)
}

/// The error of an answer that does not name one of several offers.
fn several(offers: &[ClaimOffer], accept: bool) -> Error {
    let lines = offers.iter().map(|offer| {
        let ClaimOffer {
            seq,
            from,
            to,
            subjects,
            ..
        } = offer;
        let subjects = joined(subjects);
        sanitize::line(&format!("#{seq} from {from} to {to}: {subjects}")).into_owned()
    });
    let option = if accept { "--accept" } else { "--decline" };
    Error::usage(
        format!("there are {} open offers", offers.len()),
        format!(
            "run `mailbag handoff {option} NUMBER`:\n  {}",
            lines.collect::<Vec<_>>().join("\n  ")
        ),
    )
}
