//! Wakes an idle session of a client from outside: a process that a hook has started waits for mail, and gives it to the client,
//! by one line to the socket of the session, or by `codex queue`.

use super::background;
use super::hook_events::{HookAction, HookEvent};
use super::kind::{Client, SessionWakeMethod};
use super::queue;
use super::rewake::{IdleWait, IdleWaitEnd};
use crate::base::error::{Error, ErrorContext, Result};
use crate::disk::machine;
use crate::room::Room;
use crate::room::sessions;
use serde_json::json;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// The time limit for a client to read a line that wakes its session.
const WAKE_SOCKET: Duration = Duration::from_secs(5);

/// The socket of a session, and the token that proves that the session has started this process.
struct SessionSocket {
    path: PathBuf,
    token: String,
}

/// Starts the process for the session of this event, if its client can be woken so. The process ends immediately if another one
/// waits already.
pub fn ensure(room: &Room, client: Client, event: &HookEvent, agent: &str) -> Result<()> {
    if !matches!(event.kind, HookAction::Announce(_) | HookAction::Renew)
        || !can_be_woken(room, client, agent)?
    {
        return Ok(());
    }
    let words = ["hook", client.as_str(), "--idle", agent];
    background::start(room, &words, event.transcript.as_deref())
}

fn can_be_woken(room: &Room, client: Client, agent: &str) -> Result<bool> {
    match client.facts().wake {
        SessionWakeMethod::Socket { .. } => Ok(socket(client).is_some()),
        // Without a sign of the end of the session, the process would never end.
        SessionWakeMethod::Queue => {
            Ok(sessions::of(room, agent)?.is_some_and(|lease| lease.shows_its_end()))
        }
        SessionWakeMethod::Hook | SessionWakeMethod::Plugin | SessionWakeMethod::Nothing => {
            Ok(false)
        }
    }
}

/// Waits for mail for the session of this agent, and wakes it once.
pub fn wait(room: &Room, client: Client, agent: &str) -> Result<()> {
    if !can_be_woken(room, client, agent)? {
        return Ok(());
    }
    let Some(mut wait) = IdleWait::of_agent(room, agent)? else {
        return Ok(());
    };
    let briefing = match wait.wait(&|e| tracing::debug!("{e}"))? {
        IdleWaitEnd::Over => return Ok(()),
        IdleWaitEnd::Signal(signal) => return wait.end_by(signal),
        IdleWaitEnd::Mail(briefing) => briefing,
    };
    let session = wait.session().map(str::to_owned);
    // The hook of the turn that begins now starts the next process.
    drop(wait);
    let woken = match socket(client) {
        Some(socket) => socket
            .send(session.as_deref(), &briefing.text)
            .doing("write to", &socket.path),
        None => match session.as_deref() {
            Some(session) => queue::queue(room, agent, session, &briefing.text),
            None => Err(no_session(agent)),
        },
    };
    let problem = woken.as_ref().err().map(ToString::to_string);
    let noted = sessions::note(room, sessions::WAKE, agent, Some(agent), problem);
    if let Err(e) = noted {
        tracing::debug!("{e}");
    }
    match woken {
        Ok(()) => sessions::record_shown(room, agent, briefing.told),
        Err(_) => {
            briefing.undo(room, agent);
            woken
        }
    }
}

fn no_session(agent: &str) -> Error {
    Error::usage(
        format!("{agent} has no known session"),
        format!("run `mailbag join {agent}` in its session"),
    )
}

/// The socket that the environment of the client's processes names.
fn socket(client: Client) -> Option<SessionSocket> {
    let SessionWakeMethod::Socket { path, token } = client.facts().wake else {
        return None;
    };
    Some(SessionSocket {
        path: machine::variable(path)?.into(),
        token: machine::variable(token)?.into_string().ok()?,
    })
}

impl SessionSocket {
    /// Writes the text as a message to the session, and waits until the client has read it.
    fn send(&self, session: Option<&str>, text: &str) -> std::io::Result<()> {
        let mut stream = UnixStream::connect(&self.path)?;
        stream.set_write_timeout(Some(WAKE_SOCKET))?;
        stream.set_read_timeout(Some(WAKE_SOCKET))?;
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
