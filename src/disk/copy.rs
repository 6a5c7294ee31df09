//! Copying a file to another directory.

use super::{Barrier, Dir, ReadLeaseResult};
use crate::base::error::{ErrorContext, Result};
use rustix::fs::FileType;
use std::ffi::OsStr;

/// The result of copying a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyResult {
    /// The number of copied bytes.
    Done(u64),
    /// The source no longer exists.
    Gone,
    /// The source is not a regular file.
    NoFile,
    /// A program has the source open for writing.
    Writer,
}

/// Copies a regular file under its own name, with its modification time, and never over another file. If `waits` is
/// set, a file that is open for writing is not copied. The copy survives a power cut after the barrier.
pub fn copy(
    from: &Dir,
    name: &OsStr,
    to: &Dir,
    waits: bool,
    barrier: &mut Barrier,
) -> Result<CopyResult> {
    let mut source = match from.look(name) {
        Err(e) if e.errno() == Some(libc::ENOENT) => return Ok(CopyResult::Gone),
        Err(e) if matches!(e.errno(), Some(libc::ELOOP | libc::ENXIO)) => {
            return Ok(CopyResult::NoFile);
        }
        source => source?,
    };
    let meta = source.meta().doing_in("look at", from.path(), name)?;
    if meta.kind != FileType::RegularFile {
        return Ok(CopyResult::NoFile);
    }
    if waits && source.lease() == ReadLeaseResult::Writer {
        return Ok(CopyResult::Writer);
    }
    let mut copy = to.create(name, b"")?;
    let bytes = std::io::copy(&mut source, &mut copy).doing_in("copy to", to.path(), name)?;
    copy.set_modified(Some(meta.modified))
        .doing_in("set the time of", to.path(), name)?;
    barrier.file(copy, || to.at(name));
    barrier.dir(to);
    Ok(CopyResult::Done(bytes))
}
