//! The session of a running command: registers its agent, keeps it online, and sends its messages.

use super::environment::{self, CommandEnvironment};
use super::{ExecMessage, ExecRequest};
use crate::base::clock::Stamp;
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::limits;
use crate::commands::agent::{self, AgentFields};
use crate::commands::send::{self, MessageDraft, OutboxMessage};
use crate::commands::share::{self, share_opened};
use crate::commands::{files, permitted};
use crate::disk::machine;
use crate::disk::paths::PathQuestions;
use crate::message::address::quoted;
use crate::message::id;
use crate::message::status_line::{ReportMessage, StatusLine, line};
use crate::query::claims;
use crate::query::identity::{self, AgentIdentity};
use crate::room::Room;
use crate::room::registry::{Agent, AgentStatus, Registry};
use crate::room::sessions::{
    self, CallingSession, Process, SessionHold, SessionIdentity, Takeover,
};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The default category of shared files.
const CATEGORY: &str = "artifacts";

/// Longest interval between lease renewals, so that the agent counts as online.
const RENEWED: Duration = Duration::from_secs(limits::ONLINE.as_secs() / 2);

/// The session of a running command.
pub(super) struct ExecSession {
    /// Its room.
    pub(super) room: Room,
    /// Its identity and directories.
    pub(super) place: CommandEnvironment,
    who: AgentIdentity,
    /// Agent that gets its `blocked` messages.
    supervisor: Option<String>,
    /// This process as the holder of the lease.
    caller: CallingSession,
    every: Duration,
    /// The lock that shows other processes that this one runs.
    hold: Mutex<SessionHold>,
}

impl ExecSession {
    /// Registers the agent if needed, takes its lease, and marks it online. Fails if another live session has the agent.
    pub(super) fn begin(room: &Room, request: &ExecRequest) -> Result<ExecSession> {
        let (registry, settings) = (room.registry()?, room.settings()?);
        let known = registry.find(&request.id);
        if let Some(agent) = known {
            refuse_unfit(agent, request)?;
        } else {
            let fields = AgentFields {
                role: request.role.clone(),
                status: Some(AgentStatus::Online),
                ..AgentFields::default()
            };
            agent::add(room, std::slice::from_ref(&request.id), &fields)?;
        }
        let id = known.map_or(request.id.clone(), |agent| agent.id.to_string());
        let who = AgentIdentity::verified(id.clone(), "--id");
        send::sender_id(&room.registry()?, &settings, &who)?;
        let caller = caller();
        let lease = sessions::bind(room, &id, &caller, Takeover::Free, "exec")?;
        let hold = SessionHold::take_lasting(room, &id, &SessionIdentity::from(&caller))?;
        if !lease.is_of(&caller) {
            let what = format!(
                "cannot run as {id}: the surrounding session {} has that agent",
                lease.holder()
            );
            return Err(Error::busy(what, "use another agent name"));
        }
        agent::mark(room, &id, AgentStatus::Online)?;
        let path = room.dir.path();
        let context = files::context(room, &settings);
        let place = CommandEnvironment {
            room: path.real_path().doing("find", path)?,
            role: known.map_or(request.role.clone(), |agent| agent.role.clone()),
            session: environment::session(),
            hold: hold.name().to_owned(),
            context: std::path::absolute(&context).doing("find", &context)?,
            agent: id,
        };
        let supervisor = known.and_then(|agent| agent.supervisor.clone());
        let every = RENEWED.min(settings.session_lease / 3);
        Ok(ExecSession {
            room: room.clone(),
            place,
            who,
            supervisor,
            caller,
            every,
            hold: Mutex::new(hold),
        })
    }

    /// The agent's id.
    pub(super) fn id(&self) -> &str {
        &self.place.agent
    }

    /// Marks the agent offline, unless another session has taken it over, and releases the lease. The lease of an agent that
    /// owns claims stays as an ended one, so that the claims lapse soon.
    pub(super) fn end(&self) -> Result<()> {
        let held =
            sessions::of(&self.room, self.id())?.is_none_or(|lease| lease.is_of(&self.caller));
        let marked = if held {
            agent::mark(&self.room, self.id(), AgentStatus::Offline)
        } else {
            Ok(())
        };
        if !held || !claims::may_own(&self.room.dir, self.id()) {
            return sessions::release(&self.room, &self.caller).and(marked);
        }
        // The last call shows that the claims are of this session.
        let called = sessions::bind(&self.room, self.id(), &self.caller, Takeover::Free, "end");
        self.hold
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .leave(Stamp::now());
        called
            .and_then(|_| sessions::end(&self.room, &self.caller))
            .and(marked)
    }

    /// Renews the lease when due, and returns the next due time. After a takeover it warns once; the command continues as the
    /// same agent.
    pub(super) fn renew(&self, due: Instant, report: &dyn Fn(ExecMessage)) -> Instant {
        if Instant::now() < due {
            return due;
        }
        self.hold
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .renew(&self.room);
        if let Err(e) = sessions::bind(&self.room, self.id(), &self.caller, Takeover::Free, "exec")
        {
            tracing::debug!("{e}");
            if let Ok(Some(loss)) = sessions::loss(&self.room, &self.caller) {
                report(ExecMessage::Warning(loss.to_string()));
                warn_on_error(
                    sessions::notified_of_loss(&self.room, &self.caller, &loss.agent),
                    report,
                );
            }
        }
        Instant::now() + self.every
    }

    /// Sends a status message. The text becomes the subject, where names are not mentions. The metadata has a text that is too
    /// long for the subject.
    pub(super) fn say(
        &self,
        kind: &str,
        text: &str,
        metadata: Map<String, Value>,
    ) -> Result<OutboxMessage> {
        self.send(MessageDraft {
            kind: Some(kind.into()),
            ..self.draft(text, metadata)
        })
    }

    /// Sends a `blocked` message, also to the supervisor, who can refer to it in an answer.
    pub(super) fn blocked(
        &self,
        text: &str,
        metadata: Map<String, Value>,
        priority: &str,
    ) -> Result<OutboxMessage> {
        let draft = MessageDraft {
            kind: Some("blocked".into()),
            ..self.draft(text, metadata)
        };
        let to: Vec<String> = self
            .supervisor
            .iter()
            .filter(|agent| **agent != self.place.agent)
            .cloned()
            .collect();
        let addressed = MessageDraft {
            to,
            priority: Some(priority.into()),
            ..draft.clone()
        };
        if addressed.to.is_empty() || send::check(&self.room, &self.who, addressed.clone()).is_err()
        {
            self.send(draft)
        } else {
            self.send(addressed)
        }
    }

    /// Processes a line of the command. Returns a warning, if any.
    pub(super) fn process(&self, said: StatusLine) -> Result<Option<String>> {
        match said {
            StatusLine::Dependency {
                waiting_for,
                reason,
                ..
            } => self.depend(&waiting_for, reason.as_deref()),
            StatusLine::Artifact {
                path,
                description,
                category,
            } => {
                let category = category.unwrap_or_else(|| CATEGORY.into());
                self.offer(Path::new(&path), category, description)
                    .map(|()| None)
            }
            StatusLine::Status { .. } => self.report("status", said.report()).map(|_| None),
            StatusLine::Complete { .. } => self.report("completed", said.report()).map(|_| None),
        }
    }

    /// Sends the message that a status line makes.
    fn report(&self, kind: &str, report: ReportMessage) -> Result<OutboxMessage> {
        self.say(
            kind,
            report.subject.as_deref().unwrap_or_default(),
            report.metadata,
        )
    }

    /// Sends the message that this agent waits for others.
    pub(super) fn waits_for(
        &self,
        others: &[String],
        reason: Option<&str>,
    ) -> Result<OutboxMessage> {
        let (waiting_for, reason) = (others.to_vec(), reason.map(str::to_owned));
        let report = StatusLine::Dependency {
            waiting_for,
            reason,
            rest: Map::new(),
        }
        .report();
        self.blocked(
            report.subject.as_deref().unwrap_or_default(),
            report.metadata,
            "low",
        )
    }

    fn depend(&self, names: &[String], reason: Option<&str>) -> Result<Option<String>> {
        let registry = self.room.registry()?;
        let ids: Vec<String> = names
            .iter()
            .map(|name| {
                registry
                    .find(name)
                    .map_or(name.clone(), |agent| agent.id.to_string())
            })
            .collect();
        self.waits_for(&ids, reason)?;
        let unknown = names.iter().find(|name| registry.find(name).is_none());
        Ok(unknown.map(|name| {
            let me = self.id();
            format!(
                "{me} waits for the unregistered agent {}; {}",
                quoted(name),
                registry.did_you_mean(name)
            )
        }))
    }

    /// Announces a file, after copying it into the context if needed.
    fn offer(&self, file: &Path, category: String, note: Option<String>) -> Result<()> {
        let permitted = permitted::open(&self.room, &self.room.settings()?, file)?;
        let Some(below) = permitted.in_context else {
            let request = share::ShareRequest {
                file: file.to_path_buf(),
                category,
                note,
                ..share::ShareRequest::default()
            };
            return share_opened(
                &self.room,
                &self.who,
                request,
                permitted.name,
                permitted.file,
            )
            .map(drop);
        };
        let subject = below.to_string_lossy().replace('/', ": ");
        self.send(MessageDraft {
            to: vec!["all".into()],
            kind: Some("announcement".into()),
            body: note,
            attachments: vec![permitted.path],
            permitted_only: true,
            ..self.draft(&subject, Map::new())
        })
        .map(drop)
    }

    fn draft(&self, text: &str, mut metadata: Map<String, Value>) -> MessageDraft {
        metadata.insert("session_id".into(), json!(self.place.session));
        MessageDraft {
            subject: Some(line(text)),
            raw_metadata: metadata,
            ..MessageDraft::default()
        }
    }

    fn send(&self, draft: MessageDraft) -> Result<OutboxMessage> {
        send::send(&self.room, &self.who, draft)
    }
}

/// This process. If the system cannot tell it from a later process with the same pid, it gets a unique id.
fn caller() -> CallingSession {
    let process = Process::own();
    CallingSession {
        client: sessions::EXEC.into(),
        session: process.is_none().then(id::mint),
        process,
        directory: machine::here().ok(),
    }
}

/// The ids of the agents to wait for.
pub(super) fn others(registry: &Registry, names: &[String]) -> Result<Vec<String>> {
    let mut ids: Vec<String> = Vec::new();
    for name in names {
        let agent = identity::registered(registry, name, Some("--after"))?;
        if agent.is_retired() {
            return Err(Error::usage(
                format!("cannot wait for {}: the agent is retired", agent.id),
                "remove it from --after",
            ));
        }
        if !ids.iter().any(|id| **id == *agent.id) {
            ids.push(agent.id.to_string());
        }
    }
    Ok(ids)
}

fn refuse_unfit(agent: &Agent, request: &ExecRequest) -> Result<()> {
    let id = &agent.id;
    sessions::refuse_human(id)?;
    match (&request.role, &agent.role) {
        (Some(asked), Some(has)) if asked != has => Err(Error::usage(
            format!(
                "{id} is registered with the role {has}, not {}",
                quoted(asked)
            ),
            format!("omit --role, or change the role with `mailbag agent set {id} --role {asked}`"),
        )),
        (Some(asked), None) => Err(Error::usage(
            format!("{id} is registered without a role"),
            format!("omit --role, or set the role with `mailbag agent set {id} --role {asked}`"),
        )),
        _ => Ok(()),
    }
}

/// Reports a failure that must not stop the command.
pub(super) fn warn_on_error<T>(done: Result<T>, report: &dyn Fn(ExecMessage)) {
    if let Err(e) = done {
        report(ExecMessage::Warning(e.to_string()));
    }
}
