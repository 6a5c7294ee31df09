//! `mailbag archive`: packs old files of the room and old segments of the log.

use crate::base::error::Result;
use crate::base::sanitize;
use crate::base::text::count;
use crate::cli::context::CommandContext;
use crate::cli::show::output::CommandOutput;
use crate::commands::archive::{self, ArchiveProgress, ArchiveReport, PackedKind};
use crate::query::time;

const EXAMPLES: &str = "\
Examples:
  mailbag archive --older-than 7d --dry-run
  mailbag archive --older-than 7d
  tar --zstd -xOf .mailbag/archive/TIME.tar.zst sent/alice/7~x.json

Packs old files of sent/, rejected/, inbox/*/seen/ and inbox/*/expired/ into
archive/TIME.tar.zst, and compresses whole segments of the log into archive/, and
large shared text files in place, as NAME.zst. Unread messages stay, also in
taken/.

The router may run meanwhile. All commands also read the archived part of the
log. If the command is killed, nothing is lost, and the next run may pack some
files again. For cron: --quiet prints only errors, and exit status 75 means that
another `mailbag archive` is running.";

/// Archive old messages and log segments
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Minimum age, such as 7d, 12h or 30m, or an instant
    #[arg(long, value_name = "TIME")]
    older_than: String,
    /// Report of what would be packed, without changes
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let room = cx.room()?;
    let bound = time::past(&args.older_than)?;
    let mut progress = cx.out.progress();
    let (report, done) = archive::archive(
        &room,
        bound,
        args.dry_run,
        &mut |ArchiveProgress { kind, bytes }| {
            progress.report(|| format!("packing {kind}: {} read so far", size(bytes)));
        },
    );
    progress.end();
    if !args.dry_run {
        cx.out.changed();
    }
    cx.out.show(&report, |out| {
        show(&report, &args.older_than, done.is_ok(), out)
    })?;
    done
}

fn show(
    report: &ArchiveReport,
    older_than: &str,
    done: bool,
    out: &mut CommandOutput,
) -> Result<()> {
    if out.quiet {
        return Ok(());
    }
    for kindly in &report.packed {
        out.line(line(kindly, report.dry_run))?;
    }
    for skipped in &report.skipped {
        out.note(&format!(
            "skipped: {}: {}",
            sanitize::line(&skipped.path.to_string_lossy()),
            skipped.reason
        ));
    }
    if report.skipped_more > 0 {
        out.note(&format!("skipped: {} more", report.skipped_more));
    }
    if done && report.packed.is_empty() {
        out.line(format!("nothing to archive older than {older_than}"))?;
    }
    Ok(())
}

fn line(
    PackedKind {
        kind,
        files,
        bytes,
        packed_bytes,
        packs,
    }: &PackedKind,
    dry_run: bool,
) -> String {
    let verb = if dry_run { "would pack" } else { "packed" };
    let what = count(*files, if *kind == "log" { "segment" } else { "file" });
    let to = match packs.as_slice() {
        [] => String::new(),
        [one] => format!(" to {}, {}", size(*packed_bytes), one.display()),
        [first, ..] => format!(
            " to {}, {} and {} more",
            size(*packed_bytes),
            first.display(),
            packs.len() - 1
        ),
    };
    format!("{verb} {kind}: {what}, {}{to}", size(*bytes))
}

/// Bytes as a person reads them.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return count(bytes, "byte");
    }
    let mut size = bytes as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}
