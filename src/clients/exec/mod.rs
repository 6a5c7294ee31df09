//! Runs a command as an agent: registered and online while it runs, with its status lines in the log, and optionally after
//! other agents have completed.

mod environment;
mod lines;
mod pump;
mod run;
mod session;
mod waiting;

use crate::base::error::{ErrorContext, Result};
use crate::base::limits;
use crate::commands::follow;
use crate::commands::wait::StandbyRouter;
use crate::disk::machine;
use crate::room::Room;
use session::{ExecSession, warn_on_error};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use std::ffi::OsString;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Signals that are forwarded to the command. All others have their default effect.
const SIGNALS: [i32; 6] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2];

/// A command to run.
#[derive(Debug)]
pub struct ExecRequest {
    /// The agent; registered if it is unknown.
    pub id: String,
    /// Its role.
    pub role: Option<String>,
    /// Agents that must complete first.
    pub after: Vec<String>,
    /// The longest time to wait for them; `None` for no limit.
    pub timeout: Option<Duration>,
    /// The program and its arguments.
    pub command: Vec<OsString>,
}

/// A message for the user while the command runs.
#[derive(Debug)]
pub enum ExecMessage {
    /// Information.
    Note(String),
    /// A failure that does not stop the command.
    Warning(String),
}

/// How the run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandEnd {
    /// With an exit status: the command's own, 128 plus the number of the signal that ended it, or 127 or 126 if it could not
    /// be started.
    Status(u8),
    /// A signal ended it before the command started.
    Signal(i32),
}

/// Runs a command as an agent and returns its status. Its output is copied to `out`, except for lines addressed to mailbag. If
/// standard output is a terminal, the command inherits it.
pub fn exec(
    room: &Room,
    request: &ExecRequest,
    out: Box<dyn Write + Send>,
    report: &dyn Fn(ExecMessage),
) -> Result<CommandEnd> {
    let others = session::others(&room.registry()?, &request.after)?;
    let mut events = RunEventQueue::listen(room)?;
    let session = Arc::new(ExecSession::begin(room, request)?);
    let waited = waiting::wait(&session, &others, request.timeout, &mut events, report);
    let ended = waited.and_then(|signal| match signal {
        Some(signal) => Ok(CommandEnd::Signal(signal)),
        None => run::run(&session, request, out, &mut events, report),
    });
    events.finishing.store(true, Ordering::Relaxed);
    drop(events);
    // Deliver the last messages before releasing the agent: another command that waits for it must not use an older message.
    warn_on_error(follow::route(room, limits::WRITER_WAIT), report);
    warn_on_error(session.end(), report);
    ended
}

/// A signal's name, such as `SIGTERM`.
fn signal_name(signal: i32) -> String {
    signal_hook::low_level::signal_name(signal)
        .map_or_else(|| format!("signal {signal}"), str::to_owned)
}

/// An event during the run.
enum RunEvent {
    /// The log may have grown.
    Grown,
    /// A signal arrived.
    Signal {
        number: i32,
        /// Whether the terminal sent it, to the command as well.
        to_all: bool,
    },
    /// The command has ended.
    Exited,
    /// The command's output has ended.
    Drained,
    /// A warning for the user.
    Warn(String),
    /// Nothing happened for a while.
    Nothing,
}

/// All events in one queue. Reading it also keeps a router running and renews the session's lease.
struct RunEventQueue {
    sender: Sender<RunEvent>,
    receiver: Receiver<RunEvent>,
    routing: StandbyRouter,
    renewal: Instant,
    /// Whether a signal now ends the process immediately.
    finishing: Arc<AtomicBool>,
}

impl RunEventQueue {
    /// Starts to receive signals, except signals that this process and the command ignore.
    fn listen(room: &Room) -> Result<RunEventQueue> {
        let (sender, receiver) = channel();
        let finishing = Arc::new(AtomicBool::new(false));
        let signals = SignalsInfo::<WithOrigin>::new(machine::unignored_signals(&SIGNALS))
            .doing("listen to", "signals")?;
        let (told, is_finishing) = (sender.clone(), finishing.clone());
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || queue_signals(signals, &told, &is_finishing))
            .doing("listen to", "signals")?;
        Ok(RunEventQueue {
            sender,
            receiver,
            routing: StandbyRouter::new(room),
            renewal: Instant::now(),
            finishing,
        })
    }

    fn sender(&self) -> Sender<RunEvent> {
        self.sender.clone()
    }

    /// A pending signal.
    fn signal(&self) -> Option<i32> {
        self.receiver.try_iter().find_map(|event| match event {
            RunEvent::Signal { number, .. } => Some(number),
            _ => None,
        })
    }

    /// Reports pending warnings.
    fn tell(&self, report: &dyn Fn(ExecMessage)) {
        for event in self.receiver.try_iter() {
            if let RunEvent::Warn(text) = event {
                report(ExecMessage::Warning(text));
            }
        }
    }

    /// The next event; `None` after the deadline.
    fn next(
        &mut self,
        session: &ExecSession,
        deadline: Option<Instant>,
        report: &dyn Fn(ExecMessage),
    ) -> Option<RunEvent> {
        if let Err(e) = self.routing.tend() {
            report(ExecMessage::Warning(format!(
                "cannot deliver pending mail: {e}"
            )));
        }
        self.renewal = session.renew(self.renewal, report);
        let left = deadline.map_or(Duration::MAX, |deadline| {
            deadline.saturating_duration_since(Instant::now())
        });
        match self.receiver.recv_timeout(left.min(limits::TAKE_OVER)) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) if left <= limits::TAKE_OVER => None,
            Err(_) => Some(RunEvent::Nothing),
        }
    }
}

/// Puts each signal into the queue. During the shutdown, a signal ends the process immediately.
fn queue_signals(
    mut signals: SignalsInfo<WithOrigin>,
    sender: &Sender<RunEvent>,
    is_finishing: &AtomicBool,
) {
    for origin in signals.forever() {
        if is_finishing.load(Ordering::Relaxed) {
            let _ = signal_hook::low_level::emulate_default_handler(origin.signal);
        }
        let _ = sender.send(RunEvent::Signal {
            number: origin.signal,
            to_all: origin.process.is_none_or(|process| process.pid == 0),
        });
    }
}
