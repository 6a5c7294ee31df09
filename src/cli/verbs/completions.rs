//! `mailbag generate completions`: prints the script that connects a shell to the completions.

use crate::base::error::{Error, ErrorContext, Result};
use crate::base::text::joined;
use crate::cli::completing;
use crate::cli::context::CommandContext;
use clap_complete::env::Shells;

const EXAMPLES: &str = "\
Examples:
  mailbag generate completions bash > ~/.local/share/bash-completion/completions/mailbag
  mailbag generate completions zsh > ~/.zfunc/_mailbag
  mailbag generate completions fish > ~/.config/fish/completions/mailbag.fish

The shell runs mailbag while you type, so that it can offer the agents of the
room and the numbers of messages.";

/// Print shell completions
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Shell
    shell: clap_complete::Shell,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let name = args.shell.to_string();
    let shells = Shells::builtins();
    let shell = shells.completer(&name).ok_or_else(|| {
        Error::not_found(
            format!("no completions for {name}"),
            format!("choose one of {}", joined(shells.names())),
        )
    })?;
    let mut text = Vec::new();
    let written = shell.write_registration(
        completing::VARIABLE,
        "mailbag",
        "mailbag",
        "mailbag",
        &mut text,
    );
    written.doing("write", "the completions")?;
    cx.out.bytes(&text)
}
