//! `mailbag generate plugins`: writes the plugins and extensions of the clients.

use crate::base::error::{Doing, Result};
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::clients::install::package_files;
use crate::disk::{Dir, layout};
use std::path::PathBuf;

/// Write the plugins and extensions of all clients
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  mailbag generate plugins .    # in a checkout of mailbag")]
pub(crate) struct Args {
    /// Directory; created if missing
    dir: PathBuf,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    for (name, bytes) in package_files() {
        let path = layout::of_client(&args.dir, &name);
        let (Some(parent), Some(file)) = (path.parent(), path.file_name()) else {
            continue;
        };
        std::fs::create_dir_all(parent).doing("create the directory", parent)?;
        Dir::open(parent)?.replace(file, &bytes)?;
        cx.out.line(path.display().to_string())?;
    }
    Ok(Exit::Ok)
}
