//! Evidence of records that the log once had: `spool/tip`, and the numbers of originals in `sent/`.
//!
//! A log that is older than its evidence was restored, shortened or replaced. A router that started from it would use
//! numbers again, and would deliver messages again.

use crate::base::error::{Error, Result};
use crate::base::hash::Hash;
use crate::base::limits;
use crate::base::written_path::write_path;
use crate::disk::{Dir, layout};
use crate::log::LogTip;
use crate::log::state::{ReplayedLog, RoomState};
use crate::room::Room;
use serde::Serialize;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

/// A file that shows that the log once had a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EvidenceFile {
    /// The file, relative to the room.
    #[serde(serialize_with = "write_path")]
    pub file: PathBuf,
    /// The record that it shows.
    pub seq: u64,
    /// The hash of the record's line, if the file names it.
    #[serde(skip)]
    pub hash: Option<Hash>,
}

/// `sent/alice/7~x.json shows record 7`
impl fmt::Display for EvidenceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} shows record {}", self.file.display(), self.seq)
    }
}

impl EvidenceFile {
    fn of_tip(tip: &LogTip) -> EvidenceFile {
        EvidenceFile {
            file: layout::TIP.into(),
            seq: tip.seq,
            hash: Some(tip.hash),
        }
    }
}

/// Returns true if `spool/tip` has a later record than this state. Reads one small file.
pub fn is_after(room: &Room, state: &RoomState) -> Result<bool> {
    Ok(LogTip::read(&room.dir)?.is_some_and(|tip| tip.seq > state.seq))
}

/// The newest record that each kind of file in the room shows.
pub fn newest(room: &Room) -> Result<Vec<EvidenceFile>> {
    let mut found = Vec::new();
    found.extend(LogTip::read(&room.dir)?.as_ref().map(EvidenceFile::of_tip));
    found.extend(newest_sent(&room.dir)?);
    found.retain(|witness| witness.seq > 0);
    Ok(found)
}

/// The files with a record that the log does not have, or has with other content.
///
/// The files of agents are read only if `spool/tip` is missing or is not the end of the log, so that the usual start
/// reads one small file.
pub fn against(room: &Dir, state: &RoomState) -> Result<Vec<EvidenceFile>> {
    let tip = LogTip::read(room)?;
    if tip == Some(state.tip()) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    if let Some(tip) = tip
        && state.gaps.of(tip.seq).is_none()
        && !is_in(&tip, room, state)?
    {
        found.push(EvidenceFile::of_tip(&tip));
    }
    found.extend(newest_sent(room)?.filter(|witness| witness.seq > state.seq));
    Ok(found)
}

fn is_in(tip: &LogTip, room: &Dir, state: &RoomState) -> Result<bool> {
    Ok(tip.seq == 0 || tip.seq <= state.seq && tip.is_in(room)?)
}

/// Fails if the room has evidence against the log.
pub fn check(room: &Dir, replayed: &ReplayedLog) -> Result<()> {
    let found = against(room, &replayed.state)?;
    if found.is_empty() {
        Ok(())
    } else {
        Err(rejected(room, replayed, &found))
    }
}

fn rejected(room: &Dir, replayed: &ReplayedLog, found: &[EvidenceFile]) -> Error {
    let ReplayedLog { state, damage, .. } = replayed;
    let ends = match damage {
        Some(damage) => format!(
            "is damaged at byte {} of {}, in a batch that was committed ({}), and ends before that with record {}",
            damage.from.offset,
            layout::segment(damage.from.segment),
            damage.what,
            state.seq
        ),
        None => format!("ends with record {}", state.seq),
    };
    Error::state(
        room.at(layout::LOG),
        format!("the log {ends}, but {}", describe(found, state.seq)),
        "restore log/ from a copy that has these records; if a file is from another room, move it out of this \
               room; to give the records up, run `mailbag log accept-gap`; nothing was changed",
    )
}

/// The evidence in words.
pub fn describe(found: &[EvidenceFile], last: u64) -> String {
    let mut words = Vec::new();
    for witness in found {
        words.push(if witness.seq > last {
            witness.to_string()
        } else {
            let file = witness.file.display();
            format!("{file} shows another record {}", witness.seq)
        });
    }
    words.join(", ")
}

/// The original in `sent/` with the highest number.
fn newest_sent(room: &Dir) -> Result<Option<EvidenceFile>> {
    let mut newest: Option<EvidenceFile> = None;
    let Some(sent) = room.sub_if_exists(layout::SENT)? else {
        return Ok(None);
    };
    for agent in sent.names()? {
        let place = layout::sent(&agent);
        for name in names(room, &place) {
            // Another program may have made a file with a number that no router reaches.
            let seq = name.to_str().and_then(layout::read_retired);
            let Some(seq) = seq.filter(|seq| *seq <= limits::SEQ_MOST) else {
                continue;
            };
            if newest.as_ref().is_none_or(|newest| seq > newest.seq) {
                let file = layout::below(&place, &name);
                newest = Some(EvidenceFile {
                    file,
                    seq,
                    hash: None,
                });
            }
        }
    }
    Ok(newest)
}

/// The names in an agent's directory. A directory that cannot be read is not evidence, because an error there must
/// not stop the router.
fn names(room: &Dir, place: &Path) -> Vec<OsString> {
    let listed = room.sub(place).and_then(|dir| {
        dir.list()?
            .map(|entry| entry.map(|entry| entry.name))
            .collect()
    });
    listed.unwrap_or_else(|e: Error| {
        if e.errno() != Some(libc::ENOENT) {
            tracing::warn!("{e}; the log is not compared with the files there");
        }
        Vec::new()
    })
}
