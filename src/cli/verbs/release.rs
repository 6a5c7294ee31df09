//! `mailbag release`: releases claims.

use super::claim::decide;
use crate::base::error::Result;
use crate::cli::context::{CommandContext, Freshness, IdentityArgs, here};
use crate::commands::claim::{self, ClaimAction};
use crate::query::identity::mailbox;

const EXAMPLES: &str = "\
Examples:
  mailbag release --as alice                 # everything that alice owns
  mailbag release 'src/auth/**'
  mailbag release --of bob --note 'bob has crashed' --as human

A subject is released as it was claimed: no part of a glob can be released. The
human, and agents with the capability steward, can release the claims of others.
Exit status 1 means rejected.

A file {\"type\": \"release\", \"claims\": \"all\"} in the outbox releases everything.";

/// Release claims
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Subjects as claimed; default: all
    #[arg(value_name = "SUBJECT")]
    subjects: Vec<String>,
    /// Owner, if it is another agent
    #[arg(long, value_name = "AGENT")]
    of: Option<String>,
    /// Reason or comment
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    identity: IdentityArgs,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let who = args.identity.who(cx)?;
    // The subject can be in a claim that is still in the outbox.
    let room = cx.fresh_room(Freshness::Messages)?;
    let registry = room.registry()?;
    let owner = args.of.as_deref().unwrap_or(&who.name);
    let owner = mailbox(&room, &registry, owner)?;
    let subjects = claim::owned_subjects(&room, &here()?, &owner, &args.subjects)?;
    decide(
        claim::ask(
            &room,
            &who,
            ClaimAction::Release {
                subjects,
                of: args.of,
            },
            args.note,
        )?,
        cx,
    )
}
