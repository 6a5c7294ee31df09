//! Writing a pack, reading it back, and comparing it with its sources.

use super::frames::{PackReader, PackWriter};
use super::sources::{ArchiveKind, PackSource, SkippedFile};
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::hash::{Hash, hash, hash_pieces, hash_stream};
use crate::base::limits;
use crate::disk::{Dir, Meta, ReadLeaseResult, file_meta, layout, lease};
use rustix::fs::FileType;
use std::ffi::OsString;
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::sync::Arc;

/// The file's metadata at the time of packing.
pub(super) struct PackMember {
    pub(super) agent: Arc<str>,
    pub(super) name: OsString,
    pub(super) meta: Meta,
    digest: Hash,
}

/// The sources of a pack.
#[derive(Default)]
pub(super) struct PackMembers {
    pub(super) files: Vec<PackMember>,
    pub(super) bytes: u64,
    pub(super) skipped: Vec<SkippedFile>,
}

/// A writer that only counts bytes.
#[derive(Default)]
pub(super) struct ByteCounter(pub(super) u64);

impl Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn packer<W: Write>(out: W) -> std::io::Result<zstd::Encoder<'static, W>> {
    let mut packer = zstd::Encoder::new(out, limits::PACK_LEVEL)?;
    packer.include_checksum(true)?;
    Ok(packer)
}

/// Packs files one after the other. A file that cannot be packed is skipped and reported.
pub(super) fn pack_files<W: Write>(
    room: &Dir,
    kind: ArchiveKind,
    sources: &[&PackSource],
    mut pack: PackWriter<W>,
    progress: &mut dyn FnMut(u64),
) -> Result<(W, PackMembers)> {
    let mut members = PackMembers::default();
    let mut open: Option<(Arc<str>, Dir)> = None;
    for source in sources {
        let directory = kind.directory(&source.agent);
        let dir = match open.take_if(|(agent, _)| *agent == source.agent) {
            Some((_, dir)) => dir,
            None => match room.sub(&directory) {
                Ok(dir) => dir,
                Err(e) => {
                    members.skipped.push(SkippedFile {
                        path: layout::below(&directory, &source.name),
                        reason: e.to_string(),
                    });
                    continue;
                }
            },
        };
        match read(&dir, source) {
            Ok(Some((meta, bytes))) => {
                let digest = hash(&bytes);
                members.bytes += meta.size;
                progress(meta.size);
                let there = layout::below(&directory, &source.name);
                pack.add(&there, &meta, &bytes)?;
                members.files.push(PackMember {
                    agent: source.agent.clone(),
                    name: source.name.clone(),
                    meta,
                    digest,
                });
            }
            Ok(None) => {}
            Err(reason) => members.skipped.push(SkippedFile {
                path: layout::below(&directory, &source.name),
                reason,
            }),
        }
        open = Some((source.agent.clone(), dir));
    }
    Ok((pack.finish()?, members))
}

const BUSY: &str = "a program is writing it; the next run packs it";

/// The content of a file, with its metadata, if it did not change during the read. `None` if the file no longer exists.
fn read(dir: &Dir, source: &PackSource) -> Result<Option<(Meta, Vec<u8>)>, String> {
    let file = match dir.look(&source.name) {
        Err(e) if e.is_missing() => return Ok(None),
        file => file.map_err(|e| e.to_string())?,
    };
    let meta = file_meta(&file).map_err(|e| e.to_string())?;
    if meta.kind != FileType::RegularFile {
        return Err("it is not a regular file".into());
    }
    if meta.size > limits::PACK_FILE_BYTES {
        return Err(format!(
            "it has {} bytes, more than a pack allows for one file",
            meta.size
        ));
    }
    if lease(&file) == ReadLeaseResult::Writer {
        return Err(BUSY.into());
    }
    let mut bytes = Vec::with_capacity(meta.size as usize + 1);
    (&file)
        .take(meta.size + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| e.to_string())?;
    let now = file_meta(&file).map_err(|e| e.to_string())?;
    if now != meta || bytes.len() as u64 != meta.size {
        return Err(BUSY.into());
    }
    Ok(Some((meta, bytes)))
}

/// Reads a pack back, and compares each file with its source.
pub(super) fn check_files(
    pack: impl Read + Seek,
    path: &Path,
    kind: ArchiveKind,
    members: &PackMembers,
) -> Result<()> {
    let mut entries = PackReader::new(pack);
    for member in &members.files {
        let entry = match entries.next() {
            Some(entry) => entry.map_err(|e| wrong(path, &e.to_string()))?,
            None => return Err(wrong(path, "it ends too early")),
        };
        let there = layout::below(&kind.directory(&member.agent), &member.name);
        if entry.path != there || hash(&entry.content) != member.digest {
            let what = format!("its content differs from {}", there.display());
            return Err(wrong(path, &what));
        }
    }
    match entries.next() {
        None => Ok(()),
        Some(Err(e)) => Err(wrong(path, &e.to_string())),
        Some(Ok(_)) => Err(wrong(path, "it has too many files")),
    }
}

/// Packs a stream unchanged. Returns its hash and its length.
pub(super) fn pack_stream<W: Write>(
    from: impl Read,
    out: W,
    path: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<(W, (Hash, u64))> {
    let mut packer = packer(out).doing("write", path)?;
    let weight = hash_pieces(from, |piece| {
        progress(piece.len() as u64);
        packer.write_all(piece)
    });
    let weight = weight.doing("pack", path)?;
    Ok((packer.finish().doing("write", path)?, weight))
}

/// The hash and the length of an unpacked stream.
pub(super) fn weigh_packed(pack: impl Read, path: &Path) -> Result<(Hash, u64)> {
    let decoder = zstd::Decoder::new(pack).doing("read", path)?;
    hash_stream(decoder).map_err(|e| wrong(path, &e.to_string()))
}

/// The error for a damaged pack.
pub(super) fn wrong(path: &Path, what: &str) -> Error {
    let fix = "move it to another place and run `mailbag archive` again; no source of an incomplete pack was removed";
    Error::state(path, format!("is damaged: {what}"), fix)
}
