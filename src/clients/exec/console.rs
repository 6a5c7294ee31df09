//! A command in a terminal of its own: keys, size, signals and suspension pass through.

use crate::base::error::{ErrorContext, Result};
use crate::base::limits;
use crate::disk::terminal::{
    KeyboardInput, Pid, PseudoTerminal, RawTerminal, StartReport, TerminalController, in_front,
    signal,
};
use signal_hook::consts::{SIGCONT, SIGWINCH};
use std::cell::Cell;
use std::io::{self, PipeWriter, Write};
use std::process::Command;

/// The signals of a program that has a terminal.
pub(super) const SIGNALS: [i32; 2] = [SIGCONT, SIGWINCH];
/// How often a program that is continued in the background looks for a signal that ends it, before it suspends itself
/// again: on a busy machine, such a signal can arrive long after the program was continued.
const CONTINUED_CHECKS: u32 = 20;

/// The terminal of a command, between ours and the command.
pub(super) struct Console {
    terminal: PseudoTerminal,
    suspended: Cell<bool>,
    /// How often it has looked for the next signal since it was continued in the background.
    checks: Cell<u32>,
    /// `None` before the command has started.
    ours: Option<OwnTerminal>,
}

/// Our own terminal while the command runs.
struct OwnTerminal {
    // Dropped first, so that no key is read for a command that has ended.
    _keys: PipeWriter,
    raw: RawTerminal,
}

impl Console {
    /// Opens the terminal, and gives it to the monitor that will start the command.
    pub(super) fn for_command(monitor: &mut Command) -> Result<(Console, StartReport)> {
        let opened = PseudoTerminal::like_ours()
            .and_then(|mut terminal| terminal.give(monitor).map(|told| (terminal, told)));
        let (terminal, beginning) = opened.doing("open a terminal for", "the command")?;
        Ok((
            Console {
                terminal,
                suspended: Cell::new(false),
                checks: Cell::new(0),
                ours: None,
            },
            beginning,
        ))
    }

    /// The output of the command.
    pub(super) fn output(&self) -> Result<TerminalController> {
        self.terminal
            .main()
            .doing("read the output of", "the command")
    }

    /// Passes on the keys to the command, which has started.
    pub(super) fn begin(&mut self) -> Result<()> {
        self.start_keys()
            .doing("pass on the keys to", "the command")
    }

    fn start_keys(&mut self) -> io::Result<()> {
        let main = self.terminal.main()?;
        let (keyboard, keys) = KeyboardInput::open()?;
        let raw = RawTerminal::begin()?;
        self.ours = Some(OwnTerminal { _keys: keys, raw });
        let thread = std::thread::Builder::new().name("keys".into());
        thread.spawn(move || pass_on(&keyboard, main)).map(drop)
    }

    /// Handles a signal for the command. The terminal does not send the command the signals that it sends to mailbag.
    /// `true` if the signal must be handled again, after the signals that arrived in the meantime.
    pub(super) fn signal(&self, number: i32, monitor: Pid) -> bool {
        match number {
            SIGWINCH => self.terminal.resize(),
            SIGCONT if in_front() => self.resume(monitor),
            // As any program that needs the terminal, it does not run in the background.
            // But a signal that ends it may come a moment later, on another thread.
            SIGCONT if self.suspended.get() && self.checks.get() < CONTINUED_CHECKS => {
                self.checks.update(|checks| checks + 1);
                std::thread::sleep(limits::SUSPENDING);
                return true;
            }
            SIGCONT => {
                self.checks.set(0);
                if self.suspended.get() {
                    self.suspend_us();
                }
            }
            number => {
                signal(monitor, number);
                // A suspended process handles a signal only when it is continued.
                if self.suspended.replace(false) {
                    signal(monitor, SIGCONT);
                }
            }
        }
        false
    }

    /// The command has been suspended: this program is, too, until it is continued.
    pub(super) fn suspend(&self, monitor: Pid) {
        self.suspended.set(true);
        self.suspend_us();
        // In the background there may be a signal to handle first.
        if in_front() {
            self.resume(monitor);
        }
    }

    fn suspend_us(&self) {
        if let Some(ours) = &self.ours {
            ours.raw.suspend();
        }
        // The signal may reach another thread of this process a moment later.
        std::thread::sleep(limits::SUSPENDING);
    }

    fn resume(&self, monitor: Pid) {
        self.checks.set(0);
        self.terminal.resize();
        if let Some(ours) = &self.ours {
            let _ = ours.raw.resume();
        }
        // Once for each suspension: another SIGCONT could undo the next one.
        if self.suspended.replace(false) {
            signal(monitor, SIGCONT);
        }
    }
}

/// Passes the keys of our own terminal on.
fn pass_on(keyboard: &KeyboardInput, mut main: TerminalController) {
    let mut buffer = [0; 4096];
    while let Some(count) = keyboard.read(&mut buffer) {
        if main.0.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
}
