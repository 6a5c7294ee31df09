//! Several sessions that act as one agent.

use super::{ExaminedRoom, Finding, count, quoted};
use crate::base::error::Result;
use crate::disk::machine::{self, ProcessEnvironment};
use crate::disk::{Dir, layout};
use crate::query::identity::VARIABLES;
use crate::room::{self, ROOM_VARIABLES};
use rustix::fs::FileType;
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of files in a directory with a check of the owner.
const LOOKED_AT: usize = 1000;

pub(super) fn look(examined: &ExaminedRoom<'_>, findings: &mut Vec<Finding>) -> Result<()> {
    processes(examined, findings);
    for agent in examined.room.directories(layout::OUTBOXES)? {
        owners(examined, &agent, findings);
    }
    Ok(())
}

/// Unrelated processes of this user that were started as the same agent of this room.
fn processes(examined: &ExaminedRoom<'_>, findings: &mut Vec<Finding>) {
    let Some(registry) = &examined.registry else {
        return;
    };
    let own = room::identity(examined.room.dir.path());
    let all = machine::processes(&[
        VARIABLES[0],
        VARIABLES[1],
        ROOM_VARIABLES[0],
        ROOM_VARIABLES[1],
    ]);
    let mut by_agent: BTreeMap<&str, Vec<&ProcessEnvironment>> = BTreeMap::new();
    for process in &all {
        let Some(name) = process.variables[0]
            .as_deref()
            .or(process.variables[1].as_deref())
        else {
            continue;
        };
        let Some(agent) = registry.find(name) else {
            continue;
        };
        let place = process.variables[2]
            .as_deref()
            .or(process.variables[3].as_deref())
            .map(|place| process.directory.join(place));
        if room::find(place.as_deref(), &process.directory)
            .is_ok_and(|at| room::identity(&at) == own)
        {
            by_agent.entry(&*agent.id).or_default().push(process);
        }
    }
    for (agent, those) in by_agent {
        let roots = sessions(&those);
        if roots.len() > 1 {
            let pids: Vec<String> = roots.iter().map(u32::to_string).collect();
            let what = format!(
                "{} act as {agent} at the same time: processes {}",
                count(roots.len(), "session"),
                pids.join(", ")
            );
            let fix = format!("ps -o pid,lstart,cmd -p {}", pids.join(","));
            findings.push(Finding::warning("two_sessions", what, fix));
        }
    }
}

/// The first process of each session: a process without a parent in the list. Several children of one parent within one
/// session count once.
fn sessions(those: &[&ProcessEnvironment]) -> Vec<u32> {
    let pids: BTreeSet<u32> = those.iter().map(|process| process.pid).collect();
    let mut known = BTreeSet::new();
    let mut roots: Vec<&&ProcessEnvironment> = those
        .iter()
        .filter(|process| !pids.contains(&process.parent))
        .collect();
    roots.sort_by_key(|process| process.pid);
    roots
        .into_iter()
        .filter(|process| known.insert((process.parent, process.session)))
        .map(|root| root.pid)
        .collect()
}

/// Messages of several system users in one outbox or in its `sent/`.
fn owners(examined: &ExaminedRoom<'_>, agent: &str, findings: &mut Vec<Finding>) {
    let mut users = BTreeSet::new();
    for directory in [layout::outbox(agent), layout::sent(agent)] {
        users.extend(
            examined
                .room
                .dir
                .sub(&directory)
                .ok()
                .map(|dir| owners_in(&dir))
                .unwrap_or_default(),
        );
    }
    if users.len() > 1 {
        let names: Vec<String> = users.iter().map(u32::to_string).collect();
        let what = format!(
            "messages of {agent} were written by users {}",
            names.join(" and ")
        );
        let fix = format!(
            "mailbag agent set {} --uid {}",
            quoted(agent),
            rustix::process::geteuid().as_raw()
        );
        findings.push(Finding::warning("several_users", what, fix));
    }
}

fn owners_in(dir: &Dir) -> BTreeSet<u32> {
    let Ok(listing) = dir.list() else {
        return BTreeSet::new();
    };
    let names = listing
        .flatten()
        .map(|entry| entry.name)
        .filter(|name| layout::is_message_file(name));
    let metas = names
        .take(LOOKED_AT)
        .filter_map(|name| dir.stat(name).ok().flatten());
    metas
        .filter(|meta| meta.kind == FileType::RegularFile)
        .map(|meta| meta.uid)
        .collect()
}
