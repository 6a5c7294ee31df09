//! `mailbag watch`: shows all messages live and sends messages of the person.

mod board;
mod completion;
mod help;
mod keeper;
mod lines;
mod meaning;
mod prompt;
mod screen;
mod view;

use self::keeper::{RefreshReason, RoomMonitor, RoomSnapshot};
use super::context::{CommandContext, IdentityArgs};
use crate::base::error::Result;
use crate::commands::wait;
use crate::disk::machine;
use crate::message::id;
use crate::query::latest::RoomStateCache;
use crate::query::timeline::{ChannelSelection, Timeline, TimelineEntry};
use crate::room::Room;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, Sender, channel};

const EXAMPLES: &str = "\
Examples:
  mailbag watch                   # all channels
  mailbag watch auth              # one channel; text without @name goes to it
  mailbag watch --plain | grep -w planner
  mailbag watch --json --last 0   # one JSON object per line, new messages only

At a terminal, write at the bottom. Above the line are the items that need you, each
with a number, most urgent first:
  1 yes                  decide item 1: an option, its beginning, or its number
  #12 use port 8080      reply to the question #12
  1 accept, 1 decline    answer an offer
  #12 dismiss            remove an item from the list
  @planner yes           the answer, if planner has one open question to you,
                         otherwise a message; `@all ...` reaches all agents
`1y` and Enter is enough. A line that begins with a blank is always a message.

Tab: complete. `?` on an empty line: help. Up and down: sent messages. Page up and
page down: scroll. Home and End on an empty line: older messages, newest message.
Ctrl-u: clear the line. Ctrl-c: quit. A terminal of 110 columns also has a panel of
the agents with presence, unread messages, claims and the items they wait for.

The channel main also shows rejected files and notices. Your messages stay unread
until you read them. If no router runs, this command delivers messages. Times are
local on the screen and UTC in a pipe.";

/// Watch all messages live and write new ones
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Channels; default: all
    #[arg(value_name = "CHANNEL")]
    channels: Vec<String>,
    /// One line per message, as in a pipe
    #[arg(long)]
    plain: bool,
    /// Number of older messages to start with
    #[arg(long, value_name = "N", default_value_t = 50)]
    last: usize,
    #[command(flatten)]
    identity: IdentityArgs,
}

/// The events of the view.
enum WatchEvent {
    /// The log may have grown.
    Grown,
    /// The numbers of the room, or why they cannot be read or mail cannot be delivered.
    Looked(Result<Box<RoomSnapshot>, String>),
    /// The result of an answer to an item.
    Answered(Result<String>),
    /// A key, pasted text, or another size of the terminal.
    Typed(ratatui::crossterm::event::Event),
    /// End cleanly.
    End,
}

pub(super) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let room = cx.room()?;
    let channels = ChannelSelection::new(args.channels)?;
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    let plain = args.plain
        || cx.out.json
        || dumb
        || !cx.out.is_terminal()
        || !std::io::stdin().is_terminal();
    let (wakes, woken) = channel();
    if plain {
        // A pipe has no reader with an identity, except the session that runs this command, or the agent after --as.
        let viewer = if cx.out.is_terminal() || args.identity.given().is_some() {
            args.identity.looker(cx, &room)?
        } else {
            None
        };
        let keeper = keep_awake(&room, id::HUMAN, None, &wakes, cx)?;
        let _hold = wait::hold(&room, viewer.as_deref());
        let (timeline, entries) = Timeline::open(&room, channels, args.last)?;
        return follow(timeline, entries, &woken, &keeper, cx);
    }
    let who = args.identity.who(cx)?;
    let reader = who.in_registry(&room.registry()?)?.id.to_string();
    let keeper = keep_awake(
        &room,
        &reader,
        Some(RoomStateCache::new(room.clone())),
        &wakes,
        cx,
    )?;
    // An agent that watches is online, also without other signs of life. It is shown so only when a signal ends it cleanly.
    let _hold = wait::hold(&room, Some(&reader));
    let (timeline, entries) = Timeline::open(&room, channels.clone(), args.last)?;
    let palette = lines::Palette {
        colour: cx.out.has_colour(),
    };
    let mut view = view::WatchView::new(room, who, channels, palette);
    view.add(entries);
    screen::show(view, timeline, &keeper, wakes, &woken)?;
    Ok(())
}

/// Sends all events to `wakes`.
fn keep_awake(
    room: &Room,
    reader: &str,
    latest: Option<RoomStateCache>,
    wakes: &Sender<WatchEvent>,
    cx: &CommandContext,
) -> Result<RoomMonitor> {
    let (monitored, who, looks) = (room.clone(), reader.to_owned(), wakes.clone());
    let keeper = RoomMonitor::start("looks", move |poked| {
        keeper::keep(&monitored, &who, latest, &looks, poked)
    })?;
    let grown = wakes.clone();
    let watch = Timeline::notify(room, move || {
        // The receiver is gone only when the program ends.
        let _ = grown.send(WatchEvent::Grown);
    });
    match watch {
        // It watches until the program ends.
        Ok(watch) => std::mem::forget(watch),
        Err(e) => cx
            .out
            .warn(&format!("{e}; looking every two seconds instead")),
    }
    let end = wakes.clone();
    machine::at_signals(&[SIGHUP, SIGINT, SIGTERM], move |_| {
        end.send(WatchEvent::End).is_err()
    })?;
    Ok(keeper)
}

/// Prints one line per entry immediately, until a signal or a closed pipe.
fn follow(
    mut timeline: Timeline,
    mut entries: Vec<TimelineEntry>,
    woken: &Receiver<WatchEvent>,
    keeper: &RoomMonitor,
    cx: &mut CommandContext,
) -> Result<()> {
    let mut said = None;
    loop {
        for entry in &entries {
            cx.out.item(
                || serde_json::to_string(&entry.line()).expect("an entry has only text keys"),
                |_| lines::plain(entry),
            )?;
            cx.out.flush()?;
        }
        match woken.recv() {
            Ok(WatchEvent::End) | Err(_) => return Ok(()),
            Ok(WatchEvent::Looked(_)) if cx.out.is_unread() => return Ok(()),
            Ok(WatchEvent::Looked(Err(trouble))) if said.as_ref() != Some(&trouble) => {
                cx.out.warn(&trouble);
                said = Some(trouble);
            }
            Ok(_) => {}
        }
        entries = timeline.read()?;
        if !entries.is_empty() {
            keeper.call(RefreshReason::Grown);
        }
    }
}
