//! `mailbag man`

use super::Exit;
use super::context::Context;
use crate::error::{Doing, Result};
use std::path::PathBuf;

/// Write the man pages into a directory
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  mailbag man ~/.local/share/man/man1")]
pub(super) struct Args {
    /// Where; it is made if there is none
    dir: PathBuf,
}

pub(super) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    std::fs::create_dir_all(&args.dir).doing("make the directory", &args.dir)?;
    clap_mangen::generate_to(super::command(), &args.dir).doing("write man pages to", &args.dir)?;
    cx.out.note(&format!("wrote the man pages to {}", args.dir.display()));
    Ok(Exit::Ok)
}
