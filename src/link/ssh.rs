//! The system's SSH client. It runs `mailbag link serve` on the other machine.

use crate::base::error::{Error, ErrorContext, Result};
use crate::base::{limits, sanitize};
use crate::disk::machine;
use crate::room::settings::SshAddress;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use std::time::Instant;

/// The size of the SSH client's messages that is kept.
const SAID_BYTES: usize = 4 << 10;
/// The time limit for the end of the SSH client after its input was closed.
const SSH_END: Duration = Duration::from_secs(1);

const SSH: &str = "ssh";
/// No questions, no terminal, no forwarding, no shared connection, and an end when the other machine does not answer.
const OPTIONS: [&str; 16] = [
    "-T",
    "-x",
    "-a",
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=20",
    "-o",
    "ServerAliveInterval=15",
    "-o",
    "ServerAliveCountMax=3",
    "-o",
    "ControlPath=none",
    "-o",
    "ClearAllForwardings=yes",
    "--",
];

/// A running client.
pub(super) struct SshClient {
    child: Child,
    said: Arc<Mutex<Vec<u8>>>,
    listener: JoinHandle<()>,
}

impl SshClient {
    /// Starts the client. Returns the file to read from the other end, and the file to write to it.
    pub(super) fn start(address: &SshAddress, tag: &str) -> Result<(SshClient, (File, File))> {
        let mut command = Command::new(SSH);
        // The other machine's shell parses these words. Address and tag contain no characters with a meaning for a shell.
        command.args(OPTIONS).args([
            &address.host,
            "mailbag",
            "link",
            "serve",
            tag,
            "--room",
            &address.path,
        ]);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        machine::end_with_us(&mut command);
        let mut child = command.spawn().map_err(|e| {
            Error::busy(
                format!("cannot start the program `{SSH}`: {e}"),
                "install an SSH client",
            )
        })?;
        let (Some(to), Some(from), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            unreachable!("all three are pipes");
        };
        let said = Arc::<Mutex<Vec<u8>>>::default();
        let kept = said.clone();
        let listener = std::thread::Builder::new()
            .name("ssh".into())
            .spawn(move || keep_last_lines(errors, &kept));
        let listener = listener.doing("start a reader for", SSH)?;
        let file = |fd: OwnedFd| File::from(fd);
        Ok((
            SshClient {
                child,
                said,
                listener,
            },
            (file(from.into()), file(to.into())),
        ))
    }

    /// Ends the client after its input was closed. Returns the last line of its or the other end's error output.
    pub(super) fn end(mut self) -> String {
        let deadline = Instant::now() + SSH_END;
        let is_over = |child: &mut Child| child.try_wait().is_ok_and(|status| status.is_some());
        // A program started by the client can keep the pipe open.
        while Instant::now() < deadline
            && !(is_over(&mut self.child) && self.listener.is_finished())
        {
            std::thread::sleep(limits::LOCK_LOOK);
        }
        let text = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&text);
        let last = text
            .lines()
            .rev()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or_default();
        sanitize::line(last).into_owned()
    }
}

impl Drop for SshClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads the error output to its end, and keeps the last [`SAID_BYTES`].
fn keep_last_lines(mut errors: ChildStderr, said: &Mutex<Vec<u8>>) {
    let mut chunk = [0; 1024];
    while let Ok(got @ 1..) = errors.read(&mut chunk) {
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        said.extend_from_slice(&chunk[..got]);
        let surplus = said.len().saturating_sub(SAID_BYTES);
        said.drain(..surplus);
    }
}
