//! `mailbag backup`

use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::commands::backup::{Report, backup};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  mailbag backup /backup/team-2026-11-21
  mailbag --room /srv/team backup /backup/team --json

The room may be in use: a router that runs stands still between two batches
until the copy is done, and mail dropped meanwhile is routed afterwards. A
plain `cp -a` of a room in use lacks mail.

To restore, stop the router, put the copy in the room's place, and run
`mailbag init --adopt` there. Exit status 75 says that `mailbag archive` is at
work.";

/// Copy the room while it is in use
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Directory of the copy, new or empty
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    dir: PathBuf,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let room = cx.room()?;
    let report = backup(&room, &args.dir)?;
    if cx.out.json {
        cx.out.json(&report)?;
        return Ok(Exit::Ok);
    }
    let Report { room, backup, files, bytes, left } = report;
    let text = format!("copied {} to {}: {files} files, {bytes} bytes", room.display(), backup.display());
    cx.out.line(sanitize::line(&text))?;
    cx.out.flush()?;
    for one in left {
        cx.out.warn(&format!("{} was left out: {}", one.path.display(), one.why));
    }
    Ok(Exit::Ok)
}
