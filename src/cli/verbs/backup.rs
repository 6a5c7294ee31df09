//! `mailbag backup`: copies a room that is in use.

use crate::base::error::Result;
use crate::base::sanitize;
use crate::base::text::count;
use crate::cli::context::CommandContext;
use crate::cli::show::output::CommandOutput;
use crate::commands::backup::{BackupReport, backup};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  mailbag backup /backup/team-2026-11-21
  mailbag --room /srv/team backup /backup/team --json

Delivered mail is copied first. Then a running router pauses between two batches
until the rest is copied, and delivers messages that arrive meanwhile afterwards. A plain `cp -a` of a room in
use can miss messages.

To restore, stop the router, move the copy to the room's place, and run
`mailbag init --adopt` there. Exit status 75 means that `mailbag archive` is
running.";

/// Copy the room while it is in use
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Directory for the copy, new or empty
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    dir: PathBuf,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let room = cx.room()?;
    let mut progress = cx.out.progress();
    let report = backup(&room, &args.dir, &mut |files| {
        progress.report(|| format!("copied {} so far", count(files, "file")));
    })?;
    progress.end();
    cx.out.changed();
    cx.out.show(&report, |out| show(&report, out))
}

fn show(
    BackupReport {
        room,
        backup,
        files,
        bytes,
        skipped,
    }: &BackupReport,
    out: &mut CommandOutput,
) -> Result<()> {
    let (from, to) = (room.display(), backup.display());
    let text = format!(
        "copied {from} to {to}: {}, {}",
        count(*files, "file"),
        count(*bytes, "byte")
    );
    out.line(sanitize::line(&text))?;
    out.flush()?;
    for one in skipped {
        out.warn(&format!("skipped {}: {}", one.path.display(), one.reason));
    }
    Ok(())
}
