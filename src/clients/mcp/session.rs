//! The session of the client: its room, and the agent that it is.

use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::commands::join::{self, JoinResult};
use crate::commands::name;
use crate::query::identity::{self, AgentIdentity};
use crate::room::sessions::{
    self, CallingSession, SessionHold, SessionIdentity, SessionLease, Takeover,
};
use crate::room::{self, Room};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The name of a client without a name.
const CLIENT: &str = "mcp";

/// The next step if the room was replaced.
const RESTART: &str =
    "restart the MCP server to use the room that is there now; nothing was read or sent";

/// The client's session.
pub(super) struct McpSession {
    asked: Option<PathBuf>,
    from: PathBuf,
    state: Mutex<McpSessionState>,
    holds: Arc<Mutex<Vec<AgentHold>>>,
    /// The room of the last call.
    room: Arc<Mutex<Option<Room>>>,
}

/// A hold that keeps the agent of a session of the client while the server runs.
struct AgentHold {
    caller: CallingSession,
    agent: String,
    hold: SessionHold,
}

struct McpSessionState {
    caller: CallingSession,
    /// The agent of the last call.
    agent: Option<String>,
    /// A name that the client does not know yet.
    news: Option<String>,
    /// The agent that the client registered as.
    chosen: Option<String>,
}

impl McpSession {
    pub(super) fn new(asked: Option<PathBuf>, from: PathBuf, caller: CallingSession) -> McpSession {
        McpSession {
            asked,
            from,
            state: Mutex::new(McpSessionState {
                caller,
                agent: None,
                news: None,
                chosen: None,
            }),
            holds: Arc::default(),
            room: Arc::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, McpSessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn holds(&self) -> MutexGuard<'_, Vec<AgentHold>> {
        self.holds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another session of the same client, which names its session with each call.
    pub(super) fn of(&self, caller: CallingSession) -> McpSession {
        McpSession {
            holds: self.holds.clone(),
            room: self.room.clone(),
            ..McpSession::new(self.asked.clone(), self.from.clone(), caller)
        }
    }

    /// Holds the agent of a call for its session. A failure is not an error of the call.
    fn hold(&self, room: &Room, agent: &str, caller: &CallingSession) {
        let mut holds = self.holds();
        if let Some(held) = holds
            .iter_mut()
            .find(|held| held.caller == *caller && held.agent == agent)
        {
            return held.hold.renew(room);
        }
        holds.retain(|held| held.caller != *caller);
        match SessionHold::take_lasting(room, agent, &SessionIdentity::from(caller)) {
            Ok(hold) => holds.push(AgentHold {
                caller: caller.clone(),
                agent: agent.to_owned(),
                hold,
            }),
            Err(e) => tracing::debug!("{e}"),
        }
    }

    /// The client has closed the connection: the holds stay as a sign that its sessions ended.
    pub(super) fn ended(&self) {
        for mut held in self.holds().drain(..) {
            held.hold.leave(Stamp::now());
        }
    }

    /// Restores the holds with removed files.
    pub(super) fn renew_holds(&self, room: &Room) {
        for held in self.holds().iter_mut() {
            held.hold.renew(room);
        }
    }

    /// The room, searched for each time: it may be created while the server runs. Fails if another room has the place of
    /// the room that the server used.
    pub(super) fn room(&self) -> Result<Room> {
        let found = room::find(self.asked.as_deref(), &self.from)?;
        let mut used = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        let room = Room::open(&found)?;
        match &*used {
            Some(used) if used.dir.path() == room.dir.path() => {
                used.check_place().map_err(|e| match e {
                    Error::Moved { what, .. } => Error::moved(what, RESTART),
                    e => e,
                })?;
            }
            _ => *used = Some(room.clone()),
        }
        Ok(room)
    }

    /// Takes the lease of the agent that the environment names, before the first call.
    pub(super) fn begin(&self) {
        let is_known = self.state().caller.is_known();
        if is_known
            && identity::named(None).is_some()
            && let Ok(room) = self.room()
            && let Err(e) = self.agent(&room, "start")
        {
            tracing::warn!("{e}");
        }
    }

    /// The agent of the client. The call renews its lease, and fails if another live session has the agent.
    pub(super) fn agent(&self, room: &Room, tool: &str) -> Result<AgentIdentity> {
        let mut state = self.state();
        let who = match state.who(room)? {
            Some(who) => who,
            None => state.given(room)?.ok_or_else(unbound)?,
        };
        let registry = room.registry()?;
        let agent = who.in_registry(&registry).map_err(|e| match e {
            Error::NotFound { what, fix } => {
                Error::not_found(what, format!("{fix}, or call register_agent with a role"))
            }
            e => e,
        })?;
        sessions::refuse_human(&agent.id)?;
        state.follow(sessions::of(room, &agent.id)?.as_ref());
        if !state.caller.is_known() {
            // A session that cannot be identified has no lease. The environment alone names the agent.
            return Ok(AgentIdentity {
                name: agent.id.to_string(),
                source: who.source,
            });
        }
        match sessions::bind(room, &agent.id, &state.caller, Takeover::Free, tool) {
            Err(e @ Error::Busy { .. }) => {
                // The server was installed for one session, and this is a second one.
                let is_installed = who.source.as_str() != identity::THE_SESSION;
                let given = if is_installed {
                    state.given(room)?
                } else {
                    None
                }
                .ok_or(e)?;
                self.hold(room, &given.name, &state.caller);
                state.agent = Some(given.name.clone());
                return Ok(given);
            }
            // A lease that cannot be written is not an error of the call.
            Err(e) => tracing::warn!("{e}"),
            Ok(_) => self.hold(room, &agent.id, &state.caller),
        }
        state.agent = Some(agent.id.to_string());
        Ok(AgentIdentity {
            name: agent.id.to_string(),
            source: who.source,
        })
    }

    /// The name that the client was given in this call.
    pub(super) fn take_news(&self) -> Option<String> {
        self.state().news.take()
    }

    /// The agent of the client, if it is known.
    pub(super) fn known(&self, room: &Room) -> Option<String> {
        let who = self.state().who(room).ok()?;
        Some(
            who?.in_registry(&room.registry().ok()?)
                .ok()?
                .id
                .to_string(),
        )
    }

    /// Registers the client as an agent that no other live session has.
    pub(super) fn register(
        &self,
        room: &Room,
        name: &str,
        role: Option<&str>,
        session: Option<String>,
    ) -> Result<JoinResult> {
        let mut state = self.state();
        let caller = match session {
            Some(id) if state.caller.session.as_ref() != Some(&id) => {
                let own = &state.caller;
                sessions::of_given_id(room, Some(own), &own.client, id)?
            }
            _ => state.caller.clone(),
        };
        let joined = join::join(room, name, role, &caller, Takeover::Free)?;
        self.hold(room, &joined.agent, &caller);
        state.caller = caller;
        (state.agent, state.chosen) = (Some(joined.agent.clone()), Some(joined.agent.clone()));
        Ok(joined)
    }
}

impl McpSessionState {
    fn who(&self, room: &Room) -> Result<Option<AgentIdentity>> {
        let ours = sessions::agent_of(room, &self.caller)?;
        // What the session itself has said counts before the name that the server was set up with. But one whose client
        // says nothing of its sessions may be one of several below one process.
        if let Some(who) = identity::named(None) {
            let said = ours
                .filter(|lease| lease.joined && lease.client != CLIENT)
                .map(|lease| lease.agent);
            let said = said.or_else(|| self.chosen.clone());
            return Ok(Some(said.map_or(who, AgentIdentity::of_session)));
        }
        let lease = match (ours, &self.agent) {
            // The environment may name another session than hooks and commands do.
            (None, None) => sessions::before(room, &self.caller)?
                .filter(|lease| lease.client == self.caller.client),
            (lease, _) => lease,
        };
        // What the client's hooks or the person say of the session counts. But a program that runs several agents, each
        // with a server like this one, looks like one session: they leave each other's agents alone.
        let said = lease
            .as_ref()
            .filter(|lease| lease.client != CLIENT)
            .map(|lease| lease.agent.clone());
        let name = said
            .or_else(|| self.agent.clone())
            .or_else(|| lease.map(|lease| lease.agent));
        Ok(name.map(AgentIdentity::of_session))
    }

    /// A name for a session without one, if its client gave it an id.
    fn given(&mut self, room: &Room) -> Result<Option<AgentIdentity>> {
        let lease = name::give(room, &self.caller, None)?;
        self.news = lease.as_ref().map(|lease| lease.agent.clone());
        Ok(lease.map(|lease| AgentIdentity::of_session(lease.agent)))
    }

    /// A client may go on under another id, as when its conversation is cleared, while its server stays: then the lease
    /// that was this server's has the new id, and the same process. Or it began under another id than the environment
    /// says, as when it takes up an older conversation: then its hooks know better.
    fn follow(&mut self, lease: Option<&SessionLease>) {
        let Some(lease) = lease else { return };
        let is_known = match &self.agent {
            Some(agent) => *agent == lease.agent,
            None => lease.client != CLIENT,
        };
        if is_known
            && lease.process.is_some()
            && lease.process == self.caller.process
            && lease.session.is_some()
        {
            self.caller.session = self.caller.session.take().and(lease.session.clone());
        }
    }
}

fn unbound() -> Error {
    Error::usage(
        "cannot identify you: no agent name is known for this session",
        r#"call register_agent {"name": "<your name>", "role": "<what you do>"} first"#,
    )
}
