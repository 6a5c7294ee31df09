//! `mailbag decide`: decides an approval.

use super::pending;
use crate::base::error::{Error, Result};
use crate::base::{limits, sanitize};
use crate::cli::Exit;
use crate::cli::context::{CommandContext, Freshness, IdentityArgs};
use crate::commands::approval::{self, DecisionRequest};
use crate::query::displayed::DisplayedApproval;

const EXAMPLES: &str = "\
Examples:
  mailbag decide 12 yes
  mailbag decide alice/deploy-1 2 --note 'after the backup'
  mailbag decide 12 yes --digest 9f86d0…   # a program that has shown the text

At a terminal the command shows the whole text of the approval and asks once. A
program shows the `text` of `mailbag pending --json` and passes the `digest` beside
it. OPTION is an option of the approval, its number from 1, or its beginning. The
first valid decision counts; a later one is rejected, with status 1. Only an agent
that was asked can decide. Status 0 means that the decision is recorded.

A file {\"type\": \"decision\", \"in_reply_to\": \"12\", \"option\": \"yes\"} in the outbox
does the same.";

/// Decide an approval
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Approval, as 12, #12, ID or SENDER/ID; default: list the open ones
    #[arg(value_name = "APPROVAL")]
    approval: Option<String>,
    /// Option, its number, or its beginning
    #[arg(value_name = "OPTION")]
    option: Option<String>,
    /// Reason
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Digest of the text that a program has shown
    #[arg(long, value_name = "HEX")]
    digest: Option<String>,
    #[command(flatten)]
    identity: IdentityArgs,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<Exit> {
    let who = args.identity.who(cx)?;
    // The approval may not be in the log yet.
    let room = cx.fresh_room(Freshness::Messages)?;
    let agent = who.mailbox(&room, &room.registry()?)?;
    if args.approval.is_some() {
        approval::require_decider(&agent)?;
    }
    let Args {
        approval,
        option,
        note,
        digest,
        ..
    } = args;
    let Some(approval) = approval else {
        return pending::list_settled_by("mailbag decide", &room, &args.identity, cx)
            .map(Exit::from);
    };
    let Some(option) = option else {
        let displayed = DisplayedApproval::read(&room, &approval)?;
        return Err(Error::usage(
            format!("no option given for #{}", displayed.seq),
            format!(
                "run `mailbag decide {} OPTION` with one of: {}",
                displayed.seq,
                sanitize::line(&displayed.options.join(", "))
            ),
        ));
    };
    let digest = match digest {
        Some(digest) => digest,
        None => match confirm(&DisplayedApproval::read(&room, &approval)?, &option, cx)? {
            Some(digest) => digest,
            None => {
                cx.out.note("nothing was decided");
                return Ok(Exit::Error);
            }
        },
    };
    let choice = DecisionRequest {
        approval,
        option,
        note,
        digest,
    };
    let outcome = approval::decide(&room, &who, choice, cx.writer_wait())?;
    cx.out.did(
        outcome.sentence(&outcome.approval),
        "do not repeat the command",
    );
    cx.out.show(&outcome, |out| {
        out.done(sanitize::line(&outcome.sentence(&outcome.approval)))
    })?;
    Ok(Exit::Ok)
}

/// Shows the whole text and asks. Returns the digest of the text if the answer is yes.
fn confirm(
    displayed: &DisplayedApproval,
    word: &str,
    cx: &CommandContext,
) -> Result<Option<String>> {
    let option = approval::option(displayed, word)?;
    if !cx.out.can_ask() {
        return Err(Error::usage(
            format!(
                "a decision needs the text of {}, and there is no terminal to show it",
                displayed.approval
            ),
            format!(
                "show the text of #{} in `mailbag pending --json`, then add --digest with the digest from there",
                displayed.seq
            ),
        ));
    }
    cx.out.tell_source(&displayed.text)?;
    let question = format!(
        "Decide #{}: {}?",
        displayed.seq,
        sanitize::path(option, limits::TITLE)
    );
    Ok(cx
        .out
        .ask(&question)?
        .filter(|yes| *yes)
        .map(|_| displayed.digest.clone()))
}
