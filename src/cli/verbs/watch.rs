//! `mailbag watch`: prints the messages of all agents as they arrive, one line each.

use crate::base::error::Result;
use crate::base::{limits, sanitize};
use crate::cli::context::{CommandContext, IdentityArgs};
use crate::cli::show::frame::{INDENT, folded};
use crate::cli::show::output::CommandOutput;
use crate::commands::wait::{self, StandbyRouter};
use crate::disk::machine;
use crate::message::DEFAULT_CHANNEL;
use crate::query::timeline::{ChannelSelection, Timeline, TimelineEntry};
use crate::query::view::MessageView;
use crate::room::Room;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::mpsc::{RecvTimeoutError, channel};

const EXAMPLES: &str = "\
Examples:
  mailbag watch                     # all channels
  mailbag watch --channel auth      # one channel
  mailbag watch | grep -w planner
  mailbag watch --json --last 0     # one JSON object per line, new messages only

Columns: accept time, number, sender and recipients, channel, type, priority, text.
The channel main also shows rejected files and notices. Your messages stay unread
until you read them. Runs until Ctrl-C or until the reader of its output ends. If no
router runs, this command delivers messages.

`mailbag pending --follow` shows what needs you, with a line to answer.";

/// Maximum number of recipients by name.
const NAMES: usize = 3;

/// Show all messages as they arrive
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Channel; default: all
    #[arg(long = "channel", value_name = "NAME")]
    channels: Vec<String>,
    /// Number of older messages to start with
    #[arg(long, value_name = "N", default_value_t = 50)]
    last: usize,
    #[command(flatten)]
    identity: IdentityArgs,
}

impl Args {
    /// The arguments for one channel.
    pub(super) fn of_channel(channel: String, last: usize, identity: IdentityArgs) -> Args {
        Args {
            channels: vec![channel],
            last,
            identity,
        }
    }
}

/// A reason to look at the room.
enum WatchEvent {
    /// The log may have grown.
    Grown,
    /// End cleanly.
    End,
}

/// Prints one line per entry immediately, until a signal or a closed pipe.
pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let room = cx.room()?;
    let channels = ChannelSelection::new(args.channels)?;
    // A pipe has no reader with an identity, except the session that runs this command, or the agent after --as.
    let viewer = if cx.out.is_terminal() || args.identity.given().is_some() {
        args.identity.looker(cx, &room)?
    } else {
        None
    };
    let _hold = wait::hold(&room, viewer.as_deref());
    let (wakes, woken) = channel();
    let grown = wakes.clone();
    let watch = Timeline::notify(&room, move || {
        // The receiver is gone only when the program ends.
        let _ = grown.send(WatchEvent::Grown);
    });
    if let Err(e) = &watch {
        cx.out
            .warn(&format!("{e}; looking every two seconds instead"));
    }
    machine::at_signals(&[SIGHUP, SIGINT, SIGTERM], move |_| {
        wakes.send(WatchEvent::End).is_err()
    })?;
    let mut routing = StandbyRouter::new(&room);
    let mut reported = None;
    let (mut timeline, mut entries) = Timeline::open(&room, channels, args.last)?;
    loop {
        for entry in &entries {
            cx.out.item(
                || serde_json::to_string(&entry.line()).expect("an entry has only text keys"),
                |out| line(entry, out),
            )?;
            cx.out.flush()?;
        }
        if let Err(e) = deliver(&room, &mut routing) {
            let trouble = e.to_string();
            if reported.as_ref() != Some(&trouble) {
                cx.out.warn(&trouble);
                reported = Some(trouble);
            }
        }
        match woken.recv_timeout(limits::SWEEP_UNTRUSTED) {
            Ok(WatchEvent::End) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) if cx.out.is_unread() => return Ok(()),
            Ok(WatchEvent::Grown) | Err(RecvTimeoutError::Timeout) => {}
        }
        entries = timeline.read()?;
    }
}

/// Ensures that a router runs, if necessary in this process.
pub(super) fn deliver(room: &Room, routing: &mut StandbyRouter) -> Result<()> {
    room.check_place()?;
    routing.tend()
}

/// An entry in one line. A terminal gets it in lines of its width, so that no text begins where the next entry could.
fn line(entry: &TimelineEntry, out: &CommandOutput) -> String {
    let view = MessageView::from(&entry.message);
    let rest = match &entry.rejected {
        Some(rejected) => {
            let why: Vec<String> = rejected.problems.iter().map(ToString::to_string).collect();
            format!(
                "{}  rejected  {}: {}",
                rejected.agent,
                rejected.name,
                why.join("; ")
            )
        }
        None => {
            let channel = match view.channel {
                DEFAULT_CHANNEL => String::new(),
                channel => format!("  [{channel}]"),
            };
            let text: Vec<&str> = view
                .change
                .as_deref()
                .into_iter()
                .chain(view.subject)
                .chain(view.body)
                .collect();
            let (to, kind, priority) = (view.to(NAMES), view.kind, view.priority.as_str());
            format!(
                "{} → {to}{channel}  {kind}  {priority}  {}",
                view.from,
                text.join(": ")
            )
        }
    };
    let line = format!(
        "{}  {:>6}  {}",
        out.column_time(view.accepted_at),
        view.number(),
        sanitize::line(rest.trim_end())
    );
    folded(&line, out.width(), INDENT).join("\n")
}
