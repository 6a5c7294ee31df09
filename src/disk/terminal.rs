//! Terminals: a pseudo-terminal for a command, and the mode of our own terminal while the command has it.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, FdFlags};
pub use rustix::process::Pid;
use rustix::process::{Signal, getpgrp, ioctl_tiocsctty, kill_process, kill_process_group, setsid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::stdio::{self, stderr, stdout};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr, tcsetwinsize,
};
use std::fs::File;
use std::io::{self, IsTerminal, PipeReader, PipeWriter, Read, stdin};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Are standard input and output a terminal?
pub fn is_ours() -> bool {
    stdin().is_terminal() && stdout().is_terminal()
}

/// A pseudo-terminal for one command.
pub struct Terminal {
    /// Our side.
    main: File,
    /// The command's side, until the command has it.
    other: Option<OwnedFd>,
}

impl Terminal {
    /// Opens a pseudo-terminal with the size and the mode of our own terminal.
    pub fn like_ours() -> io::Result<Terminal> {
        let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        rustix::io::fcntl_setfd(&main, FdFlags::CLOEXEC)?;
        grantpt(&main)?;
        unlockpt(&main)?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let other = rustix::fs::open(ptsname(&main, Vec::new())?, flags, Mode::empty())?;
        tcsetattr(&other, OptionalActions::Now, &tcgetattr(stdin())?)?;
        let terminal = Terminal { main: main.into(), other: Some(other) };
        terminal.resize();
        Ok(terminal)
    }

    /// Gives the terminal to a command, as the controlling terminal of a session of its own. A standard error that is not a
    /// terminal stays as it is.
    pub fn give(&mut self, command: &mut Command) -> io::Result<()> {
        let Some(other) = self.other.take() else { return Ok(()) };
        if stderr().is_terminal() {
            command.stderr(other.try_clone()?);
        }
        command.stdout(other.try_clone()?).stdin(other);
        let begin = || {
            setsid()?;
            ioctl_tiocsctty(stdio::stdin()).map_err(io::Error::from)
        };
        // SAFETY: between fork and exec only two system calls are made, and no memory is allocated.
        #[allow(unsafe_code)]
        unsafe {
            command.pre_exec(begin);
        }
        Ok(())
    }

    /// Gives it the size of our own terminal. The system tells the command.
    pub fn resize(&self) {
        // Without a size there is nothing to pass on.
        let _ = tcgetwinsize(stdin()).and_then(|size| tcsetwinsize(&self.main, size));
    }

    /// Our side, to write the keys and to read the output.
    pub fn main(&self) -> io::Result<Main> {
        self.main.try_clone().map(Main)
    }
}

/// Our side of a pseudo-terminal.
pub struct Main(pub File);

impl Main {
    /// The key that suspends a program, if the program leaves this key to the terminal, and no shell in the terminal handles it.
    pub fn suspend_key(&self, program: Pid) -> Option<u8> {
        let mode = tcgetattr(&self.0).ok()?;
        let is_alone = tcgetpgrp(&self.0).is_ok_and(|group| group == program);
        (is_alone && mode.local_modes.contains(LocalModes::ISIG)).then(|| mode.special_codes[SpecialCodeIndex::VSUSP])
    }
}

impl Read for Main {
    /// Linux reports the end as an error: no process has the other side open any more.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer) {
            Err(e) if e.raw_os_error() == Some(libc::EIO) => Ok(0),
            read => read,
        }
    }
}

/// The keys of our own terminal, until the other end of its pipe is dropped.
pub struct Keyboard {
    ended: PipeReader,
}

impl Keyboard {
    /// The keys, and what ends them.
    pub fn open() -> io::Result<(Keyboard, PipeWriter)> {
        io::pipe().map(|(ended, end)| (Keyboard { ended }, end))
    }

    /// Waits for keys. `None` after the end.
    pub fn read(&self, buffer: &mut [u8]) -> Option<usize> {
        let stdin = stdio::stdin();
        loop {
            let mut ready = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(&self.ended, PollFlags::IN)];
            match poll(&mut ready, None) {
                Err(Errno::INTR) => continue,
                Err(_) => return None,
                Ok(_) if !ready[1].revents().is_empty() => return None,
                Ok(_) => {}
            }
            // Without a buffer, which could keep keys that another program is to get later.
            match rustix::io::read(stdin, &mut *buffer) {
                Err(Errno::INTR | Errno::AGAIN) => {}
                Ok(0) | Err(_) => return None,
                Ok(count) => return Some(count),
            }
        }
    }
}

/// Sends a signal to a process. Fails if it has just ended, which is ignored.
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

/// Our own terminal, which passes every key on until this is dropped. Then it has its former mode again.
pub struct Raw {
    before: Termios,
}

impl Raw {
    /// Changes the mode.
    pub fn begin() -> io::Result<Raw> {
        let raw = Raw { before: tcgetattr(stdin())? };
        raw.resume()?;
        Ok(raw)
    }

    /// Changes the mode again.
    pub fn resume(&self) -> io::Result<()> {
        let mut mode = self.before.clone();
        mode.make_raw();
        Ok(tcsetattr(stdin(), OptionalActions::Drain, &mode)?)
    }

    /// Suspends this process and its group, with the former mode, until it is continued. In a group that nobody could continue,
    /// the system ignores this.
    pub fn suspend(&self) {
        self.end();
        let _ = kill_process_group(getpgrp(), Signal::TSTP);
    }

    fn end(&self) {
        // Fails only if the terminal is gone.
        let _ = tcsetattr(stdin(), OptionalActions::Drain, &self.before);
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.end();
    }
}
