//! Writing a pack, reading it back, and comparing it with its sources.

use super::line::PackEntry;
use super::sources::{ArchiveKind, PackSource, SkippedFile, stamp};
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::hash::{Hash, hash, hash_pieces, hash_stream};
use crate::base::limits;
use crate::disk::{Dir, Meta, ReadLeaseResult, file_meta, layout, lease};
use rustix::fs::FileType;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::sync::Arc;

/// The number of bytes of a pack that are read at a time.
const PIECE: usize = 1 << 18;

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
    pub(super) left: Vec<SkippedFile>,
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
    (out, path): (W, &Path),
    progress: &mut dyn FnMut(u64),
) -> Result<(W, PackMembers)> {
    let mut packer = packer(out).doing("write", path)?;
    let mut members = PackMembers::default();
    let mut open: Option<(Arc<str>, Dir)> = None;
    for source in sources {
        let directory = kind.directory(&source.agent);
        let dir = match open.take_if(|(agent, _)| *agent == source.agent) {
            Some((_, dir)) => dir,
            None => match room.sub(&directory) {
                Ok(dir) => dir,
                Err(e) => {
                    members.left.push(SkippedFile {
                        path: layout::below(&directory, &source.name),
                        why: e.to_string(),
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
                let entry = PackEntry::new(
                    &layout::below(&directory, &source.name),
                    stamp(meta.modified),
                    bytes,
                );
                packer.write_all(&entry.line()).doing("write", path)?;
                members.files.push(PackMember {
                    agent: source.agent.clone(),
                    name: source.name.clone(),
                    meta,
                    digest,
                });
            }
            Ok(None) => {}
            Err(why) => members.left.push(SkippedFile {
                path: layout::below(&directory, &source.name),
                why,
            }),
        }
        open = Some((source.agent.clone(), dir));
    }
    Ok((packer.finish().doing("write", path)?, members))
}

const BUSY: &str = "a program is writing it; the next run packs it";

/// The content of a file, with its metadata, if it did not change during the read. `None` if the file no longer exists.
fn read(dir: &Dir, source: &PackSource) -> Result<Option<(Meta, Vec<u8>)>, String> {
    let file = match dir.look(&source.name) {
        Err(e) if e.errno() == Some(libc::ENOENT) => return Ok(None),
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

/// Reads a pack back, and compares each line with its source.
pub(super) fn check_files(
    pack: impl Read,
    path: &Path,
    kind: ArchiveKind,
    members: &PackMembers,
) -> Result<()> {
    let mut wanted = members.files.iter();
    each_entry(pack, path, &mut |entry| {
        let member = wanted
            .next()
            .ok_or_else(|| wrong(path, "it has too many lines"))?;
        let there = layout::below(&kind.directory(&member.agent), &member.name);
        let is_it = entry.path().as_ref() == Some(&there)
            && entry
                .into_bytes()
                .is_some_and(|bytes| hash(&bytes) == member.digest);
        if is_it {
            Ok(())
        } else {
            Err(wrong(
                path,
                &format!("its content differs from {}", there.display()),
            ))
        }
    })?;
    match wanted.next() {
        None => Ok(()),
        Some(_) => Err(wrong(path, "it ends too early")),
    }
}

/// Reads every line of a pack.
pub(super) fn each_entry(
    pack: impl Read,
    path: &Path,
    take: &mut dyn FnMut(PackEntry) -> Result<()>,
) -> Result<()> {
    let mut lines = BufReader::with_capacity(PIECE, zstd::Decoder::new(pack).doing("read", path)?);
    let mut line = Vec::new();
    // A JSON escape needs six bytes for one.
    let most = limits::PACK_FILE_BYTES * 6 + 4096;
    loop {
        line.clear();
        if lines
            .by_ref()
            .take(most)
            .read_until(b'\n', &mut line)
            .map_err(|e| wrong(path, &e.to_string()))?
            == 0
        {
            return Ok(());
        }
        take(PackEntry::read(&line).map_err(|e| wrong(path, &e))?)?;
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
    let cure =
        "move it to another place and run `mailbag archive` again; no source of an incomplete pack was removed".into();
    Error::State {
        path: path.to_path_buf(),
        line: None,
        what: format!("is damaged: {what}"),
        cure,
    }
}
