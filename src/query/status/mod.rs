//! The status of a room: the router, unread mail, pending files with the reason, and rejected files.

pub(super) mod blocked;

pub use blocked::{BlockedPath, edited_file_fix, reason_of};

use super::links::{self, LinkStatus};
use super::rejected::{self, ListedRejection};
use super::{claims, inbox, pending};
use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::base::text::joined;
use crate::base::written_path::write_path;
use crate::disk::layout;
use crate::features::presence::{self, AgentPresence};
use crate::features::worklog;
use crate::log::state::{self, MessageCounts, RoomState};
use crate::message::id;
use crate::room::outbox::{UnreadOutbox, is_free_name, stray};
use crate::room::registry::Registry;
use crate::room::sessions::SessionCalls;
use crate::room::settings::{GuardedSetting, SenderAdmission};
use crate::room::{Room, RouterHolder, RouterMode, StalledRouter};
use crate::router::recover::evidence;
use blocked::blocked;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The number of rejected files of an agent that are shown, newest first.
const NEWEST: usize = 3;

/// The status of a room.
#[derive(Debug, Serialize)]
pub struct RoomStatus {
    /// Room directory.
    #[serde(serialize_with = "write_path")]
    pub room: PathBuf,
    /// The process that routes now.
    pub router: Option<RouterHolder>,
    /// Set if this process makes no progress.
    pub stalled: Option<StalledRouter>,
    /// Number of agents that are not retired, including the human.
    pub agents: usize,
    /// Counters from the log.
    pub counts: MessageCounts,
    /// Number of decisions in the log.
    pub decisions: u64,
    /// Numbers of claims and open offers.
    pub claims: claims::ClaimCounts,
    /// Pending items of the human.
    pub needs_human: pending::PendingCount,
    /// Open questions.
    pub questions: pending::PendingCount,
    /// Unread messages by agent, without zeros. Messages in `taken/` count, and files that no router delivered do not.
    pub unread: BTreeMap<String, usize>,
    /// Pending files in outboxes of registered agents.
    pub waiting: Vec<PendingOutboxFiles>,
    /// Number of files that a router has picked up and not finished.
    pub picked_up: usize,
    /// Blocked files and directories, with the reason.
    pub blocked: Vec<BlockedPath>,
    /// Outboxes with files of unregistered or retired agents.
    pub unregistered: Vec<UnregisteredOutbox>,
    /// Links that hold mail or have problems.
    pub links: Vec<LinkStatus>,
    /// Rejected files that still exist.
    pub rejected: Vec<AgentRejections>,
    /// Accepted copies that are not delivered yet.
    pub undelivered: Vec<UndeliveredCopy>,
    /// Agents without activity for a long time that have unread mail or are registered as online.
    pub stale: Vec<AgentPresence>,
    /// Settings and links that have no effect because the calling user has not allowed them.
    pub withheld: Vec<GuardedSetting>,
    /// Problems of the room itself.
    pub problems: Vec<String>,
    /// The fix of each item that the router or the next pass retries.
    #[serde(skip)]
    pub retry: String,
    /// True if the log is damaged, so that no router starts.
    #[serde(skip)]
    pub has_damaged_log: bool,
}

/// The sentence for people in place of the router's number.
pub const NO_ROUTER: &str = "not running; commands that send or read deliver";

/// Pending files in an outbox.
#[derive(Debug, Serialize)]
pub struct PendingOutboxFiles {
    /// Owner of the outbox.
    pub agent: String,
    /// Number of files.
    pub files: usize,
    /// The first file by name.
    pub first: String,
}

/// An outbox that the router does not read.
#[derive(Debug, Serialize)]
pub struct UnregisteredOutbox {
    /// The name of the outbox.
    pub agent: String,
    /// Number of files.
    pub files: usize,
    /// Why the router does not pick them up.
    pub reason: &'static str,
    /// The command that fixes it.
    pub fix: String,
}

/// Rejected files of an agent.
#[derive(Debug, Serialize)]
pub struct AgentRejections {
    /// The sender.
    pub agent: String,
    /// Number of files.
    pub files: usize,
    /// The newest files, newest first.
    pub newest: Vec<ListedRejection>,
}

/// A pending copy in the spool.
#[derive(Debug, Serialize)]
pub struct UndeliveredCopy {
    /// Record number.
    pub seq: u64,
    /// Message id.
    pub id: String,
    /// Sender.
    pub from: String,
    /// Recipient.
    pub to: String,
    /// The command that retries it.
    pub fix: String,
}

/// The counters of a room for `watch` and the page, fast to compute.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RoomCounters {
    /// Process id of the router, if one runs.
    pub router: Option<u32>,
    /// Rejected files that still exist.
    pub rejected: usize,
    /// Pending files in outboxes.
    pub waiting: usize,
    /// Blocked files and directories, unregistered outboxes included.
    pub blocked: usize,
    /// Files in unregistered outboxes.
    pub unrouted: usize,
}

/// Computes the counters without reading the log.
pub fn glance(room: &Room) -> Result<RoomCounters> {
    let registry = room.registry().ok();
    let open = room
        .settings()
        .is_ok_and(|settings| settings.admission == SenderAdmission::Open);
    // `status` reports a directory or a lock that cannot be read.
    let filled = room.directories(layout::OUTBOXES).unwrap_or_default();
    let OutboxSurvey {
        waiting,
        unregistered,
        strays,
        ..
    } = outboxes(room, &filled, registry.as_ref(), open);
    let mut rejected = 0;
    for agent in room.directories(layout::REJECTED).unwrap_or_default() {
        rejected += rejected::count(room, &agent).unwrap_or_default();
    }
    let router = match room.running_router() {
        Ok(Some(holder)) if holder.mode != RouterMode::Pass => Some(holder.pid),
        _ => None,
    };
    Ok(RoomCounters {
        router,
        rejected,
        waiting: waiting.iter().map(|waiting| waiting.files).sum(),
        blocked: blocked(room, None, "").len() + strays.len() + unregistered.len(),
        unrouted: unregistered.iter().map(|outbox| outbox.files).sum(),
    })
}

/// An incomplete end of the log.
struct IncompleteEnd {
    /// A description for people.
    what: String,
    /// True if the room shows a later record: the log has lost records, and no router starts.
    is_lost: bool,
}

fn incomplete_end(room: &Room, state: &RoomState) -> Result<Option<IncompleteEnd>> {
    let damage = state::damage_after(&room.dir, state).ok().flatten();
    if damage.is_none() && !evidence::is_after(room, state)? {
        return Ok(None);
    }
    let mut lost = evidence::newest(room)?;
    lost.retain(|witness| witness.seq > state.seq);
    let is_lost = !lost.is_empty();
    let end = if lost.is_empty() {
        "the next pass cuts it off".to_owned()
    } else {
        let lost = evidence::describe(&lost, state.seq);
        format!("{lost}; `mailbag log verify` shows how to restore it")
    };
    let what = match damage {
        Some(damage) => {
            let what = damage.what;
            format!("the last batch of the log is incomplete: {what}; {end}")
        }
        None => end,
    };
    Ok(Some(IncompleteEnd { what, is_lost }))
}

/// The result, or nothing and a new problem of the room: one unreadable file must not hide the rest.
fn noted<T: Default>(result: Result<T>, problems: &mut Vec<String>) -> T {
    result.unwrap_or_else(|e| {
        let problem = e.to_string();
        if !problems.contains(&problem) {
            problems.push(problem);
        }
        T::default()
    })
}

/// Computes the full status. Changes nothing.
pub fn status(room: &Room) -> Result<RoomStatus> {
    let mut problems = Vec::new();
    let registry = noted(room.registry().map(Some), &mut problems);
    let settings = noted(room.settings(), &mut problems);
    let router = noted(room.running_router(), &mut problems);
    let stalled = if router.is_some() {
        noted(room.stalled(), &mut problems)
    } else {
        None
    };
    let mut state = noted(state::committed(&room.dir).map(Some), &mut problems);
    if let (Some(state), Some(registry)) = (&mut state, &registry) {
        claims::drop_retired(state, registry);
    }
    // A running router may just be writing the last batch. Bytes after the last complete batch are only checked for damage.
    let mut has_damaged_log = state.is_none();
    if let Some(state) = &state
        && router.is_none()
        && let Some(end) = noted(incomplete_end(room, state), &mut problems)
    {
        has_damaged_log = end.is_lost;
        problems.push(end.what);
    }
    let is_open = settings.admission == SenderAdmission::Open;
    let filled = noted(room.directories(layout::OUTBOXES), &mut problems);
    let OutboxSurvey {
        waiting,
        unregistered,
        unreadable,
        strays,
    } = outboxes(room, &filled, registry.as_ref(), is_open);
    noted(room.directories(layout::INBOXES), &mut problems);
    let rejected = rejected(room, &mut problems);
    let agents = registry.iter().flat_map(Registry::agents);
    let calls = SessionCalls::of(&room.dir);
    let stale = registry
        .as_ref()
        .zip(state.as_ref())
        .map(|(registry, state)| {
            presence::stale(registry, state, &calls, settings.stale_after, Stamp::now())
        });
    let again = match &router {
        Some(holder) if holder.mode != RouterMode::Pass => "none needed: the router retries",
        _ => "mailbag run --once",
    };
    let undelivered = state
        .as_ref()
        .map_or(Ok(Vec::new()), |state| undelivered(room, state, again));
    let undelivered = noted(undelivered, &mut problems);
    let links = state
        .as_ref()
        .map(|state| links::of_state(room, &settings, state))
        .unwrap_or_default();
    let blocked = [blocked(room, registry.as_ref(), again), strays].concat();
    problems.extend(describe_unreadable(unreadable, &blocked));
    Ok(RoomStatus {
        links: links
            .into_iter()
            .filter(|link| link.waiting > 0 || link.is_down())
            .collect(),
        room: room.dir.path().to_path_buf(),
        agents: agents.clone().filter(|agent| !agent.is_retired()).count(),
        unread: state
            .as_ref()
            .map(|state| unread(room, state))
            .unwrap_or_default(),
        blocked,
        rejected,
        stale: stale
            .unwrap_or_default()
            .into_iter()
            .map(|stale| stale.agent)
            .collect(),
        withheld: settings.withheld,
        undelivered,
        claims: state
            .as_ref()
            .map(|state| claims::of_state(state, &calls, None).count())
            .unwrap_or_default(),
        questions: pending::questions(state.as_ref()),
        needs_human: pending::count(room, state.as_ref(), id::HUMAN),
        has_damaged_log,
        decisions: state
            .as_ref()
            .map_or(0, |state| worklog::of(state).decisions),
        counts: state.map(|state| state.counts).unwrap_or_default(),
        router,
        stalled,
        picked_up: noted(room.picked_up(usize::MAX), &mut problems),
        waiting,
        unregistered,
        problems,
        retry: again.to_owned(),
    })
}

/// The names of the message files in a directory, sorted, and some of the other names.
fn files(room: &Room, directory: &Path) -> Result<(Vec<OsString>, Vec<OsString>)> {
    let (mut files, mut others) = (Vec::new(), Vec::new());
    for entry in room.dir.sub(directory)?.list()? {
        let name = entry?.name;
        if layout::is_message_file(&name) {
            files.push(name);
        } else if others.len() < limits::STRAYS {
            others.push(name);
        }
    }
    files.sort_unstable();
    Ok((files, others))
}

/// The outboxes that need attention.
#[derive(Default)]
struct OutboxSurvey {
    /// With files, of senders that the router reads.
    waiting: Vec<PendingOutboxFiles>,
    /// With files, of other senders.
    unregistered: Vec<UnregisteredOutbox>,
    /// That the calling user cannot read.
    unreadable: Vec<String>,
    /// Files that the router never picks up and that have not changed for a moment.
    strays: Vec<BlockedPath>,
}

/// Reads these outboxes. An open room registers new senders, so the router reads all of them.
fn outboxes(
    room: &Room,
    filled: &[String],
    registry: Option<&Registry>,
    open: bool,
) -> OutboxSurvey {
    let mut all = OutboxSurvey::default();
    for agent in filled.iter().cloned() {
        let outbox = layout::outbox(&agent);
        let (names, others) = match files(room, &outbox) {
            Ok(names) => names,
            Err(e) if e.is_missing() => continue,
            Err(_) => {
                all.unreadable.push(outbox.display().to_string());
                continue;
            }
        };
        let strays = others
            .iter()
            .filter_map(|name| stray(&room.dir, &agent, name, limits::UNCHANGED_FOR));
        all.strays.extend(strays.map(|stray| BlockedPath {
            path: stray.place,
            reason: stray.reason.into(),
            since: stray.since.to_string(),
            fix: stray.fix,
        }));
        let Some(first) = names.first() else { continue };
        let is_new = |registry: &Registry| open && is_free_name(&agent) && registry.is_free(&agent);
        if registry.is_none_or(|registry| registry.has_active(&agent) || is_new(registry)) {
            let first = first.to_string_lossy().into_owned();
            all.waiting.push(PendingOutboxFiles {
                agent,
                files: names.len(),
                first,
            });
        } else {
            let UnreadOutbox { reason, fix } = UnreadOutbox::of(&room.dir, registry, &agent);
            all.unregistered.push(UnregisteredOutbox {
                agent,
                files: names.len(),
                reason,
                fix,
            });
        }
    }
    all
}

/// The sentence about outboxes that this process cannot read, for example in a sandbox. `None` without such an outbox.
fn describe_unreadable(mut outboxes: Vec<String>, blocked: &[BlockedPath]) -> Option<String> {
    outboxes.retain(|outbox| blocked.iter().all(|one| one.path != *outbox));
    if outboxes.is_empty() {
        return None;
    }
    let more = outboxes.len().saturating_sub(limits::IN_SENTENCE);
    outboxes.truncate(limits::IN_SENTENCE);
    if more > 0 {
        outboxes.push(format!("{more} more"));
    }
    Some(format!(
        "cannot read {}, so pending files there are not shown",
        joined(outboxes)
    ))
}

/// The numbers of unread messages by agent, without zeros.
pub(crate) fn unread(room: &Room, state: &RoomState) -> BTreeMap<String, usize> {
    let agents = state.mailboxes.with_unread();
    let counts = agents.map(|agent| (agent.to_string(), inbox::unread_count(room, state, agent)));
    counts.filter(|&(_, count)| count > 0).collect()
}

/// The rejected files of each agent. A directory that cannot be read is a problem.
fn rejected(room: &Room, problems: &mut Vec<String>) -> Vec<AgentRejections> {
    let mut all = Vec::new();
    for agent in noted(room.directories(layout::REJECTED), problems) {
        let (files, mut newest) = noted(rejected::newest(room, &agent, NEWEST), problems);
        newest.reverse();
        if files > 0 {
            all.push(AgentRejections {
                agent,
                files,
                newest,
            });
        }
    }
    all
}

fn undelivered(room: &Room, state: &RoomState, again: &str) -> Result<Vec<UndeliveredCopy>> {
    let mut all = Vec::new();
    for open in state.open.values() {
        for delivery in open.deliveries() {
            if room
                .dir
                .stat(Path::new(layout::STAGE).join(&delivery.staged))?
                .is_some()
            {
                let (from, to) = (open.from.to_string(), delivery.agent.to_string());
                all.push(UndeliveredCopy {
                    seq: open.seq,
                    id: open.id.clone(),
                    from,
                    to,
                    fix: again.to_owned(),
                });
            }
        }
    }
    Ok(all)
}
