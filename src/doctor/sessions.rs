//! Several sessions that act as one agent.

use super::{ExaminedRoom, Finding, count};
use crate::disk::machine::{self, ProcessEnvironment};
use crate::query::identity::VARIABLES;
use crate::room::{self, ROOM_VARIABLES};
use std::collections::{BTreeMap, BTreeSet};

/// Unrelated processes of this user that were started as the same agent of this room.
pub(super) fn look(examined: &ExaminedRoom<'_>, findings: &mut Vec<Finding>) {
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
