//! Handles a hook event: renews the session's lease, announces new mail, delivers pending mail, judges edits, and asks the
//! human for permission.

mod edits;
mod names;
mod permission;
pub(super) mod reading;

use super::briefing::{self, BriefedAgent, BriefedSession, Briefing, SessionMoment};
use super::{background, session_watch};
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::base::sanitize;
use crate::commands::claim::{self, ClaimAction};
use crate::commands::follow::let_router_process;
use crate::commands::name;
use crate::commands::send::send;
use crate::query::claims;
use crate::query::identity::AgentIdentity;
use crate::room::Room;
use crate::room::sessions::{self, CallingSession, LossNotification, SessionLease, Takeover};
use names::BoundSession;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::mpsc;

/// An event of a client's session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookEvent {
    /// The client's name for it.
    pub name: String,
    /// How we handle it.
    pub kind: HookAction,
    /// The client's id of the session.
    pub session: Option<String>,
    /// The session's working directory.
    pub directory: Option<PathBuf>,
    /// The client's transcript of the session.
    pub transcript: Option<PathBuf>,
    /// Whether this session follows another one in the same process.
    pub follows: bool,
    /// Whether the session has just lost its context.
    pub forgot: bool,
    /// The files that a tool is about to change.
    pub files: Vec<PathBuf>,
    /// The tool that needs permission.
    pub tool: Option<PermissionRequest>,
}

/// A call of a tool that needs permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRequest {
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub input: Value,
    /// The kind of the sub-agent that calls it. `None` for the session itself.
    pub helper: Option<String>,
}

/// The effect on the tool of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolVerdict {
    /// The client decides, as without a hook.
    #[default]
    None,
    /// It runs.
    Allow,
    /// It does not run.
    Stop,
}

/// How an event is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookAction {
    /// Announce mail.
    Announce(SessionMoment),
    /// Renew the lease only: text would not reach the agent, or would stop it from stopping again.
    Renew,
    /// A tool is about to change files: judge it.
    Edit,
    /// The client asks for permission: ask the human.
    Permission,
    /// The session ends.
    End,
    /// Ignore it: an event of a sub-agent.
    Ignore,
}

/// The answer to an event.
#[derive(Debug, Default)]
pub struct HookAnswer {
    /// The session's agent.
    pub agent: Option<String>,
    /// The text for the agent, if any.
    pub text: Option<String>,
    /// Why the session gets no mail.
    pub problem: Option<String>,
    /// The effect on the tool.
    pub verdict: ToolVerdict,
    briefing: Option<Briefing>,
    /// The agent that the session has lost to another session.
    lost: Option<(String, CallingSession)>,
}

/// The agent and the role from the installation or the environment: the agent of a session that has not joined another one,
/// and the role of a session without a name.
#[derive(Debug, Clone, Copy, Default)]
pub struct ConfiguredIdentity<'a> {
    /// The agent.
    pub agent: Option<&'a AgentIdentity>,
    /// The role.
    pub role: Option<&'a str>,
}

/// Builds the answer to an event. After printing it, call [`HookAnswer::shown`] or [`HookAnswer::not_shown`].
pub fn handle(
    room: &Room,
    client: &str,
    event: &HookEvent,
    asked: ConfiguredIdentity<'_>,
) -> HookAnswer {
    answer(room, client, event, asked).unwrap_or_else(|e| failure(event, &e))
}

/// As [`handle`], within [`limits::GUARD_TIME`]: huge files in a room from elsewhere must not keep a client waiting. Only a
/// request for permission waits longer, for its decision.
pub fn handle_in_time(
    room: &Room,
    client: &'static str,
    event: &HookEvent,
    asked: ConfiguredIdentity<'_>,
) -> HookAnswer {
    if event.kind == HookAction::Permission {
        return handle(room, client, event, asked);
    }
    let (tell, told) = mpsc::channel();
    let (room, own_event) = (room.clone(), event.clone());
    let (agent, role) = (asked.agent.cloned(), asked.role.map(str::to_owned));
    std::thread::spawn(move || {
        let asked = ConfiguredIdentity {
            agent: agent.as_ref(),
            role: role.as_deref(),
        };
        // The receiver is gone if the time is over.
        let _ = tell.send(handle(&room, client, &own_event, asked));
    });
    told.recv_timeout(limits::GUARD_TIME).unwrap_or_else(|_| {
        let seconds = limits::GUARD_TIME.as_secs();
        let what = format!("the room took longer than {seconds} seconds to read");
        failure(event, &Error::timeout(what, "run `mailbag doctor`"))
    })
}

/// Builds the answer to an event when mail cannot be checked, or when an edit cannot be judged.
pub fn failure(event: &HookEvent, e: &Error) -> HookAnswer {
    if event.kind == HookAction::Edit {
        return edits::unjudged(e);
    }
    // Reported once, at the start of the session, not after every tool.
    let text = matches!(
        event.kind,
        HookAction::Announce(SessionMoment::Start | SessionMoment::Resume)
    )
    .then(|| {
        format!(
            "mailbag: cannot check mail: {}",
            sanitize::line(&e.to_string())
        )
    });
    HookAnswer {
        text,
        problem: Some(e.to_string()),
        ..HookAnswer::default()
    }
}

/// The answer of a hook during its test by `install`: the room and the agent were found. Changes nothing.
pub fn dry_run(room: &Room, named: Option<&AgentIdentity>) -> Result<String> {
    let registry = room.registry()?;
    let agent = named.map(|who| who.in_registry(&registry)).transpose()?;
    let whom = agent.map_or_else(
        || "the agent that the session joins".to_owned(),
        |agent| agent.id.to_string(),
    );
    Ok(format!(
        "mailbag: found the room {}; announces mail for {whom}",
        room.dir.path().display()
    ))
}

fn answer(
    room: &Room,
    client: &str,
    event: &HookEvent,
    asked: ConfiguredIdentity<'_>,
) -> Result<HookAnswer> {
    let named = asked.agent;
    let here = CallingSession::here(client, event.session.clone())?;
    let caller = CallingSession {
        directory: event.directory.clone().or(here.directory.clone()),
        ..here
    };
    match event.kind {
        HookAction::Ignore => Ok(HookAnswer::default()),
        HookAction::Edit => Ok(edits::judge(room, &caller, event, named)),
        HookAction::Permission => permission::ask(room, &caller, event, named),
        HookAction::Renew => {
            let lease = bind(room, &caller, event, named)?;
            if let Some(lease) = &lease {
                keep(room, client, lease);
            }
            Ok(HookAnswer {
                agent: lease.map(|lease| lease.agent),
                ..HookAnswer::default()
            })
        }
        HookAction::End => end(room, &caller).map(|()| HookAnswer::default()),
        HookAction::Announce(moment) => {
            let bound = names::bind(room, &caller, event, asked);
            if let Ok(Some(bound)) = bound {
                keep(room, client, &bound.lease);
                return announce(
                    room,
                    moment,
                    BriefedSession {
                        caller: &caller,
                        forgot: event.forgot,
                    },
                    bound,
                );
            }
            if let Some(loss) = sessions::loss(room, &caller)? {
                return Ok(report_loss(loss, caller));
            }
            bound?;
            match moment {
                SessionMoment::Start | SessionMoment::Resume => Ok(how_to_join(room, &caller)),
                _ => Ok(HookAnswer::default()),
            }
        }
    }
}

/// The session of an agent that owns claims is watched. A failure is not one of the hook.
fn keep(room: &Room, client: &str, lease: &SessionLease) {
    session_watch::ensure(room, client, lease).unwrap_or_else(|e| tracing::warn!("{e}"));
}

/// The session ends, and its agent releases its claims.
fn end(room: &Room, caller: &CallingSession) -> Result<()> {
    let agent = sessions::agent_of(room, caller)?
        .filter(|lease| !lease.ended)
        .map(|lease| lease.agent);
    sessions::end(room, caller)?;
    if let Some(agent) = &agent {
        name::left(room, agent, caller).unwrap_or_else(|e| tracing::warn!("{e}"));
    }
    match agent.filter(|agent| claims::may_own(&room.dir, agent)) {
        Some(agent) => release(room, agent),
        None => Ok(()),
    }
}

fn release(room: &Room, agent: String) -> Result<()> {
    let claims = claims::owners(room)?;
    if claims.of(&agent).next().is_none() {
        return Ok(());
    }
    let who = AgentIdentity::of_session(agent);
    let everything = ClaimAction::Release {
        subjects: Vec::new(),
        of: None,
    };
    send(
        room,
        &who,
        claim::draft(everything, Some("The session ended.".into())),
    )?;
    begin_pass(room)
}

/// Whether a session starts with this event.
pub(super) fn begins(event: &HookEvent) -> bool {
    event.follows
        || matches!(
            event.kind,
            HookAction::Announce(SessionMoment::Start | SessionMoment::Resume)
        )
}

/// Whether a session without an agent gets a name at this event.
pub(super) fn gives_name(event: &HookEvent) -> bool {
    matches!(
        event.kind,
        HookAction::Announce(SessionMoment::Start | SessionMoment::Resume | SessionMoment::Prompt)
    )
}

/// Binds the event's session to its agent, if it has one.
pub(super) fn bind(
    room: &Room,
    caller: &CallingSession,
    event: &HookEvent,
    named: Option<&AgentIdentity>,
) -> Result<Option<SessionLease>> {
    // A client process runs one session at a time. Its MCP server may have bound the agent earlier under a session id that
    // was never used, because a resumed session's id is known late.
    let claim = if begins(event) {
        Takeover::Successor
    } else {
        Takeover::Free
    };
    let agent = agent(room, caller, event, named)?;
    agent
        .map(|agent| sessions::bind(room, &agent, caller, claim, &event.name))
        .transpose()
}

/// The agent of the event's session, if it has one.
fn agent(
    room: &Room,
    caller: &CallingSession,
    event: &HookEvent,
    named: Option<&AgentIdentity>,
) -> Result<Option<String>> {
    let mut ours = sessions::agent_of(room, caller)?;
    if ours.is_none() && event.follows {
        ours = sessions::before(room, caller)?;
    }
    // `mailbag join` takes precedence over the name that the hooks were installed with.
    Ok(match (ours, named) {
        (Some(lease), _) if lease.joined => Some(lease.agent),
        (_, Some(who)) => Some(who.in_registry(&room.registry()?)?.id.to_string()),
        (lease, None) => lease.map(|lease| lease.agent),
    })
}

fn announce(
    room: &Room,
    moment: SessionMoment,
    hearer: BriefedSession<'_>,
    bound: BoundSession,
) -> Result<HookAnswer> {
    let BoundSession { lease, news } = bound;
    let_router_process(room, limits::READER_WAIT);
    let reader = BriefedAgent {
        agent: &lease.agent,
        session: Some(hearer),
    };
    let briefing = briefing::brief(room, reader, moment, lease.told)?;
    let told = briefing
        .as_ref()
        .map(|briefing| briefing.text.clone())
        .filter(|text| !text.is_empty());
    let hint = briefing
        .as_ref()
        .and_then(|briefing| reading::hint(room, hearer, briefing));
    let context = briefing
        .as_ref()
        .and_then(|briefing| briefing.context.clone());
    // A session that hears its name, and of no mail, also has to know how to read and answer mail.
    let news = match (news, &hint) {
        (Some(news), None) => Some(format!("{news}; {}", reading::commands(hearer.caller))),
        (news, _) => news,
    };
    let text: Vec<String> = [news, told, hint, context].into_iter().flatten().collect();
    let text = (!text.is_empty()).then(|| text.join("\n"));
    Ok(HookAnswer {
        agent: Some(lease.agent),
        text,
        briefing,
        ..HookAnswer::default()
    })
}

fn report_loss(loss: LossNotification, caller: CallingSession) -> HookAnswer {
    let join = join_command(&caller)
        .map(|join| format!("; run {join} to join as another agent"))
        .unwrap_or_default();
    let text = format!("mailbag: {loss}{join}");
    let text = Some(sanitize::line(&text).into_owned());
    HookAnswer {
        text,
        problem: Some(loss.to_string()),
        lost: Some((loss.agent, caller)),
        ..HookAnswer::default()
    }
}

/// The command that identifies a session.
fn join_command(caller: &CallingSession) -> Option<String> {
    // The commands of a client's session are recognised by their environment or their process.
    caller
        .session
        .as_ref()
        .map(|_| "`mailbag join NAME`".to_owned())
}

fn how_to_join(room: &Room, caller: &CallingSession) -> HookAnswer {
    let Some(join) = join_command(caller) else {
        return HookAnswer::default();
    };
    let text = format!(
        "mailbag: this session is unidentified in {}, so it gets no mail. Run {join}; `mailbag agent list` shows the names. Then {}.",
        sanitize::line(&room.dir.path().to_string_lossy()),
        reading::commands(caller),
    );
    HookAnswer {
        text: Some(text),
        ..HookAnswer::default()
    }
}

impl HookAnswer {
    /// Call after the answer was printed: charges the budget, and starts a process that delivers pending mail.
    pub fn shown(&self, room: &Room, client: &str, event: &HookEvent) -> Result<()> {
        // Every edit waits for its hook.
        if event.kind == HookAction::Edit && self.problem.is_none() {
            return Ok(());
        }
        if let (Some(briefing), Some(agent)) = (&self.briefing, &self.agent) {
            sessions::record_shown(room, agent, briefing.told)?;
        }
        if let Some((agent, caller)) = &self.lost {
            sessions::notified_of_loss(room, caller, agent)?;
        }
        sessions::note(
            room,
            client,
            &event.name,
            self.agent.as_deref(),
            self.problem.clone(),
        )?;
        deliver(room)
    }

    /// Call if the answer could not be printed: the next event announces the mail.
    pub fn not_shown(&self, room: &Room) {
        if let (Some(briefing), Some(agent)) = (&self.briefing, &self.agent) {
            briefing.undo(room, agent);
        }
    }
}

/// Starts a process that delivers pending mail, unless a router runs. Fails if that router makes no progress.
pub(super) fn deliver(room: &Room) -> Result<()> {
    match room.running_router()? {
        Some(_) => room.check_progress(),
        None if room.waiting_files(1)? > 0 => begin_pass(room),
        None => Ok(()),
    }
}

fn begin_pass(room: &Room) -> Result<()> {
    background::start(room, &["run", "--once", "--quiet"], None)
}
