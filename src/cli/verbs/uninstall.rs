//! `mailbag uninstall`: removes mailbag from an agent client or a git repository.

use super::install::{InstallTarget, ScopeArgs, done, report, show};
use crate::base::error::Result;
use crate::cli::Exit;
use crate::cli::context::{CommandContext, here};
use crate::clients::git_hooks;
use crate::clients::install::{self, InstallRequest};

const EXAMPLES: &str = "\
Examples:
  mailbag uninstall claude
  mailbag uninstall codex --user
  mailbag uninstall gemini --dry-run   # show the change only
  mailbag uninstall git                # the hooks of this repository

Removes only what `mailbag install` added. A file without other changes is restored
to the byte; a file that contains nothing else is removed. The room and its messages
stay.";

/// Remove mailbag from an agent client or a git repository
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Client, or git
    client: InstallTarget,
    #[command(flatten)]
    place: ScopeArgs,
    /// Preview of the change, without writing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<Exit> {
    let (from, room) = (here()?, cx.asked());
    let plan = match args.client.client() {
        Some(client) => install::uninstall(&InstallRequest {
            client,
            scope: args.place.scope(),
            agent: None,
            for_up: None,
            approvals: false,
            program: None,
            room: room.as_deref(),
            from: &from,
        })?,
        None => {
            args.place.check_git()?;
            git_hooks::uninstall(&from)?
        }
    };
    show(&plan, cx)?;
    if !args.dry_run {
        plan.apply()?;
        done(&plan, cx)?;
    }
    report(&plan, args.dry_run, None, cx)
}
