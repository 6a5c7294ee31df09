//! Binds a client's session to an agent.

use super::agent::{self, AgentFields};
use super::send::{self, MessageDraft};
use super::{name, rename};
use crate::base::error::{Error, Result};
use crate::message::id;
use crate::query::identity::{self, AgentIdentity};
use crate::room::actor::require_person;
use crate::room::sessions::{self, CallingSession, SessionLease, Takeover};
use crate::room::{Room, inbox};
use serde::Serialize;

/// The result of `join`.
#[derive(Debug, Clone, Serialize)]
pub struct JoinResult {
    /// The agent that the session speaks for now.
    pub agent: String,
    /// Whether this call registered the agent.
    pub registered: bool,
    /// The name that the session had before, if mailbag gave it. It is an alias of the agent now, if others can know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_name: Option<String>,
    /// The client.
    pub client: String,
    /// The client's session id, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Number of unread messages.
    pub unread: usize,
}

/// Binds a session to an agent. With a role, registers an unknown agent. Without a role, an unknown name is an error,
/// because it may be misspelled.
pub fn join(
    room: &Room,
    name: &str,
    role: Option<&str>,
    caller: &CallingSession,
    claim: Takeover,
) -> Result<JoinResult> {
    let registry = room.registry()?;
    let given = name::given(room, &registry, caller)?.cloned();
    let role = match &given {
        Some(given) if registry.find(name).is_none() => role.or(given.role.as_deref()),
        _ => role,
    };
    let (agent, registered) = match (identity::registered(&registry, name, None), role) {
        (Ok(agent), role) => {
            sessions::refuse_human(&agent.id)?;
            refuse_other_role(&agent.id, agent.role.as_deref(), role)?;
            (agent.id.to_string(), false)
        }
        (Err(_), Some(role)) if id::is_name(name) => {
            agent::add(
                room,
                &[name.to_owned()],
                &AgentFields {
                    role: Some(role.to_owned()),
                    ..AgentFields::default()
                },
            )?;
            (name.to_owned(), true)
        }
        (Err(Error::NotFound { what, .. }), None) if id::is_name(name) => {
            let near = registry.did_you_mean(name);
            return Err(Error::not_found(
                what,
                format!("{near}; pass a role to register a new agent"),
            ));
        }
        (Err(e), _) => return Err(e),
    };
    let was = given
        .map(|given| given.id.to_string())
        .filter(|given| *given != agent);
    if let Some(was) = &was {
        rename::check(room, was)?;
    }
    let loser = if claim == Takeover::Force {
        live_holder(room, &agent, caller)?
    } else {
        None
    };
    if loser.is_some() {
        require_person("take over the name of a live session")?;
    }
    let lease = sessions::bind(room, &agent, caller, claim, sessions::JOIN)?;
    if let Some(loser) = loser {
        notify_loser(room, &loser, &lease)
            .unwrap_or_else(|e| tracing::warn!("cannot announce the takeover: {e}"));
    }
    if let Some(was) = &was {
        rename::rename(room, was, &agent)?;
    }
    name::keep(room, &agent, caller)?;
    // Includes mail that the router has not moved yet.
    let names = was
        .iter()
        .chain([&agent])
        .map(|name| Ok(inbox::unread_with_taken(&room.dir, name)?.len()));
    let unread = names.sum::<Result<usize>>()?;
    let SessionLease {
        client, session, ..
    } = lease;
    Ok(JoinResult {
        agent,
        registered,
        previous_name: was,
        client,
        session,
        unread,
    })
}

/// Gives a session the next free name, or returns its present name.
pub fn join_any(room: &Room, role: Option<&str>, caller: &CallingSession) -> Result<JoinResult> {
    let lease = name::give(room, caller, role)?.ok_or_else(|| {
        Error::usage(
            "this session gets no name of its own",
            "name an agent, as in `mailbag join NAME`; `mailbag agent list` shows the names",
        )
    })?;
    let unread = inbox::unread_with_taken(&room.dir, &lease.agent)?.len();
    let SessionLease {
        agent,
        client,
        session,
        ..
    } = lease;
    Ok(JoinResult {
        agent,
        registered: false,
        previous_name: None,
        client,
        session,
        unread,
    })
}

/// Another live session that has the agent.
fn live_holder(room: &Room, agent: &str, caller: &CallingSession) -> Result<Option<SessionLease>> {
    let within = room.settings()?.session_lease;
    Ok(sessions::of(room, agent)?
        .filter(|lease| !lease.is_of(caller) && lease.is_live(&room.dir, within)))
}

/// Writes to the agent that its session changed. Hooks and commands notify the former session, but a session that only reads
/// files sees only its inbox.
fn notify_loser(room: &Room, loser: &SessionLease, winner: &SessionLease) -> Result<()> {
    let agent = &winner.agent;
    let body = format!(
        "{} is no longer {agent}: {} took the name over. The former session needs another name.",
        loser.holder(),
        winner.holder()
    );
    let subject = Some(format!("another session is {agent} now"));
    // A hook does not announce it to the new session.
    let priority = Some("low".to_owned());
    let draft = MessageDraft {
        to: vec![agent.clone()],
        subject,
        body: Some(body),
        priority,
        ..MessageDraft::default()
    };
    send::send(room, &AgentIdentity::person(), draft).map(drop)
}

fn refuse_other_role(agent: &str, has: Option<&str>, wanted: Option<&str>) -> Result<()> {
    match wanted.filter(|wanted| has != Some(wanted)) {
        None => Ok(()),
        Some(wanted) => Err(Error::usage(
            format!(
                "{agent} is already registered {}",
                has.map_or("without a role".into(), |r| format!("with the role {r}"))
            ),
            format!("omit the role, or choose another name for the {wanted}"),
        )),
    }
}
