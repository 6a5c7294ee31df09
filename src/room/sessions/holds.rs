//! Holds: a process of a session keeps the lease of its agent alive with a lock.
//!
//! A background waiter, an MCP server, a view or `mailbag exec` creates a file in `sessions/holds/`, writes its session
//! into it, and locks it. The lock shows that the process is running, in any PID namespace; the system releases it when
//! the process ends.

use super::{COMMAND, CallingSession, LockedSessions, Process, SessionLease};
use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Dir, LockFile, is_locked, layout};
use crate::message::id;
use crate::room::Room;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A session as recorded in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionIdentity {
    /// The client.
    pub client: String,
    /// The client's id of the session, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The client's process, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
}

impl SessionIdentity {
    /// Returns true if it is the same session. Compares the ids if both have one, otherwise the processes: a tool server
    /// and a hook may know different data.
    pub fn is(&self, other: &SessionIdentity) -> bool {
        match (&self.session, &other.session) {
            (Some(one), Some(another)) => one == another,
            _ => self.process.is_some() && self.process == other.process,
        }
    }
}

impl From<&CallingSession> for SessionIdentity {
    fn from(caller: &CallingSession) -> SessionIdentity {
        SessionIdentity {
            client: caller.client.clone(),
            session: caller.session.clone(),
            process: caller.process,
        }
    }
}

/// A lock that a process of a session holds as long as it runs.
pub struct SessionHold {
    dir: Dir,
    name: String,
    agent: String,
    content: HoldFile,
    lock: LockFile,
}

/// The content of a hold file.
#[derive(Clone, Serialize, Deserialize)]
struct HoldFile {
    #[serde(flatten)]
    session: SessionIdentity,
    /// True if the process ends with its session. Then an unlocked file shows that the session was killed.
    #[serde(default)]
    lasting: bool,
    /// The time when the process saw the session end, RFC 3339. The file stays when the lock is released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended: Option<String>,
}

impl SessionHold {
    /// Holds an agent for a session until the value is dropped.
    pub fn take(room: &Room, agent: &str, session: &SessionIdentity) -> Result<SessionHold> {
        SessionHold::new(room, agent, session, false)
    }

    /// As [`SessionHold::take`], for a process that ends with its session. If the process is killed, the session counts as ended.
    pub fn take_lasting(
        room: &Room,
        agent: &str,
        session: &SessionIdentity,
    ) -> Result<SessionHold> {
        SessionHold::new(room, agent, session, true)
    }

    fn new(
        room: &Room,
        agent: &str,
        session: &SessionIdentity,
        lasting: bool,
    ) -> Result<SessionHold> {
        let name = layout::hold(agent, &id::mint());
        let content = HoldFile {
            session: session.clone(),
            lasting,
            ended: None,
        };
        let (dir, lock) = lock(room, agent, &name, &content)?;
        Ok(SessionHold {
            dir,
            name,
            agent: agent.to_owned(),
            content,
            lock,
        })
    }

    /// Takes the hold again, under the same name, if its file was removed: `sessions/` may be deleted at any time. A renewal
    /// that fails has no other effect.
    pub fn renew(&mut self, room: &Room) {
        if self.lock.meta().is_ok_and(|meta| meta.links > 0) {
            return;
        }
        match lock(room, &self.agent, &self.name, &self.content) {
            Ok(held) => (self.dir, self.lock) = held,
            Err(e) => tracing::debug!("{e}"),
        }
    }

    /// Holds the agent of the session that runs this program, if it has one. A failure is ignored.
    pub fn of_this_session(room: &Room) -> Option<SessionHold> {
        let lease = super::agent_of(room, &CallingSession::from_environment()?)
            .ok()?
            .filter(|lease| !lease.ended)?;
        SessionHold::take(room, &lease.agent, &lease.named())
            .inspect_err(|e| tracing::debug!("{e}"))
            .ok()
    }

    /// Holds an agent for a process that waits or watches, so that the agent counts as present. A failure is ignored.
    pub fn of_waiting(room: &Room, agent: &str) -> Option<SessionHold> {
        if let Some(hold) = SessionHold::of_this_session(room) {
            return Some(hold);
        }
        let no_session = SessionIdentity {
            client: COMMAND.into(),
            session: None,
            process: None,
        };
        SessionHold::take(room, agent, &no_session)
            .inspect_err(|e| tracing::debug!("{e}"))
            .ok()
    }

    /// Records that the session ended at this time. The file stays when the lock is released. A failure is ignored.
    pub fn leave(&mut self, at: Stamp) {
        self.content.lasting = true;
        self.content.ended = Some(at.to_string());
        if let Err(e) = write(&self.lock, &self.content) {
            tracing::debug!("{e}");
        }
    }

    /// Its unique name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for SessionHold {
    fn drop(&mut self) {
        if self.content.ended.is_none() {
            let _ = self.dir.remove(&self.name);
        }
    }
}

/// Creates and locks the file of a hold. Removes the files of ended processes.
fn lock(room: &Room, agent: &str, name: &str, content: &HoldFile) -> Result<(Dir, LockFile)> {
    // While the session files are locked, no other process removes an unlocked hold file.
    let _held = LockedSessions::open(room)?;
    let dir = room.dir.make(layout::HOLDS)?;
    tidy(&room.dir, agent);
    let lock = dir.lock_within(name, limits::SESSIONS_WAIT)?;
    // On a full disk the session cannot be recorded, and the hold has no effect.
    let _ = write(&lock, content);
    Ok((dir, lock))
}

fn write(lock: &LockFile, content: &HoldFile) -> std::io::Result<()> {
    let text = serde_json::to_vec(content)?;
    lock.write_all_at(&text, 0)?;
    lock.set_len(text.len() as u64)
}

/// Returns true if a running process holds this lease for its session.
pub fn is_held(room: &Dir, lease: &SessionLease) -> bool {
    of_lease(room, lease).any(|(_, is_locked)| is_locked)
}

/// Returns true if a process that runs as long as this lease's session holds it.
pub fn is_watched(room: &Dir, lease: &SessionLease) -> bool {
    of_lease(room, lease).any(|(hold, is_locked)| is_locked && hold.lasting)
}

/// Returns true if a process that waits for mail holds this lease for its session.
pub fn is_waiting(room: &Dir, lease: &SessionLease) -> bool {
    of_lease(room, lease).any(|(hold, is_locked)| is_locked && !hold.lasting)
}

/// The abandoned hold of a process that runs as long as this lease's session, with the end of the session if the process
/// recorded it. `None` if no such hold is left.
pub(super) fn was_left(room: &Dir, lease: &SessionLease) -> Option<Option<Stamp>> {
    of_lease(room, lease)
        .filter(|(hold, is_locked)| hold.lasting && !is_locked)
        .map(|(hold, _)| hold.ended.as_deref().and_then(Stamp::parse))
        .max()
}

/// The holds of this lease's session, and whether each is locked.
fn of_lease(room: &Dir, lease: &SessionLease) -> impl Iterator<Item = (HoldFile, bool)> {
    let session = lease.named();
    let holds = of_agent(room, &lease.agent).into_iter();
    holds
        .filter_map(|hold| Some((hold.content?, hold.is_locked)))
        .filter(move |(content, _)| content.session.is(&session))
}

/// Returns true if a hold with this name on the agent is locked.
pub(super) fn is_there(room: &Dir, agent: &str, name: &str) -> bool {
    of_agent(room, agent)
        .iter()
        .any(|hold| hold.name == name && hold.is_locked)
}

/// Removes the files of ended processes. Only while the session files are locked.
pub(super) fn tidy(room: &Dir, agent: &str) {
    let Ok(dir) = room.sub(layout::HOLDS) else {
        return;
    };
    for hold in of_agent(room, agent) {
        if !hold.is_locked {
            let _ = dir.remove(hold.name);
        }
    }
}

/// The agents with a hold.
pub(super) fn held_agents(room: &Dir) -> BTreeSet<String> {
    let Ok(dir) = room.sub(layout::HOLDS) else {
        return BTreeSet::new();
    };
    let mut held = BTreeSet::new();
    for name in dir.names().unwrap_or_default() {
        if let Some(agent) = layout::read_hold(&name).filter(|agent| !held.contains(*agent))
            && is_hold_locked(&dir, &name)
        {
            held.insert(agent.to_owned());
        }
    }
    held
}

/// The file of a hold.
struct FoundHold {
    name: String,
    is_locked: bool,
    /// `None` if the session could not be recorded.
    content: Option<HoldFile>,
}

/// The holds on an agent.
fn of_agent(room: &Dir, agent: &str) -> Vec<FoundHold> {
    let Ok(dir) = room.sub(layout::HOLDS) else {
        return Vec::new();
    };
    let mut names = dir.names().unwrap_or_default();
    names.retain(|name| layout::read_hold(name) == Some(agent));
    let holds = names.into_iter().map(|name| FoundHold {
        is_locked: is_hold_locked(&dir, &name),
        content: content(&dir, &name),
        name,
    });
    holds.collect()
}

fn is_hold_locked(dir: &Dir, name: &str) -> bool {
    dir.look(name).is_ok_and(|file| is_locked(&file))
}

fn content(dir: &Dir, name: &str) -> Option<HoldFile> {
    serde_json::from_slice(&dir.read(name, limits::SESSION_BYTES).ok()??).ok()
}
