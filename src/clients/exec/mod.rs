//! Running a command as an agent: registered and online while it lives, its status lines in the log, and after others
//! where it is asked to wait.

mod environment;
mod graph;
mod lines;
mod pump;
mod run;
mod session;
mod waiting;

use crate::base::error::{Doing, Result};
use crate::base::limits;
use crate::commands::wait::Routing;
use crate::disk::machine;
use crate::room::Room;
use session::{Session, bear};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use std::ffi::OsString;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use waiting::Waited;

/// What is handed on to the command; everything else does as it always does.
const SIGNALS: [i32; 6] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2];

/// What is to be run, and as whom.
#[derive(Debug)]
pub struct Wish {
    /// The agent; it is registered if it isn't.
    pub id: String,
    /// Its role.
    pub role: Option<String>,
    /// Who has to have completed before.
    pub after: Vec<String>,
    /// How long that is waited for; for ever if nothing is said.
    pub timeout: Option<Duration>,
    /// The program and its arguments.
    pub command: Vec<OsString>,
}

/// A word for whoever runs it, while it goes on.
#[derive(Debug)]
pub enum Told {
    /// What may be of interest.
    Note(String),
    /// What went wrong, and is borne.
    Warning(String),
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// With this status: the command's own, 128 and the number of the signal that ended it, or 127 or 126 where it could
    /// not be started.
    Status(u8),
    /// By a signal, before the command was started.
    Signal(i32),
}

/// Runs a command as an agent, and gives its status. Its output goes to `out`, but for the lines that are for us.
pub fn exec(room: &Room, wish: &Wish, out: Box<dyn Write + Send>, hear: &dyn Fn(Told)) -> Result<Ended> {
    let others = session::others(&room.registry()?, &wish.after)?;
    let mut happenings = Happenings::listen(room)?;
    let session = Arc::new(Session::begin(room, wish)?);
    let ended = live(&session, (wish, &others), out, &mut happenings, hear);
    happenings.finishing.store(true, Ordering::Relaxed);
    drop(happenings);
    // What was said last is routed by this process, if nobody else does. Only then is the agent free: who waits for it
    // must not take what it said before it was begun for its last word.
    bear(crate::commands::send::route(room).map(drop), hear);
    bear(session.end(), hear);
    ended
}

fn live(
    session: &Arc<Session>,
    (wish, others): (&Wish, &[String]),
    out: Box<dyn Write + Send>,
    happenings: &mut Happenings,
    hear: &dyn Fn(Told),
) -> Result<Ended> {
    if !others.is_empty()
        && let Waited::Signal(signal) = waiting::wait(session, others, wish.timeout, happenings, hear)?
    {
        return Ok(Ended::Signal(signal));
    }
    run::run(session, &wish.command, out, happenings, hear)
}

/// The name of a signal, such as `SIGTERM`.
fn signal_name(signal: i32) -> String {
    signal_hook::low_level::signal_name(signal).map_or_else(|| format!("signal {signal}"), str::to_owned)
}

/// What may happen while a command is waited for.
enum Happening {
    /// The log may have grown.
    Grown,
    /// A signal came.
    Signal {
        number: i32,
        /// From the terminal, which tells the command as well.
        to_all: bool,
    },
    /// The command has ended.
    Exited,
    /// Nothing more comes of its output.
    Drained,
    /// Something is to be told.
    Warn(String),
    /// Nothing was heard for a while.
    Nothing,
}

/// Everything that may happen, in one queue; who takes from it routes, and says that its session lives.
struct Happenings {
    sender: Sender<Happening>,
    receiver: Receiver<Happening>,
    routing: Routing,
    renewal: Instant,
    /// Is a signal now to end the process at once?
    finishing: Arc<AtomicBool>,
}

impl Happenings {
    /// From now on signals are heard, but those that this process was started to ignore, which the command ignores too.
    fn listen(room: &Room) -> Result<Happenings> {
        let (sender, receiver) = channel();
        let finishing = Arc::new(AtomicBool::new(false));
        let mut signals = SignalsInfo::<WithOrigin>::new(machine::heard(&SIGNALS)).doing("listen to", "signals")?;
        let (told, is_finishing) = (sender.clone(), finishing.clone());
        let listen = move || {
            for origin in signals.forever() {
                if is_finishing.load(Ordering::Relaxed) {
                    // Asked while it ends: at once, whatever is in hand.
                    let _ = signal_hook::low_level::emulate_default_handler(origin.signal);
                }
                let to_all = origin.process.is_none_or(|process| process.pid == 0);
                let _ = told.send(Happening::Signal { number: origin.signal, to_all });
            }
        };
        std::thread::Builder::new().name("signals".into()).spawn(listen).doing("listen to", "signals")?;
        Ok(Happenings { sender, receiver, routing: Routing::new(room), renewal: Instant::now(), finishing })
    }

    fn sender(&self) -> Sender<Happening> {
        self.sender.clone()
    }

    /// A signal that came and that nobody took.
    fn signal(&self) -> Option<i32> {
        self.receiver.try_iter().find_map(|happening| match happening {
            Happening::Signal { number, .. } => Some(number),
            _ => None,
        })
    }

    /// What is still to be told.
    fn tell(&self, hear: &dyn Fn(Told)) {
        for happening in self.receiver.try_iter() {
            if let Happening::Warn(text) = happening {
                hear(Told::Warning(text));
            }
        }
    }

    /// What happens next; `None` if nothing does before the deadline.
    fn next(&mut self, session: &Session, deadline: Option<Instant>, hear: &dyn Fn(Told)) -> Option<Happening> {
        if let Err(e) = self.routing.tend() {
            hear(Told::Warning(format!("what waits is not routed: {e}")));
        }
        self.renewal = session.renew(self.renewal, hear);
        let left = deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()));
        match self.receiver.recv_timeout(left.min(limits::TAKE_OVER)) {
            Ok(happening) => Some(happening),
            Err(RecvTimeoutError::Timeout) if left <= limits::TAKE_OVER => None,
            Err(_) => Some(Happening::Nothing),
        }
    }
}
