//! `mailbag inbox`: lists the unread messages of an agent.

use crate::base::error::Result;
use crate::base::text::count_of;
use crate::base::{limits, sanitize};
use crate::cli::context::{CommandContext, Freshness};
use crate::cli::show::newest::{self, NewestArgs};
use crate::cli::show::{row, table};
use crate::query::inbox::{self, InboxMessage};
use crate::query::time;
use crate::query::view::{InvalidFile, MessageView};

const EXAMPLES: &str = "\
Examples:
  mailbag inbox bob
  mailbag inbox bob --last 5    # the five newest messages
  mailbag inbox bob --since 1h
  MAILBAG_AGENT=bob mailbag inbox --json

Shows at most the newest 50 messages, oldest first. No message is marked as read.
Columns at a terminal: number, local time, sender, type, subject or first line of
the body. Columns in a pipe: accept time (UTC), number, id, sender, type,
priority, subject. --json has all messages and fields.";

/// List unread messages
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Agent; default: your session's agent, MAILBAG_AGENT, MAOS_AGENT_ID, or the human at a terminal
    agent: Option<String>,
    /// The same, as other commands take it
    #[arg(
        long = "as",
        value_name = "AGENT",
        hide = true,
        conflicts_with = "agent"
    )]
    acting: Option<String>,
    #[command(flatten)]
    newest: NewestArgs,
    /// Earliest accept time: 1h, yesterday, a date, a time or an instant
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let given = args.agent.or(args.acting);
    let who = cx.who(given.as_deref())?;
    let since = args.since.as_deref().map(time::past).transpose()?;
    let room = cx.fresh_room(Freshness::Complete)?;
    let registry = room.registry()?;
    let agent = who.mailbox(&room, &registry)?;
    let limit = args.newest.limit(&cx.out).unwrap_or(usize::MAX);
    let (mut mails, shown, unread) = inbox::newest(&room, &agent, limit, since)?;
    inbox::note_closed(&room, &agent, &mut mails);
    let none = match since {
        Some(_) if unread > 0 => format!("{agent} has no unread messages of that time"),
        _ if unread == 0 => format!("{agent} has {}", inbox::nothing_unread(&room, &agent)?),
        _ => String::new(),
    };
    if cx.out.is_terminal() {
        cx.out
            .list("messages", mails.into_iter().map(Ok), &none, |out, mail| {
                let view = MessageView::from(&mail);
                row::print(out, &view, view.from.to_owned())
            })?;
    } else {
        table::list(&mut cx.out, "messages", mails, &none, |mail, _| line(mail))?;
    }
    if shown < unread && (since.is_none() || shown == limit) {
        newest::note(&format!("{shown} of {unread} unread messages"), &mut cx.out)?;
    }
    let taken = inbox::taken_count(&room, &agent)?;
    if taken > 0 && unread > 0 {
        cx.out.flush()?;
        let taken = count_of(taken, "message");
        cx.out.note(&format!("{taken} in taken/ not shown"));
    }
    Ok(())
}

/// A message in one line, for a pipe.
fn line(mail: &InboxMessage) -> Vec<String> {
    let view = MessageView::from(mail);
    let (priority, about) = match &view.invalid {
        // The file is in the last column, which makes no column wider.
        Some(InvalidFile { file, problem, .. }) => ("", format!("{}: {problem}", file.display())),
        None => (
            view.priority.as_str(),
            row::cut(&sanitize::line(&view.about()), limits::FOLLOW_CHARS),
        ),
    };
    let kind = format!("{}{}", view.kind, view.closed_mark());
    let words = [view.id, view.from, &kind, priority, &about].map(str::to_owned);
    let cells: Vec<String> = [view.time(), view.number()]
        .into_iter()
        .chain(words)
        .collect();
    cells
        .iter()
        .map(|cell| sanitize::line(cell).into_owned())
        .collect()
}
