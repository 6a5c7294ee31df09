//! `mailbag settings`

use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::cli::show::output::DIM;

const EXAMPLES: &str = "\
Example:
  mailbag settings

The output is a settings.toml; put what you want to change into the file of
that name in the room.";

/// Show how the room behaves: every setting, and where it comes from
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

pub(crate) fn run(_: Args, cx: &mut Context) -> Result<Exit> {
    let listing = cx.room()?.settings()?.listing();
    if cx.out.json {
        cx.out.json(&listing)?;
        return Ok(Exit::Ok);
    }
    for setting in listing {
        let doc = cx.out.paint(DIM, &format!("# {} ({})", setting.doc, setting.source));
        cx.out.line(doc)?;
        let mark = if setting.value.is_empty() { "# " } else { "" };
        cx.out.line(format!("{mark}{} = {}", setting.key, sanitize::line(&setting.value)))?;
    }
    Ok(Exit::Ok)
}
