//! `mailbag generate plugins`: writes the plugins and extensions of the clients.

use crate::base::error::Result;
use crate::base::limits;
use crate::cli::context::CommandContext;
use crate::clients::install::package_files;
use crate::disk::{UserFile, layout};
use std::path::PathBuf;

/// Write the plugins and extensions of all clients
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  mailbag generate plugins .    # in a checkout of mailbag")]
pub(crate) struct Args {
    /// Directory; created if missing
    dir: PathBuf,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    for (name, text) in package_files() {
        let path = layout::of_client(&args.dir, &name);
        UserFile::read(&path, limits::CLIENT_FILE_BYTES)?.write(text.as_bytes())?;
        cx.out.line(path.display().to_string())?;
    }
    Ok(())
}
