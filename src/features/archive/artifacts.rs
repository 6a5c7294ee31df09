//! Shared files: large old text is compressed in place, under its name with `.zst` appended.
//!
//! Only files that the room itself created are compressed: the file is below the room's own `context/`, not reached
//! through a link, and a message in the log announced it with exactly this content.
//!
//! A kill can leave the file, the compressed file, or both. If both exist, the next run compares them.

use super::pack::{self, wrong};
use super::sources::stamp;
use super::{ArchiveWriter, PackResult, SkippedFile};
use crate::base::clock::Stamp;
use crate::base::error::{ErrorContext, Result};
use crate::base::hash::{Hash, hash_stream};
use crate::base::limits;
use crate::disk::File;
use crate::disk::{Dir, DraftFile, Meta, ReadLeaseResult, layout, mounts};
use rustix::fs::FileType;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The smallest shared text that is compressed when it is old. Compressing smaller files saves little space.
const ARTIFACT_BYTES: u64 = 64 << 10;

/// A large text file in one of the context's directories.
pub struct ContextFile {
    dir: Dir,
    name: String,
    file: File,
    meta: Meta,
    /// The path below the context.
    below: PathBuf,
}

/// Passes each large text file below the context to `take`, or the reason why a file is skipped. The file must be at
/// least as old as `bound`, and `is_shared` must know its path and SHA-256.
pub fn artifacts(
    context: &Dir,
    bound: Stamp,
    is_shared: &mut dyn FnMut(&Path, &Hash) -> Result<bool>,
    take: &mut dyn FnMut(Result<ContextFile, SkippedFile>) -> Result<()>,
) -> Result<()> {
    let mut directories = vec![(context.clone(), PathBuf::new())];
    while let Some((dir, path)) = directories.pop() {
        for entry in dir.list()? {
            // A name that is not UTF-8 cannot come from `share`. A draft belongs to a running `share`.
            let Ok(name) = entry?.name.into_string() else {
                continue;
            };
            if name.starts_with('.') {
                continue;
            }
            let Some(meta) = dir.stat(&name)? else {
                continue;
            };
            let below = layout::below(&path, name.as_ref());
            match meta.kind {
                FileType::Directory => match dir.sub(&name) {
                    Ok(dir) => directories.push((dir, below)),
                    Err(e) => take(Err(SkippedFile {
                        path: below,
                        reason: e.to_string(),
                    }))?,
                },
                FileType::RegularFile if is_due(&name, &meta, bound) => {
                    if let Some(found) = look(&dir, name, meta, below, is_shared)? {
                        take(found)?;
                    }
                }
                _ => {}
            }
        }
    }
    Ok(())
}

fn is_due(name: &str, meta: &Meta, bound: Stamp) -> bool {
    let age = stamp(meta.modified).max(stamp(meta.changed));
    meta.size >= ARTIFACT_BYTES && age <= bound && !layout::is_compressed(name)
}

fn look(
    dir: &Dir,
    name: String,
    meta: Meta,
    below: PathBuf,
    is_shared: &mut dyn FnMut(&Path, &Hash) -> Result<bool>,
) -> Result<Option<Result<ContextFile, SkippedFile>>> {
    let skipped = |reason: &str| {
        Ok(Some(Err(SkippedFile {
            path: below.clone(),
            reason: reason.into(),
        })))
    };
    let file = match dir.look(&name) {
        Ok(file) => file,
        Err(e) => return skipped(&e.to_string()),
    };
    if file.meta().doing_in("look at", dir.path(), &name)? != meta
        || !is_text(&file).doing_in("read", dir.path(), &name)?
    {
        return Ok(None);
    }
    let (digest, _) = hash_stream(file.clone()).doing_in("read", dir.path(), &name)?;
    if !is_shared(&below, &digest)? {
        return Ok(None);
    }
    let fits = layout::draft(&layout::compressed(&name)).len() <= limits::FILE_NAME;
    match (mounts::write_obstacle(dir), file.lease()) {
        _ if !fits => skipped("its name is too long to append .zst"),
        (Some(why), _) => skipped(&format!("it cannot be removed: {why}")),
        (None, ReadLeaseResult::Writer) => skipped("another program has it open for writing"),
        (None, _) => Ok(Some(Ok(ContextFile {
            dir: dir.clone(),
            name,
            file,
            meta,
            below,
        }))),
    }
}

/// Text contains no zero bytes, and its first bytes are valid UTF-8. Only the last character of that part may be
/// incomplete.
fn is_text(file: &File) -> std::io::Result<bool> {
    let mut beginning = Vec::new();
    file.clone()
        .take(ARTIFACT_BYTES)
        .read_to_end(&mut beginning)?;
    let is_whole = match std::str::from_utf8(&beginning) {
        Ok(_) => true,
        Err(e) => e.error_len().is_none(),
    };
    Ok(is_whole && !beginning.contains(&0))
}

impl ContextFile {
    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.meta.size
    }
}

impl ArchiveWriter {
    /// Compresses a large text file, and removes the original if it has not changed.
    pub fn artifact(
        &mut self,
        artifact: &ContextFile,
        progress: &mut dyn FnMut(u64),
    ) -> Result<PackResult> {
        let ContextFile {
            dir,
            name,
            file,
            meta,
            below,
        } = artifact;
        let compressed = layout::compressed(name);
        let skipped = |reason: &str| PackResult {
            skipped: vec![SkippedFile {
                path: below.clone(),
                reason: reason.into(),
            }],
            ..PackResult::default()
        };
        let weight = match dir.stat(&compressed)? {
            // A killed run compressed the file before it could remove the original, or the compressed file is a user's
            // own.
            Some(_) => {
                let weight = hash_stream(file.clone()).doing_in("read", dir.path(), name)?;
                if !pack::weigh_packed(dir.look(&compressed)?, &dir.at(&compressed))
                    .is_ok_and(|there| there == weight)
                {
                    return Ok(skipped(
                        "another file already has its name with .zst appended",
                    ));
                }
                // Its writer may not have synced it, and a read does not show that.
                self.barrier
                    .file(dir.look(&compressed)?, || dir.at(&compressed));
                self.barrier.dir(dir);
                self.barrier.pass()?;
                weight
            }
            None => {
                let draft = layout::draft(&compressed);
                dir.remove(&draft)?;
                let draft = DraftFile::new(dir, &draft)?;
                let path = draft.path();
                let (draft, weight) = pack::pack_stream(file.clone(), draft, &path, progress)?;
                draft.sync()?;
                if pack::weigh_packed(draft.look()?, &path)? != weight {
                    return Err(wrong(&path, "its content differs from the file"));
                }
                draft.place(&compressed)?;
                self.barrier.dir(dir);
                self.barrier.pass()?;
                weight
            }
        };
        let packed_bytes = dir.stat(&compressed)?.map_or(0, |meta| meta.size);
        if !dir.remove_if_same(name, meta)? {
            return Ok(skipped(
                "it changed during compression; the next run compares both files",
            ));
        }
        self.barrier.dir(dir);
        self.barrier.pass()?;
        let path = Some(below.with_file_name(compressed));
        Ok(PackResult {
            path,
            files: 1,
            bytes: weight.1,
            packed_bytes,
            skipped: Vec::new(),
        })
    }
}
