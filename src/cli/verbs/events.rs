//! `mailbag log events`: shows what happened, one event in one line.

use super::channel::{listen_for_the_end, until_end};
use crate::base::error::Result;
use crate::base::{limits, sanitize};
use crate::cli::context::{CommandContext, Freshness};
use crate::cli::show::newest::NewestArgs;
use crate::cli::show::output::{BOLD, CommandOutput, DIM, PLAIN};
use crate::message::envelope::Envelope;
use crate::query::events::{EventFilter, LogEventReader};

const EXAMPLES: &str = "\
Examples:
  mailbag log events --since yesterday
  mailbag log events --type claim
  mailbag log events --json --since 24h | jq -r 'select(.type == \"milestone\").payload.body'
  mailbag log events --follow --json

Events are milestones, escalations, approvals and decisions, changes of claims and
of the charter, and messages of the types task.claimed, task.completed,
handoff.posted, proposal.created, proposal.amended, objection.raised,
decision.recorded and escalation.requested.

--json prints one object a line: id, seq, room, type, session_id, from, accepted_at,
subject, payload, links. The id is the one that the writer gave.";

/// Show what happened
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Earliest accept time: 1h, 7d, yesterday or an instant
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Type of event, such as milestone, or the part before the dot, such as claim
    #[arg(long = "type", value_name = "EVENT")]
    kind: Option<String>,
    #[command(flatten)]
    newest: NewestArgs,
    /// New events too, until interrupted
    #[arg(long)]
    follow: bool,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let room = cx.fresh_room(Freshness::Complete)?;
    let filter = EventFilter::new(args.since.as_deref(), args.kind)?;
    let events = LogEventReader::of(&room, filter)?;
    if !args.follow {}
    let mut is_empty = true;
    args.newest.show(events.each()?, &mut cx.out, |out, all| {
        for event in all {
            is_empty = false;
            print(&events, event?, out)?;
        }
        Ok(())
    })?;
    if !args.follow {
        if is_empty && !cx.out.json {
            cx.out.note("no events");
        }
        return Ok(());
    }
    let (mut follower, ends) = (events.follower(), listen_for_the_end()?);
    until_end(&room, &ends, cx, |cx| {
        for record in follower.read()? {
            if let Some(event) = events.pick(&record) {
                print(&events, event, &mut cx.out)?;
            }
        }
        Ok(())
    })
}

fn print(events: &LogEventReader, event: Envelope, out: &mut CommandOutput) -> Result<()> {
    if out.json {
        let json =
            serde_json::to_string(&events.event(event)).expect("an event has only text keys");
        return out.json_text(&json);
    }
    let (at, seq) = (out.time(&event.at), event.seq);
    let text = sanitize::brief(&event.text(), limits::WORKLOG_TEXT);
    out.pieces(&[
        (DIM, &at),
        (PLAIN, "  "),
        (BOLD, &event.actor),
        (PLAIN, &format!("  {}  #{seq}  {text}", event.kind)),
    ])
}
