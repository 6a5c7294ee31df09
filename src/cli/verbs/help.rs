//! `mailbag help`: shows the help of a command, or all commands.

use crate::base::error::Result;
use crate::cli::args::{self, Cli};
use crate::cli::context::CommandContext;
use crate::cli::{Exit, answer_mistake};

const EXAMPLES: &str = "\
Examples:
  mailbag help
  mailbag help --all
  mailbag help agent add";

/// Show the help of a command, or all commands
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, hide = true)]
pub(crate) struct Args {
    /// Command, with its subcommand
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// List all commands by group
    #[arg(long, conflicts_with = "command")]
    all: bool,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<Exit> {
    if args.all {
        let help = args::command().render_long_help();
        let help = if cx.out.has_colour() {
            help.ansi().to_string()
        } else {
            help.to_string()
        };
        cx.out.line(help.trim_end())?;
        return Ok(Exit::Ok);
    }
    // The help of a command is the output of the same command with `--help`.
    let words = ["mailbag".to_owned()].into_iter().chain(args.command);
    let words: Vec<_> = words.chain(["--help".to_owned()]).map(Into::into).collect();
    match Cli::read(words.clone()) {
        Err(e) => Ok(answer_mistake(&e, &words, cx.out.json)),
        Ok(_) => Ok(Exit::Ok),
    }
}
