//! `mailbag list`: lists messages and events of the log. `mailbag search` shares the filters.

use super::follow;
use crate::base::error::Result;
use crate::base::{limits, sanitize};
use crate::cli::context::{CommandContext, Freshness, IdentityArgs};
use crate::cli::show::newest::NewestArgs;
use crate::cli::show::output::{BOLD, CommandOutput, DIM, PLAIN};
use crate::cli::show::{row, waiting};
use crate::query::events::{EventFilter, LogEventReader};
use crate::query::history::{MessageCriteria, MessageFilter};
use crate::query::list;
use crate::query::view::MessageView;
use crate::room::Room;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  mailbag list --since 1h --as bob   # bob's messages of the last hour
  mailbag list --since yesterday --until 12:00
  mailbag list --from alice --type question --last 10
  mailbag list --unread --to bob --json
  mailbag list --events --since yesterday   # decisions, milestones, claims …
  mailbag list --events --type claim --json | jq '.events[].payload'
  mailbag list --follow --as bob            # new messages, one per line
  mailbag list --follow --as bob --idle 0   # until Ctrl-C
  mailbag list --follow --json --idle 1h | while read -r mail; do ...; done

Shows the oldest message first. No message is marked as read. Columns at a
terminal: number, local time, sender and recipients, type, subject or first line
of the body. Columns in a pipe: number, accept time (UTC), sender and recipients,
type, id, subject. A type with ? means that the sender expects an answer.

A time is 1h, 7d, today, yesterday, a weekday, a date, 14:30, or an instant.

An agent sees the messages that it sent or received. The human, and a caller
without an identity, sees all messages.

--events shows milestones, escalations, approvals and decisions, changes of claims and
of the charter, and messages of the types task.claimed, task.completed,
handoff.posted, proposal.created, proposal.amended, objection.raised,
decision.recorded and escalation.requested. --type is one of these, or the part before
the dot. With --json, an event has id, seq, room, type, session_id, from, accepted_at,
subject, payload and links. The id is the one that the writer gave.

--follow shows the messages of an inbox as they arrive. It starts with the unread
messages and shows each message once. No message is marked as read. Columns: accept
time (UTC), number, sender, type, priority, subject and body in one line. With
--json, a line is a whole message. The command ends after --idle without a new
message, on SIGINT or SIGTERM, or when the reader of its output ends. If no router
runs, it delivers pending messages.";

/// Maximum number of recipients by name.
const NAMES: usize = 3;

/// List messages, old and new, or show new ones as they arrive
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    filters: MessageFilterArgs,
    #[command(flatten)]
    newest: NewestArgs,
    /// Show events: decisions, milestones, changes of claims
    #[arg(long, conflicts_with_all = ["from", "to", "channel", "until", "unread", "requires_response", "follow", "idle"])]
    events: bool,
    /// Show new messages of the inbox as they arrive
    #[arg(long, conflicts_with_all = ["from", "to", "kind", "channel", "since", "until", "unread", "requires_response", "last", "all"])]
    follow: bool,
    /// End --follow after this time without a new message; 0: never
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = waiting::span, requires = "follow")]
    idle: Duration,
}

/// The messages to show.
#[derive(Debug, clap::Args)]
pub(crate) struct MessageFilterArgs {
    /// Sender
    #[arg(long, value_name = "AGENT")]
    from: Option<String>,
    /// Recipient
    #[arg(long, value_name = "AGENT")]
    to: Option<String>,
    /// Type
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// Channel
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// Earliest accept time: 1h, yesterday, a date, a time or an instant
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Accept time to stop before, as for --since
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only unread messages of --to or of the caller
    #[arg(long)]
    unread: bool,
    /// Only messages that require a response
    #[arg(long)]
    requires_response: bool,
    #[command(flatten)]
    identity: IdentityArgs,
}

impl MessageFilterArgs {
    /// The filter, with times and names resolved.
    pub(crate) fn filter(self, room: &Room, cx: &CommandContext) -> Result<MessageFilter> {
        let criteria = MessageCriteria {
            asker: self.identity.looker(cx, room)?,
            from: self.from,
            to: self.to,
            kind: self.kind,
            channel: self.channel,
            since: self.since,
            until: self.until,
            unread: self.unread,
            requires_response: self.requires_response,
        };
        MessageFilter::new(room, criteria)
    }
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    if args.follow {
        return follow::run(&args.filters.identity, args.idle, cx);
    }
    if args.events {
        return events(args, cx);
    }
    let room = cx.fresh_room(Freshness::Messages)?;
    let filter = args.filters.filter(&room, cx)?;
    let messages = list::list(&room, filter, args.newest.sought(&cx.out))?;
    args.newest.show(messages, &mut cx.out, |out, messages| {
        out.list("messages", messages, "no matching messages", |out, past| {
            let view = MessageView::from(&past);
            if out.is_terminal() {
                return row::print(out, &view, both(&view));
            }
            let line = line(&view, out);
            out.line(line)
        })
    })
}

/// Lists events instead of messages.
fn events(args: Args, cx: &mut CommandContext) -> Result<()> {
    let room = cx.fresh_room(Freshness::Complete)?;
    let filter = EventFilter::new(args.filters.since.as_deref(), args.filters.kind)?;
    let events = LogEventReader::of(&room, filter)?;
    let newest = events.each(args.newest.sought(&cx.out))?;
    args.newest.show(newest, &mut cx.out, |out, found| {
        if out.json {
            let found = found.map(|event| event.map(|event| events.event(event)));
            return out.json_list("events", found);
        }
        let mut is_empty = true;
        for event in found {
            let event = event?;
            is_empty = false;
            let (at, seq) = (out.time(&event.at), event.seq);
            let text = sanitize::brief(&event.text(), limits::WORKLOG_TEXT);
            out.pieces(&[
                (DIM, &at),
                (PLAIN, "  "),
                (BOLD, &event.actor),
                (PLAIN, &format!("  {}  #{seq}  {text}", event.kind)),
            ])?;
        }
        if is_empty {
            out.note("no events");
        }
        Ok(())
    })
}

/// A message in one line.
fn line(view: &MessageView<'_>, out: &CommandOutput) -> String {
    let mark = if view.marks_response() { "?" } else { "" };
    format!(
        "{}  {}{mark}{}  {}  {}",
        head(view, out),
        sanitize::line(view.kind),
        view.closed_mark(),
        view.id,
        row::cut(&sanitize::line(&view.about()), limits::FOLLOW_CHARS)
    )
}

/// The number, accept time, sender and recipients of a message.
pub(crate) fn head(view: &MessageView<'_>, out: &CommandOutput) -> String {
    let (number, time) = (view.number(), out.time(view.accepted_at));
    sanitize::line(&format!("{number:>6}  {time}  {}", both(view))).into_owned()
}

fn both(view: &MessageView<'_>) -> String {
    format!("{} → {}", view.from, view.to(NAMES))
}
