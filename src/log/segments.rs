//! The files of the log's segments: in `log/`, or packed in the archive.

use crate::base::error::{Error, ErrorContext, Result};
use crate::disk::File;
use crate::disk::{Dir, layout};
use std::collections::BTreeMap;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The numbers of the segments in `log/`, in order.
pub fn live(room: &Dir) -> Result<Vec<u32>> {
    let mut numbers = Vec::new();
    if let Some(dir) = room.sub_if_exists(layout::LOG)? {
        for entry in dir.list()? {
            numbers.extend(entry?.name.to_str().and_then(layout::segment_number));
        }
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// The archived segments, each with its path in the room.
pub fn archived(room: &Dir) -> Result<BTreeMap<u32, PathBuf>> {
    let mut segments = BTreeMap::new();
    if let Some(archive) = room.sub_if_exists(layout::ARCHIVE)? {
        for entry in archive.list()? {
            let name = entry?.name;
            if let Some(number) = name.to_str().and_then(layout::archived_segment_number) {
                segments.insert(number, layout::archived(&name));
            }
        }
    }
    Ok(segments)
}

/// The segment numbers from `from` on, in order. The archive is read only for numbers missing in `log/`, so a router
/// with a snapshot never reads it.
pub(super) fn from(room: &Dir, from: u32) -> Result<Vec<u32>> {
    // This order matters: a segment is in the archive before it leaves `log/`.
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
        _ => room.at(archived(room)
            .ok()
            .and_then(|mut all| all.remove(&number))
            .unwrap_or(live)),
    }
}

/// A segment that is open for reading.
pub(super) struct LogSegment {
    from: SegmentSource,
    pub(super) path: PathBuf,
}

enum SegmentSource {
    Live(File),
    Packed(Box<zstd::Decoder<'static, BufReader<File>>>),
}

impl LogSegment {
    /// Opens a segment in `log/` or in the archive. `None` if it is in neither. A segment can move to the archive at
    /// any time.
    pub(super) fn open(room: &Dir, number: u32) -> Result<Option<LogSegment>> {
        if let Some(live) = LogSegment::open_live(room, number)? {
            return Ok(Some(live));
        }
        let Some(packed) = archived(room)?.remove(&number) else {
            return Ok(None);
        };
        let archive = room.sub(layout::ARCHIVE)?;
        let file = archive.look(packed.file_name().unwrap_or_default())?;
        let path = room.at(packed);
        let decoder = zstd::Decoder::new(file).doing("read", &path)?;
        Ok(Some(LogSegment {
            from: SegmentSource::Packed(Box::new(decoder)),
            path,
        }))
    }

    /// Opens a segment in `log/`. `None` if it is not there.
    pub(super) fn open_live(room: &Dir, number: u32) -> Result<Option<LogSegment>> {
        let Some(dir) = room.sub_if_exists(layout::LOG)? else {
            return Ok(None);
        };
        let name = layout::segment(number);
        let file = dir.look_if_exists(&name)?;
        Ok(file.map(|file| LogSegment {
            from: SegmentSource::Live(file),
            path: dir.at(name),
        }))
    }

    /// Returns true if it is in `log/`.
    pub(super) fn is_live(&self) -> bool {
        matches!(self.from, SegmentSource::Live(_))
    }

    /// Skips to this byte.
    pub(super) fn skip(&mut self, offset: u64) -> Result<()> {
        let done = match &mut self.from {
            SegmentSource::Live(file) => file.seek(SeekFrom::Start(offset)).map(drop),
            SegmentSource::Packed(decoder) => {
                std::io::copy(&mut decoder.take(offset), &mut std::io::sink()).map(drop)
            }
        };
        done.map_err(|e| self.failed(e))
    }

    /// Checks a segment that was read to its end: a packed segment is never empty.
    pub(super) fn complete(&self, length: u64) -> Result<()> {
        match self.from {
            SegmentSource::Packed(_) if length == 0 => Err(damaged(&self.path, "it is empty")),
            _ => Ok(()),
        }
    }

    /// Converts a read error of this segment.
    pub(super) fn failed(&self, source: std::io::Error) -> Error {
        match (&self.from, source.raw_os_error()) {
            (SegmentSource::Packed(_), None) => damaged(&self.path, &source.to_string()),
            _ => Error::Io {
                verb: "read",
                path: self.path.clone(),
                source,
            },
        }
    }
}

impl Read for LogSegment {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match &mut self.from {
            SegmentSource::Live(file) => file.read(buffer),
            SegmentSource::Packed(decoder) => decoder.read(buffer),
        }
    }
}

/// The error for an archived segment that cannot be unpacked.
pub(super) fn damaged(path: &Path, what: &str) -> Error {
    let fix = "restore the file from a backup; nothing was changed";
    Error::state(path, format!("is damaged: {what}"), fix)
}

/// The error for a segment that is neither in `log/` nor in the archive.
pub(super) fn missing(room: &Dir, number: u32) -> Error {
    Error::state(
        room.at(layout::live_segment(number)),
        "is missing, and it is not in archive/",
        "restore it, or the part of archive/ that contains it; nothing was changed",
    )
}
