//! The files that agents edited a moment ago, to notice two agents in one file. Losing the record loses notices only.

use crate::base::clock::Stamp;
use crate::base::limits;
use crate::disk::layout;
use crate::room::Room;
use std::collections::BTreeMap;

/// The last edits: for each file, the agents with their times in microseconds.
type RecentEdits = BTreeMap<String, BTreeMap<String, i64>>;

/// Notes that an agent edits these files. Returns each file that another agent edited within [`limits::SAME_FILE`], with
/// that agent. `None` if edits cannot be noted.
pub fn note_edits(room: &Room, agent: &str, files: &[String]) -> Option<Vec<(String, String)>> {
    let dir = room.dir.make(layout::SESSIONS).ok()?;
    let _lock = dir
        .lock_within(layout::EDITS_LOCK, limits::TOLD_WAIT)
        .ok()?;
    let read = dir.read(layout::EDITS, limits::LEASE_BYTES).ok()?;
    let mut edits: RecentEdits = read
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default();
    let now = Stamp::now().micros();
    let window = now - limits::SAME_FILE.as_micros() as i64..=now;
    edits.retain(|_, agents| {
        agents.retain(|_, at| window.contains(at));
        !agents.is_empty()
    });
    let mut met = Vec::new();
    for file in files.iter().take(limits::TOLD_ENTRIES) {
        let agents = edits.entry(file.clone()).or_default();
        let others = agents.keys().filter(|other| *other != agent);
        met.extend(others.map(|other| (file.clone(), other.clone())));
        agents.insert(agent.to_owned(), now);
    }
    if edits.len() > limits::TOLD_ENTRIES {
        edits.retain(|file, _| files.contains(file));
    }
    dir.show(layout::EDITS, &serde_json::to_vec(&edits).ok()?)
        .ok()?;
    Some(met)
}
