//! `mailbag run`: the daemon, which delivers messages. Also the logging of the router.

use crate::base::error::Result;
use crate::base::sanitize;
use crate::base::text::{count, count_of};
use crate::cli::Exit;
use crate::cli::context::CommandContext;
use crate::commands::follow;
use crate::link::beside::CarrierProcess;
use crate::router::daemon::{self, ReadyReport, RouterOptions};
use serde::Serialize;
use std::borrow::Cow;
use std::io::Write;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

const EXAMPLES: &str = "\
Examples:
  mailbag run                        # deliver until Ctrl-C
  mailbag run --once                 # deliver pending messages and exit
  mailbag run --log-format json -v   # for a service; notifies systemd when ready
  mailbag run --poll                 # for file systems without events, such as NFS

The daemon is optional: commands that send or read also deliver. With the daemon,
messages arrive immediately. SIGHUP reloads registry.json
and settings.toml. SIGINT and SIGTERM end it after the current batch, a second one
immediately. SIGINT or SIGHUP that was ignored at the start stays ignored, as in
the background of a script or with nohup.";

/// The formats of the log.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    Text,
    /// One JSON object per line
    Json,
}

/// Deliver messages immediately
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// One pass over the pending messages
    #[arg(long)]
    once: bool,
    /// A look at the outboxes every two seconds instead of file events
    #[arg(long)]
    poll: bool,
    /// Carriers of links to other machines, as with `mailbag link run`
    #[arg(long, conflicts_with = "once")]
    links: bool,
    /// Format of the log on standard error
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    log_format: LogFormat,
}

/// The result of one pass.
#[derive(Serialize)]
pub(super) struct PassReport {
    #[serde(flatten)]
    tally: daemon::RouterTotals,
    /// The process of the router that runs and delivers pending messages instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    router: Option<u32>,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<Exit> {
    start_logging(args.log_format, cx);
    let room = cx.room()?;
    let options = RouterOptions {
        once: args.once,
        poll: args.poll,
    };
    let carriers = args
        .links
        .then(|| CarrierProcess::start(&room, &log_options(args.log_format, cx)))
        .transpose()?;
    let passed = daemon::run(&room, &options, say_ready)?;
    drop(carriers);
    let (tally, router) = match passed {
        daemon::PassResult::Routed(tally) => (tally, None),
        daemon::PassResult::RouterRuns(holder) => {
            (daemon::RouterTotals::default(), Some(holder.pid))
        }
    };
    if !args.once {
        tracing::info!(
            accepted = tally.accepted,
            copies = tally.copies,
            rejected = tally.rejected,
            "ended"
        );
    } else {
        let report = PassReport { tally, router };
        cx.out.changed();
        if let Some(pid) = router {
            if !follow::ask_router(&room, cx.writer_wait()) {
                room.check_progress()?;
                cx.out
                    .warn(&format!("the router, process {pid}, has not answered yet"));
            }
            let text = format!("a router runs as process {pid}; it delivers pending messages");
            cx.out.show(&report, |out| out.done(text))?;
            return Ok(Exit::Ok);
        }
        let (copies, duplicates) = (
            count(tally.copies, "copy"),
            count(tally.duplicates, "duplicate"),
        );
        let (accepted, rejected, pending) = (tally.accepted, tally.rejected, tally.waiting);
        let text = format!(
            "{accepted} accepted, {copies}, {rejected} rejected, {duplicates}, {pending} pending"
        );
        cx.out.show(&report, |out| out.done(text))?;
    }
    Ok(Exit::Ok)
}

/// The options that make another process log in the same way.
fn log_options(format: LogFormat, cx: &CommandContext) -> Vec<&'static str> {
    let format = match format {
        LogFormat::Text => "--log-format=text",
        LogFormat::Json => "--log-format=json",
    };
    let detail = if cx.out.quiet {
        vec!["--quiet"]
    } else {
        vec!["--verbose"; cx.verbose.into()]
    };
    std::iter::once(format).chain(detail).collect()
}

/// Logs the room and the watched directories, and notifies the service manager if there is one.
fn say_ready(ready: &ReadyReport) {
    let how = if ready.events {
        "by file events"
    } else {
        "every two seconds"
    };
    tracing::info!(
        "delivering in {}: {}, watching {} {how}",
        ready.room.display(),
        count_of(ready.agents, "agent"),
        count_of(ready.outboxes, "outbox")
    );
    if let Err(e) = sd_notify::notify(&[sd_notify::NotifyState::Ready]) {
        tracing::warn!("cannot notify the service manager: {e}");
    }
}

/// Starts logging to standard error.
pub(crate) fn start_logging(format: LogFormat, cx: &CommandContext) {
    let level = match (cx.out.quiet, cx.verbose) {
        (true, _) => LevelFilter::WARN,
        (false, 0) => LevelFilter::INFO,
        (false, 1) => LevelFilter::DEBUG,
        (false, _) => LevelFilter::TRACE,
    };
    log_from(level, format, cx);
}

/// Standard error for lines that may contain text of agents: file names, reasons, output of programs.
struct SanitizedStderr(LogFormat);

impl Write for SanitizedStderr {
    fn write(&mut self, event: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let line = text.trim_end_matches('\n');
        let tame = match self.0 {
            LogFormat::Json => sanitize::json(line).into_owned(),
            LogFormat::Text => line
                .split(COLOUR)
                .enumerate()
                .map(|(n, part)| coloured(n > 0, part))
                .collect(),
        };
        writeln!(std::io::stderr(), "{tame}").map(|()| event.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
}

/// The beginning of a change of colour. Text of agents cannot contain it.
const COLOUR: &str = "\u{1b}[";

fn coloured(follows: bool, part: &str) -> String {
    let is_colour = part
        .trim_start_matches(|c: char| c.is_ascii_digit() || c == ';')
        .starts_with('m');
    let before = if !follows {
        Cow::default()
    } else if is_colour {
        COLOUR.into()
    } else {
        sanitize::line(COLOUR)
    };
    format!("{before}{}", sanitize::line(part))
}

/// Sends warnings to standard error.
pub(crate) fn log_to_stderr(cx: &CommandContext) {
    log_from(LevelFilter::WARN, LogFormat::Text, cx);
}

fn log_from(level: LevelFilter, format: LogFormat, cx: &CommandContext) {
    let colour = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    let logging = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(move || SanitizedStderr(format))
        .with_target(false);
    // The subscriber would report a failed write on standard error, and panic if that fails.
    let logging = logging.log_internal_errors(false);
    // The client of NATS repeats the carrier's reports about connections.
    let ours = filter_fn(move |event| {
        level == LevelFilter::TRACE || !event.target().starts_with("async_nats")
    });
    let started = match format {
        LogFormat::Text => logging.with_ansi(colour).finish().with(ours).try_init(),
        LogFormat::Json => logging
            .json()
            .flatten_event(true)
            .with_ansi(false)
            .finish()
            .with(ours)
            .try_init(),
    };
    if let Err(e) = started {
        cx.out.warn(&format!("can't log: {e}"));
    }
}
