//! `mailbag generate`: writes schemas, shell completions, man pages, helper libraries and plugins.

use super::{completions, helper, man, plugins, schema};
use crate::base::error::Result;
use crate::cli::Exit;
use crate::cli::context::Context;

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
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Schema(schema::Args),
    Completions(completions::Args),
    Man(man::Args),
    Helper(helper::Args),
    Plugins(plugins::Args),
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    match args.verb {
        Verb::Schema(args) => schema::run(args, cx),
        Verb::Completions(args) => completions::run(args, cx),
        Verb::Man(args) => man::run(args, cx),
        Verb::Helper(args) => helper::run(args, cx),
        Verb::Plugins(args) => plugins::run(args, cx),
    }
}
