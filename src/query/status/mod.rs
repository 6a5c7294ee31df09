//! How a room stands: who routes, what is unread, what waits and why, and what was refused.

mod strays;

use super::programs::{self, Startable};
use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::layout;
use crate::log::state::{self, Counts, Replayed};
use crate::message::id;
use crate::room::registry::Registry;
use crate::room::sessions::Calls;
use crate::room::settings::Admission;
use crate::room::{Holder, Mode, Room, inbox};
use crate::router::projections::roster::{self, Present};
use rustix::fs::FileType;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// How many of the newest refusals of an agent are named.
const NEWEST: usize = 3;

/// How a room stands.
#[derive(Debug, Serialize)]
pub struct Status {
    /// Its directory.
    pub room: PathBuf,
    /// Who routes right now.
    pub router: Option<Holder>,
    /// Agents that are not retired, the human included.
    pub agents: usize,
    /// What the log counts.
    pub counts: Counts,
    /// Who has how many unread, only those who have any.
    pub unread: BTreeMap<String, usize>,
    /// Files in outboxes of registered agents.
    pub waiting: Vec<Waiting>,
    /// What can't go on, and why.
    pub blocked: Vec<Blocked>,
    /// Outboxes with files whose agent is not registered, or retired.
    pub unregistered: Vec<Unregistered>,
    /// What was refused and still stands there.
    pub rejected: Vec<Rejected>,
    /// Copies that were accepted and could not be delivered yet.
    pub undelivered: Vec<Undelivered>,
    /// Who has long done nothing, with mail unread or while the registry says that it is online.
    pub stale: Vec<Present>,
    /// Programs that wake agents, and that the person who asks did not agree to start.
    pub not_agreed: Vec<Startable>,
    /// What is wrong with the room itself.
    pub problems: Vec<String>,
}

/// Files in an outbox.
#[derive(Debug, Serialize)]
pub struct Waiting {
    /// Whose outbox.
    pub agent: String,
    /// How many.
    pub files: usize,
    /// The first of them, in the order of their names.
    pub first: String,
}

/// Something that can't go on, as the router wrote it down.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Blocked {
    /// A file or directory of the room.
    #[serde(default)]
    pub what: String,
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// Since when.
    #[serde(default)]
    pub since: String,
    /// What tries it again.
    #[serde(default)]
    pub cure: String,
}

/// An outbox with files that nobody will route.
#[derive(Debug, Serialize)]
pub struct Unregistered {
    /// The name of the outbox.
    pub agent: String,
    /// How many files.
    pub files: usize,
    /// Why nobody routes them.
    pub why: &'static str,
    /// The command that mends it.
    pub cure: String,
}

/// What an agent sent and was refused.
#[derive(Debug, Serialize)]
pub struct Rejected {
    /// Whose.
    pub agent: String,
    /// How many.
    pub files: usize,
    /// The newest few, newest first.
    pub newest: Vec<Refusal>,
}

/// One refusal.
#[derive(Debug, Serialize)]
pub struct Refusal {
    /// The number of its record, by which `mailbag rejected` knows it.
    pub seq: u64,
    /// The explanation, relative to the room.
    pub file: PathBuf,
    /// Its code.
    pub code: String,
    /// The first thing that is wrong.
    pub what: String,
    /// The command that says more, and how to mend it.
    pub cure: String,
}

/// A copy that waits in the spool.
#[derive(Debug, Serialize)]
pub struct Undelivered {
    /// The record.
    pub seq: u64,
    /// The message.
    pub id: String,
    /// Who wrote it.
    pub from: String,
    /// Who is to get it.
    pub to: String,
    /// What tries it again.
    pub cure: String,
}

/// What a person who watches wants to have in view: numbers only, and quick.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Glance {
    /// The process that routes, if one does.
    pub router: Option<u32>,
    /// How many messages one reader has not read.
    pub own_unread: usize,
    /// How many messages nobody has read, of all agents.
    pub unread: usize,
    /// How many refused files still stand there.
    pub rejected: usize,
    /// How many files stand in outboxes.
    pub waiting: usize,
    /// How many things can't go on, outboxes of nobody included.
    pub blocked: usize,
    /// How many files stand in outboxes of nobody.
    pub unrouted: usize,
}

/// Looks at the numbers only, without the log.
pub fn glance(room: &Room, reader: &str) -> Result<Glance> {
    let registry = room.registry().ok();
    let open = room.settings().is_ok_and(|settings| settings.admission == Admission::Open);
    let (waiting, unregistered) = outboxes(room, registry.as_ref(), open)?;
    let unread = unread(room)?;
    let mut rejected = 0;
    for agent in directories(room, layout::REJECTED)? {
        rejected += explanations(room, &agent).len();
    }
    Ok(Glance {
        router: room.holder()?.filter(|holder| holder.mode != Mode::Pass).map(|holder| holder.pid),
        own_unread: unread.get(reader).copied().unwrap_or_default(),
        unread: unread.values().sum(),
        rejected,
        waiting: waiting.iter().map(|waiting| waiting.files).sum(),
        blocked: blocked(room, None, "").len() + strays::strays(room)?.len() + unregistered.len(),
        unrouted: unregistered.iter().map(|outbox| outbox.files).sum(),
    })
}

/// Looks at everything and changes nothing.
pub fn status(room: &Room) -> Result<Status> {
    let mut problems = Vec::new();
    let registry = room.registry().map_err(|e| problems.push(e.to_string())).ok();
    let settings = room.settings().map_err(|e| problems.push(e.to_string())).unwrap_or_default();
    let router = room.holder()?;
    let replayed = state::replay(&room.dir).map_err(|e| problems.push(e.to_string())).ok();
    let damage = replayed.as_ref().and_then(|replayed| replayed.damage.as_ref()).filter(|_| router.is_none());
    problems
        .extend(damage.map(|d| format!("the log's last batch is not whole: {}; the next pass sets it aside", d.what)));
    let (waiting, unregistered) = outboxes(room, registry.as_ref(), settings.admission == Admission::Open)?;
    let agents = registry.iter().flat_map(Registry::agents);
    let calls = Calls::of(&room.dir);
    let stale = registry.as_ref().zip(replayed.as_ref()).map(|(registry, replayed)| {
        roster::stale(registry, (&replayed.state, &calls), settings.stale_after, Stamp::now())
    });
    let not_agreed = registry.as_ref().map_or(Ok(Vec::new()), |registry| programs::not_agreed(room, registry));
    let not_agreed = not_agreed.map_err(|e| problems.push(e.to_string())).unwrap_or_default();
    let again = match &router {
        Some(holder) if holder.mode != Mode::Pass => "the router tries again by itself".to_owned(),
        _ => "mailbag run --once".to_owned(),
    };
    Ok(Status {
        room: room.dir.path().to_path_buf(),
        agents: agents.clone().filter(|agent| !agent.is_retired()).count(),
        unread: unread(room)?,
        blocked: [blocked(room, registry.as_ref(), &again), strays::strays(room)?].concat(),
        rejected: rejected(room)?,
        stale: stale.unwrap_or_default(),
        not_agreed,
        undelivered: replayed
            .as_ref()
            .map(|replayed| undelivered(room, replayed, &again))
            .transpose()?
            .unwrap_or_default(),
        counts: replayed.map(|replayed| replayed.state.counts).unwrap_or_default(),
        router,
        waiting,
        unregistered,
        problems,
    })
}

/// Does a message stand in an outbox, or on its way from one to the inboxes?
pub fn anything_waits(room: &Room) -> Result<bool> {
    for directory in [layout::CLAIM, layout::STAGE] {
        if room.dir.sub(directory)?.list()?.next().is_some() {
            return Ok(true);
        }
    }
    Ok(directories(room, layout::OUTBOXES)?.iter().any(|agent| !files(room, &layout::outbox(agent)).is_empty()))
}

/// The directories in a directory of the room, in the order of their names.
pub(crate) fn directories(room: &Room, of: &str) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let Ok(dir) = room.dir.sub(of) else { return Ok(names) };
    for entry in dir.list()? {
        let entry = entry?;
        let is_dir = matches!(entry.kind, FileType::Directory | FileType::Unknown);
        names.extend(entry.name.into_string().ok().filter(|name| is_dir && !name.starts_with('.')));
    }
    names.sort_unstable();
    Ok(names)
}

/// The message files in a directory, in the order of their names. One that can't be listed has none to show.
fn files(room: &Room, directory: &Path) -> Vec<OsString> {
    let Ok(listing) = room.dir.sub(directory).and_then(|dir| dir.list()) else { return Vec::new() };
    let mut names: Vec<OsString> =
        listing.flatten().map(|entry| entry.name).filter(|name| layout::is_message_file(name)).collect();
    names.sort_unstable();
    names
}

/// What stands in outboxes: those of agents, or of whom an open room will register, and those of nobody.
fn outboxes(room: &Room, registry: Option<&Registry>, open: bool) -> Result<(Vec<Waiting>, Vec<Unregistered>)> {
    let (mut waiting, mut unregistered) = (Vec::new(), Vec::new());
    for agent in directories(room, layout::OUTBOXES)? {
        let names = files(room, &layout::outbox(&agent));
        let Some(first) = names.first() else { continue };
        let is_new = |registry: &Registry| open && id::is_name(&agent) && registry.find_any_case(&agent).is_none();
        let is_known = |registry: &Registry| registry.agent(&agent).is_some_and(|agent| !agent.is_retired());
        let known = registry.is_none_or(|registry| is_known(registry) || is_new(registry));
        if known {
            let first = first.to_string_lossy().into_owned();
            waiting.push(Waiting { agent, files: names.len(), first });
        } else {
            let (why, cure) = cure(registry, &agent);
            unregistered.push(Unregistered { agent, files: names.len(), why, cure });
        }
    }
    Ok((waiting, unregistered))
}

/// Why nobody routes an outbox, and what mends it.
fn cure(registry: Option<&Registry>, outbox: &str) -> (&'static str, String) {
    match registry.and_then(|registry| registry.find(outbox)) {
        Some(agent) if &*agent.id == outbox => {
            ("the agent is retired", format!("mailbag agent set {outbox} --status offline"))
        }
        Some(agent) => ("that is a display name", format!("mv outbox/{outbox}/*.json outbox/{}/", agent.id)),
        None if id::is_name(outbox) => ("no agent of that name is registered", format!("mailbag agent add {outbox}")),
        None => ("that is no name of an agent", "rename the directory to an agent's id".to_owned()),
    }
}

fn unread(room: &Room) -> Result<BTreeMap<String, usize>> {
    let count = |agent: String| {
        let count = inbox::unread(&room.dir, &agent).map_or(0, |names| names.len());
        (count > 0).then_some((agent, count))
    };
    Ok(directories(room, layout::INBOXES)?.into_iter().filter_map(count).collect())
}

/// What the router wrote down, as far as it still stands there.
fn blocked(room: &Room, registry: Option<&Registry>, again: &str) -> Vec<Blocked> {
    // The router rewrites it in place, and may be in the middle of that.
    let read = || -> Option<Vec<Value>> {
        let bytes = room.dir.read(layout::WAITING, limits::REGISTRY_BYTES).ok()??;
        serde_json::from_slice(&bytes).ok()
    };
    let lines = std::iter::repeat_with(read).take(5).flatten().next().unwrap_or_default();
    let lines = lines.into_iter().filter_map(|line| serde_json::from_value::<Blocked>(line).ok());
    // A name that is no text is shown as best it can be, and can't be looked up like that.
    let is_lossy = |line: &Blocked| line.what.contains(char::REPLACEMENT_CHARACTER);
    let lines = lines.filter(|line| is_lossy(line) || room.dir.stat(&line.what).map_or(true, |meta| meta.is_some()));
    lines.map(|line| Blocked { cure: strays::cure(room, registry, &line.what, again), ..line }).collect()
}

/// The names of the explanations beside an agent's refused files.
fn explanations(room: &Room, agent: &str) -> Vec<String> {
    let names = files(room, &layout::rejected(agent)).into_iter().filter_map(|name| name.into_string().ok());
    names.filter(|name| name.ends_with(layout::EXPLAINED)).collect()
}

fn rejected(room: &Room) -> Result<Vec<Rejected>> {
    let mut all = Vec::new();
    for agent in directories(room, layout::REJECTED)? {
        let mut names = explanations(room, &agent);
        names.sort_by_key(|name| std::cmp::Reverse(layout::read_retired(name)));
        let newest = names.iter().take(NEWEST).map(|name| refusal(room, &agent, name)).collect();
        if !names.is_empty() {
            all.push(Rejected { agent, files: names.len(), newest });
        }
    }
    Ok(all)
}

fn refusal(room: &Room, agent: &str, name: &str) -> Refusal {
    let file = layout::rejected(agent).join(name);
    let bytes = room.dir.read(&file, limits::MESSAGE_BYTES_MOST).ok().flatten().unwrap_or_default();
    let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let first = value.get("problems").and_then(|problems| problems.get(0)).unwrap_or(&value);
    let text = |field: &str| first.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let seq = layout::read_retired(name).unwrap_or_default();
    Refusal { seq, file, code: text("code"), what: text("what"), cure: format!("mailbag rejected show {seq}") }
}

fn undelivered(room: &Room, replayed: &Replayed, again: &str) -> Result<Vec<Undelivered>> {
    let mut all = Vec::new();
    for open in replayed.state.open.values() {
        for delivery in open.deliveries() {
            if room.dir.stat(Path::new(layout::STAGE).join(&delivery.staged))?.is_some() {
                let (from, to) = (open.from.to_string(), delivery.agent.to_string());
                all.push(Undelivered { seq: open.seq, id: open.id.clone(), from, to, cure: again.to_owned() });
            }
        }
    }
    Ok(all)
}
