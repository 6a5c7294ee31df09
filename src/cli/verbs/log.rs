//! `mailbag log`: shows the log, verifies it, and prints its head.

use crate::base::error::Result;
use crate::base::sanitize;
use crate::base::text::{count, count_of, to_the_second};
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::message::claim::Change;
use crate::message::record::{Event, Record};
use crate::message::status::Receipt;
use crate::query::head::{self, Head};
use crate::query::records::{self, EVENTS, Filter};
use crate::query::{time, verify};
use crate::room::Room;
use serde_json::{Map, Value};
use std::time::{Duration, Instant};

/// Time before the first report of the progress.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time between reports.
const OFTEN: Duration = Duration::from_millis(200);

const EXAMPLES: &str = "\
Examples:
  mailbag log --since 1h
  mailbag log --event refused --json
  mailbag log verify

--json prints the lines of log/*.ndjson unchanged, and those of archived segments.";

const VERIFY_HELP: &str = "\
Examples:
  mailbag log verify
  mailbag log verify --head \"$(cat kept-head)\"

Each line contains the SHA-256 of the line before: `sha256sum` of line 5 of a
segment is the \"prev\" of line 6. Exit status 65 means that the log is damaged;
the error names the first bad line. Archived segments are verified too. The command
also detects a truncated log from spool/checkpoint, sent/ and rejected/. With a
head that you keep elsewhere, it detects a room that was replaced completely.";

const HEAD_HELP: &str = "\
Examples:
  mailbag log head > ~/kept-head
  mailbag log verify --head \"$(cat ~/kept-head)\"

Keep the line where no agent of the room can change it. Each record contains the
hash of the record before, so the head identifies the whole log up to this record.";

/// Show or verify the log
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Earliest accept time: 1h, 7d or an instant
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Event: room, accepted, refused, duplicate, notice, rungs or settled
    #[arg(long, value_parser = parse_event)]
    event: Option<Event>,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Verify the log against itself, the room and a kept head
    #[command(after_help = VERIFY_HELP)]
    Verify {
        /// Head of the log that `mailbag log head` printed
        #[arg(long, value_name = "HEAD")]
        head: Option<String>,
    },
    /// Print the last record's number and hash, and the room id
    #[command(after_help = HEAD_HELP)]
    Head,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let room = cx.room()?;
    if let Some(Verb::Head) = args.verb {
        let head = head::head(&room)?;
        cx.out.show(&head, |out| out.line(head.to_string()))?;
        return Ok(Exit::Ok);
    }
    if let Some(Verb::Verify { head }) = &args.verb {
        let head = head.as_deref().map(Head::parse).transpose()?;
        let verified = verified(&room, head.as_ref(), cx)?;
        cx.out.show(&verified, |out| out.line(intact(&verified)))?;
        return Ok(Exit::Ok);
    }
    let since = args.since.as_deref().map(time::past).transpose()?;
    for entry in records::entries(&room, Filter { since, event: args.event })? {
        let entry = entry?;
        let json = || String::from_utf8_lossy(&entry.line.bytes).trim_end_matches('\n').to_owned();
        cx.out.item(json, |_| line(&entry.record))?;
    }
    Ok(Exit::Ok)
}

/// Verifies the log, with reports of the progress if that takes long.
fn verified(room: &Room, head: Option<&Head>, cx: &Context) -> Result<verify::Verified> {
    let mut due = Instant::now() + PATIENCE;
    let verified = verify::verify_with_progress(room, head, &mut |read| {
        if Instant::now() >= due {
            cx.out.progress(&format!("verified {} MiB so far", read >> 20));
            due = Instant::now() + OFTEN;
        }
    });
    cx.out.progress("");
    verified
}

/// The result of a verification without findings.
fn intact(verified: &verify::Verified) -> String {
    let verify::Verified { records, segments, archived, batches, messages, .. } = verified;
    let archived = if *archived > 0 { format!(" ({archived} archived)") } else { String::new() };
    let rest = if verified.unfinished { "; a batch is being written" } else { "" };
    format!(
        "the log is intact: {} in {} and {}{archived}, {}{rest}",
        count(*records, "record"),
        count(*batches, "batch"),
        count_of(*segments, "segment"),
        count(*messages, "message")
    )
}

/// A record in one line.
fn line(record: &Record) -> String {
    let fields: Map<String, Value> =
        record.message.as_ref().and_then(|message| serde_json::from_str(message.get()).ok()).unwrap_or_default();
    let text = |field: &str| fields.get(field).and_then(Value::as_str);
    let about = text("subject").or_else(|| text("body").and_then(|body| body.lines().next())).unwrap_or_default();
    let claim = record.ownership.as_ref().and_then(Change::summary);
    let about = match (claim, about) {
        (Some(claim), "") => claim,
        (Some(claim), about) => format!("{claim}: {about}"),
        (None, about) => about.to_owned(),
    };
    let to: Vec<&str> = record.recipients().map(|(agent, _)| &**agent).collect();
    let more = to.len().saturating_sub(3);
    let to = match (to.is_empty(), more) {
        (true, _) => String::new(),
        (false, 0) => format!(" → {}", to.join(", ")),
        (false, _) => format!(" → {} and {more} more", to[..3].join(", ")),
    };
    let from = record.from.as_deref().unwrap_or_default();
    let id = record.id.as_deref().unwrap_or_default();
    let kind = text("type").unwrap_or_default();
    let rest = match record.event {
        Event::Room => record.room.clone().unwrap_or_default(),
        Event::Settled | Event::Receipts => String::new(),
        Event::Duplicate => format!("{from} {id} repeats {}", record.of.unwrap_or(0)),
        Event::Rejected => {
            let line = record.line.map(|line| format!(" line {line}")).unwrap_or_default();
            let file = record.claim.as_deref().unwrap_or_default();
            let why = record.problems.first().map(|problem| problem.what.as_str()).unwrap_or_default();
            format!("{file}{line}: {why}{to}")
        }
        Event::Accepted | Event::Notice => format!("{from}{to}  {kind}  {id}  {about}"),
    };
    let head = format!("{:>6}  {}  {:<9}", record.seq, to_the_second(&record.at), record.event.as_str());
    let settled = record.settled.iter().map(|(from, to)| format!("{from}-{to}")).collect::<Vec<_>>().join(", ");
    let settled = match record.event {
        Event::Settled => settled,
        _ if settled.is_empty() => settled,
        _ => format!("settled {settled}"),
    };
    let parts = [rest, climbs(&record.receipts), settled];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!("{head}  {}", sanitize::line(&parts.join("  ")))
}

fn climbs(climbs: &[Receipt]) -> String {
    let numbers = |climb: &Receipt| climb.seqs.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
    let one = |climb: &Receipt| format!("{} {}: {}", climb.agent, climb.status.as_str(), numbers(climb));
    climbs.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn parse_event(word: &str) -> Result<Event, String> {
    records::event(word).ok_or_else(|| format!("expected one of {}", EVENTS.map(Event::as_str).join(", ")))
}
