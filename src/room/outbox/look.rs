//! Examining a file in an outbox: its type, whether it is complete, and its content.

use super::content::{FileCompleteness, FileContent, FileReadiness, PickupConditions, ReadyFile};
use super::unready_files::wait_for_writer;
use super::{UnreadyFiles, lines};
use crate::base::error::{ErrorContext, Problem, Result};
use crate::base::limits;
use crate::disk::File;
use crate::disk::{Dir, Meta, ReadLeaseResult, layout};
use rustix::fs::FileType;
use serde_json::Value;
use std::ffi::OsStr;
use std::io::Read;

/// Examines a file: its type, whether it is complete, and whether a program is still writing it. Reads a file that is
/// ready.
pub fn look(
    dir: &Dir,
    name: &OsStr,
    terms: &PickupConditions,
    patience: &mut UnreadyFiles,
) -> Result<FileReadiness> {
    let mut file = match dir.look(name) {
        Ok(file) => file,
        Err(e) => return look_at_unopenable(dir, name, e, patience),
    };
    let meta = file.meta().doing_in("look at", dir.path(), name)?;
    if let Some(problem) = unfit(&meta) {
        return Ok(ready(Err(problem), meta));
    }
    if meta.links > 1
        && !terms.claimed
        && let Some(wait) = patience.wait(dir, name, &meta)
    {
        return Ok(FileReadiness::Later(
            "it has a second name (a hard link)",
            Some(wait),
        ));
    }
    let lease = file.lease();
    if lease == ReadLeaseResult::Writer {
        patience.forget(dir, name);
        let wait = wait_for_writer(&meta);
        return Ok(FileReadiness::Later(
            "a program still has it open for writing",
            Some(wait),
        ));
    }
    if meta.size > terms.most {
        return Ok(ready(Err(too_large(meta.size, terms.most)), meta));
    }
    let bytes = read_whole(&mut file, meta.size as usize).doing_in("read", dir.path(), name)?;
    if bytes.len() as u64 != meta.size {
        return Ok(FileReadiness::Later(
            "it is being written",
            Some(limits::UNCHANGED_FOR),
        ));
    }
    let has_lines = layout::is_lines_file(name);
    let whole = if has_lines {
        lines::read(&bytes)
    } else {
        lines::one(&bytes)
    };
    // The file looks complete after each line, and the system does not report writers here.
    let may_grow =
        has_lines && lease == ReadLeaseResult::Unknown && !terms.claimed && patience.can_wait();
    let content = match whole {
        FileCompleteness::Yes(content) if !may_grow => content,
        FileCompleteness::Yes(content) => match patience.wait(dir, name, &meta) {
            Some(wait) => return Ok(FileReadiness::Later("it may still be written", Some(wait))),
            None => content,
        },
        // The sender has no name for a picked-up file, so without an open writer the file no longer changes.
        FileCompleteness::NotYet(content) if terms.claimed && lease == ReadLeaseResult::Free => {
            content
        }
        FileCompleteness::NotYet(content) => match patience.wait(dir, name, &meta) {
            Some(wait) => {
                return Ok(FileReadiness::Later(
                    "it is empty or incomplete",
                    Some(wait),
                ));
            }
            None => content,
        },
    };
    patience.forget(dir, name);
    Ok(FileReadiness::Ready(Box::new(ReadyFile {
        content,
        bytes: meta.size,
        meta: Some(meta),
    })))
}

/// Reads a file of known size, and one byte more, so that growth shows in the length. A short read of a regular file
/// means the end of the file.
pub(super) fn read_whole(file: &mut File, size: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; size + 1];
    let mut length = 0;
    while length < size {
        match file.read(&mut bytes[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    bytes.truncate(length);
    Ok(bytes)
}

pub(super) fn ready(content: Result<Value, Problem>, meta: Meta) -> FileReadiness {
    FileReadiness::Ready(Box::new(ReadyFile {
        content: FileContent::One(content),
        bytes: meta.size,
        meta: Some(meta),
    }))
}

fn look_at_unopenable(
    dir: &Dir,
    name: &OsStr,
    e: crate::base::error::Error,
    patience: &mut UnreadyFiles,
) -> Result<FileReadiness> {
    match e.errno() {
        Some(libc::ENOENT) => Ok(FileReadiness::Gone),
        Some(libc::ELOOP) => reject(
            "symlink",
            "the file is a symbolic link",
            "write a regular file",
        ),
        Some(libc::ENXIO | libc::EOPNOTSUPP) => reject(
            "not_a_file",
            "it is not a regular file",
            "write a regular file",
        ),
        Some(libc::EACCES | libc::EPERM) => {
            let Some(meta) = dir.stat(name)? else {
                return Ok(FileReadiness::Gone);
            };
            match patience.wait(dir, name, &meta) {
                Some(wait) => Ok(FileReadiness::Later(
                    "it cannot be read (permission denied)",
                    Some(wait),
                )),
                None => reject(
                    "unreadable",
                    "the router has no permission to read the file",
                    "make it readable: chmod a+r",
                ),
            }
        }
        // A device without a driver cannot be opened, with various errors.
        _ => match dir.stat(name) {
            Ok(Some(meta)) if meta.kind != FileType::RegularFile => reject(
                "not_a_file",
                "it is not a regular file",
                "write a regular file",
            ),
            _ => Err(e),
        },
    }
}

fn reject(code: &str, what: &str, fix: &str) -> Result<FileReadiness> {
    Ok(FileReadiness::Ready(Box::new(ReadyFile {
        content: FileContent::One(Err(Problem::new(code, what).fix(fix))),
        bytes: 0,
        meta: None,
    })))
}

pub(super) fn unfit(meta: &Meta) -> Option<Problem> {
    if meta.kind != FileType::RegularFile {
        let what = match meta.kind {
            FileType::Directory => "it is a directory",
            FileType::Fifo => "it is a FIFO",
            _ => "it is not a regular file",
        };
        return Some(Problem::new("not_a_file", what).fix("write a regular file"));
    }
    None
}

pub(super) fn too_large(size: u64, most: u64) -> Problem {
    Problem::new("too_large", format!("the file has {size} bytes; the limit for a message is {most}"))
        .fix("put the data in a file under context/ and attach the file with `attachments`, or increase `message_bytes` in settings.toml")
}
