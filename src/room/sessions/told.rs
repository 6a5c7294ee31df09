//! What sessions were told already, so that a remark that repeats is made once. Losing the file repeats remarks only.

use crate::base::clock::Stamp;
use crate::base::limits;
use crate::disk::layout;
use crate::room::Room;
use std::collections::BTreeMap;

/// Is this the first time that a session is told this? Remembers that it was. `None` if that cannot be remembered.
pub fn first_time(room: &Room, session: &str, what: &str) -> Option<bool> {
    let dir = room.dir.make(layout::SESSIONS).ok()?;
    let _lock = dir.lock_within(layout::TOLD_LOCK, limits::TOLD_WAIT).ok()?;
    let read = dir.read(layout::TOLD, limits::LEASE_BYTES).ok()?;
    let mut told: BTreeMap<String, i64> =
        read.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let now = Stamp::now().micros();
    let expired = now - limits::TOLD.as_micros() as i64;
    told.retain(|_, at| *at > expired);
    if told.len() >= limits::TOLD_ENTRIES {
        told.clear();
    }
    let is_first = told.insert(format!("{session} {what}"), now).is_none();
    if is_first {
        dir.show(layout::TOLD, &serde_json::to_vec(&told).ok()?).ok()?;
    }
    Some(is_first)
}
