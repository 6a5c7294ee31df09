//! `mailbag channel`: lists channels and shows their messages.

use super::who;
use crate::base::error::Result;
use crate::base::{limits, sanitize};
use crate::cli::context::{CommandContext, Freshness};
use crate::cli::show::newest::NewestArgs;
use crate::cli::show::output::{BOLD, CommandOutput, DIM};
use crate::cli::show::{frame, table};
use crate::commands::follow;
use crate::disk::machine;
use crate::query::channel::{self, ConversationLine};
use crate::query::closed::ClosedMessages;
use crate::room::Room;
use serde_json::Value;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  mailbag channel list
  mailbag channel show main --last 20
  mailbag channel watch main

A channel is a file, channels/NAME/messages.ndjson, with one line per message:
`tail -f` works too. --json prints the lines of the file.";

const LIST_HELP: &str = "\
Example:
  mailbag channel list --json

Columns: channel, number of messages, time of the last message (UTC).";

const SHOW_HELP: &str = "\
Examples:
  mailbag channel show main
  mailbag channel show design --last 5 --json";

const WATCH_HELP: &str = "\
Examples:
  mailbag channel watch main
  mailbag channel watch main --last 0 --json | while read -r line; do ...; done

Runs until Ctrl-C or until the reader of its output ends. If no router runs, this
command delivers pending messages.";

const ROSTER_HELP: &str = "\
Example:
  mailbag channel roster main";

/// List channels and show their messages
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: ChannelCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ChannelCommand {
    /// List the channels
    #[command(after_help = LIST_HELP)]
    List,
    /// Show the messages of a channel
    #[command(after_help = SHOW_HELP)]
    Show {
        /// Channel
        #[arg(value_name = "NAME")]
        channel: String,
        #[command(flatten)]
        newest: NewestArgs,
    },
    /// Show new messages of a channel as they arrive
    #[command(after_help = WATCH_HELP)]
    Watch {
        /// Channel
        #[arg(value_name = "NAME")]
        channel: String,
        /// Number of older messages to start with
        #[arg(long, value_name = "N", default_value_t = 10)]
        last: usize,
    },
    /// Show the agents of the room, as `mailbag who` does
    #[command(after_help = ROSTER_HELP, hide = true)]
    Roster {
        /// Channel
        #[arg(value_name = "NAME")]
        channel: String,
    },
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let room = cx.fresh_room(Freshness::Complete)?;
    match args.verb {
        ChannelCommand::List => list(&room, cx)?,
        ChannelCommand::Show { channel, newest } => {
            let mut conversation = channel::find(&room, &channel)?;
            let closed = ClosedMessages::read(&room.dir);
            let Some(sought) = newest.sought(&cx.out) else {
                return conversation.each_new(&mut |line| show(line, &closed, &mut cx.out));
            };
            let mut lines = Vec::new();
            conversation.last(sought, &mut |line| {
                lines.push(Ok(line.to_owned()));
                Ok(())
            })?;
            newest.show(lines.into_iter(), &mut cx.out, |out, lines| {
                for line in lines {
                    show(&line?, &closed, out)?;
                }
                Ok(())
            })?;
        }
        ChannelCommand::Roster { channel } => {
            channel::find(&room, &channel)?;
            return who::show(&room, cx);
        }
        ChannelCommand::Watch { channel, last } => watch(&room, &channel, last, cx)?,
    }
    Ok(())
}

fn list(room: &Room, cx: &mut CommandContext) -> Result<()> {
    table::list(
        &mut cx.out,
        "channels",
        channel::list(room)?,
        "no channels yet",
        |channel, out| {
            vec![
                channel.channel.clone(),
                channel.messages.to_string(),
                out.column_time(&channel.last),
            ]
        },
    )
}

fn watch(room: &Room, channel: &str, last: usize, cx: &mut CommandContext) -> Result<()> {
    let (mut conversation, is_there) = channel::follow(room, channel)?;
    let ends = listen_for_the_end()?;
    if !is_there {
        cx.out.note(&format!("no messages in {channel} yet"));
    }
    let closed = ClosedMessages::read(&room.dir);
    conversation.last(last, &mut |line| show(line, &closed, &mut cx.out))?;
    until_end(room, &ends, cx, |cx| {
        conversation.each_new(&mut |line| show(line, &closed, &mut cx.out))
    })
}

/// Calls `print_new` regularly, and delivers pending messages, until a signal or the end of the output's reader.
pub(super) fn until_end(
    room: &Room,
    ends: &Receiver<()>,
    cx: &mut CommandContext,
    mut print_new: impl FnMut(&mut CommandContext) -> Result<()>,
) -> Result<()> {
    let mut routed = Instant::now();
    loop {
        cx.out.flush()?;
        match ends.recv_timeout(limits::FOLLOW) {
            Err(RecvTimeoutError::Timeout) if !cx.out.is_unread() => {}
            _ => return Ok(()),
        }
        if routed.elapsed() >= limits::SWEEP_UNTRUSTED {
            // The pass at the start has already reported a failure.
            let _ = follow::route(room, limits::READER_WAIT);
            routed = Instant::now();
        }
        print_new(cx)?;
    }
}

/// Gets a message when a signal asks the command to end.
pub(super) fn listen_for_the_end() -> Result<Receiver<()>> {
    let (end, ends) = channel();
    // The receiver is gone if the command is ending.
    machine::at_signals(&machine::END_SIGNALS, move |_| end.send(()).is_err())?;
    Ok(ends)
}

fn show(line: &str, closed: &ClosedMessages, out: &mut CommandOutput) -> Result<()> {
    if out.json {
        return out.json_text(line);
    }
    let said = channel::parse_line(line);
    let mut head = head(&said, out);
    if let Some(closed) = said.seq().and_then(|seq| {
        let by_sender = closed.by_number(seq, said.text("sender"));
        by_sender.or_else(|| closed.ended_offer(seq, said.is_offer()))
    }) {
        head += &format!(" ({closed})");
    }
    out.line(head)?;
    let subject = said.value["metadata"]["subject"]
        .as_str()
        .unwrap_or_default();
    if !subject.is_empty() {
        frame::text(out, &sanitize::line(subject), frame::INDENT)?;
    }
    frame::text(out, said.text("content"), frame::INDENT)
}

/// The time, sender, recipients, type and number of a message.
fn head(said: &ConversationLine, out: &CommandOutput) -> String {
    let at = said.accepted_at().map(|at| out.time(at));
    let addressed: Vec<&str> = said.value["addressed"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let to = if addressed.is_empty() {
        String::new()
    } else {
        format!(" → {}", addressed.join(", "))
    };
    let seq = said.seq().map(|seq| format!("#{seq}")).unwrap_or_default();
    let (at, sender, seq) = (
        out.paint(DIM, &at.unwrap_or_default()),
        out.paint(BOLD, said.text("sender")),
        out.paint(DIM, &seq),
    );
    format!(
        "{at}  {sender}{}  {}  {seq}",
        sanitize::line(&to),
        sanitize::line(said.text("type"))
    )
}
