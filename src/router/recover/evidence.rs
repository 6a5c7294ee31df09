//! Evidence of records that the log once had: the router's notes, the originals of senders, delivered copies, and
//! packs of them.
//!
//! A log that is older than its evidence was restored, shortened or replaced. A router that started from it would use
//! numbers again, and would deliver messages again.

use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::base::hash::Hash;
use crate::base::limits;
use crate::base::written_path::write_path;
use crate::disk::failpoint::{self, Failpoint};
use crate::disk::{Dir, layout};
use crate::log::state::{self, ReplayedLog, RoomState};
use crate::log::{CommitNote, LogTip};
use crate::room::Room;
use crate::room::archive::{ArchiveKind, PackedFile, each_packed};
use serde::Serialize;
use serde_json::Value;
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
    fn of_tip(file: &str, tip: &LogTip) -> EvidenceFile {
        EvidenceFile {
            file: file.into(),
            seq: tip.seq,
            hash: Some(tip.hash),
        }
    }

    /// Returns true if the log has lost the record of the file, and no gap names it.
    fn is_later_than(&self, state: &RoomState) -> bool {
        self.seq > state.seq && state.gaps.of(self.seq).is_none()
    }
}

/// Whether the router's note has a later record than this state. Reads one small file.
pub fn is_after(room: &Room, state: &RoomState) -> Result<bool> {
    Ok(CommitNote::read(&room.dir)?.is_some_and(|noted| noted.tip.seq > state.seq))
}

/// The newest record that each kind of file in the room shows.
pub fn newest(room: &Room) -> Result<Vec<EvidenceFile>> {
    let (dir, id) = (&room.dir, room.id()?);
    let mut found = Vec::new();
    found.extend(
        CommitNote::read(dir)?.map(|noted| EvidenceFile::of_tip(layout::COMMITTED, &noted.tip)),
    );
    let saved = state::saved(dir).filter(|saved| saved.room == id);
    found.extend(saved.map(|saved| EvidenceFile::of_tip(layout::CHECKPOINT, &saved.tip())));
    found.extend(in_files(dir, Stamp::default())?);
    found.retain(|witness| witness.seq > 0);
    Ok(found)
}

/// The files with a record that the log does not have, or has with other content.
///
/// The files of agents are read only if the newest segment was written to after the router's note, because then the room has
/// no cheaper evidence. So the usual start needs one `fstatat` call.
pub fn against(room: &Dir, replayed: &ReplayedLog) -> Result<Vec<EvidenceFile>> {
    let state = &replayed.state;
    let noted = CommitNote::read(room)?;
    let mut found = Vec::new();
    if let Some(tip) = noted.as_ref().map(|noted| &noted.tip)
        && state.gaps.of(tip.seq).is_none()
        && *tip != state.tip()
        && !is_in(tip, room, state)?
    {
        found.push(EvidenceFile::of_tip(layout::COMMITTED, tip));
    }
    if let Some(tip) = replayed
        .other_checkpoint()
        .filter(|tip| state.gaps.of(tip.seq).is_none())
    {
        found.push(EvidenceFile::of_tip(layout::CHECKPOINT, &tip));
    }
    let is_sealed =
        replayed.damage.is_none() && noted.map_or(Ok(false), |noted| noted.is_sealed(room))?;
    if !found.is_empty() || !is_sealed {
        found.extend(
            in_files(room, state.at)?
                .into_iter()
                .filter(|witness| witness.is_later_than(state)),
        );
    }
    Ok(found)
}

fn is_in(tip: &LogTip, room: &Dir, state: &RoomState) -> Result<bool> {
    Ok(tip.seq == 0 || tip.seq <= state.seq && tip.is_in(room)?)
}

/// Fails if the room has evidence against the log.
pub fn check(room: &Dir, replayed: &ReplayedLog) -> Result<()> {
    if !failpoint::on(Failpoint::LogEvidence) {
        return Ok(());
    }
    let found = against(room, replayed)?;
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

/// The newest originals in `sent/` and `rejected/`, the newest copy that was accepted after this time, and the newest
/// such file in a pack that was made after this time.
fn in_files(room: &Dir, after: Stamp) -> Result<Vec<EvidenceFile>> {
    let mut found = Vec::new();
    for (parent, of) in [
        (layout::SENT, layout::sent as fn(&str) -> PathBuf),
        (layout::REJECTED, layout::rejected),
    ] {
        let mut newest: Option<EvidenceFile> = None;
        for agent in agents(room, parent)? {
            each_retired(room, &of(&agent), &mut |seq, path| {
                keep_later(&mut newest, seq, path)
            });
        }
        found.extend(newest);
    }
    let mut newest: Option<EvidenceFile> = None;
    for agent in agents(room, layout::INBOXES)? {
        for place in inboxes(&agent) {
            // Latest first, because the number grows with the time.
            let mut names = copies_after(room, &place, after).into_iter().rev();
            let shown = names.find_map(|name| {
                let path = layout::below(&place, name.as_ref());
                Some((number_of_copy(room, &path)?, path))
            });
            if let Some((seq, path)) = shown {
                keep_later(&mut newest, seq, path);
            }
        }
    }
    found.extend(newest);
    let mut newest: Option<EvidenceFile> = None;
    each_packed(room, after, &mut |pack, file| {
        if let Some(seq) = number_of_packed(room, file, after) {
            keep_later(&mut newest, seq, pack.to_path_buf());
        }
    })?;
    found.extend(newest);
    Ok(found)
}

fn number_of_packed(room: &Dir, file: &PackedFile, after: Stamp) -> Option<u64> {
    let seq = match file.kind {
        ArchiveKind::Sent | ArchiveKind::Rejected => {
            layout::read_retired(file.path.file_name()?.to_str()?)?
        }
        ArchiveKind::Seen | ArchiveKind::Expired => read_packed_copy(room, file, after)?
            .pointer("/delivery/seq")?
            .as_u64()?,
    };
    (seq <= limits::SEQ_MOST).then_some(seq)
}

/// A packed copy that was accepted after this time, or `None` if its inbox belongs to another user than the router's,
/// like in [`read_copy`].
pub(super) fn read_packed_copy(room: &Dir, file: &PackedFile, after: Stamp) -> Option<Value> {
    layout::read_delivered(file.path.file_name()?).filter(|at| *at > after)?;
    let us = rustix::process::geteuid().as_raw();
    let directories = [layout::inbox(&file.agent), file.path.parent()?.to_owned()];
    for directory in directories {
        let is_ours = room
            .stat(&directory)
            .ok()?
            .is_none_or(|meta| meta.uid == us);
        if !is_ours {
            return None;
        }
    }
    serde_json::from_slice(&file.bytes).ok()
}

fn keep_later(newest: &mut Option<EvidenceFile>, seq: u64, file: PathBuf) {
    if newest.as_ref().is_none_or(|newest| seq > newest.seq) {
        *newest = Some(EvidenceFile {
            file,
            seq,
            hash: None,
        });
    }
}

/// Calls `each` for each retired original and explanation in a directory, with its number.
pub(super) fn each_retired(room: &Dir, place: &Path, each: &mut dyn FnMut(u64, PathBuf)) {
    for name in names(room, place) {
        // Another program may have made a file with a number that no router reaches.
        if let Some(seq) = name
            .to_str()
            .and_then(layout::read_retired)
            .filter(|seq| *seq <= limits::SEQ_MOST)
        {
            each(seq, layout::below(place, &name));
        }
    }
}

/// The directories of an agent's copies.
pub(super) fn inboxes(agent: &str) -> [PathBuf; 4] {
    [
        layout::inbox(agent),
        layout::seen(agent),
        layout::taken(agent),
        layout::expired(agent),
    ]
}

/// The names of the copies in a directory that were accepted after this time, in the order of acceptance.
pub(super) fn copies_after(room: &Dir, place: &Path, after: Stamp) -> Vec<String> {
    let mut names = names(room, place);
    names.retain(|name| layout::read_delivered(name).is_some_and(|at| at > after));
    names.sort_unstable();
    names
        .into_iter()
        .filter_map(|name| name.into_string().ok())
        .collect()
}

fn number_of_copy(room: &Dir, path: &Path) -> Option<u64> {
    read_copy(room, path)?
        .pointer("/delivery/seq")?
        .as_u64()
        .filter(|seq| *seq <= limits::SEQ_MOST)
}

/// A copy, or `None` for a file of another user than the router's: such a file of an agent must not stop the router.
pub(super) fn read_copy(room: &Dir, path: &Path) -> Option<Value> {
    let us = rustix::process::geteuid().as_raw();
    let (dir, name) = (room.sub(path.parent()?).ok()?, path.file_name()?);
    dir.stat(name).ok()?.filter(|meta| meta.uid == us)?;
    serde_json::from_slice(&dir.read(name, limits::MESSAGE_BYTES_MOST * 2).ok()??).ok()
}

/// The agents with a directory in this one.
pub(super) fn agents(room: &Dir, parent: &str) -> Result<Vec<String>> {
    match room.sub_if_exists(parent)? {
        Some(parent) => parent.names(),
        None => Ok(Vec::new()),
    }
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
