//! A command in a terminal of its own: keys, size, signals and suspension pass through.

use super::RunEvent;
use crate::base::error::{Doing, Result};
use crate::base::limits;
use crate::disk::machine;
use crate::disk::terminal::{Keyboard, Main, Pid, Raw, Terminal, signal, signal_group};
use signal_hook::consts::{SIGCONT, SIGTSTP, SIGWINCH};
use signal_hook::iterator::Signals;
use std::io::{PipeWriter, Write};
use std::process::Command;
use std::sync::mpsc::Sender;

/// The terminal of a command, between ours and the command.
pub(super) struct Console {
    terminal: Terminal,
    /// `None` before the command has started.
    ours: Option<Ours>,
}

/// Our own terminal while the command runs.
struct Ours {
    // Dropped first, so that no key is read for a command that has ended.
    _keys: PipeWriter,
    raw: Raw,
}

impl Console {
    /// Opens the terminal, and gives it to the command.
    pub(super) fn for_command(command: &mut Command) -> Result<Console> {
        let opened = Terminal::like_ours().and_then(|mut terminal| terminal.give(command).map(|()| terminal));
        Ok(Console { terminal: opened.doing("open a terminal for", "the command")?, ours: None })
    }

    /// The output of the command.
    pub(super) fn output(&self) -> Result<Main> {
        self.terminal.main().doing("read the output of", "the command")
    }

    /// Passes on the keys to the command, which has started.
    pub(super) fn begin(&mut self, command: Pid, events: Sender<RunEvent>) -> Result<()> {
        let open = || std::io::Result::Ok((self.terminal.main()?, Keyboard::open()?, Raw::begin()?));
        let (main, (keyboard, keys), raw) = open().doing("pass on the keys to", "the command")?;
        self.ours = Some(Ours { _keys: keys, raw });
        listen(events.clone())?;
        let keys = Keys { main, keyboard, command, events };
        let thread = std::thread::Builder::new().name("keys".into()).spawn(move || keys.pass_on());
        thread.map(drop).doing("pass on the keys to", "the command")
    }

    /// Handles a signal for the command. The terminal of the command sends it none of those that ours sends.
    pub(super) fn signal(&self, number: i32, command: Pid) {
        match number {
            SIGWINCH => self.terminal.resize(),
            SIGCONT => self.resume(command),
            number => signal(command, number),
        }
    }

    /// The command has been suspended: this program is, too, until it is continued.
    pub(super) fn suspend(&self, command: Pid) {
        self.ours.iter().for_each(|ours| ours.raw.suspend());
        // The signal may reach another thread of this process a moment later.
        std::thread::sleep(limits::SUSPENDING);
        self.resume(command);
    }

    fn resume(&self, command: Pid) {
        self.terminal.resize();
        self.ours.iter().for_each(|ours| drop(ours.raw.resume()));
        signal_group(command, SIGCONT);
    }
}

/// Listens to the signals of a program that has a terminal.
fn listen(events: Sender<RunEvent>) -> Result<()> {
    let mut signals = Signals::new([SIGWINCH, SIGCONT]).doing("listen to", "signals")?;
    let listen = move || {
        // Sending fails only after the end of the run.
        signals.forever().for_each(|number| drop(events.send(RunEvent::Signal { number, to_all: false })));
    };
    std::thread::Builder::new().name("resizes".into()).spawn(listen).map(drop).doing("listen to", "signals")
}

/// Reads the keys of our own terminal.
struct Keys {
    main: Main,
    keyboard: Keyboard,
    command: Pid,
    events: Sender<RunEvent>,
}

impl Keys {
    fn pass_on(mut self) {
        let mut buffer = [0; 4096];
        while let Some(count) = self.keyboard.read(&mut buffer) {
            let suspends = self.suspend_key();
            for (n, keys) in buffer[..count].split(|key| suspends == Some(*key)).enumerate() {
                // Sending fails only after the end of the run.
                if n > 0 && self.events.send(RunEvent::Suspend).is_err() || self.main.0.write_all(keys).is_err() {
                    return;
                }
            }
        }
    }

    /// The key that suspends the command, if the command leaves that to the terminal. The system would ignore the key: nobody in
    /// the command's session could continue the command.
    fn suspend_key(&self) -> Option<u8> {
        self.main.suspend_key(self.command).filter(|_| machine::leaves_to_system(self.command, SIGTSTP))
    }
}
