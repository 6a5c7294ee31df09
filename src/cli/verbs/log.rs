//! `mailbag log`

use super::inbox::to_the_second;
use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::message::record::{Event, Record};
use crate::message::status::Receipt;
use crate::query::head::{self, Head};
use crate::query::records::{self, EVENTS, Filter};
use crate::query::{time, verify};
use crate::room::Room;
use serde_json::{Map, Value};
use std::time::{Duration, Instant};

/// How long it takes before a word is said of how far it is.
const PATIENCE: Duration = Duration::from_secs(1);
/// And how often then.
const OFTEN: Duration = Duration::from_millis(200);

const EXAMPLES: &str = "\
Examples:
  mailbag log --since 1h
  mailbag log --event refused --json
  mailbag log verify

With --json, the lines of log/*.ndjson as they stand there, and of segments that
`mailbag archive` packed.";

const VERIFY_HELP: &str = "\
Examples:
  mailbag log verify
  mailbag log verify --head \"$(cat kept-head)\"

Every line carries the SHA-256 of the line before: `sha256sum` over line 5 of a
segment gives the \"prev\" of its line 6. With exit status 65 the first bad line
is named. Archived segments are read where they stand. A log that is shorter than
it was is refused too: spool/checkpoint, sent/ and rejected/ say what it held, and
a head that you kept elsewhere says so even if all of the room was replaced.";

const HEAD_HELP: &str = "\
Examples:
  mailbag log head > ~/kept-head
  mailbag log verify --head \"$(cat ~/kept-head)\"

Keep the line where nobody who writes to the room can change it. Since each record
carries the hash of the one before, it stands for the whole log up to this record.";

/// Show the log, or verify it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Only what was accepted since: 1h, 7d or an instant
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only this event: room, accepted, refused, duplicate, notice, rungs or settled
    #[arg(long, value_parser = parse_event)]
    event: Option<Event>,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Check the log against itself, the room and a kept head
    #[command(after_help = VERIFY_HELP)]
    Verify {
        /// Head of the log as `mailbag log head` printed it
        #[arg(long, value_name = "HEAD")]
        head: Option<String>,
    },
    /// Print the last record's number, its hash and the room id
    #[command(after_help = HEAD_HELP)]
    Head,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let room = cx.room()?;
    if let Some(Verb::Head) = args.verb {
        let head = head::head(&room)?;
        match cx.out.json {
            true => cx.out.json(&head)?,
            false => cx.out.line(head.to_string())?,
        }
        return Ok(Exit::Ok);
    }
    if let Some(Verb::Verify { head }) = &args.verb {
        let head = head.as_deref().map(Head::parse).transpose()?;
        let verified = verified(&room, head.as_ref(), cx)?;
        if cx.out.json {
            cx.out.json(&verified)?;
            return Ok(Exit::Ok);
        }
        let verify::Verified { records, segments, archived, batches, messages, .. } = verified;
        let archived = if archived > 0 { format!(" ({archived} of them archived)") } else { String::new() };
        let rest = if verified.unfinished { "; a batch is being written" } else { "" };
        cx.out.line(format!(
            "the log is whole: {records} records in {batches} batches and {segments} segments{archived}, {messages} messages{rest}"
        ))?;
        return Ok(Exit::Ok);
    }
    let since = args.since.as_deref().map(time::past).transpose()?;
    for entry in records::entries(&room, Filter { since, event: args.event })? {
        let entry = entry?;
        match cx.out.json {
            true => cx.out.json_text(String::from_utf8_lossy(&entry.line.bytes).trim_end_matches('\n'))?,
            false => cx.out.line(line(&entry.record))?,
        }
    }
    Ok(Exit::Ok)
}

/// Verifies, and says how far it is where that takes long.
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

/// A record in one line.
fn line(record: &Record) -> String {
    let fields: Map<String, Value> =
        record.message.as_ref().and_then(|message| serde_json::from_str(message.get()).ok()).unwrap_or_default();
    let text = |field: &str| fields.get(field).and_then(Value::as_str);
    let about = text("subject").or_else(|| text("body").and_then(|body| body.lines().next())).unwrap_or_default();
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
    records::event(word).ok_or_else(|| format!("write one of {}", EVENTS.map(Event::as_str).join(", ")))
}
