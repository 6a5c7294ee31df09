//! `mailbag uninstall`

use super::install::{Place, Which, done, report, show};
use crate::base::error::Result;
use crate::cli::Exit;
use crate::cli::context::{Context, here};
use crate::clients::install::{self, Asked};

const EXAMPLES: &str = "\
Examples:
  mailbag uninstall claude
  mailbag uninstall codex --user
  mailbag uninstall gemini --dry-run    show the change, and make none

It takes out what `mailbag install` put into the client's files and nothing else. A
file that nobody changed meanwhile is what it was before, to the byte; one that
holds nothing but what was put there goes. The room and its mail stay.";

/// Take mailbag out of an agent client again
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Which client
    client: Which,
    #[command(flatten)]
    place: Place,
    /// Show the change, and make none
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let (from, room) = (here()?, cx.asked());
    let asked = Asked {
        client: args.client.client(),
        scope: args.place.scope(),
        agent: None,
        program: None,
        room: room.as_deref(),
        from: &from,
    };
    let plan = install::uninstall(&asked)?;
    show(&plan, cx)?;
    if !args.dry_run {
        plan.apply()?;
        done(&plan, cx)?;
    }
    report(&plan, args.dry_run, None, cx)
}
