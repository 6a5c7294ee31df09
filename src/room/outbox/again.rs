//! Reading a picked-up file again after some of its lines were routed.

use super::content::{FileContent, FileReadiness, PickupConditions, ReadyFile};
use super::lines::{lines, numbered};
use super::look::{read_whole, ready, too_large, unfit};
use crate::base::error::{Error, ErrorContext, Problem, Result};
use crate::base::limits;
use crate::disk::{Dir, ReadLeaseResult};

/// Reads the lines of a picked-up file after the last routed one. If they cannot be read, the next line gets the
/// problem.
pub fn go_on(
    claims: &Dir,
    claim: &str,
    terms: &PickupConditions,
    behind: u32,
) -> Result<FileReadiness> {
    let mut file = match claims.look(claim) {
        Ok(file) => file,
        Err(e) => return look_at_unopenable(e),
    };
    let meta = file.meta().doing_in("look at", claims.path(), claim)?;
    if let Some(problem) = unfit(&meta) {
        return Ok(ready(Err(problem), meta));
    }
    if file.lease() == ReadLeaseResult::Writer {
        return Ok(FileReadiness::Later(
            "a program still has it open for writing",
            Some(limits::OPEN_MOST),
        ));
    }
    if meta.size > terms.most {
        return Ok(ready(Err(too_large(meta.size, terms.most)), meta));
    }
    let bytes = read_whole(&mut file, meta.size as usize).doing_in("read", claims.path(), claim)?;
    let left = lines(
        numbered(&bytes)
            .filter(|(_, number)| *number > behind)
            .collect(),
    );
    let content = if left.is_empty() {
        FileContent::One(Err(changed(behind)))
    } else {
        FileContent::Lines(left)
    };
    Ok(FileReadiness::Ready(Box::new(ReadyFile {
        content,
        bytes: meta.size,
        meta: None,
    })))
}

fn look_at_unopenable(e: Error) -> Result<FileReadiness> {
    match e.errno() {
        Some(libc::ENOENT) => Ok(FileReadiness::Gone),
        Some(libc::ELOOP | libc::ENXIO | libc::EOPNOTSUPP | libc::EACCES | libc::EPERM) => {
            let problem = Problem::new(
                "unreadable",
                format!("the rest of the file cannot be read: {e}"),
            );
            let content = FileContent::One(Err(problem.fix("drop the missing lines again")));
            Ok(FileReadiness::Ready(Box::new(ReadyFile {
                content,
                bytes: 0,
                meta: None,
            })))
        }
        _ => Err(e),
    }
}

fn changed(behind: u32) -> Problem {
    let what =
        format!("the file was changed while it was routed: there is nothing after line {behind}");
    Problem::new("truncated", what).fix("drop the missing lines again, in a new file")
}
