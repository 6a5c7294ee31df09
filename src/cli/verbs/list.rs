//! `mailbag list`, and the filters that it shares with `search`

use super::inbox::to_the_second;
use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::cli::show::row::Row;
use crate::message::{ROUTER_TYPES, id};
use crate::query::history::{Asked, Filter, Past};
use crate::query::{list, time};
use crate::room::Room;

const EXAMPLES: &str = "\
Examples:
  mailbag list --since 1h --as bob          what bob sent or got in the last hour
  mailbag list --since yesterday --until 12:00
  mailbag list --from alice --type question --last 10
  mailbag list --unread --to bob --json

At a terminal, each line is the message's number, the local time, who wrote to
whom, the type, and the subject or the first line of the body. In a pipe: seq,
when it was accepted (UTC), sender and recipients, type, id, subject. The oldest
first. A ? behind the type says that the sender waits for an answer.

A time is 1h, 7d, today, yesterday, a weekday, a date, 14:30, or an instant.

An agent sees what it sent and what it got. The human, and whoever looks
without a name, sees all. Nothing is marked as read.";

/// List messages: new and old, sent and received
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    filters: Filters,
    /// Only so many of the newest
    #[arg(long, value_name = "N")]
    last: Option<usize>,
}

/// Which messages.
#[derive(Debug, clap::Args)]
pub(crate) struct Filters {
    /// From this sender
    #[arg(long, value_name = "AGENT")]
    from: Option<String>,
    /// To this recipient
    #[arg(long, value_name = "AGENT")]
    to: Option<String>,
    /// Of this type
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// In this channel
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// Accepted since: 1h, yesterday, a date, a time or an instant
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Accepted before: 1h, yesterday, a date, a time or an instant
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Still in the inbox of --to, or of whoever looks
    #[arg(long)]
    unread: bool,
    /// The sender waits for an answer
    #[arg(long)]
    requires_response: bool,
    /// Who looks; else MAILBAG_AGENT, else MAOS_AGENT_ID
    #[arg(long = "as", value_name = "AGENT")]
    looker: Option<String>,
}

impl Filters {
    /// The filter, with times and names understood.
    pub(crate) fn filter(self, room: &Room, cx: &Context) -> Result<Filter> {
        let time = |text: Option<String>| text.as_deref().map(time::past).transpose();
        let asked = Asked {
            asker: cx.looker(self.looker.as_deref(), room)?,
            from: self.from,
            to: self.to,
            kind: self.kind,
            channel: self.channel,
            since: time(self.since)?,
            until: time(self.until)?,
            unread: self.unread,
            requires_response: self.requires_response,
        };
        Filter::new(room, asked)
    }
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let room = cx.room()?;
    cx.route_waiting(&room);
    let filter = args.filters.filter(&room, cx)?;
    let mut messages = list::list(&room, filter, args.last)?;
    if cx.out.json {
        cx.out.json_list(messages)?;
        return Ok(Exit::Ok);
    }
    let mut any = false;
    messages.try_for_each(|past| {
        any = true;
        let past = past?;
        match cx.out.is_terminal() {
            true => Row::of_past(&past, &to(&past)).print(&mut cx.out),
            false => cx.out.line(line(&past)),
        }
    })?;
    if !any {
        cx.out.note("no message fits");
    }
    Ok(Exit::Ok)
}

/// A message in one line.
fn line(past: &Past) -> String {
    let about = past.subject.as_deref().or(past.preview.as_deref()).unwrap_or_default();
    let waits = if past.requires_response { "?" } else { "" };
    format!("{}  {}{waits}  {}  {}", head(past), sanitize::line(&past.kind), past.id, sanitize::line(about))
}

/// Which message it is, when, from whom and to whom.
pub(crate) fn head(past: &Past) -> String {
    let text = format!("{:>6}  {}  {} → {}", past.seq, to_the_second(&past.accepted_at), past.from, to(past));
    sanitize::line(&text).into_owned()
}

/// Who got it, the first few.
fn to(past: &Past) -> String {
    let to = past.recipients.iter().take(3).map(|agent| &**agent).collect::<Vec<_>>().join(", ");
    match past.recipients.len() {
        0 if ROUTER_TYPES.contains(&past.kind.as_str()) => id::MAILBAG.to_owned(),
        0 => format!("#{}", past.channel),
        more @ 4.. => format!("{to} and {} more", more - 3),
        _ => to,
    }
}
