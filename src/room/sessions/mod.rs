//! Sessions: a lease in `sessions/<agent>.json` says which session speaks for an agent. Every call of the session
//! renews it.
//!
//! No mail depends on a lease. The files can be deleted at any time: with its next call, an identified session takes
//! its agent again. After a power cut a lease can be missing or torn, and then counts as none.

mod calls;
mod client;
mod hook_runs;
mod holds;
mod losses;
mod memory;
mod told;

pub use calls::{SessionCalls, SessionRunState, note_woken_again};
pub use client::{
    CODEX, CallingSession, IN_GEMINI, KNOWN, KnownClient, is_run_by_another, session_variables,
};
pub use holds::{SessionHold, SessionIdentity, is_held, is_waiting, is_watched};
pub use hook_runs::{HookRun, UNKNOWN_EVENT, WAKE, fired, note};
pub use losses::{LossNotification, LostSession, loss, notified_of_loss};
pub use memory::SessionLock;
pub use told::{first_time, first_time_within, note_edits};

use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::base::limits;
pub use crate::disk::machine::Process;
use crate::disk::{Dir, LockFile, layout, machine};
use crate::message::id;
use crate::room::Room;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// The number of characters of a session's id that people and models see.
const SESSION_SHOWN: usize = 8;

/// The client name of a command under `mailbag exec`.
pub const EXEC: &str = "exec";
/// The variable that gives a command under `mailbag exec` the name of its hold.
pub const HOLD: &str = "MAILBAG_HOLD";
/// The event name of a call that identifies a session.
pub const JOIN: &str = "join";
/// The event name of any other command.
pub const COMMAND: &str = "command";
/// The event name of a call of the background waiter of an idle session.
pub const IDLE: &str = "idle";
/// The event name of the start of a session, in all clients.
const START: &str = "SessionStart";
/// The event name of a turn that the person interrupted. Only Codex has such an event.
pub const INTERRUPT: &str = "Interrupt";
/// The events of a session that waits for its next turn, as clients name its start and the end of a turn.
const RESTING: [&str; 5] = [IDLE, START, INTERRUPT, "Stop", "AfterAgent"];

/// The lease of a session on an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionLease {
    /// The agent.
    pub agent: String,
    /// The client: `claude`, `codex`, `gemini`, `mcp`, `exec`, or a name of its own.
    pub client: String,
    /// The client's id of the session, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The client's process, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    /// The lock of its client on the session, if the client has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<SessionLock>,
    /// Its working directory, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// The start of the lease, RFC 3339.
    pub since: String,
    /// The last call, RFC 3339.
    pub last: String,
    /// The kind of the last call: the event of a hook, or a word for another call.
    #[serde(default)]
    pub event: String,
    /// The last call before the background waiter of an idle session became the only caller, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_since: Option<String>,
    /// True if the person interrupted its last turn. Codex then holds all messages until the next prompt of the person.
    #[serde(default, skip_serializing_if = "is_not")]
    pub interrupted: bool,
    /// The lines that hooks have shown it.
    #[serde(default)]
    pub told: ShownLines,
    /// True if the session identified itself. Then no other source of an agent's name overrides it.
    #[serde(default, skip_serializing_if = "is_not")]
    pub joined: bool,
    /// True if the session has ended. Then any session may take the agent. Until one does, the session gets the agent
    /// back when it is resumed.
    #[serde(default, skip_serializing_if = "is_not")]
    pub ended: bool,
    /// Sessions that lost the agent and have not been notified.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<LostSession>,
}

fn is_not(flag: &bool) -> bool {
    !flag
}

/// The lines that hooks have shown an agent in the current window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ShownLines {
    /// The start of the window, in microseconds since 1970.
    pub since: i64,
    /// The number of lines.
    pub lines: u32,
}

/// When a session may take an agent from another session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takeover {
    /// If the other session is no longer alive.
    Free,
    /// As `Free`, or from the previous session of the same process, because a client runs one session at a time.
    Successor,
    /// Always: a person requested it.
    Force,
}

impl SessionLease {
    /// Its session.
    pub fn named(&self) -> SessionIdentity {
        SessionIdentity {
            client: self.client.clone(),
            session: self.session.clone(),
            process: self.process,
        }
    }

    /// Returns true if this session holds the lease.
    pub fn is_of(&self, caller: &CallingSession) -> bool {
        self.named().is(&SessionIdentity::from(caller))
    }

    /// Returns true if its session is alive: it is not known to have ended, and it called within `lease`, or a process
    /// holds a lock for it. For a command, only the lock counts.
    pub fn is_live(&self, room: &Dir, lease: Duration) -> bool {
        if self.ended || self.is_gone(room) {
            return false;
        }
        let last = Stamp::parse(&self.last);
        last.is_some_and(|last| last.is_within(lease, Stamp::now())) || is_held(room, self)
    }

    /// Returns true if its session is known to have ended.
    pub fn is_gone(&self, room: &Dir) -> bool {
        if self.client == EXEC {
            return !is_held(room, self);
        }
        let lock = self.lock.as_ref();
        self.process
            .is_some_and(|process| process.lives() == Some(false))
            || lock.is_some_and(|lock| lock.is_held() == Some(false))
    }

    /// Returns true if the end of its session can be seen, even if the session is killed.
    pub fn shows_its_end(&self) -> bool {
        self.process.is_some() || self.lock.is_some()
    }

    /// Returns true if its session is between two turns, by its last call.
    pub fn is_idle(&self) -> bool {
        RESTING.contains(&&*self.event)
    }

    /// Returns true if a `mailbag exec` around this process holds the lease, by the environment or, if a client starts its
    /// servers without the environment, by the parent processes.
    fn is_around_us(&self, room: &Dir) -> bool {
        if self.client != EXEC {
            return false;
        }
        let hold = std::env::var(HOLD).unwrap_or_default();
        holds::is_there(room, &self.agent, &hold)
            || machine::ancestors(limits::ANCESTORS)
                .into_iter()
                .any(|(above, _)| self.process == Some(above))
    }

    /// The time of the last call. `None` if the clock was set back since.
    pub fn last(&self) -> Option<Stamp> {
        past(&self.last)
    }

    /// The time of the last call. Calls of its background waiter do not count.
    pub fn active(&self) -> Option<Stamp> {
        past(self.idle_since.as_ref().unwrap_or(&self.last))
    }

    /// A description of the holder.
    pub fn holder(&self) -> String {
        let mut holder = self.client.clone();
        if let Some(id) = &self.session {
            holder += &format!(" session {}", shortened(id));
        }
        if let Some(process) = self.process {
            holder += &format!(" (process {})", process.pid);
        }
        holder
    }
}

/// The beginning of a long session id. It is enough to distinguish sessions.
fn shortened(id: &str) -> String {
    match id.char_indices().nth(SESSION_SHOWN) {
        Some((end, _)) => format!("{}…", &id[..end]),
        None => id.to_owned(),
    }
}

/// A stored time, unless it is ahead of the clock.
fn past(text: &str) -> Option<Stamp> {
    Stamp::parse(text).filter(|at| at.is_within(Duration::MAX, Stamp::now()))
}

/// The locked session files of a room. While it exists, no other process changes a lease.
struct LockedSessions {
    dir: Dir,
    _lock: LockFile,
}

impl LockedSessions {
    fn open(room: &Room) -> Result<LockedSessions> {
        let dir = room.dir.make(layout::SESSIONS)?;
        let lock = dir.lock_within(layout::SESSIONS_LOCK, limits::SESSIONS_WAIT)?;
        Ok(LockedSessions { dir, _lock: lock })
    }

    /// Removes these leases.
    fn remove(&self, room: &Room, is_removed: impl Fn(&SessionLease) -> bool) -> Result<()> {
        for lease in all(room)?.iter().filter(|lease| is_removed(lease)) {
            self.dir.remove(layout::session(&lease.agent))?;
        }
        Ok(())
    }

    /// Writes a lease. Not synced: after a power cut the next call writes it again.
    fn write(&self, lease: &SessionLease) -> Result<()> {
        let mut text = serde_json::to_vec_pretty(lease).expect("a lease is plain data");
        text.push(b'\n');
        self.dir.show(layout::session(&lease.agent), &text)
    }
}

/// The leases of a room, in no order. Torn and foreign files are skipped.
pub fn all(room: &Room) -> Result<Vec<SessionLease>> {
    let Some(dir) = room.dir.sub_if_exists(layout::SESSIONS)? else {
        return Ok(Vec::new());
    };
    let names = dir.list()?.collect::<Result<Vec<_>>>()?;
    Ok(names
        .iter()
        .filter_map(|entry| read(&dir, layout::read_session(&entry.name)?))
        .collect())
}

/// The lease on an agent, alive or not, but not of a session that has ended.
pub fn of(room: &Room, agent: &str) -> Result<Option<SessionLease>> {
    Ok(last_of(room, agent)?.filter(|lease| !lease.ended))
}

/// As [`of`], even if the session has ended.
pub fn last_of(room: &Room, agent: &str) -> Result<Option<SessionLease>> {
    let dir = room.dir.sub_if_exists(layout::SESSIONS)?;
    Ok(dir.and_then(|dir| read(&dir, agent)))
}

/// The lease of the agent that a session speaks for, or spoke for before it ended: it may have been resumed.
pub fn agent_of(room: &Room, caller: &CallingSession) -> Result<Option<SessionLease>> {
    let ours = all(room)?.into_iter().filter(|lease| lease.is_of(caller));
    Ok(ours.max_by(|a, b| (!a.ended, &a.last).cmp(&(!b.ended, &b.last))))
}

/// The lease of the previous session in the same process: a client that clears its context starts a new session.
pub fn before(room: &Room, caller: &CallingSession) -> Result<Option<SessionLease>> {
    let same = all(room)?
        .into_iter()
        .filter(|lease| !lease.ended && lease.process.is_some() && lease.process == caller.process);
    Ok(same.max_by(|a, b| a.last.cmp(&b.last)))
}

fn read(dir: &Dir, agent: &str) -> Option<SessionLease> {
    let bytes = dir
        .read(layout::session(agent), limits::SESSION_BYTES)
        .ok()??;
    serde_json::from_slice::<SessionLease>(&bytes)
        .ok()
        .filter(|lease| lease.agent == agent)
}

/// The session of a client with an id that the caller gives. Fails if another live session has this id.
pub fn of_given_id(
    room: &Room,
    own: Option<&CallingSession>,
    client: &str,
    id: String,
) -> Result<CallingSession> {
    // A client that another client started inherits its variables.
    let is_in_environment =
        session_variables().any(|(name, _)| std::env::var(name).is_ok_and(|own| own == id));
    let given = CallingSession::here(client, Some(id))?;
    let (Some(own), Some(lease)) = (own, agent_of(room, &given)?) else {
        return Ok(given);
    };
    // The numbers of processes in two namespaces cannot be compared.
    let differs = match (own.process, lease.process) {
        (Some(ours), Some(theirs)) if ours.namespace == theirs.namespace => ours != theirs,
        _ => own.session.is_some(),
    };
    if differs
        && !is_in_environment
        && !lease.is_of(own)
        && lease.is_live(&room.dir, room.settings()?.session_lease)
    {
        return Err(taken(&lease, &given));
    }
    Ok(given)
}

/// Fails for the human: no session acts as the person, even if a person starts it.
pub fn refuse_human(agent: &str) -> Result<()> {
    if agent == id::HUMAN {
        return Err(Error::usage(
            "human is the person, and no session acts as the person",
            "choose another name",
        ));
    }
    Ok(())
}

/// Binds an agent to a session, or renews the lease, for a call named `event`. If another live session holds the agent,
/// the error names it. The session gives up any other agent.
pub fn bind(
    room: &Room,
    agent: &str,
    caller: &CallingSession,
    claim: Takeover,
    event: &str,
) -> Result<SessionLease> {
    refuse_human(agent)?;
    if !caller.is_known() {
        return Err(Error::usage(
            "this session cannot be distinguished from another one",
            "give the client's id of the session, or set MAILBAG_AGENT",
        ));
    }
    let within = room.settings()?.session_lease;
    let held = LockedSessions::open(room)?;
    let before = read(&held.dir, agent);
    let now = Stamp::now().to_string();
    let ours = before.as_ref().filter(|lease| lease.is_of(caller));
    let other = before.as_ref().filter(|lease| !lease.is_of(caller));
    if let Some(host) = other.filter(|lease| lease.is_around_us(&room.dir)) {
        // The agent stays with the `mailbag exec` around the command, whatever client the command is.
        let lease = SessionLease {
            last: now,
            event: event.to_owned(),
            idle_since: None,
            ..host.clone()
        };
        held.write(&lease)?;
        return Ok(lease);
    }
    let successor = claim == Takeover::Successor
        && other.is_some_and(|other| other.process.is_some() && other.process == caller.process);
    if let Some(other) = other
        && claim != Takeover::Force
        && !successor
        && other.is_live(&room.dir, within)
    {
        return Err(taken(other, caller));
    }
    if ours.is_none() {
        held.remove(room, |lease| lease.agent != agent && lease.is_of(caller))?;
        holds::tidy(&room.dir, agent);
    }
    let kept = if successor { other } else { ours };
    let mut lost = match (kept, other) {
        (Some(lease), _) => lease.lost.clone(),
        (None, Some(lease)) => losses::after(lease, &now),
        (None, None) => Vec::new(),
    };
    let named = SessionIdentity::from(caller);
    lost.retain(|lost| !lost.by.is(&named));
    let lease = SessionLease {
        agent: agent.to_owned(),
        client: match ours {
            Some(lease) if caller.session.is_none() => lease.client.clone(),
            _ => caller.client.clone(),
        },
        session: caller.session.clone().or_else(|| ours?.session.clone()),
        process: process(ours, caller, event),
        lock: lock(ours, caller, event),
        directory: directory(ours, caller, event),
        since: ours.map_or_else(|| now.clone(), |lease| lease.since.clone()),
        last: now,
        event: event.to_owned(),
        idle_since: match ours {
            Some(lease) if event == IDLE => {
                Some(lease.idle_since.as_ref().unwrap_or(&lease.last).clone())
            }
            _ => None,
        },
        interrupted: event == INTERRUPT
            || event == IDLE && ours.is_some_and(|lease| lease.interrupted),
        // The budget belongs to the agent, whichever session speaks for it.
        told: before.as_ref().map(|lease| lease.told).unwrap_or_default(),
        joined: event == JOIN || kept.is_some_and(|lease| lease.joined),
        ended: false,
        lost,
    };
    held.write(&lease)?;
    Ok(lease)
}

/// The client's process. A command in a sandbox may not see it; a hook does. A client may also start a hook by a helper of
/// its own, which ends with the hook, so a process that still runs is only replaced when a session starts.
fn process(ours: Option<&SessionLease>, caller: &CallingSession, event: &str) -> Option<Process> {
    let known = ours.and_then(|lease| lease.process);
    match (caller.process, known) {
        (Some(new), Some(old))
            if [JOIN, COMMAND].contains(&event) && new.namespace != old.namespace =>
        {
            Some(old)
        }
        (Some(_), Some(old)) if event != START && old.lives() == Some(true) => Some(old),
        (new, old) => new.or(old),
    }
}

/// The client's lock on the session. A command in a sandbox may not see it; a hook does.
fn lock(ours: Option<&SessionLease>, caller: &CallingSession, event: &str) -> Option<SessionLock> {
    let known = ours.and_then(|lease| lease.lock.clone());
    let is_hook = ![JOIN, COMMAND, IDLE].contains(&event);
    if known.is_some() || !is_hook {
        return known;
    }
    SessionLock::of(&caller.client, caller.session.as_deref())
}

/// A command can run in any directory; a hook and a join run where the session works.
fn directory(ours: Option<&SessionLease>, caller: &CallingSession, event: &str) -> Option<PathBuf> {
    let known = ours.and_then(|lease| lease.directory.clone());
    // The file of a lease is text.
    let is_text = |directory: &PathBuf| directory.to_str().is_some();
    if event == COMMAND && known.is_some() {
        known
    } else {
        caller.directory.clone().filter(is_text).or(known)
    }
}

/// Records the lines that were shown to an agent.
pub fn record_shown(room: &Room, agent: &str, told: ShownLines) -> Result<()> {
    let held = LockedSessions::open(room)?;
    match read(&held.dir, agent) {
        Some(lease) => held.write(&SessionLease { told, ..lease }),
        None => Ok(()),
    }
}

/// Records that a session has ended. Another session may take its agent; until then the session gets the agent back
/// when it is resumed.
pub fn end(room: &Room, caller: &CallingSession) -> Result<()> {
    let held = LockedSessions::open(room)?;
    for lease in all(room)?.into_iter().filter(|lease| lease.is_of(caller)) {
        held.write(&SessionLease {
            ended: true,
            ..lease
        })?;
    }
    Ok(())
}

/// Removes the leases of a session that will not return.
pub fn release(room: &Room, caller: &CallingSession) -> Result<()> {
    LockedSessions::open(room)?.remove(room, |lease| lease.is_of(caller))
}

/// The error if another session has the agent.
fn taken(lease: &SessionLease, caller: &CallingSession) -> Error {
    let agent = &lease.agent;
    let session = caller.session.as_deref().unwrap_or("ID");
    Error::busy(
        format!(
            "{agent} is held by {}, which last called at {}",
            lease.holder(),
            lease.last
        ),
        format!(
            "end that session or use another name; a person can run `mailbag join {agent} --take-over --session {session}`"
        ),
    )
}
