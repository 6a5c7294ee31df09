//! `mailbag context`: shows threads, goals, decisions and claims of an agent, within a budget.

use crate::base::error::Result;
use crate::base::limits;
use crate::cli::context::{CommandContext, Freshness, IdentityArgs};
use crate::clients::briefing::context::fit;
use crate::commands::claim::release_lapsed;
use crate::query::context::context;
use clap::builder::RangedU64ValueParser;

/// The smallest budget. It has room for the heading and the note about omitted parts.
const CONTEXT_LEAST: usize = 100;
/// The largest budget of the command.
const CONTEXT_MOST: usize = 100_000;

const EXAMPLES: &str = "\
Examples:
  mailbag context --as alice
  mailbag context --budget 4000
  mailbag context --json | jq .tokens

It shows your open threads, the goals of the charter, recent decisions, your claims
and the shared files. What does not fit is counted at the end, the least valuable
first. A token counts as four bytes. With brief = \"context\" in settings.toml, the
hook shows it at the start of a session.";

/// Show what an agent needs to continue its work
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Longest output in tokens; default: 1000
    #[arg(long, value_name = "TOKENS", value_parser = budget())]
    budget: Option<usize>,
    #[command(flatten)]
    identity: IdentityArgs,
}

fn budget() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(CONTEXT_LEAST as u64..=CONTEXT_MOST as u64)
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let room = cx.fresh_room(Freshness::Messages)?;
    let agent = args.identity.mailbox(cx, &room)?;
    let budget = args.budget.unwrap_or(limits::CONTEXT_TOKENS);
    release_lapsed(&room);
    let fitted = fit(context(&room, &agent)?, budget);
    cx.out.page();
    cx.out.show(&fitted, |out| out.line(&fitted.text))
}
