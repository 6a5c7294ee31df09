//! Sets up a project with one command: makes the room and plugs in each installed client, or undoes both.
//!
//! Everything is checked before the first change. Each step completes the rest of a killed run, so a second run gets the same
//! result.

use super::install::{
    self, ClientDirectories, FileChange, HookTest, InstallPlan, InstallScope, RemovalExtent,
};
use super::kind::{Client, ClientQuestion, NamingMoment, SessionWakeMethod};
use crate::base::error::{Error, Result};
use crate::base::text::shell_path;
use crate::base::written_path::write_path;
use crate::disk::{Dir, layout, machine, mounts};
use crate::room::actor::require_person;
use crate::room::{self, Room};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The request.
pub struct SetupRequest<'a> {
    /// The clients; none for all that are installed.
    pub clients: &'a [Client],
    /// Whether to undo the set-up.
    pub undo: bool,
    /// Whether the human answers permission requests, if the client has a hook for that.
    pub approvals: bool,
    /// The program to call; by default this one.
    pub program: Option<&'a Path>,
    /// The room that `--room` or `MAILBAG_ROOM` names.
    pub room: Option<&'a Path>,
    /// The working directory.
    pub from: &'a Path,
}

impl SetupRequest<'_> {
    /// A command of mailbag for the person to type in the project. It names the room that the request names.
    pub fn command(&self, words: &str) -> String {
        match self.room {
            Some(room) => {
                let room = layout::of_client(self.from, room);
                format!("mailbag --room {} {words}", shell_path(&room))
            }
            None => format!("mailbag {words}"),
        }
    }
}

/// All steps: planned before [`ProjectSetup::apply`], done after it.
#[derive(Debug, Serialize)]
pub struct ProjectSetup {
    /// The directory with the clients' files.
    #[serde(serialize_with = "write_path")]
    pub project: PathBuf,
    /// The room.
    pub room: RoomStep,
    /// The clients.
    pub clients: Vec<ClientStep>,
    /// The commands that the person types next, each in a terminal of its own, or one command for two terminals.
    pub next: Vec<String>,
    /// The sentences that the person then types into these sessions, in this order.
    pub prompts: Vec<SessionPrompt>,
}

/// A sentence to type into a session.
#[derive(Debug, Serialize)]
pub struct SessionPrompt {
    /// The terminal of the session: 1 or 2.
    pub terminal: usize,
    /// The client in it.
    pub client: Client,
    /// The sentence.
    pub text: &'static str,
}

/// The change of a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RoomChange {
    /// It is created, or completed.
    Made,
    /// It was there before.
    Found,
    /// It stays, because it may have mail.
    Kept,
    /// There is none.
    Absent,
}

/// The room.
#[derive(Debug, Serialize)]
pub struct RoomStep {
    /// Its directory.
    #[serde(serialize_with = "write_path")]
    pub path: PathBuf,
    /// The change of the room.
    pub change: RoomChange,
    /// Why it was chosen, or stays.
    pub reason: Option<String>,
}

/// A client.
#[derive(Debug, Serialize)]
pub struct ClientStep {
    /// Its name.
    pub client: Client,
    /// Its program, if it is on the `PATH`.
    #[serde(serialize_with = "write_path")]
    pub program: Option<PathBuf>,
    /// Whether the installation or the plugin for the user in all projects is enough.
    pub for_user: bool,
    /// The files to change.
    pub files: Vec<FileChange>,
    /// The client's questions to the person, with the answers.
    pub questions: Vec<ClientQuestion>,
    /// Notes for the person.
    pub notes: Vec<String>,
    /// The test of the hook. `None` if no file changed.
    pub hook_test: Option<HookTest>,
    /// Why nothing was done for this client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A step that was done.
pub enum CompletedStep<'a> {
    /// The room.
    Room(&'a RoomStep),
    /// A client.
    Client(&'a ClientStep),
}

/// Looks at everything, and changes nothing.
pub fn look(asked: &SetupRequest<'_>) -> Result<ProjectSetup> {
    let homes = install::homes(asked.from)?;
    let clients = clients(asked);
    check_approvals(asked, &clients)?;
    let room = if asked.undo {
        leaving(asked, &homes)
    } else {
        wanted(asked, &homes)?
    };
    let mut up = ProjectSetup {
        project: homes.project.clone(),
        room,
        clients: Vec::new(),
        next: Vec::new(),
        prompts: Vec::new(),
    };
    let (mut known, mut first_error): (Vec<PathBuf>, _) = (Vec::new(), None);
    for client in &clients {
        let mut step = ClientStep::new(*client, asked, &homes);
        let plan = if step.for_user {
            Ok(None)
        } else {
            plan(*client, asked, &clients, &up.room).map(Some)
        };
        match plan {
            Ok(None) => {}
            Ok(Some(plan)) => {
                (step.questions, step.notes) = (plan.questions, plan.notes);
                // Several clients share a file, which is changed once.
                step.files = plan
                    .files
                    .into_iter()
                    .filter(|file| !known.contains(&file.path))
                    .collect();
                known.extend(step.files.iter().map(|file| file.path.clone()));
            }
            Err(e) => {
                step.problem = Some(describe_problem(&e, *client, asked));
                first_error = first_error.or(Some(e));
            }
        }
        if step.files.is_empty() && step.problem.is_none() && is_gone(*client, asked, &homes) {
            continue;
        }
        up.clients.push(step);
    }
    // Without a client that can be set up, nothing is changed.
    if let Some(e) = first_error
        && up.clients.iter().all(|step| step.problem.is_some())
    {
        return Err(e);
    }
    if !asked.undo {
        let next = next(&up.clients);
        up.next = next
            .iter()
            .map(|client| client.facts().program.to_owned())
            .collect();
        up.prompts = sentences(&next);
    }
    Ok(up)
}

impl ProjectSetup {
    /// Returns true if there is a change to make.
    pub fn changes(&self) -> bool {
        self.room.change == RoomChange::Made
            || self.clients.iter().any(|client| !client.files.is_empty())
    }

    /// Returns true if everything was done, and every tested hook passed.
    pub fn passed(&self) -> bool {
        self.clients.iter().all(|step| {
            step.problem.is_none() && step.hook_test.as_ref().is_none_or(|test| test.ok)
        })
    }

    /// Does the steps, and reports each when it is done.
    pub fn apply(
        &mut self,
        asked: &SetupRequest<'_>,
        mut tell: impl FnMut(CompletedStep<'_>) -> Result<()>,
    ) -> Result<()> {
        if !asked.undo {
            self.room.apply()?;
            tell(CompletedStep::Room(&self.room))?;
        }
        let all: Vec<Client> = self.clients.iter().map(|step| step.client).collect();
        for step in self
            .clients
            .iter_mut()
            .filter(|step| !step.for_user && step.problem.is_none())
        {
            // Planned again: the steps before may have changed a shared file.
            let plan = plan(step.client, asked, &all, &self.room)?;
            plan.apply()?;
            step.hook_test = (!asked.undo && !plan.files.is_empty()).then(|| plan.test_hook());
            (step.files, step.notes, step.questions) = (plan.files, plan.notes, plan.questions);
            tell(CompletedStep::Client(step))?;
        }
        if asked.undo {
            tell(CompletedStep::Room(&self.room))?;
        }
        Ok(())
    }
}

impl RoomStep {
    fn apply(&self) -> Result<()> {
        if self.change == RoomChange::Made {
            room::check_not_a_link(self.path.clone())?;
            Room::init(&self.path)?;
        }
        Ok(())
    }
}

impl ClientStep {
    fn new(client: Client, asked: &SetupRequest<'_>, homes: &ClientDirectories) -> ClientStep {
        ClientStep {
            client,
            program: machine::program(client.facts().program),
            for_user: !asked.undo
                && (install::is_installed(client, InstallScope::User, homes)
                    || install::package_record(client, homes).is_some())
                && !install::is_installed(client, InstallScope::Project, homes),
            files: Vec::new(),
            questions: Vec::new(),
            notes: Vec::new(),
            hook_test: None,
            problem: None,
        }
    }
}

/// The clients that are asked for, or are installed on this machine. To undo, all: a killed run may have left something of each.
fn clients(asked: &SetupRequest<'_>) -> Vec<Client> {
    let mut clients = Client::ALL.to_vec();
    if !asked.clients.is_empty() {
        clients.retain(|client| asked.clients.contains(client));
    } else if !asked.undo {
        clients.retain(|client| machine::program(client.facts().program).is_some());
    }
    clients
}

/// Returns true if only the rest of a killed run is left to undo.
fn is_gone(client: Client, asked: &SetupRequest<'_>, homes: &ClientDirectories) -> bool {
    asked.undo
        && asked.clients.is_empty()
        && !install::is_installed(client, InstallScope::Project, homes)
}

/// Fails if approvals are asked for and no client has a hook for them, or if the caller is not the person.
fn check_approvals(asked: &SetupRequest<'_>, clients: &[Client]) -> Result<()> {
    if !asked.approvals {
        return Ok(());
    }
    if clients
        .iter()
        .all(|client| client.approval_event().is_none())
    {
        return Err(Error::usage(
            "no client here has a hook that can answer a permission request",
            "omit --approvals, or add --client claude or --client codex",
        ));
    }
    require_person("install approvals by mail")
}

/// The reason for leaving out a client, and the command that tries it again.
fn describe_problem(e: &Error, client: Client, asked: &SetupRequest<'_>) -> String {
    let undo = if asked.undo { " --undo" } else { "" };
    let again = asked.command(&format!("up{undo} --client {}", client.as_str()));
    let again = format!("run `{again}`");
    match e {
        Error::State {
            path, line, what, ..
        } => {
            let line = line.map(|line| format!(" line {line}")).unwrap_or_default();
            format!(
                "{}{line}: {what}; correct the file, and then {again}",
                path.display()
            )
        }
        e => format!("{e}; then {again}"),
    }
}

fn plan(
    client: Client,
    asked: &SetupRequest<'_>,
    all: &[Client],
    room: &RoomStep,
) -> Result<InstallPlan> {
    let request = install::InstallRequest {
        client,
        scope: InstallScope::Project,
        agent: None,
        for_up: Some(&room.path),
        // A hook that an earlier run installed stays without it.
        approvals: asked.approvals && client.approval_event().is_some(),
        program: asked.program,
        room: asked.room,
        from: asked.from,
    };
    if !asked.undo {
        return install::install(&request);
    }
    let is_gone = is_gone(client, asked, &install::homes(asked.from)?);
    install::uninstall_among(
        &request,
        all,
        if is_gone {
            RemovalExtent::Remains
        } else {
            RemovalExtent::Whole
        },
    )
}

/// The room to use: the one that commands here find, or a new one at the top of the project.
fn wanted(asked: &SetupRequest<'_>, homes: &ClientDirectories) -> Result<RoomStep> {
    if let Some(path) = asked.room.map(|room| layout::of_client(asked.from, room)) {
        return if room::is_room(&path) {
            found_room(path, "named by --room or MAILBAG_ROOM".into())
        } else {
            new_room(path)
        };
    }
    if let Ok(path) = room::find(None, asked.from) {
        let reason = room::reason(&path, asked.from);
        return found_room(path, reason);
    }
    if let Some(around) = asked
        .from
        .ancestors()
        .find(|directory| is_complete(directory))
    {
        return Err(Error::usage(
            format!(
                "{} is inside the room {}",
                asked.from.display(),
                around.display()
            ),
            "change to the directory of your project, or name the room with --room",
        ));
    }
    let step = new_room(room::default_place(&homes.project))?;
    let reason = room::reason(&step.path, asked.from);
    Ok(RoomStep {
        reason: Some(reason),
        ..step
    })
}

/// A room that is there. A killed run may have left it incomplete.
fn found_room(path: PathBuf, reason: String) -> Result<RoomStep> {
    let room = Room::open(&path)?;
    let is_complete = room.id()?.is_some();
    let is_ignored = room.dir.stat(layout::GITIGNORE)?.is_some();
    let (change, reason) = match (is_complete, is_ignored) {
        (true, true) => (RoomChange::Found, reason),
        (true, false) => (RoomChange::Made, "its .gitignore was missing".into()),
        (false, _) => (RoomChange::Made, reason),
    };
    Ok(RoomStep {
        path,
        change,
        reason: Some(reason),
    })
}

/// Returns true for a room, and false for another directory with `spool/`, such as `/var`.
fn is_complete(path: &Path) -> bool {
    Room::look(path)
        .and_then(|room| room.id())
        .is_ok_and(|id| id.is_some())
}

/// A room to be made. Fails if it cannot be, before a file of a client is changed.
fn new_room(path: PathBuf) -> Result<RoomStep> {
    room::check_path(&path)?;
    let above = path
        .ancestors()
        .skip(1)
        .find_map(|above| Dir::open(above).ok());
    match above.and_then(|above| mounts::write_obstacle(&above)) {
        None => Ok(RoomStep {
            path,
            change: RoomChange::Made,
            reason: None,
        }),
        Some(why) => Err(Error::usage(
            format!("cannot create the room {}: {why}", path.display()),
            "run the command in a directory of your own, or name another place with --room DIR; nothing was changed",
        )),
    }
}

/// The room that is left when the set-up is undone.
fn leaving(asked: &SetupRequest<'_>, homes: &ClientDirectories) -> RoomStep {
    let named = asked.room.map(|room| layout::of_client(asked.from, room));
    let found = named.or_else(|| room::find(None, asked.from).ok());
    let path = found.unwrap_or_else(|| room::default_place(&homes.project));
    let (change, reason) = if room::is_room(&path) {
        let reason = format!("with its mail; `rm -r {}` removes it", shell_path(&path));
        (RoomChange::Kept, Some(reason))
    } else {
        (RoomChange::Absent, None)
    };
    RoomStep {
        path,
        change,
        reason,
    }
}

/// The clients of the first two sessions: two clients, or one for both.
fn next(steps: &[ClientStep]) -> Vec<Client> {
    let usable = steps.iter().filter(|step| step.problem.is_none());
    usable.take(2).map(|step| step.client).collect()
}

/// The question of the first minute.
const QUESTION: &str =
    "ask the other agent with mailbag which port the test server uses, and tell me its answer";

/// The sentences that let the first two sessions exchange a question and an answer. The asked session needs a name, and a turn.
fn sentences(clients: &[Client]) -> Vec<SessionPrompt> {
    let Some(first) = clients.first().copied() else {
        return Vec::new();
    };
    let second = clients.get(1).copied().unwrap_or(first);
    let first = TerminalSession {
        terminal: 1,
        client: first,
    };
    let second = TerminalSession {
        terminal: 2,
        client: second,
    };
    // The session that needs no sentence is asked.
    let (asking, asked) = if first.effort() < second.effort() {
        (second, first)
    } else {
        (first, second)
    };
    let mut all = Vec::new();
    if asked.client.facts().named == NamingMoment::AtFirstPrompt {
        all.push(asked.prompt("hello"));
    }
    all.push(asking.prompt(QUESTION));
    if asked.client.facts().wake == SessionWakeMethod::Nothing {
        all.push(asked.prompt("answer your mail"));
    }
    all
}

/// One of the first two sessions.
struct TerminalSession {
    terminal: usize,
    client: Client,
}

impl TerminalSession {
    /// The sentences that the session needs before it answers.
    fn effort(&self) -> (bool, bool) {
        let facts = self.client.facts();
        (
            facts.wake == SessionWakeMethod::Nothing,
            facts.named != NamingMoment::AtStart,
        )
    }

    fn prompt(&self, text: &'static str) -> SessionPrompt {
        SessionPrompt {
            terminal: self.terminal,
            client: self.client,
            text,
        }
    }
}
