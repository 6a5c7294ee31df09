//! Which session of which client speaks for an agent: a lease in `sessions/<agent>.json`, renewed by every call.
//!
//! Nobody's mail depends on it. The files can be deleted at any time: the next call of a session that says who it is
//! takes its agent again. After a power cut a lease may be gone or torn, and counts as none.

mod client;
mod fired;
mod holds;
mod losses;

pub use client::{Caller, IN_GEMINI, VARIABLES};
pub use fired::{Fired, WAKE, fired, note};
pub use holds::{Hold, Named, is_held};
pub use losses::{Loss, Lost, loss, told_of_loss};

use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::base::limits;
pub use crate::disk::machine::Process;
use crate::disk::{Dir, layout, machine};
use crate::room::Room;
use serde::{Deserialize, Serialize};
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::time::Duration;

/// The client that a command under `mailbag exec` is.
pub const EXEC: &str = "exec";
/// The variable that tells a command under `mailbag exec` the hold of it.
pub const HOLD: &str = "MAILBAG_HOLD";
/// The call by which a session itself says who it is.
pub const JOIN: &str = "join";
/// The call of any other command.
pub const COMMAND: &str = "command";

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
    /// Has the session itself said who it is? Then nothing else that names an agent overrules that.
    #[serde(default, skip_serializing_if = "is_not")]
    pub joined: bool,
    /// Has the session ended? Anybody may take the agent then, and until somebody does, it is the session's again once it
    /// is taken up again.
    #[serde(default, skip_serializing_if = "is_not")]
    pub ended: bool,
    /// Who had the agent before and has to be told that it has it no longer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<Lost>,
}

fn is_not(flag: &bool) -> bool {
    !flag
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
    /// Whose it is.
    pub fn named(&self) -> Named {
        Named { client: self.client.clone(), session: self.session.clone(), process: self.process }
    }

    /// Is this the session that holds it?
    pub fn is_of(&self, caller: &Caller) -> bool {
        self.named().is(&Named::from(caller))
    }

    /// Does its session still live? It called within `lease`, or something of it holds a lock; and it is not known to be
    /// gone. Of a command that is what its lock says.
    pub fn is_live(&self, room: &Dir, lease: Duration) -> bool {
        let called = || Stamp::parse(&self.last).is_some_and(|last| Stamp::now() < last.after(lease));
        !self.ended && !self.is_gone(room) && (called() || is_held(room, self))
    }

    /// Is it known to be gone, whatever it said last?
    pub fn is_gone(&self, room: &Dir) -> bool {
        match self.client == EXEC {
            true => !is_held(room, self),
            false => self.process.is_some_and(|process| process.lives() == Some(false)),
        }
    }

    /// Is it held by a `mailbag exec` that this process runs inside of? By what that has told it, since a sandbox hides the
    /// processes above; else by these, since some clients start their servers without their environment.
    fn is_around_us(&self, room: &Dir) -> bool {
        let told = || holds::is_there(room, &self.agent, &std::env::var(HOLD).unwrap_or_default());
        let above = || machine::ancestors(limits::ANCESTORS).into_iter().any(|(above, _)| self.process == Some(above));
        self.client == EXEC && (told() || above())
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
        let lock = dir.lock_within(layout::SESSIONS_LOCK, limits::SESSIONS_WAIT)?;
        Ok(Held { dir, _lock: lock })
    }

    // Nothing is synced: what a power cut takes is taken again by the next call.
    fn write(&self, lease: &Lease) -> Result<()> {
        let mut text = serde_json::to_vec_pretty(lease).expect("a lease is plain data");
        text.push(b'\n');
        self.dir.show(layout::session(&lease.agent), &text)
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

/// The lease on an agent, whether its session lives or not, but not of one that has said that it ends.
pub fn of(room: &Room, agent: &str) -> Result<Option<Lease>> {
    match room.dir.sub(layout::SESSIONS) {
        Err(e) if e.errno() == Some(libc::ENOENT) => Ok(None),
        dir => Ok(read(&dir?, agent).filter(|lease| !lease.ended)),
    }
}

/// Which sessions called when, and which agents have a process that waits or watches: for the roster.
pub struct Calls {
    room: Dir,
    sessions: Option<Dir>,
    /// Looked up once, and only if it is needed.
    held: OnceCell<BTreeSet<String>>,
}

impl Calls {
    /// Looks at the sessions of a room.
    pub fn of(room: &Dir) -> Calls {
        Calls { room: room.clone(), sessions: room.sub(layout::SESSIONS).ok(), held: OnceCell::new() }
    }

    /// The last call of the session that speaks for this agent.
    pub fn last(&self, agent: &str) -> Option<Stamp> {
        read(self.sessions.as_ref()?, agent).filter(|lease| !lease.ended)?.last()
    }

    /// The agents for which a process runs that waits, watches or serves tools.
    pub fn held(&self) -> &BTreeSet<String> {
        self.held.get_or_init(|| holds::held_agents(&self.room))
    }
}

/// The lease of the agent that a session speaks for, or spoke for until it ended: it may have been taken up again.
pub fn agent_of(room: &Room, caller: &Caller) -> Result<Option<Lease>> {
    let ours = all(room)?.into_iter().filter(|lease| lease.is_of(caller));
    Ok(ours.max_by(|a, b| (!a.ended, &a.last).cmp(&(!b.ended, &b.last))))
}

/// The lease of the session that ran in the same process before: a client that empties its context begins a new one.
pub fn before(room: &Room, caller: &Caller) -> Result<Option<Lease>> {
    let same = |lease: &Lease| !lease.ended && lease.process.is_some() && lease.process == caller.process;
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
    let now = Stamp::now().to_string();
    if let Some(host) = before.as_ref().filter(|lease| !lease.is_of(caller) && lease.is_around_us(&room.dir)) {
        // Whatever client the command is, the agent stays the command's.
        let lease = Lease { last: now, event: event.to_owned(), ..host.clone() };
        held.write(&lease)?;
        return Ok(lease);
    }
    let ours = before.as_ref().is_some_and(|lease| lease.is_of(caller));
    let other = before.as_ref().filter(|_| !ours);
    let successor = claim == Claim::Successor
        && other.is_some_and(|other| other.process.is_some() && other.process == caller.process);
    if let Some(other) = other.filter(|other| claim != Claim::Force && !successor && other.is_live(&room.dir, within)) {
        return Err(taken(other));
    }
    if !ours {
        for lease in all(room)?.iter().filter(|lease| lease.agent != agent && lease.is_of(caller)) {
            held.dir.remove(layout::session(&lease.agent))?;
        }
        holds::tidy(&room.dir, agent);
    }
    let kept = before.as_ref().filter(|_| ours || successor);
    let lost = match &before {
        Some(lease) if ours || successor => lease.lost.clone(),
        Some(lease) => losses::after(lease, &now),
        None => Vec::new(),
    };
    let named = Named::from(caller);
    let ours = before.as_ref().filter(|_| ours);
    let lease = Lease {
        agent: agent.to_owned(),
        client: ours.filter(|_| caller.session.is_none()).map_or(&caller.client, |lease| &lease.client).clone(),
        session: caller.session.clone().or_else(|| ours?.session.clone()),
        process: process(ours, caller, event),
        since: ours.map_or_else(|| now.clone(), |lease| lease.since.clone()),
        last: now,
        event: event.to_owned(),
        // The budget is the agent's, whoever speaks for it.
        told: before.as_ref().map(|lease| lease.told).unwrap_or_default(),
        joined: event == JOIN || kept.is_some_and(|lease| lease.joined),
        ended: false,
        lost: lost.into_iter().filter(|lost| !lost.by.is(&named)).collect(),
    };
    held.write(&lease)?;
    Ok(lease)
}

/// A command may run in a sandbox that hides the client's process behind its own; what the client itself runs knows it.
fn process(ours: Option<&Lease>, caller: &Caller, event: &str) -> Option<Process> {
    let known = ours.and_then(|lease| lease.process);
    match (caller.process, known) {
        (Some(new), Some(old)) if [JOIN, COMMAND].contains(&event) && new.namespace != old.namespace => Some(old),
        (new, old) => new.or(old),
    }
}

/// Counts lines that were told to an agent.
pub fn told(room: &Room, agent: &str, told: Told) -> Result<()> {
    let held = Held::open(room)?;
    match read(&held.dir, agent) {
        Some(lease) => held.write(&Lease { told, ..lease }),
        None => Ok(()),
    }
}

/// Notes that a session has ended: others may have its agent, and until then it gets it back when it is taken up again.
pub fn end(room: &Room, caller: &Caller) -> Result<()> {
    let held = Held::open(room)?;
    for lease in all(room)?.into_iter().filter(|lease| lease.is_of(caller)) {
        held.write(&Lease { ended: true, ..lease })?;
    }
    Ok(())
}

/// Gives up whatever a session holds that never comes back.
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
