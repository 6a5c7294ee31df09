//! Small facts that sessions already know, each kept for a while: the remarks that they have got, so that each is made once,
//! and the files that agents edited a moment ago, to notice two agents in one file. Losing them repeats or loses remarks only.

use crate::base::clock::Stamp;
use crate::base::limits;
use crate::disk::layout;
use crate::room::Room;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::time::Duration;

/// The last edits: for each file, the agents with their times in microseconds.
type RecentEdits = BTreeMap<String, BTreeMap<String, i64>>;

/// Returns true if a session has not got this remark, and records it for a day. `None` if it cannot be recorded.
pub fn first_time(room: &Room, session: &str, what: &str) -> Option<bool> {
    first_time_within(room, session, what, limits::TOLD)
}

/// As [`first_time`], for a shorter time.
pub fn first_time_within(room: &Room, session: &str, what: &str, within: Duration) -> Option<bool> {
    let now = Stamp::now();
    let is_recent = |at: &i64, span| Stamp::from_micros(*at).is_within(span, now);
    change(room, layout::TOLD, |told: &mut BTreeMap<String, i64>| {
        told.retain(|_, at| is_recent(at, limits::TOLD));
        if told.len() >= limits::TOLD_ENTRIES {
            told.clear();
        }
        let key = format!("{session} {what}");
        if told.get(&key).is_some_and(|at| is_recent(at, within)) {
            return false;
        }
        told.insert(key, now.micros());
        true
    })
}

/// Notes that an agent edits these files. Returns each file that another agent edited within [`limits::SAME_FILE`], with
/// that agent. `None` if edits cannot be noted.
pub fn note_edits(room: &Room, agent: &str, files: &[String]) -> Option<Vec<(String, String)>> {
    let now = Stamp::now();
    change(room, layout::EDITS, |edits: &mut RecentEdits| {
        edits.retain(|_, agents| {
            agents.retain(|_, at| Stamp::from_micros(*at).is_within(limits::SAME_FILE, now));
            !agents.is_empty()
        });
        let mut met = Vec::new();
        for file in files.iter().take(limits::TOLD_ENTRIES) {
            let agents = edits.entry(file.clone()).or_default();
            let others = agents.keys().filter(|other| *other != agent);
            met.extend(others.map(|other| (file.clone(), other.clone())));
            agents.insert(agent.to_owned(), now.micros());
        }
        if edits.len() > limits::TOLD_ENTRIES {
            edits.retain(|file, _| files.contains(file));
        }
        met
    })
}

/// Changes a file of facts, which is empty if it is missing or damaged. `None` if it cannot be changed soon.
fn change<T, F: Default + Serialize + DeserializeOwned>(
    room: &Room,
    name: &str,
    change: impl FnOnce(&mut F) -> T,
) -> Option<T> {
    let dir = room.dir.make(layout::SESSIONS).ok()?;
    let _lock = dir.lock_within(layout::TOLD_LOCK, limits::TOLD_WAIT).ok()?;
    let read = dir.read(name, limits::LEASE_BYTES).ok()?;
    let mut facts = read
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default();
    let answer = change(&mut facts);
    dir.show(name, &serde_json::to_vec(&facts).ok()?).ok()?;
    Some(answer)
}
