//! `mailbag log`: verifies the log, prints its head, and gives lost records up.

use crate::base::error::{Error, Result};
use crate::base::sanitize;
use crate::base::text::{count, count_of, joined};
use crate::cli::Exit;
use crate::cli::context::{CommandContext, Freshness};
use crate::cli::show::output::CommandOutput;
use crate::commands::gap::{self, LogLoss};
use crate::query::head::{self, LogHead};
use crate::query::verify::{self, VerifiedGap};
use crate::room::Room;
use crate::room::actor::require_person;

const EXAMPLES: &str = "\
Examples:
  mailbag log verify
  mailbag log head > ~/kept-head
  grep -h rejected .mailbag/log/*.ndjson   # the records are lines of text

`mailbag list` shows messages, and `mailbag list --events` decisions, milestones and
other events.";

const VERIFY_HELP: &str = "\
Examples:
  mailbag log verify
  mailbag log verify --head \"$(cat kept-head)\"

Each line contains the SHA-256 of the line before: `sha256sum` of line 5 of a
segment is the \"prev\" of line 6. Exit status 65 means that the log is damaged;
the error names the first bad line. Archived segments are verified too. The command
also detects a truncated log from spool/tip and the numbers in sent/. With a
head that you keep elsewhere, it detects a room that was replaced completely. It lists the gaps that a person accepted.";

const GAP_HELP: &str = "\
Examples:
  mailbag log accept-gap
  mailbag log accept-gap --yes

After an older log/ was restored, or the log was cut off or replaced, no router starts:
it would give numbers and deliver messages twice. First try to restore a log/ that has
all records: nothing is lost then. This command is for a log that no longer exists. It
lists the evidence, and writes a record with the range of lost numbers. The next record
gets a number above them. A lost message is delivered again if its sender drops it
again. What lost records said about claims, approvals and read mail is lost.

Only a person can run it, and no router may run.";

const HEAD_HELP: &str = "\
Examples:
  mailbag log head > ~/kept-head
  mailbag log verify --head \"$(cat ~/kept-head)\"

Keep the line where no agent of the room can change it. Each record contains the
hash of the record before, so the head identifies the whole log up to this record.";

/// Verify the log
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: LogCommand,
}

#[derive(Debug, clap::Subcommand)]
enum LogCommand {
    /// Verify the log against itself, the room and a kept head
    #[command(after_help = VERIFY_HELP)]
    Verify {
        /// Head of the log that `mailbag log head` printed
        #[arg(long, value_name = "HEAD")]
        head: Option<String>,
    },
    /// Give up records that the log has lost
    #[command(after_help = GAP_HELP)]
    AcceptGap {
        /// Give the records up without a question
        #[arg(long)]
        yes: bool,
    },
    /// Print the last record's number and hash, and the room id
    #[command(after_help = HEAD_HELP)]
    Head,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<Exit> {
    let room = cx.fresh_room(Freshness::AsIs)?;
    match args.verb {
        LogCommand::AcceptGap { yes } => accept_gap(&room, yes, cx),
        LogCommand::Head => {
            let head = head::head(&room)?;
            cx.out.show(&head, |out| out.line(head.to_string()))?;
            Ok(Exit::Ok)
        }
        LogCommand::Verify { head } => {
            let head = head.as_deref().map(LogHead::parse).transpose()?;
            let verified = verified(&room, head.as_ref(), cx)?;
            cx.out.show(&verified, |out| {
                let text = intact(&verified, out);
                out.line(text)
            })?;
            Ok(Exit::Ok)
        }
    }
}

/// Shows the lost records, asks, and gives them up.
fn accept_gap(room: &Room, yes: bool, cx: &mut CommandContext) -> Result<Exit> {
    let loss = gap::find_loss(room)?;
    require_person("give up records of the log")?;
    cx.out.ahead(|out| show_loss(&loss, out))?;
    let question = "Give these records up, and continue with later numbers?";
    let agreed = yes || cx.out.ask(question)?.ok_or_else(|| {
        Error::usage(
            "cannot ask without a terminal",
            "run `mailbag log accept-gap` at a terminal, or give --yes to give up these records",
        )
    })?;
    if !agreed {
        cx.out.line("nothing was changed")?;
        return Ok(Exit::Error);
    }
    let loss = gap::accept_gap(room)?;
    cx.out.changed();
    let done = || {
        format!(
            "accepted: the next record after the gap has a number above {}",
            loss.to
        )
    };
    cx.out.show(&loss, |out| out.line(done()))?;
    Ok(Exit::Ok)
}

fn show_loss(loss: &LogLoss, out: &mut CommandOutput) -> Result<()> {
    out.line(format!("the log ends with record {}", loss.last))?;
    for witness in &loss.evidence {
        out.line(sanitize::line(&witness.to_string()))?;
    }
    out.line(format!("lost: records {} to {}", loss.from, loss.to))
}

/// Verifies the log, with reports of the progress if that takes long.
fn verified(
    room: &Room,
    head: Option<&LogHead>,
    cx: &CommandContext,
) -> Result<verify::VerifiedLog> {
    let mut progress = cx.out.progress();
    verify::verify_with_progress(room, head, &mut |read| {
        progress.report(|| format!("verified {} MiB so far", read >> 20));
    })
}

/// The result of a verification without findings.
fn intact(verified: &verify::VerifiedLog, out: &CommandOutput) -> String {
    let verify::VerifiedLog {
        records,
        segments,
        archived,
        batches,
        messages,
        ..
    } = verified;
    let archived = if *archived > 0 {
        format!(" ({archived} archived)")
    } else {
        String::new()
    };
    let rest = if verified.unfinished {
        "; a batch is being written"
    } else {
        ""
    };
    let head = if verified.gaps.is_empty() {
        "intact".into()
    } else {
        accepted_gaps(&verified.gaps, out)
    };
    format!(
        "the log is {head}: {} in {} and {}{archived}, {}{rest}",
        count(*records, "record"),
        count(*batches, "batch"),
        count_of(*segments, "segment"),
        count(*messages, "message")
    )
}

/// The lost records that a person has given up.
fn accepted_gaps(gaps: &[VerifiedGap], out: &CommandOutput) -> String {
    format!(
        "whole except for the lost records {}",
        joined(gaps.iter().map(|gap| format!(
            "{} to {} (accepted in record {} at {})",
            gap.from,
            gap.to,
            gap.seq,
            out.time(&gap.at)
        )))
    )
}
