//! Writing a tar, and compressing one stream.

use super::sources::{PackSource, SkippedFile};
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::hash::{Hash, hash_pieces, hash_stream};
use crate::base::limits;
use crate::disk::{Dir, Meta, ReadLeaseResult, layout};
use rustix::fs::FileType;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// A packed file, with its metadata at that time.
pub(super) struct PackMember {
    pub(super) dir: Dir,
    pub(super) name: OsString,
    /// Its path in the room.
    pub(super) path: PathBuf,
    pub(super) meta: Meta,
}

/// The files of a tar.
#[derive(Default)]
pub(super) struct PackMembers {
    pub(super) files: Vec<PackMember>,
    pub(super) bytes: u64,
    pub(super) skipped: Vec<SkippedFile>,
}

fn packer<W: Write>(out: W) -> std::io::Result<zstd::Encoder<'static, W>> {
    let mut packer = zstd::Encoder::new(out, limits::PACK_LEVEL)?;
    packer.include_checksum(true)?;
    Ok(packer)
}

/// Packs files one after the other. A file that cannot be packed is skipped and reported.
pub(super) fn pack_files<W: Write>(
    room: &Dir,
    sources: &[PackSource],
    out: W,
    path: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<(W, PackMembers)> {
    let mut tar = tar::Builder::new(packer(out).doing("write", path)?);
    let mut members = PackMembers::default();
    for in_directory in sources.chunk_by(|one, next| one.directory == next.directory) {
        let directory = &in_directory[0].directory;
        let dir = room.sub(directory).map_err(|e| e.to_string());
        for source in in_directory {
            let there = layout::below(directory, &source.name);
            let read = dir.clone().and_then(|dir| {
                let found = read(&dir, source)?;
                Ok(found.map(|(meta, bytes)| (dir, meta, bytes)))
            });
            match read {
                Ok(Some((dir, meta, bytes))) => {
                    append(&mut tar, &there, &meta, &bytes).doing("write", path)?;
                    members.bytes += meta.size;
                    progress(meta.size);
                    members.files.push(PackMember {
                        dir,
                        name: source.name.clone(),
                        path: there,
                        meta,
                    });
                }
                Ok(None) => {}
                Err(reason) => members.skipped.push(SkippedFile {
                    path: there,
                    reason,
                }),
            }
        }
    }
    let out = tar.into_inner().and_then(zstd::Encoder::finish);
    Ok((out.doing("write", path)?, members))
}

/// Adds a file with its path, its modification time, its permissions and its owner.
fn append<W: Write>(
    tar: &mut tar::Builder<W>,
    path: &Path,
    meta: &Meta,
    content: &[u8],
) -> std::io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Regular);
    header.set_mode(meta.mode & 0o777);
    header.set_uid(meta.uid.into());
    header.set_gid(meta.gid.into());
    header.set_mtime(u64::try_from(meta.modified / 1_000_000_000).unwrap_or(0));
    header.set_size(content.len() as u64);
    tar.append_data(&mut header, path, content)
}

const BUSY: &str = "a program is writing it; the next run packs it";

/// The content of a file, with its metadata, if it did not change during the read. `None` if the file no longer exists.
fn read(dir: &Dir, source: &PackSource) -> Result<Option<(Meta, Vec<u8>)>, String> {
    let file = match dir.look(&source.name) {
        Err(e) if e.is_missing() => return Ok(None),
        file => file.map_err(|e| e.to_string())?,
    };
    let meta = file.meta().map_err(|e| e.to_string())?;
    if meta.kind != FileType::RegularFile {
        return Err("it is not a regular file".into());
    }
    if meta.size > limits::PACK_FILE_BYTES {
        return Err(format!(
            "it has {} bytes, more than a pack allows for one file",
            meta.size
        ));
    }
    if file.lease() == ReadLeaseResult::Writer {
        return Err(BUSY.into());
    }
    let mut bytes = Vec::with_capacity(meta.size as usize + 1);
    file.clone()
        .take(meta.size + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| e.to_string())?;
    let now = file.meta().map_err(|e| e.to_string())?;
    if now != meta || bytes.len() as u64 != meta.size {
        return Err(BUSY.into());
    }
    Ok(Some((meta, bytes)))
}

/// Compresses a stream. Returns its hash and its length.
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

/// The error for a damaged file in the archive.
pub(super) fn wrong(path: &Path, what: &str) -> Error {
    let fix =
        "move it to another place and run `mailbag archive` again; its source was not removed";
    Error::state(path, format!("is damaged: {what}"), fix)
}
