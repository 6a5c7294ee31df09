//! Names for sessions without one.

use super::{
    ConfiguredIdentity, HookAction, HookEvent, begins, bind as bind_known, gives_name, join_command,
};
use crate::base::error::{Error, Result};
use crate::base::sanitize;
use crate::clients::briefing::SessionMoment;
use crate::commands::name;
use crate::query::identity::AgentIdentity;
use crate::room::Room;
use crate::room::sessions::{self, CallingSession, SessionLease, first_time};

/// A session with its agent.
pub(super) struct BoundSession {
    /// Its lease.
    pub(super) lease: SessionLease,
    /// The line with the name of the session.
    pub(super) news: Option<String>,
}

/// Binds the event's session to its agent. A session without one gets a free name when it begins, and at a prompt. So does a
/// session if another session holds its agent by the installation.
pub(super) fn bind(
    room: &Room,
    caller: &CallingSession,
    event: &HookEvent,
    asked: ConfiguredIdentity<'_>,
) -> Result<Option<BoundSession>> {
    let before = if event.follows {
        sessions::before(room, caller)?
    } else {
        None
    };
    let bound = bind_known(room, caller, event, asked.agent);
    let holder = match &bound {
        Ok(Some(lease)) => {
            if let Some(before) = before.filter(|before| before.agent == lease.agent) {
                name::pass_on(room, &before, caller)?;
            }
            return known(room, caller, event, lease.clone()).map(Some);
        }
        Ok(None) => None,
        Err(Error::Busy { .. }) => holder(room, caller, asked.agent),
        Err(_) => None,
    };
    let is_without = bound.is_ok() || holder.is_some();
    // A session that lost its agent to another one has to know that first.
    if !gives_name(event) || !is_without || sessions::loss(room, caller)?.is_some() {
        return Ok(bound?.map(|lease| BoundSession { lease, news: None }));
    }
    let Some(lease) = name::give(room, caller, asked.role)? else {
        return Ok(bound?.map(|lease| BoundSession { lease, news: None }));
    };
    // The next events find it as the agent that the session joined.
    let lease = sessions::bind(
        room,
        &lease.agent,
        caller,
        sessions::Takeover::Free,
        &event.name,
    )?;
    first_time(room, &caller.key(), &lease.agent);
    let news = line(room, caller, &lease.agent, holder.as_ref());
    Ok(Some(BoundSession {
        lease,
        news: Some(news),
    }))
}

/// The session has its agent from an earlier event. If the agent was registered for it, a session without its earlier
/// context is notified at its start, and a resumed one only if no hook has notified it. A session that joined the agent
/// itself is notified after it lost its context.
fn known(
    room: &Room,
    caller: &CallingSession,
    event: &HookEvent,
    lease: SessionLease,
) -> Result<BoundSession> {
    if !lease.joined || !begins(event) {
        return Ok(BoundSession { lease, news: None });
    }
    let is_given = name::returned(room, &lease.agent, caller)?;
    let is_new = is_given && first_time(room, &caller.key(), &lease.agent) == Some(true);
    let is_start = event.kind == HookAction::Announce(SessionMoment::Start);
    let is_told = is_new || is_start && (is_given || event.forgot);
    let news = is_told.then(|| line(room, caller, &lease.agent, None));
    Ok(BoundSession { lease, news })
}

/// The session that holds the agent that this session would have by its installation.
fn holder(
    room: &Room,
    caller: &CallingSession,
    named: Option<&AgentIdentity>,
) -> Option<SessionLease> {
    let agent = named?
        .in_registry(&room.registry().ok()?)
        .ok()?
        .id
        .to_string();
    sessions::of(room, &agent)
        .ok()
        .flatten()
        .filter(|lease| !lease.is_of(caller))
}

fn line(
    room: &Room,
    caller: &CallingSession,
    agent: &str,
    holder: Option<&SessionLease>,
) -> String {
    let path = room.dir.path().to_string_lossy();
    // A person who gives this session the name of the other one has to know its id.
    let join = match &caller.session {
        Some(id) if holder.is_some() => Some(format!(
            "`mailbag join NAME --session {id} --client {}`",
            caller.client
        )),
        _ => join_command(caller),
    };
    let rename = join
        .map(|join| format!("; {join} changes it"))
        .unwrap_or_default();
    let why = holder
        .map(|lease| format!("{} is held by {}, so ", lease.agent, lease.holder()))
        .unwrap_or_default();
    sanitize::line(&format!(
        "mailbag: {why}this session is {agent} in {path}{rename}"
    ))
    .into_owned()
}
