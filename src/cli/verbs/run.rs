//! `mailbag run`

use crate::base::error::{Error, Result};
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::{Context, here};
use crate::clients::wake::Waker;
use crate::commands::init;
use crate::disk::Readers;
use crate::room::{self, Room};
use crate::router::daemon::{self, Onlooker, Options, Ready};
use serde_json::json;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;
use tracing::level_filters::LevelFilter;

const EXAMPLES: &str = "\
Examples:
  mailbag run                        until Ctrl-C
  mailbag run --once                 route what is there, and end
  mailbag run --log-format json -v   for a service; systemd hears when it is ready
  mailbag run --poll                 where file events don't arrive, as on NFS

Nothing needs it: without it, whoever sends or reads routes. With it, mail
arrives at once. SIGHUP reads registry.json and settings.toml again; SIGINT and
SIGTERM end it, a second one at once. SIGINT or SIGHUP that it was started to
ignore, as in the background of a script or by nohup, stays ignored.";

/// How the router logs.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

/// Route mail as it comes, until ended
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Route what is there, and end
    #[arg(long)]
    once: bool,
    /// Use no file events: look every two seconds
    #[arg(long)]
    poll: bool,
    /// How to log, to standard error
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    log_format: Format,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    start_logging(args.log_format, cx);
    let room = open_or_make(cx)?;
    let options = Options { once: args.once, poll: args.poll };
    let mut company = Company { waker: (!args.once).then(|| Waker::start(&room)).transpose()? };
    let tally = daemon::run(&room, &options, &mut company)?;
    drop(company);
    if !args.once {
        tracing::info!(accepted = tally.accepted, copies = tally.copies, refused = tally.refused, "ended");
    } else if cx.out.json {
        cx.out.json(&json!({
            "accepted": tally.accepted,
            "copies": tally.copies,
            "refused": tally.refused,
            "duplicates": tally.duplicates,
            "waiting": tally.waiting,
        }))?;
    } else {
        cx.out.done(format!(
            "{} accepted, {} copies, {} refused, {} duplicates, {} waiting",
            tally.accepted, tally.copies, tally.refused, tally.duplicates, tally.waiting
        ))?;
    }
    Ok(Exit::Ok)
}

/// Who is told what the router does: the log, the service manager, and whoever wakes agents.
struct Company {
    /// `None` for a single pass, which starts no programs.
    waker: Option<Waker>,
}

impl Onlooker for Company {
    fn ready(&mut self, ready: &Ready) {
        say_ready(ready);
    }

    fn delivered(&mut self, agents: BTreeSet<Arc<str>>) {
        if let Some(waker) = &self.waker {
            waker.delivered(agents);
        }
    }
}

fn open_or_make(cx: &Context) -> Result<Room> {
    match cx.room() {
        Err(Error::NotFound { .. }) => {
            let from = here()?;
            let asked = cx.asked().unwrap_or_else(|| room::default_place(&from));
            let (room, init) = init::init(Some(&asked), &from, Readers::Owner)?;
            tracing::info!(room = %init.room.display(), "made the room");
            Ok(room)
        }
        opened => opened,
    }
}

/// One line: where the room is and what is watched. And a word to the service manager, if one asks for it.
fn say_ready(ready: &Ready) {
    let how = if ready.events { "by file events" } else { "by looking every two seconds" };
    tracing::info!(
        "routing in {}: {} agents, watching {} outboxes {how}",
        ready.room.display(),
        ready.agents,
        ready.outboxes
    );
    if let Err(e) = sd_notify::notify(&[sd_notify::NotifyState::Ready]) {
        tracing::warn!("can't tell the service manager: {e}");
    }
}

/// Sends what is logged to standard error.
pub(crate) fn start_logging(format: Format, cx: &Context) {
    let level = match (cx.out.quiet, cx.verbose) {
        (true, _) => LevelFilter::WARN,
        (false, 0) => LevelFilter::INFO,
        (false, 1) => LevelFilter::DEBUG,
        (false, _) => LevelFilter::TRACE,
    };
    log_from(level, format, cx);
}

/// Standard error, for lines in which words of agents may stand: file names, reasons, what programs printed.
struct Tame(Format);

impl Write for Tame {
    fn write(&mut self, event: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let line = text.trim_end_matches('\n');
        let tame = match self.0 {
            Format::Json => sanitize::json(line).into_owned(),
            Format::Text => line.split(COLOUR).enumerate().map(|(n, part)| coloured(n > 0, part)).collect(),
        };
        writeln!(std::io::stderr(), "{tame}").map(|()| event.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
}

/// What a change of colour begins with; others' sequences have none of it left.
const COLOUR: &str = "\u{1b}[";

fn coloured(follows: bool, part: &str) -> String {
    let is_colour = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m');
    let before = match follows {
        true if is_colour => COLOUR.into(),
        true => sanitize::line(COLOUR),
        false => Cow::default(),
    };
    format!("{before}{}", sanitize::line(part))
}

/// Sends warnings to standard error.
pub(crate) fn log_to_stderr(cx: &Context) {
    log_from(LevelFilter::WARN, Format::Text, cx);
}

fn log_from(level: LevelFilter, format: Format, cx: &Context) {
    let colour = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    let logging = tracing_subscriber::fmt().with_max_level(level).with_writer(move || Tame(format)).with_target(false);
    // It would tell of a line that it can't write by another one, and panic where that can't be written either.
    let logging = logging.log_internal_errors(false);
    let started = match format {
        Format::Text => logging.with_ansi(colour).try_init(),
        Format::Json => logging.json().flatten_event(true).with_ansi(false).try_init(),
    };
    if let Err(e) = started {
        cx.out.warn(&format!("can't log: {e}"));
    }
}
