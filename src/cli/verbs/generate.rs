//! `mailbag generate`: writes schemas, shell completions, man pages, helper libraries and plugins.

use super::{completions, helper, man, plugins, schema};
use crate::base::error::Result;
use crate::cli::context::CommandContext;

const EXAMPLES: &str = "\
Examples:
  mailbag generate schema --output status
  mailbag generate completions bash > ~/.local/share/bash-completion/completions/mailbag
  mailbag generate man ~/.local/share/man/man1
  mailbag generate helper python -o mailbag.py";

/// Write schemas, completions, man pages, helpers, plugins
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
    Man(man::Args),
    Helper(helper::Args),
    Plugins(plugins::Args),
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    match args.verb {
        GenerateCommand::Schema(args) => schema::run(args, cx),
        GenerateCommand::Completions(args) => completions::run(args, cx),
        GenerateCommand::Man(args) => man::run(args, cx),
        GenerateCommand::Helper(args) => helper::run(args, cx),
        GenerateCommand::Plugins(args) => plugins::run(args, cx),
    }
}
