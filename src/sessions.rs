//! Which session of which client speaks for an agent: a lease in `sessions/<agent>.json`, renewed by every call.
//!
//! Nobody's mail depends on it. The files can be deleted at any time: the next call of a session that says who it is
//! takes its agent again. After a power cut a lease may be gone or torn, and counts as none.

mod client;
mod fired;

pub use client::{Caller, VARIABLES};
pub use fired::{Fired, WAKE, fired, note};

use crate::clock::Stamp;
use crate::disk::Dir;
use crate::disk::machine;
pub use crate::disk::machine::Process;
use crate::error::{Doing, Error, Result};
use crate::room::Room;
use crate::{layout, limits};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::time::Duration;

/// The client that a command under `mailbag exec` is.
pub const EXEC: &str = "exec";

/// A session's hold on an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Who it speaks for.
    pub agent: String,
    /// Which program it is: `claude`, `codex`, `gemini`, `mcp`, `exec`, or what it calls itself.
    pub client: String,
    /// The client's own id of the session, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The client's process, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    /// Since when, RFC 3339.
    pub since: String,
    /// Its last call, RFC 3339.
    pub last: String,
    /// What that was: the name of a hook's event, or a word for another call.
    #[serde(default)]
    pub event: String,
    /// What hooks have told it.
    #[serde(default)]
    pub told: Told,
}

/// How many lines hooks have given an agent since the window began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Told {
    /// When the window began, in microseconds since 1970.
    pub since: i64,
    /// The lines in it.
    pub lines: u32,
}

/// May a session take an agent that another one holds?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// Only if that one is not alive any more.
    Free,
    /// Also from an earlier session of the same process, which has ended: a client runs one at a time.
    Successor,
    /// At any rate: the person says so.
    Force,
}

impl Lease {
    /// Is this the session that holds it? By the client's id where both have one, else by the client's process: its
    /// tool server and its hooks may not know the same.
    pub fn is_of(&self, caller: &Caller) -> bool {
        match (&self.session, &caller.session) {
            (Some(held), Some(calling)) => held == calling,
            _ => self.process.is_some() && self.process == caller.process,
        }
    }

    /// Does its session still live? It called within `lease`, and its process is not known to be gone.
    pub fn is_live(&self, lease: Duration) -> bool {
        let called = Stamp::parse(&self.last).is_some_and(|last| Stamp::now() < last.after(lease));
        called && self.process.is_none_or(|process| process.lives() != Some(false))
    }

    /// Is it held by a `mailbag exec` that this process runs inside of?
    fn is_around_us(&self) -> bool {
        let above = || machine::ancestors(limits::ANCESTORS).into_iter().map(|(process, _)| process);
        self.client == EXEC && self.process.is_some_and(|host| above().any(|process| process == host))
    }

    /// When it last called.
    pub fn last(&self) -> Option<Stamp> {
        Stamp::parse(&self.last)
    }

    /// Who it is, in words.
    pub fn holder(&self) -> String {
        let session = self.session.as_deref().map(|id| format!(" session {id}")).unwrap_or_default();
        let process = self.process.map(|process| format!(" (process {})", process.pid)).unwrap_or_default();
        format!("{}{session}{process}", self.client)
    }
}

/// All sessions of a room, held: nobody else binds or renews while this lives.
struct Held {
    dir: Dir,
    _lock: File,
}

impl Held {
    fn open(room: &Room) -> Result<Held> {
        let dir = room.dir.make(layout::SESSIONS)?;
        let lock = dir.lock_file(layout::SESSIONS_LOCK)?;
        lock.lock().doing("lock", dir.at(layout::SESSIONS_LOCK))?;
        Ok(Held { dir, _lock: lock })
    }

    // Nothing is synced: what a power cut takes is taken again by the next call.
    fn write(&self, lease: &Lease) -> Result<()> {
        let mut text = serde_json::to_vec_pretty(lease).expect("a lease is plain data");
        text.push(b'\n');
        self.dir.show(&layout::session(&lease.agent), &text)
    }
}

/// The leases of a room, in no order. Torn and foreign files are passed over.
pub fn all(room: &Room) -> Result<Vec<Lease>> {
    match room.dir.sub(layout::SESSIONS) {
        Err(e) if e.errno() == Some(libc::ENOENT) => Ok(Vec::new()),
        Err(e) => Err(e),
        Ok(dir) => {
            let names = dir.list()?.collect::<Result<Vec<_>>>()?;
            Ok(names.iter().filter_map(|entry| read(&dir, layout::read_session(&entry.name)?)).collect())
        }
    }
}

/// The lease on an agent, whether its session lives or not.
pub fn of(room: &Room, agent: &str) -> Result<Option<Lease>> {
    match room.dir.sub(layout::SESSIONS) {
        Err(e) if e.errno() == Some(libc::ENOENT) => Ok(None),
        dir => Ok(read(&dir?, agent)),
    }
}

/// When sessions last called, for whoever asks who is there.
pub struct Calls(Option<Dir>);

impl Calls {
    /// Looks at the sessions of a room.
    pub fn of(room: &Dir) -> Calls {
        Calls(room.sub(layout::SESSIONS).ok())
    }

    /// The last call of the session that speaks for this agent.
    pub fn last(&self, agent: &str) -> Option<Stamp> {
        read(self.0.as_ref()?, agent)?.last()
    }
}

/// The lease of the agent that a session speaks for.
pub fn agent_of(room: &Room, caller: &Caller) -> Result<Option<Lease>> {
    Ok(all(room)?.into_iter().filter(|lease| lease.is_of(caller)).max_by(|a, b| a.last.cmp(&b.last)))
}

/// The lease of the session that ran in the same process before: a client that empties its context begins a new one.
pub fn before(room: &Room, caller: &Caller) -> Result<Option<Lease>> {
    let same = |lease: &Lease| lease.process.is_some() && lease.process == caller.process;
    Ok(all(room)?.into_iter().filter(same).max_by(|a, b| a.last.cmp(&b.last)))
}

fn read(dir: &Dir, agent: &str) -> Option<Lease> {
    let bytes = dir.read(layout::session(agent), limits::SESSION_BYTES).ok()??;
    serde_json::from_slice::<Lease>(&bytes).ok().filter(|lease| lease.agent == agent)
}

/// Binds an agent to a session, or renews that, for a call named `event`. Another session of it that lives is left its
/// hold, and the error tells who it is. What else the session held, it gives up.
pub fn bind(room: &Room, agent: &str, caller: &Caller, claim: Claim, event: &str) -> Result<Lease> {
    if !caller.is_known() {
        return Err(Error::Usage {
            what: "nothing tells this session from another one".into(),
            cure: "give the id that your client has for it, or set MAILBAG_AGENT".into(),
        });
    }
    let within = room.settings()?.session_lease;
    let held = Held::open(room)?;
    let before = read(&held.dir, agent);
    if let Some(host) = before.as_ref().filter(|lease| !lease.is_of(caller) && lease.is_around_us()) {
        // Whatever client the command is, the agent stays the command's.
        let lease = Lease { last: Stamp::now().to_string(), event: event.to_owned(), ..host.clone() };
        held.write(&lease)?;
        return Ok(lease);
    }
    let ours = before.as_ref().is_some_and(|lease| lease.is_of(caller));
    if let Some(other) = before.as_ref().filter(|_| !ours) {
        let successor = claim == Claim::Successor && other.process.is_some() && other.process == caller.process;
        if claim != Claim::Force && !successor && other.is_live(within) {
            return Err(taken(other));
        }
    }
    if !ours {
        for lease in all(room)?.iter().filter(|lease| lease.agent != agent && lease.is_of(caller)) {
            held.dir.remove(layout::session(&lease.agent))?;
        }
    }
    let now = Stamp::now().to_string();
    let kept = before.as_ref().filter(|_| ours);
    let lease = Lease {
        agent: agent.to_owned(),
        client: kept.filter(|_| caller.session.is_none()).map_or(&caller.client, |lease| &lease.client).clone(),
        session: caller.session.clone().or_else(|| kept?.session.clone()),
        process: caller.process.or_else(|| kept?.process),
        since: kept.map_or_else(|| now.clone(), |lease| lease.since.clone()),
        last: now,
        event: event.to_owned(),
        // The budget is the agent's, whoever speaks for it.
        told: before.as_ref().map(|lease| lease.told).unwrap_or_default(),
    };
    held.write(&lease)?;
    Ok(lease)
}

/// Counts lines that were told to an agent.
pub fn told(room: &Room, agent: &str, told: Told) -> Result<()> {
    let held = Held::open(room)?;
    match read(&held.dir, agent) {
        Some(lease) => held.write(&Lease { told, ..lease }),
        None => Ok(()),
    }
}

/// Gives up whatever a session holds: it has ended.
pub fn release(room: &Room, caller: &Caller) -> Result<()> {
    let held = Held::open(room)?;
    for lease in all(room)?.iter().filter(|lease| lease.is_of(caller)) {
        held.dir.remove(layout::session(&lease.agent))?;
    }
    Ok(())
}

fn taken(lease: &Lease) -> Error {
    let agent = &lease.agent;
    Error::Busy {
        what: format!("{agent} is held by {}, which last called at {}", lease.holder(), lease.last),
        cure: format!(
            "end that session, take another name, or take it over with `mailbag join {agent} --take-over` and this \
             session's id"
        ),
    }
}
