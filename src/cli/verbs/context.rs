//! `mailbag context`: shows threads, goals, decisions and claims of an agent, within a budget.

use crate::base::error::Result;
use crate::cli::context::{CommandContext, Freshness, IdentityArgs};
use crate::clients::briefing::context::fit;
use crate::commands::claim::release_lapsed;
use crate::query::context::context;

const EXAMPLES: &str = "\
Examples:
  mailbag context --as alice
  mailbag context --json | jq .tokens

It shows your open threads, the goals of the charter, recent decisions, your claims
and the shared files, in at most 1,000 tokens of four bytes. The least valuable
entries are dropped first, and counted at the end. With brief = \"context\" in
settings.toml, the hook shows it at the start of a session.";

/// Show what an agent needs to continue its work
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    identity: IdentityArgs,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let room = cx.fresh_room(Freshness::Messages)?;
    let agent = args.identity.mailbox(cx, &room)?;
    release_lapsed(&room);
    let fitted = fit(context(&room, &agent)?);
    cx.out.show(&fitted, |out| out.line(&fitted.text))
}
