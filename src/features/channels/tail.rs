//! Finds the router's own lines of a conversation: they equal, byte for byte, the lines of records in the log.

use super::{line, of};
use crate::base::error::{Error, ErrorContext, Result};
use crate::disk::Dir;
use crate::disk::File;
use crate::log;
use crate::log::lookup::LoggedMessage;
use crate::log::state::RoomState;
use crate::log::{LogPosition, find};
use crate::message::record::EventKind;
use serde::Deserialize;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// The number of bytes that are read first from the end of a file.
const WINDOW: u64 = 16 << 10;
/// If the foreign end has more bytes, the whole file is compared with the log.
const WINDOW_MOST: u64 = 64 << 20;
/// The longest line in bytes. A longer line is always foreign.
const LINE_MOST: u64 = crate::base::limits::MESSAGE_BYTES_MOST * 2;

/// The router's own part of a conversation.
#[derive(Debug, Clone, Copy)]
pub(super) struct RouterLines {
    /// The end of the router's last line.
    pub(super) end: u64,
    /// The record of this line, or 0 without a line.
    pub(super) seq: u64,
    /// The position of that record in the log, or the beginning of the log.
    pub(super) at: LogPosition,
}

/// The fields of a line about its record.
#[derive(Deserialize)]
struct ChannelLineHead<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    sender: Cow<'a, str>,
    metadata: LineHeadMetadata,
}

/// The message that a line shows.
#[derive(Deserialize)]
struct ChannelLineName<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    sender: Cow<'a, str>,
}

#[derive(Deserialize)]
struct LineHeadMetadata {
    delivery: LineHeadDelivery,
}

#[derive(Deserialize)]
struct LineHeadDelivery {
    seq: u64,
}

/// The router's part of an empty file.
const NOTHING: RouterLines = RouterLines {
    end: 0,
    seq: 0,
    at: log::START,
};

/// Distinguishes the router's lines from foreign lines.
pub(super) struct LineClassifier<'a> {
    pub(super) room: &'a Dir,
    pub(super) state: &'a RoomState,
    pub(super) channel: &'a str,
    /// The last archived record. Archived ids are forgotten, so a line that claims an archived record is believed.
    archived: OnceCell<u64>,
}

impl<'a> LineClassifier<'a> {
    pub(super) fn new(room: &'a Dir, state: &'a RoomState, channel: &'a str) -> LineClassifier<'a> {
        LineClassifier {
            room,
            state,
            channel,
            archived: OnceCell::new(),
        }
    }

    // Read only for a line with an id that is not in the index. Most files end with a line that is found.
    fn archived(&self) -> Result<u64> {
        if let Some(&last) = self.archived.get() {
            return Ok(last);
        }
        let last = last_archived(self.room)?;
        Ok(*self.archived.get_or_init(|| last))
    }

    /// Fails if another program replaced the log after the router read it: the router's own lines would look foreign.
    pub(super) fn check_log(&self) -> Result<()> {
        match find::by_seq(self.room, self.state.seq)? {
            None if self.state.seq == 0 => Ok(()),
            Some(last) if last.hash() == self.state.prev => Ok(()),
            _ => Err(Error::busy(
                format!("the log ends otherwise than with record {}", self.state.seq),
                "nothing is cut out of conversations; `mailbag log verify` shows the log",
            )),
        }
    }

    /// The record of a line, and its position in the log, or `None` for a foreign line.
    fn of(&self, line: &[u8]) -> Result<Option<(u64, LogPosition)>> {
        let Ok(head) = serde_json::from_slice::<ChannelLineHead>(line) else {
            return Ok(None);
        };
        for (at, record) in self
            .state
            .indexed(self.room)
            .records_of(&head.sender, &head.id)?
        {
            let is_it =
                record.kind() == EventKind::Accepted && record.seq == head.metadata.delivery.seq;
            if is_it
                && record.channel().as_deref() == Some(self.channel)
                && line::of_record(&record).as_deref() == Some(line)
            {
                return Ok(Some((record.seq, at)));
            }
        }
        let seq = head.metadata.delivery.seq;
        // The log has lost the record, and the conversation still shows the message.
        if let Some(gap) = self.state.gaps.of(seq) {
            return Ok(Some((seq, gap.at)));
        }
        let shown = of(self.state).get(self.channel).map_or(0, |said| said.last);
        Ok((seq <= shown && seq <= self.archived()?).then_some((seq, log::START)))
    }

    /// Returns true if the log has a delivered message with the sender and id of this line.
    pub(super) fn is_delivered(&self, line: &[u8]) -> Result<bool> {
        let Ok(ChannelLineName { id, sender }) = serde_json::from_slice::<ChannelLineName>(line)
        else {
            return Ok(false);
        };
        let named = self.state.indexed(self.room).records_of(&sender, &id)?;
        if named
            .iter()
            .any(|(_, record)| record.kind() == EventKind::Accepted)
        {
            return Ok(true);
        }
        // The ids of archived records are not in the index, but a copied line has the number of its record.
        let seq = serde_json::from_slice::<ChannelLineHead>(line)
            .map_or(0, |head| head.metadata.delivery.seq);
        if seq == 0 || seq > self.archived()? {
            return Ok(false);
        }
        let archived =
            find::by_seq(self.room, seq)?.and_then(|line| LoggedMessage::read(&line.bytes));
        Ok(archived.is_some_and(|past| *past.from == *sender && past.id == *id))
    }

    /// The record of a router's line, if it is after `last`.
    pub(super) fn follows(&self, line: &[u8], last: u64) -> Result<Option<u64>> {
        Ok(self.of(line)?.map(|(seq, _)| seq).filter(|seq| *seq > last))
    }

    /// The router's last line that ends at or before `upto`. A power cut can leave zero bytes, which no line has:
    /// everything after them is ignored.
    pub(super) fn last_of_ours(
        &self,
        file: &mut File,
        upto: u64,
        path: &Path,
    ) -> Result<RouterLines> {
        let (mut window, mut upto) = (WINDOW, upto);
        loop {
            let start = upto.saturating_sub(window);
            let mut bytes = vec![0; (upto - start) as usize];
            file.seek(SeekFrom::Start(start))
                .and_then(|_| file.read_exact(&mut bytes))
                .doing("read", path)?;
            if let Some(blank) = bytes.iter().position(|&byte| byte == 0) {
                upto = start + blank as u64;
                continue;
            }
            // A line that begins before the window needs a larger window.
            let first = if start == 0 {
                Some(0)
            } else {
                bytes.iter().position(|&byte| byte == b'\n').map(|n| n + 1)
            };
            let mut rest = &bytes[first.unwrap_or(bytes.len())..];
            while let Some(end) = rest.iter().rposition(|&byte| byte == b'\n').map(|n| n + 1) {
                let begin = rest[..end - 1]
                    .iter()
                    .rposition(|&byte| byte == b'\n')
                    .map_or(0, |n| n + 1);
                if let Some((seq, at)) = self.of(&rest[begin..end])? {
                    if !is_in_order(&rest[..end]) {
                        return Ok(NOTHING);
                    }
                    let after = bytes.len() - first.unwrap_or(0) - end;
                    return Ok(RouterLines {
                        end: upto - after as u64,
                        seq,
                        at,
                    });
                }
                rest = &rest[..begin];
            }
            if start == 0 || window >= WINDOW_MOST {
                return Ok(NOTHING);
            }
            window *= 8;
        }
    }
}

/// The last record before the segments that are in `log/` without a gap.
fn last_archived(room: &Dir) -> Result<u64> {
    let live = log::live(room)?;
    let gap = live
        .windows(2)
        .rposition(|pair| pair[0] + 1 != pair[1])
        .map(|n| n + 1);
    let first = gap.or((live.first() != Some(&log::START.segment)).then_some(0));
    let Some(segment) = first.and_then(|n| live.get(n)).copied() else {
        return Ok(0);
    };
    Ok(find::first_seq(room, segment)?.saturating_sub(1))
}

/// Returns true if these lines have increasing numbers. Otherwise some of them are foreign.
fn is_in_order(lines: &[u8]) -> bool {
    let mut last = None;
    lines.split_inclusive(|&byte| byte == b'\n').all(|line| {
        let head = serde_json::from_slice::<ChannelLineHead>(line).ok();
        let seq = head.map(|head| head.metadata.delivery.seq);
        seq.is_some() && seq > std::mem::replace(&mut last, seq)
    })
}

/// The position of the first zero byte.
pub(super) fn first_blank(file: &mut File, path: &Path) -> Result<Option<u64>> {
    file.seek(SeekFrom::Start(0)).doing("read", path)?;
    let (mut at, mut piece) = (0, vec![0; 1 << 20]);
    loop {
        let read = file.read(&mut piece).doing("read", path)?;
        match piece[..read].iter().position(|&byte| byte == 0) {
            Some(blank) => return Ok(Some(at + blank as u64)),
            None if read == 0 => return Ok(None),
            None => at += read as u64,
        }
    }
}

/// Calls `each` for every line from `from` on, and returns the end of the file.
pub(super) fn lines_from(
    file: &mut File,
    from: u64,
    path: &Path,
    each: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<u64> {
    file.seek(SeekFrom::Start(from)).doing("read", path)?;
    let (mut reader, mut at, mut line) =
        (BufReader::with_capacity(1 << 16, file), from, Vec::new());
    loop {
        line.clear();
        match reader
            .by_ref()
            .take(LINE_MOST)
            .read_until(b'\n', &mut line)
            .doing("read", path)?
        {
            0 => return Ok(at),
            read => at += read as u64,
        }
        each(&line)?;
    }
}
