//! `mailbag channel …`: watching a channel and its roster, in the form of other mail programs.

use super::{watch, who};
use crate::base::error::Result;
use crate::cli::context::{CommandContext, IdentityArgs};

const EXAMPLES: &str = "\
Examples:
  mailbag channel watch main    # as `mailbag watch --channel main`
  mailbag channel roster main   # as `mailbag who --channel main`";

/// Watch a channel, or show its agents
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, hide = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: ChannelCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ChannelCommand {
    /// Show new messages of a channel as they arrive
    #[command(after_help = "Example:\n  mailbag channel watch main --last 5")]
    Watch {
        /// Channel
        #[arg(value_name = "NAME")]
        channel: String,
        /// Number of older messages to start with
        #[arg(long, value_name = "N", default_value_t = 10)]
        last: usize,
        #[command(flatten)]
        identity: IdentityArgs,
    },
    /// Show the agents that take part in a channel
    #[command(after_help = "Example:\n  mailbag channel roster main")]
    Roster {
        /// Channel
        #[arg(value_name = "NAME")]
        channel: String,
    },
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    match args.verb {
        ChannelCommand::Watch {
            channel,
            last,
            identity,
        } => watch::run(watch::Args::of_channel(channel, last, identity), cx),
        ChannelCommand::Roster { channel } => who::of_channel(&channel, cx),
    }
}
