//! `claims.json`: who owns which work, up to a record of the log. A reader that has to be exact adds the records after it.

use super::state::{self, Claims, RoomState};
use super::{LogPosition, LogTip, lines};
use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Dir, layout};
use crate::message::claim::ClaimChange;
use crate::message::id;
use memchr::memmem;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The content of the file.
#[derive(Serialize, Deserialize)]
struct ClaimsFile<T> {
    /// The last record that the file includes.
    #[serde(flatten)]
    upto: LogTip,
    #[serde(flatten)]
    claims: T,
}

/// The text of the file for this state.
pub fn text(state: &RoomState) -> Vec<u8> {
    let content = ClaimsFile {
        upto: state.tip(),
        claims: &state.claims,
    };
    let mut text = serde_json::to_vec_pretty(&content).expect("claims have only text keys");
    text.push(b'\n');
    text
}

/// The last record that the file includes. `None` without a file for this log.
pub fn written(room: &Dir) -> Result<Option<LogTip>> {
    let Some(bytes) = room.read(layout::CLAIMS, limits::CLAIMS_BYTES)? else {
        return Ok(None);
    };
    let content: Option<ClaimsFile<IgnoredAny>> = serde_json::from_slice(&bytes).ok();
    match content {
        Some(content) if content.upto.is_in(room)? => Ok(Some(content.upto)),
        _ => Ok(None),
    }
}

/// The claims as the committed log has them at this moment.
pub fn owners(room: &Dir) -> Result<Claims> {
    let bytes = room
        .read(layout::CLAIMS, limits::CLAIMS_BYTES)
        .unwrap_or_else(|e| {
            tracing::debug!("{e}; the log is read instead");
            None
        });
    // Parsed twice: a single pass would buffer the whole file.
    let content = bytes.and_then(|bytes| {
        let upto: LogTip = serde_json::from_slice(&bytes).ok()?;
        Some((upto, serde_json::from_slice::<Claims>(&bytes).ok()?))
    });
    match content {
        Some((upto, claims)) if upto.is_in(room)? => after(room, claims, upto.end),
        // A room without changes of ownership has no file.
        _ => Ok(state::committed(room)?.claims),
    }
}

/// The fields of a record that changes ownership.
#[derive(Deserialize)]
struct OwnershipFields<'a> {
    seq: u64,
    #[serde(borrow)]
    at: Cow<'a, str>,
    #[serde(borrow, default)]
    from: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(default)]
    ownership: Option<ClaimChange>,
}

fn after(room: &Dir, mut claims: Claims, end: LogPosition) -> Result<Claims> {
    let (changes, clock) = (
        memmem::Finder::new(b"\"ownership\":"),
        memmem::Finder::new(b"\"clock\":"),
    );
    for line in lines(room, end)? {
        let line = line?;
        // A change of the clock moves the times of all claims.
        if clock.find(&line.bytes).is_some() {
            return Ok(state::committed(room)?.claims);
        }
        if changes.find(&line.bytes).is_none() {
            continue;
        }
        let Ok(OwnershipFields {
            seq,
            at,
            from,
            id,
            ownership: Some(change),
        }) = serde_json::from_slice(&line.bytes)
        else {
            continue;
        };
        let from = from.as_deref().unwrap_or(id::MAILBAG).into();
        let at = Stamp::parse(&at).unwrap_or_default();
        let id = id.as_deref().unwrap_or_default();
        claims.apply(
            &change,
            state::ChangeSource {
                seq,
                at,
                from: &from,
                id,
            },
        );
    }
    Ok(claims)
}
