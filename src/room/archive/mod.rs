//! The archive. Old files are packed into `archive/YYYY-MM/`, read back, and only then removed from their directories.
//!
//! One archiver at a time holds `spool/archive.lock`; it does not need the router's lock. A pack is written under a
//! temporary name, compared with its sources, and moved to its place by one rename. From before that rename until all
//! sources are removed, the lock file names the pack, so that the archiver after a killed one can finish it. A log
//! segment needs no such note, because its archived copy is byte for byte the same.

mod artifacts;
mod frames;
mod pack;
mod sources;

pub use artifacts::{artifacts, weigh_artifact};
pub use sources::{ArchiveKind, PackSource, SkippedFile, each};

use crate::base::clock::Stamp;
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::hash::{Hash, hash_stream};
use crate::disk::failpoint::{self, Failpoint};
use crate::disk::{Barrier, Dir, DraftFile, LockFile, file_meta, layout};
use crate::log;
use crate::log::state::RoomState;
use crate::room::Room;
use frames::{PackEntry, PackReader, PackWriter};
use pack::{ByteCounter, wrong};
use rustix::fs::FileType;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

/// The exclusive right to archive in a room, with the required handles.
pub struct ArchiveWriter {
    room: Dir,
    barrier: Barrier,
    lock: LockFile,
    /// The time in the name of the last pack.
    last: Stamp,
}

/// The result of packing.
#[derive(Debug, Default)]
pub struct PackResult {
    /// The path of the pack relative to the room. `None` if there were no files, or if only the size was measured.
    pub path: Option<PathBuf>,
    /// The number of packed files.
    pub files: u64,
    /// The size of these files.
    pub bytes: u64,
    /// The size of the pack.
    pub packed_bytes: u64,
    /// The skipped files.
    pub skipped: Vec<SkippedFile>,
}

impl ArchiveWriter {
    /// Takes the exclusive right to archive in this room, and first completes a killed run: its drafts are removed, and
    /// so are the sources of its finished pack. Also returns the number of removed sources.
    pub fn open(room: &Room) -> Result<(ArchiveWriter, u64)> {
        let lock = room.lock_archive()?;
        let barrier = Barrier::new(room.dir.clone());
        let mut archive = ArchiveWriter {
            room: room.dir.clone(),
            barrier,
            lock,
            last: Stamp::default(),
        };
        archive.remove_drafts()?;
        let finished = archive.finish()?;
        Ok((archive, finished))
    }

    /// Makes the basis of the state durable, and writes the state as the checkpoint. The log can then be read without
    /// the segments before it. Call it before a segment leaves `log/`.
    pub fn rely_on(&mut self, state: &RoomState) -> Result<()> {
        let logs = self.room.sub(layout::LOG)?;
        self.barrier.everything();
        // For systems without a call that syncs the whole file system.
        let name = layout::segment(state.end.segment);
        self.barrier.file(logs.look(&name)?, || logs.at(&name));
        self.barrier.dir(&logs);
        self.barrier.pass()?;
        let (name, draft) = (
            Path::new(layout::CHECKPOINT),
            Path::new(layout::CHECKPOINT_DRAFT),
        );
        self.room.replace_by(name, draft, &state.checkpoint())
    }

    /// Packs files of one kind and month, and then removes the sources that have not changed.
    pub fn files(
        &mut self,
        kind: ArchiveKind,
        sources: &[&PackSource],
        progress: &mut dyn FnMut(u64),
    ) -> Result<PackResult> {
        let Some(first) = sources.first() else {
            return Ok(PackResult::default());
        };
        let month = self
            .room
            .make_with(layout::archive(&first.month), &mut self.barrier)?;
        let name = self.name(kind, &month)?;
        let draft = DraftFile::new(&month, &layout::draft(&name))?;
        let path = draft.path();
        let writer = PackWriter::new(draft, &path)?;
        let (draft, members) = pack::pack_files(&self.room, kind, sources, writer, progress)?;
        if members.files.is_empty() {
            return Ok(PackResult {
                skipped: members.skipped,
                ..PackResult::default()
            });
        }
        self.make_durable(&draft)?;
        pack::check_files(draft.look()?, &path, kind, &members)?;
        let packed_bytes = draft.written();
        let below = layout::archived(&first.month, &name);
        self.note(&below)?;
        draft.place(&name)?;
        self.barrier.dir(&month);
        self.barrier.pass()?;
        let mut packed = PackResult {
            path: Some(below),
            files: members.files.len() as u64,
            bytes: members.bytes,
            packed_bytes,
            skipped: members.skipped,
        };
        let mut dirs: Option<(PathBuf, Dir)> = None;
        for member in members.files {
            let directory = kind.directory(&member.agent);
            let dir = match dirs.take_if(|(open, _)| *open == directory) {
                Some((_, dir)) => dir,
                None => self.room.sub(&directory)?,
            };
            if !dir.remove_if_same(&member.name, &member.meta)? {
                let reason = "it changed while it was packed; the next run packs it".into();
                packed.skipped.push(SkippedFile {
                    path: layout::below(&directory, &member.name),
                    reason,
                });
            }
            self.barrier.dir(&dir);
            dirs = Some((directory, dir));
        }
        self.barrier.pass()?;
        self.forget()?;
        Ok(packed)
    }

    fn name(&mut self, kind: ArchiveKind, month: &Dir) -> Result<String> {
        loop {
            self.last = self.last.next();
            let name = layout::pack(kind.as_str(), self.last);
            if month.stat(&name)?.is_none() {
                return Ok(name);
            }
        }
    }

    /// Packs a complete log segment, which no longer changes, and removes it from `log/`.
    pub fn segment(
        &mut self,
        number: u32,
        month: &str,
        progress: &mut dyn FnMut(u64),
    ) -> Result<PackResult> {
        let logs = self.room.sub(layout::LOG)?;
        let live = layout::segment(number);
        let file = logs.look(&live)?;
        let meta = file_meta(&file).doing_in("look at", logs.path(), &live)?;
        let (below, weight, packed_bytes) = match log::archived(&self.room)?.remove(&number) {
            // A killed run packed the segment before it could remove it.
            Some(below) => {
                let weight = hash_stream(&file).doing_in("read", logs.path(), &live)?;
                self.compare(&below, weight, &logs.at(&live))?;
                // The killed run may not have made the name durable.
                self.make_name_durable(&below)?;
                let size = self.room.stat(&below)?.map_or(0, |meta| meta.size);
                (below, weight, size)
            }
            None => {
                let dir = self
                    .room
                    .make_with(layout::archive(month), &mut self.barrier)?;
                let name = layout::archived_segment(number);
                let draft = DraftFile::new(&dir, &layout::draft(&name))?;
                let path = draft.path();
                let (draft, weight) = pack::pack_stream(&file, draft, &path, progress)?;
                self.make_durable(&draft)?;
                if pack::weigh_packed(draft.look()?, &path)? != weight {
                    return Err(wrong(&path, "its content differs from the segment"));
                }
                let size = draft.written();
                draft.place(&name)?;
                self.barrier.dir(&dir);
                self.barrier.pass()?;
                (layout::archived(month, &name), weight, size)
            }
        };
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
            path: Some(below),
            files: 1,
            bytes: weight.1,
            packed_bytes,
            skipped,
        })
    }

    fn make_name_durable(&mut self, below: &Path) -> Result<()> {
        if let Some((directory, _)) = layout::split(below) {
            self.barrier.dir(&self.room.sub(directory)?);
        }
        self.barrier.pass()
    }

    /// Checks that the archived segment has the same content as the segment in `log/`.
    fn compare(&self, below: &Path, weight: (Hash, u64), live: &Path) -> Result<()> {
        let (directory, name) = layout::split(below).unwrap_or((Path::new(""), below.as_os_str()));
        if pack::weigh_packed(self.room.sub(directory)?.look(name)?, &self.room.at(below))?
            == weight
        {
            return Ok(());
        }
        Err(Error::state(
            self.room.at(below),
            format!("differs from {}", live.display()),
            "move one of the two to another place: `mailbag log verify` checks the rest; nothing was changed",
        ))
    }

    fn make_durable(&self, draft: &DraftFile) -> Result<()> {
        if failpoint::on(Failpoint::ArchiveSync) {
            draft.sync()
        } else {
            Ok(())
        }
    }

    /// Durably notes the pack before its sources are removed. A partial note names no pack, and then no source was
    /// removed.
    fn note(&mut self, pack: &Path) -> Result<()> {
        let path = self.room.at(layout::ARCHIVE_LOCK);
        let text = format!("{}\n", pack.display());
        self.forget()?;
        if !failpoint::on(Failpoint::ArchiveNote) {
            return Ok(());
        }
        self.lock
            .rewind()
            .and_then(|()| self.lock.write_all(text.as_bytes()))
            .doing("write", &path)?;
        self.barrier
            .file(self.lock.try_clone().doing("open", &path)?, || path);
        // If a power cut moves an original back to the picked-up files, recovery would retire it again.
        self.barrier.dir(&self.room.sub(layout::CLAIM)?);
        self.barrier.pass()
    }

    fn forget(&mut self) -> Result<()> {
        self.lock
            .set_len(0)
            .doing_in("write", self.room.path(), layout::ARCHIVE_LOCK)
    }

    fn remove_drafts(&mut self) -> Result<()> {
        self.room.remove(layout::CHECKPOINT_DRAFT)?;
        for (month, dir) in log::archive_months(&self.room)? {
            for entry in dir.list()? {
                let name = entry?.name;
                if name.to_str().is_some_and(layout::is_draft) {
                    dir.remove(&name)?;
                }
            }
            if layout::is_month(&month) {
                self.room.sub(layout::ARCHIVE)?.remove_empty(&month)?;
            }
        }
        Ok(())
    }

    /// Removes the sources that a killed run packed but did not remove.
    fn finish(&mut self) -> Result<u64> {
        let mut text = Vec::new();
        let path = self.room.at(layout::ARCHIVE_LOCK);
        self.lock
            .rewind()
            .and_then(|()| (&*self.lock).take(1024).read_to_end(&mut text))
            .doing("read", &path)?;
        let text = String::from_utf8_lossy(&text);
        let mut removed = 0;
        if let Some((month, name)) = text.strip_suffix('\n').and_then(layout::read_pack)
            && let Some(dir) = self.room.sub_if_exists(layout::archive(month))?
            && let Some(pack) = dir.look_if_exists(name)?
        {
            let below = layout::archived(month, name);
            self.make_name_durable(&below)?;
            for entry in PackReader::new(pack) {
                let entry = entry.map_err(|e| wrong(&self.room.at(&below), &e.to_string()))?;
                removed += u64::from(remove_packed(&self.room, &entry, &mut self.barrier)?);
            }
            self.barrier.pass()?;
        }
        if !text.is_empty() {
            self.forget()?;
        }
        Ok(removed)
    }
}

/// Removes the source of an entry, if it still has the same content.
fn remove_packed(room: &Dir, entry: &PackEntry, barrier: &mut Barrier) -> Result<bool> {
    let split =
        layout::split(&entry.path).filter(|(directory, _)| ArchiveKind::of(directory).is_some());
    let Some((directory, name)) = split else {
        return Ok(false);
    };
    let Ok(dir) = room.sub(directory) else {
        return Ok(false);
    };
    let Some(meta) = dir.stat(name)? else {
        return Ok(false);
    };
    if meta.kind != FileType::RegularFile || meta.size != entry.content.len() as u64 {
        return Ok(false);
    }
    if dir.read(name, meta.size)?.as_ref() != Some(&entry.content) {
        return Ok(false);
    }
    let removed = dir.remove_if_same(name, &meta)?;
    barrier.dir(&dir);
    Ok(removed)
}

/// The size that a pack of these files would have.
pub fn weigh_files(
    room: &Dir,
    kind: ArchiveKind,
    sources: &[&PackSource],
    progress: &mut dyn FnMut(u64),
) -> Result<PackResult> {
    let path = room.at(layout::ARCHIVE);
    let writer = PackWriter::new(ByteCounter::default(), &path)?;
    let (scales, members) = pack::pack_files(room, kind, sources, writer, progress)?;
    let files = members.files.len() as u64;
    Ok(PackResult {
        path: None,
        files,
        bytes: members.bytes,
        packed_bytes: scales.0,
        skipped: members.skipped,
    })
}

/// The size that a segment would have in the archive.
pub fn weigh_segment(room: &Dir, number: u32, progress: &mut dyn FnMut(u64)) -> Result<PackResult> {
    let file = room.sub(layout::LOG)?.look(layout::segment(number))?;
    let (scales, (_, bytes)) = pack::pack_stream(
        &file,
        ByteCounter::default(),
        &room.at(layout::ARCHIVE),
        progress,
    )?;
    Ok(PackResult {
        files: 1,
        bytes,
        packed_bytes: scales.0,
        ..PackResult::default()
    })
}
