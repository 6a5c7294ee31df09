//! Where the log's segments stand: in `log/`, or packed in the archive.

use crate::base::error::{Doing, Error, Result};
use crate::disk::{Dir, layout};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The numbers of the segments in `log/`, in order.
pub fn live(room: &Dir) -> Result<Vec<u32>> {
    let mut numbers = Vec::new();
    if let Some(dir) = open_dir(room, Path::new(layout::LOG))? {
        for entry in dir.list()? {
            numbers.extend(entry?.name.to_str().and_then(layout::segment_number));
        }
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// The segments in the archive, each with its path in the room.
pub fn archived(room: &Dir) -> Result<BTreeMap<u32, PathBuf>> {
    let mut segments = BTreeMap::new();
    let Some(archive) = open_dir(room, Path::new(layout::ARCHIVE))? else { return Ok(segments) };
    for month in archive.list()? {
        let Ok(month) = month?.name.into_string() else { continue };
        // What else its owner keeps there is no directory of ours.
        let Ok(dir) = archive.sub(&month) else { continue };
        for entry in dir.list()? {
            let name = entry?.name;
            if let Some(number) = name.to_str().and_then(layout::archived_segment_number) {
                segments.insert(number, layout::archived(&month, &name));
            }
        }
    }
    Ok(segments)
}

/// The numbers from `from` on, in order, wherever they stand. The archive is looked at only for what `log/` lacks: a
/// router with a checkpoint never does.
pub(super) fn from(room: &Dir, from: u32) -> Result<Vec<u32>> {
    // In this order: a segment is in the archive before it leaves `log/`.
    let mut numbers = live(room)?;
    numbers.retain(|&number| number >= from);
    if numbers.first() == Some(&from) && numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]) {
        return Ok(numbers);
    }
    numbers.extend(archived(room)?.into_keys().filter(|&number| number >= from));
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

/// The path of a segment, for messages.
pub fn path(room: &Dir, number: u32) -> PathBuf {
    let live = layout::live_segment(number);
    match room.stat(&live) {
        Ok(Some(_)) => room.at(live),
        _ => room.at(archived(room).ok().and_then(|mut all| all.remove(&number)).unwrap_or(live)),
    }
}

/// A segment, open for reading.
pub(super) struct Segment {
    from: From,
    pub(super) path: PathBuf,
}

enum From {
    Live(File),
    Packed(Box<zstd::Decoder<'static, BufReader<File>>>),
}

impl Segment {
    /// Opens a segment where it stands; `None` if it stands nowhere. One may move to the archive at any time.
    pub(super) fn open(room: &Dir, number: u32) -> Result<Option<Segment>> {
        if let Some(live) = Segment::open_live(room, number)? {
            return Ok(Some(live));
        }
        let Some(packed) = archived(room)?.remove(&number) else { return Ok(None) };
        let (month, name) = (packed.parent().unwrap_or(Path::new("")), packed.file_name().unwrap_or_default());
        let file = room.sub(month)?.look(name)?;
        let path = room.at(packed);
        let decoder = zstd::Decoder::new(file).doing("read", &path)?;
        Ok(Some(Segment { from: From::Packed(Box::new(decoder)), path }))
    }

    /// Opens a segment if it stands in `log/`.
    pub(super) fn open_live(room: &Dir, number: u32) -> Result<Option<Segment>> {
        let Some(dir) = open_dir(room, Path::new(layout::LOG))? else { return Ok(None) };
        let name = layout::segment(number);
        match dir.look(&name) {
            Ok(file) => Ok(Some(Segment { from: From::Live(file), path: dir.at(name) })),
            Err(e) if e.errno() == Some(libc::ENOENT) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Goes on to this byte.
    pub(super) fn skip(&mut self, offset: u64) -> Result<()> {
        let done = match &mut self.from {
            From::Live(file) => file.seek(SeekFrom::Start(offset)).map(drop),
            From::Packed(decoder) => std::io::copy(&mut decoder.take(offset), &mut std::io::sink()).map(drop),
        };
        done.map_err(|e| self.failed(e))
    }

    pub(super) fn is_packed(&self) -> bool {
        matches!(self.from, From::Packed(_))
    }

    /// What a failure to read it means.
    pub(super) fn failed(&self, source: std::io::Error) -> Error {
        match (&self.from, source.raw_os_error()) {
            (From::Packed(_), None) => damaged(&self.path, &source.to_string()),
            _ => Error::Io { verb: "read", path: self.path.clone(), source },
        }
    }
}

impl Read for Segment {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match &mut self.from {
            From::Live(file) => file.read(buffer),
            From::Packed(decoder) => decoder.read(buffer),
        }
    }
}

/// An archived segment that can't be unpacked.
pub(super) fn damaged(path: &Path, what: &str) -> Error {
    let cure = "restore the file from a copy; nothing was changed".into();
    Error::State { path: path.to_path_buf(), line: None, what: format!("is damaged: {what}"), cure }
}

/// A segment that stands nowhere, and should.
pub(super) fn missing(room: &Dir, number: u32) -> Error {
    Error::State {
        path: room.at(layout::live_segment(number)),
        line: None,
        what: "is missing, and archive/ doesn't have it either".into(),
        cure: "put it back, or the part of archive/ that has it; nothing was changed".into(),
    }
}

fn open_dir(room: &Dir, below: &Path) -> Result<Option<Dir>> {
    match room.sub(below) {
        Err(e) if e.errno() == Some(libc::ENOENT) => Ok(None),
        dir => dir.map(Some),
    }
}
