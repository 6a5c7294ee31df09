//! The committed part of the log, for every reader except the router.
//!
//! A batch can be read while it is being written, or after its sync has failed. Such a batch may be lost, and with it
//! the messages that it accepts. So after each commit the router writes the end of the log into a note. A reader trusts
//! the log up to the noted end. It also trusts a batch that another batch follows, because the router starts a batch
//! only after the previous one is durable.

use super::{LogLines, LogPosition, RawLogLine, START, now, read, read_one, segments};
use crate::base::error::{Error, Result};
use crate::base::hash::{Hash, NO_HASH, hex, unhex};
use crate::base::hex_hash;
use crate::base::limits;
use crate::disk::{Dir, Meta, NoteFile, layout};
use crate::message::record::Record;
use serde::{Deserialize, Serialize};

/// The number of bytes that are read first to find the end of the committed log in a room without `spool/committed`.
const COMMITTED_LOOK: u64 = 64 << 10;

/// A reader that meets a note during a write reads it again.
const TRIES: usize = 3;

/// The last record of the log, or of the part of it that a file covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogTip {
    /// The position of its line.
    #[serde(rename = "last")]
    pub at: LogPosition,
    /// The position of the next line.
    pub end: LogPosition,
    /// Its number; 0 for an empty log.
    pub seq: u64,
    /// The hash of its line.
    #[serde(with = "hex_hash")]
    pub hash: Hash,
}

impl LogTip {
    /// The tip of an empty log.
    pub const NONE: LogTip = LogTip {
        at: START,
        end: START,
        seq: 0,
        hash: NO_HASH,
    };

    /// Returns true if the log has this record at this position. It does not after the log was cut off, or in another room.
    pub fn is_in(&self, room: &Dir) -> Result<bool> {
        let line = read_one(room, self.at)?;
        Ok(line.is_some_and(|line| line.hash() == self.hash && line.end() == self.end))
    }
}

/// The router's note of its last commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitNote {
    /// The last committed record.
    pub tip: LogTip,
    /// The inode number of the segment, and its change time. A program that restores the segment changes one of them.
    seal: (u64, i128),
}

impl CommitNote {
    /// Reads the note. `None` if it is missing or invalid.
    pub fn read(room: &Dir) -> Result<Option<CommitNote>> {
        for _ in 0..TRIES {
            let Some(bytes) = room.read(layout::COMMITTED, limits::NOTE_BYTES)? else {
                return Ok(None);
            };
            if let Some(noted) = CommitNote::parse(&String::from_utf8_lossy(&bytes)) {
                return Ok(Some(noted));
            }
        }
        Ok(None)
    }

    /// Returns true if the segment is still the file that the router noted, without a change.
    pub fn is_sealed(&self, room: &Dir) -> Result<bool> {
        let there = room.stat(layout::live_segment(self.tip.end.segment))?;
        Ok(there.is_some_and(|there| {
            (there.inode, there.changed) == self.seal && there.size == self.tip.end.offset
        }))
    }

    // Everything is written twice, so that a reader detects a partial note.
    fn write(&self) -> String {
        let (LogTip { at, end, seq, hash }, (inode, changed)) = (&self.tip, self.seal);
        let once = format!(
            "{} {} {} {seq} {} {inode} {changed}",
            end.segment,
            end.offset,
            at.offset,
            hex(hash)
        );
        format!("{once} {once}\n")
    }

    fn parse(text: &str) -> Option<CommitNote> {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let (once, _) = words
            .split_at_checked(7)
            .filter(|(once, again)| once == again)?;
        let segment = once[0].parse().ok()?;
        let tip = LogTip {
            at: LogPosition {
                segment,
                offset: once[2].parse().ok()?,
            },
            end: LogPosition {
                segment,
                offset: once[1].parse().ok()?,
            },
            seq: once[3].parse().ok()?,
            hash: unhex(once[4])?,
        };
        Some(CommitNote {
            tip,
            seal: (once[5].parse().ok()?, once[6].parse().ok()?),
        })
    }
}

/// The router's note: the end of the committed log.
pub(super) struct CommitNoteFile(Option<NoteFile>);

impl CommitNoteFile {
    /// Opens the note. If it cannot be created, readers count each complete batch as committed.
    pub(super) fn open(room: &Dir) -> CommitNoteFile {
        let note = NoteFile::open(room, layout::COMMITTED);
        CommitNoteFile(note.map_err(|e| tracing::debug!("{e}")).ok())
    }

    /// Notes that the log is committed up to `tip`, in a segment with this metadata. Readers depend on the note, and the
    /// next router compares the log with it. A failure is ignored, because both do without it.
    pub(super) fn write(&self, tip: &LogTip, segment: &Meta) {
        let noted = CommitNote {
            tip: *tip,
            seal: (segment.inode, segment.changed),
        };
        if let Some(Err(e)) = self
            .0
            .as_ref()
            .map(|note| note.write(noted.write().as_bytes()))
        {
            tracing::debug!("{e}");
        }
    }
}

/// The end of the committed log. An incomplete last batch is not committed, and neither is a complete one that is not
/// yet known to be durable.
pub fn committed(room: &Dir) -> Result<LogPosition> {
    for _ in 0..TRIES {
        let noted = noted_end(room)?;
        let end = now(room)?;
        match noted {
            Some(noted) if noted == end => return Ok(noted),
            // A router on a full disk may have appended more than it noted.
            Some(noted) if noted < end => {
                if let Some(followed) = ends(room, noted)? {
                    return Ok(followed.followed.unwrap_or(noted));
                }
            }
            // The log was cut off. Only a router decides whether that was an accident.
            Some(_) => {}
            None => break,
        }
    }
    let mut back = COMMITTED_LOOK;
    loop {
        let from = super::before_end(room, back)?;
        match ends(room, first_batch(room, from)?)? {
            // Without a note, a complete batch counts as committed.
            Some(BatchEnds {
                whole: Some(whole), ..
            }) => return Ok(whole),
            _ if from == super::START => return beginning(room),
            _ => back = back.saturating_mul(8),
        }
    }
}

fn noted_end(room: &Dir) -> Result<Option<LogPosition>> {
    Ok(CommitNote::read(room)?.map(|noted| noted.tip.end))
}

/// The committed lines from `from` on. A line must begin at `from`.
pub fn lines(room: &Dir, from: LogPosition) -> Result<CommittedLines> {
    let end = committed(room)?;
    Ok(CommittedLines {
        lines: read(room, from)?,
        end,
        room: room.clone(),
    })
}

/// An iterator over committed lines, in the order of the log.
pub struct CommittedLines {
    lines: LogLines,
    end: LogPosition,
    room: Dir,
}

impl CommittedLines {
    /// The end of the committed lines. A later call can continue there.
    pub fn end(&self) -> LogPosition {
        self.end
    }

    /// The lines with their records.
    pub fn records(self) -> impl Iterator<Item = Result<(RawLogLine, Record)>> {
        let room = self.room.clone();
        self.map(move |line| {
            let line = line?;
            match line.record() {
                Ok(record) => Ok((line, record)),
                Err(e) => Err(Error::state(
                    super::path(&room, line.at.segment),
                    format!("the line at byte {} is not a record: {e}", line.at.offset),
                    "run `mailbag log verify`",
                )),
            }
        })
    }
}

impl Iterator for CommittedLines {
    type Item = Result<RawLogLine>;

    fn next(&mut self) -> Option<Result<RawLogLine>> {
        match self.lines.next()? {
            Ok(line) if line.at >= self.end => None,
            line => Some(line),
        }
    }
}

/// Ends of batches.
#[derive(Default)]
struct BatchEnds {
    /// The end of the last complete batch.
    whole: Option<LogPosition>,
    /// The end of the last complete batch that another batch follows.
    followed: Option<LogPosition>,
}

/// Reads batches from the start of one. `None` if no batch begins at `from`.
fn ends(room: &Dir, from: LogPosition) -> Result<Option<BatchEnds>> {
    let (mut ends, mut begins) = (BatchEnds::default(), true);
    for line in read(room, from)? {
        let line = line?;
        if line.at == from && !line.bytes.starts_with(b"{\"seq\":") {
            return Ok(None);
        }
        // A batch is committed if another batch begins after it, even an incomplete one.
        if begins {
            ends.followed = ends.whole;
        }
        begins = ends_batch(&line);
        if begins {
            ends.whole = Some(line.end());
        }
    }
    Ok(Some(ends))
}

/// The start of the first batch after a position, or the end of the log. The log begins with a batch.
fn first_batch(room: &Dir, from: LogPosition) -> Result<LogPosition> {
    let mut at = from;
    if from == super::START {
        return beginning(room);
    }
    for line in read(room, from)? {
        let line = line?;
        at = line.end();
        if ends_batch(&line) {
            break;
        }
    }
    Ok(at)
}

fn ends_batch(line: &RawLogLine) -> bool {
    line.bytes.ends_with(b"\n") && line.record().is_ok_and(|record| record.count.is_some())
}

/// The start of the log's first line.
fn beginning(room: &Dir) -> Result<LogPosition> {
    let first = segments(room)?.first().copied();
    Ok(first.map_or(super::START, LogPosition::start_of))
}
