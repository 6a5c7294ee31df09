//! The agent that a command is while it runs: registered, online, and heard in the log.

use super::environment::{self, Place};
use super::lines::Said;
use super::{Told, Wish};
use crate::base::error::{Doing, Error, Result};
use crate::base::limits;
use crate::commands::agent::{self, Fields};
use crate::commands::send::{self, Draft, Sent};
use crate::commands::share::{self, share_opened};
use crate::commands::{files, permitted};
use crate::message::address::quoted;
use crate::message::id;
use crate::query::identity::{self, Who};
use crate::room::Room;
use crate::room::registry::{Agent, Registry, Status};
use crate::room::sessions::{self, Caller, Claim, Hold, Named, Process};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// The category of a file whose line names none.
const CATEGORY: &str = "artifacts";

/// How often at least a session says that it lives: an agent that was seen so often is online.
const RENEWED: Duration = Duration::from_secs(limits::ONLINE.as_secs() / 2);

/// An agent that a command is.
pub(super) struct Session {
    /// Its room.
    pub(super) room: Room,
    /// Who and where it is.
    pub(super) place: Place,
    who: Who,
    /// Who is told when it is stuck.
    supervisor: Option<String>,
    /// This process, as who it speaks for the agent.
    caller: Caller,
    every: Duration,
    /// What tells others, wherever they run, that this lives.
    _hold: Hold,
}

impl Session {
    /// Registers the agent if it isn't, takes it for this process, and says that it is there. Another session of it that
    /// lives is left alone.
    pub(super) fn begin(room: &Room, wish: &Wish) -> Result<Session> {
        let (registry, settings) = (room.registry()?, room.settings()?);
        let known = registry.find(&wish.id);
        if let Some(agent) = known {
            refuse_unfit(agent, wish)?;
        } else {
            let fields = Fields { role: wish.role.clone(), status: Some(Status::Online), ..Fields::default() };
            agent::add(room, std::slice::from_ref(&wish.id), &fields)?;
        }
        let id = known.map_or(wish.id.clone(), |agent| agent.id.to_string());
        let who = Who { name: id.clone(), source: "--id" };
        send::sender_id(&room.registry()?, &settings, &who)?;
        let caller = caller();
        let lease = sessions::bind(room, &id, &caller, Claim::Free, "exec")?;
        let hold = Hold::take(room, &id, &Named::from(&caller))?;
        if !lease.is_of(&caller) {
            let what = format!("{id} is held by {}, inside of which this runs", lease.holder());
            return Err(Error::Busy { what, cure: "take another name".into() });
        }
        agent::mark(room, &id, Status::Online)?;
        let path = room.dir.path();
        let context = files::context(room, &settings);
        let place = Place {
            room: path.canonicalize().doing("find", path)?,
            role: known.map_or(wish.role.clone(), |agent| agent.role.clone()),
            session: environment::session(),
            hold: hold.name().to_owned(),
            context: std::path::absolute(&context).doing("find", &context)?,
            agent: id,
        };
        let supervisor = known.and_then(|agent| agent.supervisor.clone());
        let every = RENEWED.min(settings.session_lease / 3);
        Ok(Session { room: room.clone(), place, who, supervisor, caller, every, _hold: hold })
    }

    /// Its id.
    pub(super) fn id(&self) -> &str {
        &self.place.agent
    }

    /// Says that it is gone. If it was taken over meanwhile, whoever took it is there.
    pub(super) fn end(&self) -> Result<()> {
        let held = sessions::of(&self.room, self.id())?.is_none_or(|lease| lease.is_of(&self.caller));
        let marked = if held { agent::mark(&self.room, self.id(), Status::Offline) } else { Ok(()) };
        sessions::release(&self.room, &self.caller).and(marked)
    }

    /// Says that it still lives, if it is time to, and gives when that is next. Who was taken over is told, once, and the
    /// command goes on as what it was started.
    pub(super) fn renew(&self, due: Instant, hear: &dyn Fn(Told)) -> Instant {
        if Instant::now() < due {
            return due;
        }
        if let Err(e) = sessions::bind(&self.room, self.id(), &self.caller, Claim::Free, "exec") {
            tracing::debug!("{e}");
            if let Ok(Some(loss)) = sessions::loss(&self.room, &self.caller) {
                hear(Told::Warning(loss.to_string()));
                bear(sessions::told_of_loss(&self.room, &self.caller, &loss.agent), hear);
            }
        }
        Instant::now() + self.every
    }

    /// Says in the log what it does. The text goes into the subject, where no name in it is a mention; one that is too
    /// long for that stands whole in the metadata.
    pub(super) fn say(&self, kind: &str, text: &str, metadata: Map<String, Value>) -> Result<Sent> {
        self.send(Draft { kind: Some(kind.into()), ..self.draft(text, metadata) })
    }

    /// Says that it is stuck, also to its supervisor: whoever has a say in it must be able to refer to it.
    pub(super) fn stuck(&self, text: &str, metadata: Map<String, Value>, priority: &str) -> Result<Sent> {
        let draft = Draft { kind: Some("blocked".into()), ..self.draft(text, metadata) };
        let to: Vec<String> = self.supervisor.iter().filter(|agent| **agent != self.place.agent).cloned().collect();
        let told = Draft { to, priority: Some(priority.into()), ..draft.clone() };
        match told.to.is_empty() || send::check(&self.room, &self.who, told.clone()).is_err() {
            true => self.send(draft),
            false => self.send(told),
        }
    }

    /// Does with a line of the command's what it says, and gives a word of warning where there is one.
    pub(super) fn heed(&self, said: Said) -> Result<Option<String>> {
        match said {
            Said::Status { message, progress, rest: mut metadata } => {
                metadata.extend(progress.map(|progress| ("progress".to_owned(), Value::Number(progress))));
                if line(&message) != message {
                    metadata.insert("message".into(), json!(message));
                }
                self.say("status", &message, metadata).map(|_| None)
            }
            Said::Complete { result, outputs } => {
                let text = result.as_ref().and_then(Value::as_str).unwrap_or("completed").to_owned();
                let result = result.map(|result| ("result".to_owned(), result));
                let outputs = (!outputs.is_empty()).then(|| ("outputs".to_owned(), json!(outputs)));
                self.say("completed", &text, result.into_iter().chain(outputs).collect()).map(|_| None)
            }
            Said::Dependency { waiting_for, reason } => self.depend(&waiting_for, reason.as_deref()),
            Said::Artifact { path, description, category } => {
                let category = category.unwrap_or_else(|| CATEGORY.into());
                self.offer(Path::new(&path), category, description).map(|()| None)
            }
        }
    }

    /// Says that it waits for others.
    pub(super) fn waits_for(&self, others: &[String], reason: Option<&str>) -> Result<Sent> {
        let because = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        let mut metadata = Map::from_iter([("waiting_for".to_owned(), json!(others))]);
        metadata.extend(reason.map(|reason| ("reason".to_owned(), json!(reason))));
        self.stuck(&format!("waits for {}{because}", others.join(", ")), metadata, "low")
    }

    fn depend(&self, names: &[String], reason: Option<&str>) -> Result<Option<String>> {
        let registry = self.room.registry()?;
        let id = |name: &String| registry.find(name).map_or(name.clone(), |agent| agent.id.to_string());
        let ids: Vec<String> = names.iter().map(id).collect();
        self.waits_for(&ids, reason)?;
        let unknown = names.iter().find(|name| registry.find(name).is_none());
        Ok(unknown.map(|name| {
            let me = self.id();
            format!("{me} waits for {}, and no agent is called that; {}", quoted(name), registry.did_you_mean(name))
        }))
    }

    /// Announces a file, which is copied into the context if it isn't there.
    fn offer(&self, file: &Path, category: String, note: Option<String>) -> Result<()> {
        let permitted = permitted::open(&self.room, &self.room.settings()?, file)?;
        let Some(below) = permitted.in_context else {
            let request = share::Request { file: file.to_path_buf(), category, note, ..share::Request::default() };
            return share_opened(&self.room, &self.who, request, (permitted.name, permitted.file)).map(drop);
        };
        let subject = below.to_string_lossy().replace('/', ": ");
        self.send(Draft {
            to: vec!["all".into()],
            kind: Some("announcement".into()),
            body: note,
            attachments: vec![permitted.path],
            permitted_only: true,
            ..self.draft(&subject, Map::new())
        })
        .map(drop)
    }

    fn draft(&self, text: &str, mut metadata: Map<String, Value>) -> Draft {
        metadata.insert("session_id".into(), json!(self.place.session));
        Draft { subject: Some(line(text)), raw_metadata: metadata, ..Draft::default() }
    }

    fn send(&self, draft: Draft) -> Result<Sent> {
        send::send(&self.room, &self.who, draft)
    }
}

/// This process. Where the system doesn't tell one from a later one of its number, an id of its own does.
fn caller() -> Caller {
    let process = Process::own();
    Caller { client: sessions::EXEC.into(), session: process.is_none().then(id::mint), process }
}

/// The agents that are waited for, by id.
pub(super) fn others(registry: &Registry, names: &[String]) -> Result<Vec<String>> {
    let mut ids: Vec<String> = Vec::new();
    for name in names {
        let agent = identity::registered(registry, name, Some("--after"))?;
        if agent.is_retired() {
            return Err(Error::Usage {
                what: format!("{} is retired, and will complete nothing", agent.id),
                cure: "leave it out".into(),
            });
        }
        if !ids.iter().any(|id| **id == *agent.id) {
            ids.push(agent.id.to_string());
        }
    }
    Ok(ids)
}

/// The first line of a text that says something, as long as a subject may be.
fn line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(limits::SUBJECT).collect()
}

fn refuse_unfit(agent: &Agent, wish: &Wish) -> Result<()> {
    let id = &agent.id;
    let unfit = |what: String, cure: String| Err(Error::Usage { what, cure });
    if &**id == id::HUMAN {
        return unfit("the human is no command".into(), "give the id of an agent".into());
    }
    match (&wish.role, &agent.role) {
        (Some(asked), Some(has)) if asked != has => unfit(
            format!("{id} is registered with the role {has}, not {}", quoted(asked)),
            format!("leave --role out, or change it with `mailbag agent set {id} --role {asked}`"),
        ),
        (Some(asked), None) => unfit(
            format!("{id} is registered without a role"),
            format!("leave --role out, or give it one with `mailbag agent set {id} --role {asked}`"),
        ),
        _ => Ok(()),
    }
}

/// A failure that must not keep the command from going on or ending.
pub(super) fn bear(done: Result<()>, hear: &dyn Fn(Told)) {
    if let Err(e) = done {
        hear(Told::Warning(e.to_string()));
    }
}
