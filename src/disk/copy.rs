//! A copy of a file in another directory.

use super::{Barrier, Dir, Lease, file_meta, lease};
use crate::base::error::{Doing, Result};
use rustix::fs::{FileType, Timespec, Timestamps, futimens};
use std::ffi::OsStr;

/// What came of copying a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copy {
    /// It was copied; so many bytes.
    Done(u64),
    /// It is gone.
    Gone,
    /// It is no regular file.
    NoFile,
    /// A program holds it open for writing.
    Writer,
}

/// Copies a regular file under its name, never over another, with the time of its last change. One that `waits` is left
/// alone as long as somebody writes it. Survives a power cut at the barrier.
pub fn copy(from: &Dir, name: &OsStr, to: &Dir, waits: bool, barrier: &mut Barrier) -> Result<Copy> {
    let mut source = match from.look(name) {
        Err(e) if e.errno() == Some(libc::ENOENT) => return Ok(Copy::Gone),
        Err(e) if matches!(e.errno(), Some(libc::ELOOP | libc::ENXIO)) => return Ok(Copy::NoFile),
        source => source?,
    };
    let meta = file_meta(&source).doing("look at", from.at(name))?;
    if meta.kind != FileType::RegularFile {
        return Ok(Copy::NoFile);
    }
    if waits && lease(&source) == Lease::Writer {
        return Ok(Copy::Writer);
    }
    let mut copy = to.create(name, b"")?;
    let bytes = std::io::copy(&mut source, &mut copy).doing("copy to", to.at(name))?;
    let (seconds, nanos) = (meta.modified.div_euclid(1_000_000_000), meta.modified.rem_euclid(1_000_000_000));
    let time = Timespec { tv_sec: seconds as _, tv_nsec: nanos as _ };
    futimens(&copy, &Timestamps { last_access: time, last_modification: time })
        .doing("set the time of", to.at(name))?;
    barrier.file(copy, || to.at(name));
    barrier.dir(to);
    Ok(Copy::Done(bytes))
}
