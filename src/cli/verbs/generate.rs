//! `mailbag generate`: prints schemas and shell completions.

use super::{completions, schema};
use crate::base::error::Result;
use crate::cli::context::CommandContext;

const EXAMPLES: &str = "\
Examples:
  mailbag generate schema
  mailbag generate completions bash > ~/.local/share/bash-completion/completions/mailbag";

/// Print schemas and shell completions
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: GenerateCommand,
}

#[derive(Debug, clap::Subcommand)]
enum GenerateCommand {
    Schema(schema::Args),
    Completions(completions::Args),
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    match args.verb {
        GenerateCommand::Schema(args) => schema::run(args, cx),
        GenerateCommand::Completions(args) => completions::run(args, cx),
    }
}
