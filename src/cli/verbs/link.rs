//! `mailbag link`: links to other rooms.

use super::link_carry;
use crate::base::error::Result;
use crate::cli::Exit;
use crate::cli::context::Context;

/// Connect this room with rooms on other machines
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  mailbag link run")]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Carry mail to and from other machines
    #[command(after_help = link_carry::RUN_HELP)]
    Run(link_carry::Run),
    /// Serve a link to another machine
    #[command(after_help = link_carry::SERVE_HELP)]
    Serve(link_carry::Serve),
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    match args.verb {
        Verb::Run(args) => link_carry::run(&args, cx),
        Verb::Serve(args) => link_carry::serve(&args, cx),
    }
}
