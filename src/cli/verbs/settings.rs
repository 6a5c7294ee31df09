//! `mailbag settings`: shows the settings of the room.

use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::context::CommandContext;
use crate::cli::show::output::DIM;
use crate::room::settings::Setting;

const EXAMPLES: &str = "\
Example:
  mailbag settings

The output is a valid settings.toml, in which each default is a comment. To change
a setting, write it to settings.toml in the room.";

/// Longest default that is shown beside another value, in bytes.
const DEFAULT_SHOWN: usize = 100;

/// Show all settings, their values and their defaults
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

pub(crate) fn run(_: Args, cx: &mut CommandContext) -> Result<()> {
    let listing = cx.room()?.settings()?.listing();
    cx.out.list(
        "settings",
        listing.into_iter().map(Ok),
        "",
        |out, setting| {
            let doc = out.paint(DIM, &format!("# {}", setting.description));
            out.line(doc)?;
            out.line(sanitize::line(&setting_line(&setting)))
        },
    )
}

fn setting_line(setting: &Setting) -> String {
    let Setting {
        key,
        value,
        default,
        ..
    } = setting;
    match (value.as_str(), default.as_str()) {
        ("", _) => format!("# {key} is not set"),
        (value, default) if value == default => format!("# {key} = {value}"),
        (value, default) if default.is_empty() || default.len() > DEFAULT_SHOWN => {
            format!("{key} = {value}")
        }
        (value, default) => format!("{key} = {value} # default: {default}"),
    }
}
