//! Agents that Codex cannot wake: their session is not loaded, as far as the room knows.

use crate::base::error::Result;
use crate::room::Room;
use crate::room::registry::{Agent, AgentWakeMethod, Registry, WakeSettings};
use crate::room::sessions::{self, CODEX};
use crate::room::settings::Settings;
use serde::Serialize;

/// An agent that does not get its mail through Codex now.
#[derive(Debug, Serialize)]
pub struct UnloadedAgent {
    /// The agent.
    pub agent: String,
    /// The state of its session.
    pub state: UnloadedSessionState,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The last call of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// The program that is started instead.
    #[serde(rename = "else", skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<Vec<String>>,
    /// The repair by the person.
    pub fix: String,
}

/// The state of a session that does not seem to be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum UnloadedSessionState {
    /// No session of Codex has spoken for the agent.
    Unknown,
    /// It has ended.
    Ended,
    /// It did not call for long. If it is still open in a terminal or in the daemon of Codex, it is woken.
    Silent,
}

/// All agents that are woken by Codex, and have no session that seems to be loaded.
pub(super) fn unloaded(
    room: &Room,
    registry: &Registry,
    settings: &Settings,
) -> Result<Vec<UnloadedAgent>> {
    let all = registry.agents().iter().filter(|agent| !agent.is_retired());
    let all = all.filter_map(|agent| Some((agent, agent.wake.as_ref()?)));
    let woken: Vec<_> = all
        .filter(|(_, wake)| wake.by == AgentWakeMethod::Codex)
        .collect();
    if woken.is_empty() {
        return Ok(Vec::new());
    }
    let leases = sessions::all(room)?;
    let one = |(agent, wake): (&Agent, &WakeSettings)| {
        let id = &*agent.id;
        let lease = leases
            .iter()
            .find(|lease| lease.agent == id && lease.client == CODEX && lease.session.is_some());
        let (state, session, last) = match lease {
            None => (UnloadedSessionState::Unknown, None, None),
            Some(lease) if lease.is_live(&room.dir, settings.session_lease) => return None,
            Some(lease) => {
                let state = if lease.ended || lease.is_gone(&room.dir) {
                    UnloadedSessionState::Ended
                } else {
                    UnloadedSessionState::Silent
                };
                (state, lease.session.clone(), Some(lease.last.clone()))
            }
        };
        let fix = match &session {
            Some(session) => format!("codex resume {session}"),
            None => format!("run `mailbag join {id}` in a session of Codex"),
        };
        Some(UnloadedAgent {
            agent: id.to_owned(),
            state,
            session,
            last,
            otherwise: wake.otherwise.clone(),
            fix,
        })
    };
    Ok(woken.into_iter().filter_map(one).collect())
}
