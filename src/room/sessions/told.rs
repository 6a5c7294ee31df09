//! The remarks that sessions have already got, so that each is made once. Losing the record repeats remarks only.

use crate::base::clock::Stamp;
use crate::base::limits;
use crate::disk::layout;
use crate::room::Room;
use std::collections::BTreeMap;
use std::time::Duration;

/// Returns true if a session has not got this remark, and records it for a day. `None` if it cannot be recorded.
pub fn first_time(room: &Room, session: &str, what: &str) -> Option<bool> {
    first_time_within(room, session, what, limits::TOLD)
}

/// As [`first_time`], for a shorter time.
pub fn first_time_within(room: &Room, session: &str, what: &str, within: Duration) -> Option<bool> {
    let dir = room.dir.make(layout::SESSIONS).ok()?;
    let _lock = dir.lock_within(layout::TOLD_LOCK, limits::TOLD_WAIT).ok()?;
    let read = dir.read(layout::TOLD, limits::LEASE_BYTES).ok()?;
    let mut told: BTreeMap<String, i64> = read
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default();
    let now = Stamp::now();
    told.retain(|_, at| Stamp::from_micros(*at).is_within(limits::TOLD, now));
    if told.len() >= limits::TOLD_ENTRIES {
        told.clear();
    }
    let key = format!("{session} {what}");
    let is_first = told
        .get(&key)
        .is_none_or(|at| !Stamp::from_micros(*at).is_within(within, now));
    if is_first {
        told.insert(key, now.micros());
        dir.show(layout::TOLD, &serde_json::to_vec(&told).ok()?)
            .ok()?;
    }
    Some(is_first)
}
