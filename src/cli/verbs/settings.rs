//! `mailbag settings`: shows the settings of the room.

use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::cli::show::output::DIM;

const EXAMPLES: &str = "\
Example:
  mailbag settings

The output is a valid settings.toml. To change a setting, write it to settings.toml
in the room.";

/// Show all settings and their sources
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

pub(crate) fn run(_: Args, cx: &mut Context) -> Result<Exit> {
    let listing = cx.room()?.settings()?.listing();
    cx.out
        .list(listing.into_iter().map(Ok), "", |out, setting| {
            let doc = out.paint(DIM, &format!("# {} ({})", setting.doc, setting.source));
            out.line(doc)?;
            let mark = if setting.value.is_empty() { "# " } else { "" };
            out.line(format!(
                "{mark}{} = {}",
                setting.key,
                sanitize::line(&setting.value)
            ))
        })?;
    Ok(Exit::Ok)
}
