//! `mailbag completions`

use crate::base::error::{Doing, Error, Result};
use crate::cli::context::Context;
use crate::cli::{Exit, completing};
use clap_complete::env::Shells;

const EXAMPLES: &str = "\
Examples:
  mailbag completions bash > ~/.local/share/bash-completion/completions/mailbag
  mailbag completions zsh > ~/.zfunc/_mailbag
  mailbag completions fish > ~/.config/fish/completions/mailbag.fish

The shell asks mailbag itself while you type: agents, roles, topics, channels and
messages of the room are offered as they are at that moment.";

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Which shell
    shell: clap_complete::Shell,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let name = args.shell.to_string();
    let shells = Shells::builtins();
    let shell = shells.completer(&name).ok_or_else(|| Error::NotFound {
        what: format!("there are no completions for {name}"),
        cure: format!("take one of {}", shells.names().collect::<Vec<_>>().join(", ")),
    })?;
    let mut text = Vec::new();
    let written = shell.write_registration(completing::VARIABLE, "mailbag", "mailbag", "mailbag", &mut text);
    written.doing("write", "the completions")?;
    cx.out.bytes(&text)?;
    Ok(Exit::Ok)
}
