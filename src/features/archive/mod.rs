//! The archive. Old files are packed into one tar a run, old segments of the log and large shared files are compressed, and
//! only then removed from their directories.
//!
//! One archiver at a time holds `spool/archive.lock`; it does not need the router's lock. A packed file is written under a
//! temporary name, synced, and moved to its place by one rename. A kill before the removal of the sources leaves both, and
//! the next run packs them again. No program reads a tar: the log has every message.

mod artifacts;
mod pack;
mod sources;

pub use artifacts::artifacts;
pub use sources::{PackSource, SkippedFile, each};

use super::Feature;
use crate::base::clock::Stamp;
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::hash::{Hash, hash_stream};
use crate::disk::{Barrier, Dir, DraftFile, LockFile, layout};
use crate::log::state::RoomState;
use crate::room::Room;
use pack::wrong;
use std::path::{Path, PathBuf};

pub(super) const FEATURE: ArchiveFeature = ArchiveFeature;

pub(super) struct ArchiveFeature;

/// The feature has no state.
pub(super) type State = ();

// The router does not archive.
impl Feature for ArchiveFeature {}

/// The exclusive right to archive in a room, with the required handles.
pub struct ArchiveWriter {
    room: Dir,
    barrier: Barrier,
    _lock: LockFile,
}

/// The result of packing.
#[derive(Debug, Default)]
pub struct PackResult {
    /// The path of the packed file relative to the room. `None` if there were no files.
    pub path: Option<PathBuf>,
    /// The number of packed files.
    pub files: u64,
    /// The size of these files.
    pub bytes: u64,
    /// Their size in the archive.
    pub packed_bytes: u64,
    /// The skipped files.
    pub skipped: Vec<SkippedFile>,
}

impl PackResult {
    /// The files of a dry run.
    pub fn of(files: u64, bytes: u64) -> PackResult {
        PackResult {
            files,
            bytes,
            ..PackResult::default()
        }
    }
}

impl ArchiveWriter {
    /// Takes the exclusive right to archive in this room, and removes the drafts of a killed run.
    pub fn open(room: &Room) -> Result<ArchiveWriter> {
        let lock = room.lock_archive()?;
        let barrier = Barrier::new(room.dir.clone());
        let archive = ArchiveWriter {
            room: room.dir.clone(),
            barrier,
            _lock: lock,
        };
        archive.remove_drafts()?;
        Ok(archive)
    }

    /// Makes the basis of the state durable, and writes the index and the snapshot. The log can then be read without
    /// the segments before it. Call it before a segment leaves `log/`.
    pub fn rely_on(&mut self, state: &mut RoomState) -> Result<()> {
        let logs = self.room.sub(layout::LOG)?;
        self.barrier.everything();
        // For systems without a call that syncs the whole file system.
        let name = layout::segment(state.end.segment);
        self.barrier.file(logs.look(&name)?, || logs.at(&name));
        self.barrier.dir(&logs);
        self.barrier.pass()?;
        state.save_to_archive(&self.room)
    }

    /// Packs files into one tar, and then removes the sources that have not changed.
    pub fn files(
        &mut self,
        sources: &[PackSource],
        progress: &mut dyn FnMut(u64),
    ) -> Result<PackResult> {
        if sources.is_empty() {
            return Ok(PackResult::default());
        }
        let archive = self.directory()?;
        let name = new_name(&archive)?;
        let draft = DraftFile::new(&archive, &layout::draft(&name))?;
        let path = draft.path();
        let (draft, members) = pack::pack_files(&self.room, sources, draft, &path, progress)?;
        if members.files.is_empty() {
            return Ok(PackResult {
                skipped: members.skipped,
                ..PackResult::default()
            });
        }
        draft.sync()?;
        let packed_bytes = draft.written();
        draft.place(&name)?;
        self.barrier.dir(&archive);
        self.barrier.pass()?;
        let mut packed = PackResult {
            path: Some(layout::archived(&name)),
            files: members.files.len() as u64,
            bytes: members.bytes,
            packed_bytes,
            skipped: members.skipped,
        };
        for member in members.files {
            if !member.dir.remove_if_same(&member.name, &member.meta)? {
                packed.skipped.push(SkippedFile {
                    path: member.path,
                    reason: "it changed while it was packed; the next run packs it".into(),
                });
            }
            self.barrier.dir(&member.dir);
        }
        self.barrier.pass()?;
        Ok(packed)
    }

    /// Compresses a complete log segment, which no longer changes, and removes it from `log/`.
    pub fn segment(&mut self, number: u32, progress: &mut dyn FnMut(u64)) -> Result<PackResult> {
        let logs = self.room.sub(layout::LOG)?;
        let live = layout::segment(number);
        let file = logs.look(&live)?;
        let meta = file.meta().doing_in("look at", logs.path(), &live)?;
        let (archive, name) = (self.directory()?, layout::archived_segment(number));
        let below = layout::archived(&name);
        let weight = if archive.stat(&name)?.is_some() {
            // A killed run compressed the segment before it could remove it.
            let weight = hash_stream(file.clone()).doing_in("read", logs.path(), &live)?;
            self.compare(&below, weight, &logs.at(&live))?;
            weight
        } else {
            let draft = DraftFile::new(&archive, &layout::draft(&name))?;
            let path = draft.path();
            let (draft, weight) = pack::pack_stream(file.clone(), draft, &path, progress)?;
            draft.sync()?;
            if pack::weigh_packed(draft.look()?, &path)? != weight {
                return Err(wrong(&path, "its content differs from the segment"));
            }
            draft.place(&name)?;
            weight
        };
        // The killed run may not have made the name durable.
        self.barrier.dir(&archive);
        self.barrier.pass()?;
        let mut skipped = Vec::new();
        if !logs.remove_if_same(&live, &meta)? {
            skipped.push(SkippedFile {
                path: layout::live_segment(number),
                reason: "it changed while it was packed".into(),
            });
        }
        self.barrier.dir(&logs);
        self.barrier.pass()?;
        Ok(PackResult {
            packed_bytes: archive.stat(&name)?.map_or(0, |meta| meta.size),
            path: Some(below),
            files: 1,
            bytes: weight.1,
            skipped,
        })
    }

    /// Checks that the archived segment has the same content as the segment in `log/`.
    fn compare(&self, below: &Path, weight: (Hash, u64), live: &Path) -> Result<()> {
        let archive = self.room.sub(layout::ARCHIVE)?;
        let name = below.file_name().unwrap_or_default();
        if pack::weigh_packed(archive.look(name)?, &self.room.at(below))? == weight {
            return Ok(());
        }
        Err(Error::state(
            self.room.at(below),
            format!("differs from {}", live.display()),
            "move one of the two to another place: `mailbag log verify` checks the rest; nothing was changed",
        ))
    }

    fn directory(&mut self) -> Result<Dir> {
        // A killed run may have made the directory, and not have synced its name.
        self.barrier.dir(&self.room);
        self.room.make_with(layout::ARCHIVE, &mut self.barrier)
    }

    fn remove_drafts(&self) -> Result<()> {
        self.room.remove(layout::ARCHIVED_SNAPSHOT_DRAFT)?;
        self.room.remove(layout::ARCHIVED_INDEX_DRAFT)?;
        let Some(archive) = self.room.sub_if_exists(layout::ARCHIVE)? else {
            return Ok(());
        };
        for entry in archive.list()? {
            let name = entry?.name;
            if name.to_str().is_some_and(layout::is_draft) {
                archive.remove(&name)?;
            }
        }
        Ok(())
    }
}

/// An unused name for a tar.
fn new_name(archive: &Dir) -> Result<String> {
    let mut at = Stamp::now();
    loop {
        let name = layout::pack(at);
        if archive.stat(&name)?.is_none() {
            return Ok(name);
        }
        at = at.next();
    }
}
