//! `mailbag completions`

use super::Exit;
use super::context::Context;
use crate::error::Result;

const EXAMPLES: &str = "\
Examples:
  mailbag completions bash > ~/.local/share/bash-completion/completions/mailbag
  mailbag completions zsh > ~/.zfunc/_mailbag
  mailbag completions fish > ~/.config/fish/completions/mailbag.fish";

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Which shell
    shell: clap_complete::Shell,
}

pub(super) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut super::command(), "mailbag", &mut text);
    cx.out.bytes(&text)?;
    Ok(Exit::Ok)
}
