//! A worklog that was changed after the router wrote it: recognition of the router's own content, and handling of
//! foreign content.

use super::entry;
use super::head::{self, WorklogHead};
use super::place::WorklogTarget;
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::hash::{hash_stream, hex};
use crate::disk::File;
use crate::disk::{Dir, DraftFile, Meta};
use crate::router::projections::ProjectionReport;
use crate::router::projections::foreign::GeneratedFile;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

/// The longest status block with its index. A longer one was not written by the router.
const WORKLOG_HEAD: usize = 1 << 20;
/// The longest line of an entry, in bytes.
const WORKLOG_LINE: u64 = 16 << 10;

/// The advice to the human.
const ADVICE: &str = "To add an entry, run `mailbag send TEXT --type milestone`, or write\n\n    \
                      {\"type\": \"milestone\", \"body\": \"TEXT\"}\n\ninto a new file in outbox/<you>/ whose name ends in \
                      .json. To keep a file of your own under this name, set `worklog` to another path in settings.toml.";

/// A file in the place of the worklog.
pub(super) struct ExistingWorklog {
    file: File,
    path: PathBuf,
    /// Its metadata before it was read.
    pub(super) meta: Meta,
    /// Its first bytes.
    begin: Vec<u8>,
}

/// The content of such a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorklogContent {
    /// Only entries of the router.
    Ours,
    /// Something else.
    Foreign,
}

impl ExistingWorklog {
    /// Opens the file, if there is one.
    pub(super) fn open(dir: &Dir, name: &OsStr) -> Result<Option<ExistingWorklog>> {
        let Some(file) = dir.look_regular(name)? else {
            return Ok(None);
        };
        let (path, mut begin) = (dir.at(name), Vec::new());
        let meta = file.meta().doing("look at", &path)?;
        file.clone()
            .take(WORKLOG_HEAD as u64)
            .read_to_end(&mut begin)
            .doing("read", &path)?;
        Ok(Some(ExistingWorklog {
            file,
            path,
            meta,
            begin,
        }))
    }

    /// Compares it with the entries of the log. A kill or a power cut can have left only the first of them.
    pub(super) fn compare(&mut self, room: &str, entries: &mut File) -> Result<WorklogContent> {
        match head::read(room, &self.begin) {
            WorklogHead::Ours(at) => {
                self.seek(at as u64)?;
                entries.seek(SeekFrom::Start(0)).doing("read", &self.path)?;
                let is_same = is_beginning(
                    &mut BufReader::new(self.file.clone()),
                    &mut BufReader::new(entries),
                );
                Ok(if is_same.doing("read", &self.path)? {
                    WorklogContent::Ours
                } else {
                    WorklogContent::Foreign
                })
            }
            WorklogHead::OfRoom(other) => {
                let what = format!(
                    "{} is the worklog of another room ({other})",
                    self.path.display()
                );
                Err(Error::busy(
                    what,
                    "set `worklog` to another path, or move the file away",
                ))
            }
            WorklogHead::Foreign if self.begin.iter().all(|&byte| byte == 0) => {
                Ok(WorklogContent::Ours)
            }
            WorklogHead::Foreign => Ok(WorklogContent::Foreign),
        }
    }

    fn seek(&mut self, to: u64) -> Result<()> {
        self.file
            .seek(SeekFrom::Start(to))
            .doing("read", &self.path)?;
        Ok(())
    }

    /// Identifies the content.
    fn digest(&mut self) -> Result<String> {
        self.seek(0)?;
        let (hash, _) = hash_stream(self.file.clone()).doing("read", &self.path)?;
        Ok(hex(&hash)[..12].to_owned())
    }
}

/// Returns true if one content begins with the other. A power cut can leave zero bytes at the end of a file.
fn is_beginning(part: &mut impl BufRead, whole: &mut impl BufRead) -> std::io::Result<bool> {
    loop {
        let (one, other) = (part.fill_buf()?, whole.fill_buf()?);
        let length = one.len().min(other.len());
        if one.is_empty() {
            return Ok(true);
        }
        if length == 0 || one[..length] != other[..length] {
            let same = one
                .iter()
                .zip(other)
                .take_while(|(one, other)| one == other)
                .count();
            part.consume(same);
            return is_blank(part);
        }
        part.consume(length);
        whole.consume(length);
    }
}

fn is_blank(rest: &mut impl BufRead) -> std::io::Result<bool> {
    loop {
        let piece = rest.fill_buf()?;
        let length = piece.len();
        if length == 0 || piece.iter().any(|&byte| byte != 0) {
            return Ok(length == 0);
        }
        rest.consume(length);
    }
}

/// Copies the entries of lost records from the file, or writes a line about the missing entries.
pub(super) fn write_older(
    there: Option<&mut ExistingWorklog>,
    first: u64,
    to: &mut BufWriter<DraftFile>,
) -> Result<()> {
    let mut last = 0;
    if let Some(there) = there {
        there.seek(head::entries_at(&there.begin) as u64)?;
        let mut lines = BufReader::new(there.file.clone());
        let mut line = Vec::new();
        loop {
            line.clear();
            lines
                .by_ref()
                .take(WORKLOG_LINE)
                .read_until(b'\n', &mut line)
                .doing("read", &there.path)?;
            match entry::number(&line).filter(|number| *number < first && *number > last) {
                Some(number) => last = number,
                None => break,
            }
            put(to, &line)?;
        }
    }
    if last == 0 {
        put(to, entry::gap(first).as_bytes())
    } else {
        Ok(())
    }
}

/// Moves the file aside, like [`GeneratedFile::keep_aside`].
pub(super) fn keep_aside(
    target: &WorklogTarget<'_>,
    there: Option<&mut ExistingWorklog>,
    report: &mut ProjectionReport<'_>,
) -> Result<bool> {
    let Some(there) = there else { return Ok(true) };
    let made = GeneratedFile {
        dir: &target.dir,
        name: &target.name,
        shown: target.path,
        advice: ADVICE,
    };
    made.keep_aside(&there.digest()?, target.state, report)
}

/// Adds bytes to the draft.
pub(super) fn put(draft: &mut BufWriter<DraftFile>, bytes: &[u8]) -> Result<()> {
    draft.write_all(bytes).map_err(|e| failed(draft, e))
}

/// Writes the buffered entries.
pub(super) fn flush(draft: &mut BufWriter<DraftFile>) -> Result<()> {
    draft.flush().map_err(|e| failed(draft, e))
}

fn failed(draft: &BufWriter<DraftFile>, source: std::io::Error) -> Error {
    Error::Io {
        verb: "write",
        path: draft.get_ref().path(),
        source,
    }
}
