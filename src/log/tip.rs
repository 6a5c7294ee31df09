//! The tip: the last record of the log that is known to be durable.
//!
//! The router writes it to `spool/tip` after each sync of the log. Recovery detects with it that the log has lost
//! records, and a sender learns from it that its message is accepted.

use super::{LogPosition, RawLogLine, START, read_one};
use crate::base::error::Result;
use crate::base::hash::{Hash, NO_HASH, hash, hex, unhex};
use crate::base::hex_hash;
use crate::disk::{Dir, NoteFile, layout};
use serde::{Deserialize, Serialize};

/// A reader that meets the file during a write reads it again.
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

    /// The tip of a log that ends with this line, which has the record with this number.
    pub fn of(line: &RawLogLine, seq: u64) -> LogTip {
        LogTip {
            at: line.at,
            end: line.end(),
            seq,
            hash: line.hash(),
        }
    }

    /// Returns true if the log has this record at this position. It does not after the log was cut off, or in another room.
    pub fn is_in(&self, room: &Dir) -> Result<bool> {
        let line = read_one(room, self.at)?;
        Ok(line.is_some_and(|line| line.hash() == self.hash && line.end() == self.end))
    }

    /// Reads `spool/tip`. `None` if it is missing or damaged.
    pub fn read(room: &Dir) -> Result<Option<LogTip>> {
        for _ in 0..TRIES {
            let Some(line) = NoteFile::read(room, layout::TIP)? else {
                return Ok(None);
            };
            if let Some(tip) = LogTip::parse(&line) {
                return Ok(Some(tip));
            }
        }
        Ok(None)
    }

    /// The line of the file: number, hash, segment, position, end, and a digest of these words.
    fn line(&self) -> String {
        let LogTip { at, end, seq, hash } = self;
        let words = format!(
            "{seq} {} {} {} {}",
            hex(hash),
            end.segment,
            at.offset,
            end.offset
        );
        let digest = digest(&words);
        format!("{words} {digest}")
    }

    fn parse(line: &str) -> Option<LogTip> {
        let (text, check) = line.rsplit_once(' ')?;
        let words: Vec<&str> = text.split(' ').collect();
        let [seq, hash, segment, at, end] = words[..] else {
            return None;
        };
        if digest(text) != check {
            return None;
        }
        let segment = segment.parse().ok()?;
        let position = |offset: &str| {
            let offset = offset.parse().ok()?;
            Some(LogPosition { segment, offset })
        };
        Some(LogTip {
            at: position(at)?,
            end: position(end)?,
            seq: seq.parse().ok()?,
            hash: unhex(hash)?,
        })
    }
}

/// Shows that a line was written as a whole.
fn digest(words: &str) -> String {
    hex(&hash(words.as_bytes()))[..16].to_owned()
}

/// The router's open `spool/tip`.
pub(super) struct TipFile(Option<NoteFile>);

impl TipFile {
    /// Opens the file. If it cannot be created, the router works without it, and senders count their messages as
    /// pending.
    pub(super) fn open(room: &Dir) -> TipFile {
        let file = NoteFile::open(room, layout::TIP);
        TipFile(file.map_err(|e| tracing::debug!("{e}")).ok())
    }

    /// Writes the last synced record. A failure is ignored, because the record is committed.
    pub(super) fn write(&self, tip: &LogTip) {
        if let Some(Err(e)) = self.0.as_ref().map(|file| file.write(&tip.line())) {
            tracing::debug!("{e}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_line_is_not_a_tip() {
        let tip = LogTip {
            at: LogPosition {
                segment: 2,
                offset: 30,
            },
            end: LogPosition {
                segment: 2,
                offset: 400,
            },
            seq: 7,
            hash: [0xab; 32],
        };
        let line = tip.line();
        assert_eq!(LogTip::parse(&line), Some(tip));
        for length in 0..line.len() {
            assert_eq!(LogTip::parse(&line[..length]), None, "{length}");
        }
        assert_eq!(LogTip::parse(&line.replacen('7', "8", 1)), None);
    }
}
