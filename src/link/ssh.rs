//! The system's SSH client, with `mailbag link serve` at its other end.

use crate::base::error::{Doing, Error, Result};
use crate::base::{limits, sanitize};
use crate::disk::machine;
use crate::room::settings::SshAddress;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

/// The program.
const SSH: &str = "ssh";
/// No questions, no terminal, nothing forwarded, a connection of its own, and an end when the other machine is gone.
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

/// A client that runs.
pub(super) struct Client {
    child: Child,
    said: Arc<Mutex<Vec<u8>>>,
    listener: JoinHandle<()>,
}

impl Client {
    /// Starts the client. Gives what comes from the other end, and where to write for it.
    pub(super) fn start(address: &SshAddress, tag: &str) -> Result<(Client, (File, File))> {
        let mut command = Command::new(SSH);
        // The other machine's shell reads these words: address and tag have no characters that mean something to it.
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
        let mut child = command.spawn().map_err(|e| Error::Busy {
            what: format!("cannot start the program `{SSH}`: {e}"),
            cure: "install an SSH client".into(),
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
            .spawn(move || listen(errors, &kept));
        let listener = listener.doing("start a reader for", SSH)?;
        let file = |fd: OwnedFd| File::from(fd);
        Ok((
            Client {
                child,
                said,
                listener,
            },
            (file(from.into()), file(to.into())),
        ))
    }

    /// Ends the client, whose input is closed, and gives the last line that it or the other end said.
    pub(super) fn end(mut self) -> String {
        let deadline = Instant::now() + limits::SSH_END;
        let is_over = |child: &mut Child| child.try_wait().is_ok_and(|status| status.is_some());
        // A program that the client started may keep the pipe open.
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

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads to the end, and keeps the last part.
fn listen(mut errors: ChildStderr, said: &Mutex<Vec<u8>>) {
    let mut chunk = [0; 1024];
    while let Ok(got @ 1..) = errors.read(&mut chunk) {
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        said.extend_from_slice(&chunk[..got]);
        let surplus = said.len().saturating_sub(limits::SAID_BYTES);
        said.drain(..surplus);
    }
}
