//! Terminals: a pseudo-terminal for a command, and the mode of our own terminal while the command has it.
//!
//! Three processes take part. `mailbag exec` has our side. A monitor leads the session of the other side, and starts the
//! command in a separate group: the system suspends a group only if its parent is in another group of the same session,
//! as below a shell.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, FdFlags};
pub use rustix::process::Pid;
use rustix::process::{
    Resource, Rlimit, Signal, WaitOptions, getpgrp, getpid, ioctl_tiocsctty, kill_process,
    kill_process_group, setrlimit, setsid, waitpid,
};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::stdio::{self, stderr, stdout};
use rustix::termios::{
    OptionalActions, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr, tcsetpgrp,
    tcsetwinsize,
};
use std::fs::File;
use std::io::{self, IsTerminal, PipeReader, PipeWriter, Read, Write, stdin};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;

/// Returns true if standard input and output are a terminal.
pub fn is_ours() -> bool {
    stdin().is_terminal() && stdout().is_terminal()
}

/// Returns true if this process has a controlling terminal, even if its input and output are not a terminal.
pub fn has_controlling_terminal() -> bool {
    File::open("/dev/tty").is_ok()
}

/// A pseudo-terminal for one command.
pub struct PseudoTerminal {
    /// Our side.
    main: File,
    /// The command's side, until it is given to the command.
    other: Option<OwnedFd>,
}

impl PseudoTerminal {
    /// Opens a pseudo-terminal with the size and the mode of our own terminal.
    pub fn like_ours() -> io::Result<PseudoTerminal> {
        let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        rustix::io::fcntl_setfd(&main, FdFlags::CLOEXEC)?;
        grantpt(&main)?;
        unlockpt(&main)?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let other = rustix::fs::open(ptsname(&main, Vec::new())?, flags, Mode::empty())?;
        tcsetattr(&other, OptionalActions::Now, &tcgetattr(stdin())?)?;
        let terminal = PseudoTerminal {
            main: main.into(),
            other: Some(other),
        };
        terminal.resize();
        Ok(terminal)
    }

    /// Gives the terminal to a monitor. The monitor's standard error is replaced only if ours is a terminal.
    pub fn give(&mut self, monitor: &mut Command) -> io::Result<StartReport> {
        let (ours, theirs) = UnixStream::pair()?;
        if let Some(other) = self.other.take() {
            if stderr().is_terminal() {
                monitor.stderr(other.try_clone()?);
            }
            monitor.stdin(OwnedFd::from(theirs)).stdout(other);
        }
        Ok(StartReport(ours))
    }

    /// Gives it the size of our own terminal. The system notifies the command with a signal.
    pub fn resize(&self) {
        // Fails if our terminal has no size.
        let _ = tcgetwinsize(stdin()).and_then(|size| tcsetwinsize(&self.main, size));
    }

    /// Our side, to write the keys and to read the output.
    pub fn main(&self) -> io::Result<TerminalController> {
        self.main.try_clone().map(TerminalController)
    }
}

/// Our side of a pseudo-terminal.
pub struct TerminalController(pub File);

impl Read for TerminalController {
    /// Linux reports an error instead of the end when no process has the other side open.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer) {
            Err(e) if e.raw_os_error() == Some(libc::EIO) => Ok(0),
            read => read,
        }
    }
}

/// The keys of our own terminal, until the other end of its pipe is dropped.
pub struct KeyboardInput {
    ended: PipeReader,
}

impl KeyboardInput {
    /// Returns the keyboard, and a pipe that ends its input when it is dropped.
    pub fn open() -> io::Result<(KeyboardInput, PipeWriter)> {
        io::pipe().map(|(ended, end)| (KeyboardInput { ended }, end))
    }

    /// Waits for keys. `None` after the end.
    pub fn read(&self, buffer: &mut [u8]) -> Option<usize> {
        let stdin = stdio::stdin();
        loop {
            let mut ready = [
                PollFd::new(&stdin, PollFlags::IN),
                PollFd::new(&self.ended, PollFlags::IN),
            ];
            match poll(&mut ready, None) {
                Err(Errno::INTR) => continue,
                Err(_) => return None,
                Ok(_) if !ready[1].revents().is_empty() => return None,
                Ok(_) => {}
            }
            // Without a buffer, which could keep keys for a program that reads later.
            match rustix::io::read(stdin, &mut *buffer) {
                Err(Errno::INTR | Errno::AGAIN) => {}
                Ok(0) | Err(_) => return None,
                Ok(count) => return Some(count),
            }
        }
    }
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

/// A monitor's report that its command has started: nothing, or the number of the error.
pub struct StartReport(UnixStream);

impl StartReport {
    /// Waits until the command has started.
    pub fn wait(mut self) -> io::Result<()> {
        let mut number = Vec::new();
        self.0.read_to_end(&mut number)?;
        number.try_into().map_or(Ok(()), |number| {
            Err(io::Error::from_raw_os_error(i32::from_ne_bytes(number)))
        })
    }
}

/// Makes this process the leader of a session in the terminal of its standard output. Only a monitor calls it.
pub fn lead() -> io::Result<()> {
    setsid()?;
    Ok(ioctl_tiocsctty(stdout())?)
}

/// Starts a command in the foreground of the terminal that this monitor leads, and reports the result to [`StartReport`].
pub fn start_in_front(command: &mut Command) -> io::Result<Option<Pid>> {
    command
        .stdin(stdout().as_fd().try_clone_to_owned()?)
        .process_group(0);
    // SAFETY: between fork and exec only system calls are made, no memory is allocated, and both sets are filled before
    // their use.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(|| {
            // The system suspends a background process that moves itself to the foreground, unless it blocks this signal.
            let (mut set, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), libc::SIGTTOU);
            libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), before.as_mut_ptr());
            let moved = tcsetpgrp(stdio::stdin(), getpid());
            libc::sigprocmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut());
            Ok(moved?)
        });
    }
    let mut report = UnixStream::from(stdin().as_fd().try_clone_to_owned()?);
    let started = command.spawn();
    if let Err(e) = &started {
        report.write_all(&e.raw_os_error().unwrap_or(libc::EIO).to_ne_bytes())?;
    }
    report.shutdown(Shutdown::Both)?;
    Ok(started.ok().map(|child| Pid::from_child(&child)))
}

/// A change of a child process.
pub enum ChildChange {
    /// It is suspended.
    Stopped,
    /// It ended with a status.
    Status(u8),
    /// A signal ended it.
    Signal(i32),
}

/// Takes the next change of a child.
pub fn change(child: Pid) -> Option<ChildChange> {
    let (_, status) = waitpid(Some(child), WaitOptions::NOHANG | WaitOptions::UNTRACED)
        .ok()
        .flatten()?;
    if status.stopped() {
        return Some(ChildChange::Stopped);
    }
    let code = status
        .exit_status()
        .and_then(|code| u8::try_from(code).ok());
    code.map(ChildChange::Status)
        .or_else(|| status.terminating_signal().map(ChildChange::Signal))
}

/// Suspends this process alone.
pub fn stop() {
    // SIGSTOP cannot be blocked.
    let _ = kill_process(getpid(), Signal::STOP);
}

/// Prevents a memory dump when a signal ends this process.
pub fn without_dump() {
    // A failure leaves a second dump at most.
    let _ = setrlimit(
        Resource::Core,
        Rlimit {
            current: Some(0),
            maximum: None,
        },
    );
}

/// Returns true if this process's group is in the foreground of its terminal, or if it has no terminal.
pub fn in_front() -> bool {
    tcgetpgrp(stdin()).map_or(true, |group| group == getpgrp())
}

/// Our own terminal in raw mode, where every key is passed on. Dropping it restores the former mode.
pub struct RawTerminal {
    before: Termios,
}

impl RawTerminal {
    /// Changes to raw mode.
    pub fn begin() -> io::Result<RawTerminal> {
        let raw = RawTerminal {
            before: tcgetattr(stdin())?,
        };
        raw.resume()?;
        Ok(raw)
    }

    /// Changes to raw mode again.
    pub fn resume(&self) -> io::Result<()> {
        let mut mode = self.before.clone();
        mode.make_raw();
        Ok(tcsetattr(stdin(), OptionalActions::Drain, &mode)?)
    }

    /// Restores the former mode, and suspends this process and its group until it is continued. The system ignores this
    /// in an orphaned group, which no process could continue.
    pub fn suspend(&self) {
        self.end();
        let _ = kill_process_group(getpgrp(), Signal::TSTP);
    }

    /// Restores the former mode. In the background the terminal has the mode of another program, which is kept.
    fn end(&self) {
        if in_front() {
            // Fails only if the terminal is gone.
            let _ = tcsetattr(stdin(), OptionalActions::Drain, &self.before);
        }
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        self.end();
    }
}
