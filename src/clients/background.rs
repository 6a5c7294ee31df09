//! Starts mailbag in the background, from a hook.

use super::activity;
use crate::base::error::{ErrorContext, Result};
use crate::room::Room;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Starts a command of mailbag for a room, and gives it the transcript of the session.
pub(super) fn start(room: &Room, words: &[&str], transcript: Option<&Path>) -> Result<()> {
    let program = std::env::current_exe().doing("find", "this program")?;
    let mut command = Command::new(&program);
    command.arg("--room").arg(room.dir.path()).args(words);
    command.envs(transcript.map(|path| (activity::TRANSCRIPT, path)));
    // The client would wait for pipes to close, and may kill the group of its hook.
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    command.spawn().doing("start", &program).map(drop)
}
