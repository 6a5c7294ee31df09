//! The two sides as processes: their start, their readiness, and their usage at the end.

use super::cleanup::{self, Undo};
use crate::system;
use anyhow::{Context, Result, bail, ensure};
use rustix::fd::AsFd;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use std::fs::{self, File};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The time limit for every step; after it, the run counts as hung.
const PATIENCE: Duration = Duration::from_secs(300);

/// The measured program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Floor,
    Mailbag,
}

/// The places of the programs and of their output.
pub(crate) struct Programs {
    pub(crate) mailbag: PathBuf,
    pub(crate) own: PathBuf,
    pub(crate) floor_options: Vec<String>,
    pub(crate) said: PathBuf,
}

impl Programs {
    /// The router of that side on that room.
    pub(crate) fn router(&self, side: Side, room: &Path, once: bool) -> Command {
        let mut command = match side {
            Side::Floor => {
                let mut floor = Command::new(&self.own);
                floor.arg("floor").args(&self.floor_options);
                floor
            }
            Side::Mailbag => self.mailbag(&["run"]),
        };
        command.arg("--room").arg(room);
        if once {
            command.arg("--once");
        }
        command
    }

    /// A mailbag command, free of the caller's environment.
    pub(crate) fn mailbag(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.mailbag);
        command.args(words);
        for variable in ["MAILBAG_ROOM", "MAILBAG_AGENT", "MAOS_AGENT_ID", "RUST_LOG"] {
            command.env_remove(variable);
        }
        command
    }

    /// One of the helper programs.
    pub(crate) fn helper(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.own);
        command.args(words);
        command
    }

    /// Starts it. Its output is written to a file that is shown if it fails.
    pub(crate) fn start(&self, command: Command) -> Result<Running> {
        self.start_on(command, Stdio::null())
    }

    /// The same with something on its standard input.
    pub(crate) fn start_on(&self, mut command: Command, input: Stdio) -> Result<Running> {
        // One file for each kind of program, so that two programs side by side do not overwrite
        // each other's output.
        let kind = command.get_args().next().unwrap_or_default();
        let path = self.said.with_extension(kind);
        let said = File::create(&path)?;
        command.stdin(input).stdout(said.try_clone()?).stderr(said);
        // A child inherits this process's peak at the time of the fork: reset it to the current
        // value.
        let _ = fs::write("/proc/self/clear_refs", "5");
        let started = Instant::now();
        let child = command.spawn().with_context(|| format!("{command:?}"))?;
        let pid = i32::try_from(child.id())?;
        cleanup::remember(Undo::Kill(pid));
        Ok(Running {
            pid,
            started,
            said: path,
        })
    }

    /// Starts a router that stays, waits until it reports that it is ready, and returns this time.
    pub(crate) fn start_ready(&self, mut command: Command) -> Result<(Running, Duration)> {
        let path = self.said.with_extension("notify");
        let _ = fs::remove_file(&path);
        let socket = UnixDatagram::bind(&path)?;
        command.env("NOTIFY_SOCKET", &path);
        let running = self.start(command)?;
        let mut message = [0; 4096];
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if system::readable(socket.as_fd(), Duration::from_millis(100))? {
                let length = socket.recv(&mut message)?;
                if message[..length]
                    .split(|&b| b == b'\n')
                    .any(|line| line == b"READY=1")
                {
                    let took = running.started.elapsed();
                    return Ok((running, took));
                }
            }
            ensure!(
                !running.has_ended()?,
                "ended before it was ready: {}",
                running.words()
            );
        }
        bail!("not ready after {PATIENCE:?}: {}", running.words())
    }
}

/// A process that was started and not yet reaped.
pub(crate) struct Running {
    pid: i32,
    started: Instant,
    said: PathBuf,
}

/// The usage of a run.
pub(crate) struct Usage {
    pub(crate) wall: Duration,
    pub(crate) user: Duration,
    pub(crate) system: Duration,
    pub(crate) peak: u64,
}

impl Running {
    /// The processor time that it has used so far.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        system::cpu_of(self.pid)
    }

    /// Waits until it ends by itself, with success.
    pub(crate) fn wait(self) -> Result<Usage> {
        let (usage, status) = self.end()?;
        ensure!(
            status == 0,
            "ended with wait status {status}: {}",
            self.words()
        );
        Ok(usage)
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn stop(self) -> Result<Usage> {
        let pid = Pid::from_raw(self.pid).context("no pid")?;
        kill_process(pid, Signal::TERM)?;
        Ok(self.end()?.0)
    }

    fn end(&self) -> Result<(Usage, i32)> {
        let pidfd = pidfd_open(
            Pid::from_raw(self.pid).context("no pid")?,
            PidfdFlags::empty(),
        )?;
        ensure!(
            system::readable(pidfd.as_fd(), PATIENCE)?,
            "still running after {PATIENCE:?}: {}",
            self.words()
        );
        let wall = self.started.elapsed();
        let ended = system::reap(self.pid)?;
        cleanup::forget(&Undo::Kill(self.pid));
        Ok((
            Usage {
                wall,
                user: ended.user,
                system: ended.system,
                peak: ended.peak,
            },
            ended.status,
        ))
    }

    fn has_ended(&self) -> Result<bool> {
        let pidfd = pidfd_open(
            Pid::from_raw(self.pid).context("no pid")?,
            PidfdFlags::empty(),
        )?;
        system::readable(pidfd.as_fd(), Duration::ZERO)
    }

    fn words(&self) -> String {
        let said = fs::read_to_string(&self.said).unwrap_or_default();
        let last: Vec<&str> = said.lines().rev().take(10).collect();
        last.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}
