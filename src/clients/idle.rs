//! Wakes an idle session of a client that listens at a socket: a process that a hook has started waits for mail, and writes
//! one line to the socket.

use super::hook_events::{Event, Kind};
use super::kind::{Client, WakeBy};
use super::rewake::{Ended, IdleWait};
use crate::base::error::{Doing, Result};
use crate::base::limits;
use crate::room::Room;
use serde_json::json;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The socket of a session, and the token that proves that the session has started this process.
struct Socket {
    path: PathBuf,
    token: String,
}

/// Starts the process for the session of this event, unless the client has no socket. The process ends at once if another
/// one waits already.
pub fn ensure(room: &Room, client: Client, event: &Event, agent: &str) -> Result<()> {
    if socket(client).is_none() || !matches!(event.kind, Kind::Announce(_) | Kind::Renew) {
        return Ok(());
    }
    let program = std::env::current_exe().doing("find", "this program")?;
    let mut waiter = Command::new(&program);
    waiter.arg("--room").arg(room.dir.path()).args(["hook", client.as_str(), "--idle", agent]);
    // The client would wait for pipes to close, and may kill the group of its hook.
    waiter.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    waiter.spawn().doing("start", &program).map(drop)
}

/// Waits for mail for the session of this agent, and wakes it once.
pub fn wait(room: &Room, client: Client, agent: &str) -> Result<()> {
    let Some(socket) = socket(client) else { return Ok(()) };
    let Some(mut wait) = IdleWait::of_agent(room, agent)? else { return Ok(()) };
    match wait.wait(&|e| tracing::debug!("{e}"))? {
        Ended::Over => Ok(()),
        Ended::Signal(signal) => wait.end_by(signal),
        Ended::Mail(briefing) => {
            let sent = socket.send(wait.session(), &briefing.text);
            sent.inspect_err(|_| wait.not_shown(&briefing)).doing("write to", &socket.path)?;
            wait.shown(&briefing)
        }
    }
}

/// The socket that the environment of the client's processes names.
fn socket(client: Client) -> Option<Socket> {
    let WakeBy::Socket { path, token } = client.facts().wake else { return None };
    let value = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    Some(Socket { path: value(path)?.into(), token: value(token)?.into_string().ok()? })
}

impl Socket {
    /// Writes the text as a message to the session, and waits until the client has read it.
    fn send(&self, session: Option<&str>, text: &str) -> std::io::Result<()> {
        let mut stream = UnixStream::connect(&self.path)?;
        stream.set_write_timeout(Some(limits::WAKE_SOCKET))?;
        stream.set_read_timeout(Some(limits::WAKE_SOCKET))?;
        let proof = json!({"msgV": 1, "type": "auth", "token": self.token});
        let mut message = json!({
            "msgV": 1,
            "msgId": uuid::Uuid::new_v4().to_string(),
            "type": "user",
            "fromName": "mailbag",
            "priority": "next",
            "message": {"role": "user", "content": text},
        });
        if let Some(session) = session {
            message["toSessionId"] = session.into();
        }
        stream.write_all(format!("{proof}\n{message}\n").as_bytes())?;
        stream.shutdown(Shutdown::Write)?;
        stream.read_to_end(&mut Vec::new()).map(drop)
    }
}
