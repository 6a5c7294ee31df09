//! Gives a message to a session of Codex by `codex queue`. Codex accepts each message for a known session, also one that it holds
//! back, so only the next call of the session shows that it has the message.

use crate::base::clock::span_text;
use crate::base::error::{Error, Result};
use crate::base::{limits, sanitize};
use crate::disk::terminal::{Pid, signal_group};
use crate::room::Room;
use crate::room::sessions::{self, IDLE};
use signal_hook::consts::SIGKILL;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Instant;

/// The number of shown characters of an error message of `codex queue`.
const QUEUE_ERROR: usize = 200;

/// Gives the text to the session of this agent. Fails if the session does not react to it.
pub(super) fn queue(room: &Room, agent: &str, session: &str, text: &str) -> Result<()> {
    let before = last_call(room, agent);
    run(room, agent, session, text).map_err(|why| {
        Error::busy(
            format!("codex queue failed: {why}"),
            "the next prompt announces the mail",
        )
    })?;
    let until = Instant::now() + limits::WAKE_REACTION;
    while Instant::now() < until {
        if last_call(room, agent).is_some_and(|last| Some(last) != before) {
            return Ok(());
        }
        std::thread::sleep(limits::WAKE_QUIET);
    }
    Err(Error::busy(
        "Codex holds messages for this session, as after Esc",
        "type a prompt in its terminal; it announces the mail",
    ))
}

/// The last call of the agent's session, apart from its background process.
fn last_call(room: &Room, agent: &str) -> Option<String> {
    sessions::of(room, agent)
        .ok()
        .flatten()
        .filter(|lease| lease.event != IDLE)
        .map(|lease| lease.last)
}

/// Runs the command. After the time limit, kills its process group.
fn run(room: &Room, agent: &str, session: &str, text: &str) -> Result<(), String> {
    let child = Command::new("codex")
        .args(["queue", "--thread", session, "--message", text])
        .env("MAILBAG_ROOM", room.dir.path())
        .env("MAILBAG_AGENT", agent)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|e| format!("it cannot be started: {e}"))?;
    let group = Pid::from_child(&child);
    let (sender, ended) = channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    match ended.recv_timeout(limits::WAKE_WITHIN) {
        Ok(Ok(output)) if output.status.success() => Ok(()),
        Ok(Ok(output)) => {
            let text = String::from_utf8_lossy(&output.stderr);
            let text = sanitize::brief(text.trim(), QUEUE_ERROR);
            Err(format!("{} {text}", output.status).trim().to_owned())
        }
        Ok(Err(e)) => Err(format!("waiting for it failed: {e}")),
        Err(_) => {
            signal_group(group, SIGKILL);
            let limit = span_text(limits::WAKE_WITHIN);
            Err(format!("it was killed after {limit}"))
        }
    }
}
