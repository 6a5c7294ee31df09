//! The controlling terminal, and signals to processes and their groups.

pub use rustix::process::Pid;
use rustix::process::{Signal, kill_process, kill_process_group};
use rustix::stdio::{stderr, stdout};
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
    tcgetwinsize, tcsetattr,
};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;

/// Asks a question at this process' terminal, even if its input and output are not a terminal. Returns the typed line.
pub fn ask(question: &str) -> io::Result<String> {
    let mut tty = File::options().read(true).write(true).open("/dev/tty")?;
    write!(tty, "{question} ")?;
    let mut answer = String::new();
    BufReader::new(tty).read_line(&mut answer)?;
    Ok(answer)
}

/// Sends a signal to a process. Does nothing if the process has ended.
pub fn signal(process: Pid, number: i32) {
    if let Some(signal) = Signal::from_named_raw(number) {
        let _ = kill_process(process, signal);
    }
}

/// Sends a signal to the group of a process, as [`signal`].
pub fn signal_group(process: Pid, number: i32) {
    if let Some(signal) = Signal::from_named_raw(number) {
        let _ = kill_process_group(process, signal);
    }
}

/// The columns and rows of the terminal of standard output or standard error.
pub fn size() -> Option<(usize, usize)> {
    size_of(stdout()).or_else(|| size_of(stderr()))
}

fn size_of(terminal: impl AsFd) -> Option<(usize, usize)> {
    let size = tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then(|| (size.ws_col.into(), size.ws_row.into()))
}

/// The controlling terminal with an empty screen, where each key is passed on and not echoed. Dropping it restores the
/// former screen and mode.
pub struct KeyTerminal {
    tty: File,
    before: Termios,
}

impl KeyTerminal {
    /// Takes the terminal.
    pub fn open() -> io::Result<KeyTerminal> {
        let tty = File::options().read(true).write(true).open("/dev/tty")?;
        let before = tcgetattr(&tty)?;
        let mut mode = before.clone();
        mode.local_modes
            .remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN);
        mode.special_codes[SpecialCodeIndex::VMIN] = 1;
        mode.special_codes[SpecialCodeIndex::VTIME] = 0;
        // A shell would keep the mode while this process is suspended.
        mode.special_codes[SpecialCodeIndex::VSUSP] = 0;
        tcsetattr(&tty, OptionalActions::Drain, &mode)?;
        let mut terminal = KeyTerminal { tty, before };
        terminal.write("\x1b[?1049h\x1b[2J")?;
        Ok(terminal)
    }

    /// The keys, as they are typed. The series ends with the terminal.
    pub fn keys(&self) -> io::Result<impl Iterator<Item = Vec<u8>> + Send + use<>> {
        let mut tty = self.tty.try_clone()?;
        Ok(std::iter::from_fn(move || {
            let mut keys = vec![0; 1024];
            loop {
                match tty.read(&mut keys) {
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Ok(0) | Err(_) => return None,
                    Ok(count) => {
                        keys.truncate(count);
                        return Some(keys);
                    }
                }
            }
        }))
    }

    /// Forgets the keys that were typed and not read.
    pub fn drop_keys(&self) -> io::Result<()> {
        Ok(tcflush(&self.tty, QueueSelector::IFlush)?)
    }

    /// Writes text and control sequences.
    pub fn write(&mut self, text: &str) -> io::Result<()> {
        self.tty.write_all(text.as_bytes())
    }

    /// The columns and rows.
    pub fn size(&self) -> (usize, usize) {
        size_of(&self.tty).unwrap_or((80, 24))
    }
}

impl Drop for KeyTerminal {
    fn drop(&mut self) {
        // Fails only if the terminal is gone.
        let _ = self.write("\x1b[?1049l");
        let _ = tcsetattr(&self.tty, OptionalActions::Flush, &self.before);
    }
}
