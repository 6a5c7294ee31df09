//! Reading much of the log fast: several segments in parallel, in large blocks, with only the matching lines parsed.

use super::line_filter::LineFilter;
use crate::base::error::{ErrorContext, Result};
use crate::base::limits;
use crate::disk::{Dir, layout};
use crate::log;
use crate::log::LogPosition;
use crate::log::segments::{self, LogSegment};
use std::collections::VecDeque;
use std::io::Read;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// The size of one read. A block that stays in the processor's cache is searched fastest.
const BLOCK: usize = 1 << 17;
/// The most blocks that a reader may be ahead of the consumer.
const BLOCKS_AHEAD: usize = 64;
/// The most reader threads. With more of them, memory bandwidth is the limit.
const READERS: usize = 8;

/// The result of one block of the log.
pub struct ScannedBlock<T> {
    /// The size of the block in bytes.
    pub bytes: u64,
    /// The values found in it, in the order of the log.
    pub found: Vec<T>,
}

/// An iterator over the blocks of a scan, in the order of the log. Dropping it stops the readers.
pub struct LogScan<T> {
    job: Arc<ScanJob<T>>,
    /// Segments that no reader has started.
    left: VecDeque<u32>,
    readers: VecDeque<Receiver<Result<ScannedBlock<T>>>>,
    most: usize,
}

struct ScanJob<T> {
    room: Dir,
    from: LogPosition,
    to: LogPosition,
    sieve: Option<LineFilter>,
    take: LineParser<T>,
}

/// A line that passed the sieve.
pub struct CandidateLine<'a> {
    /// The line.
    pub bytes: &'a [u8],
    /// Its position.
    pub at: LogPosition,
}

/// Makes a value from a line.
type LineParser<T> = Box<dyn Fn(CandidateLine<'_>) -> Option<T> + Send + Sync>;
type BlockSender<T> = SyncSender<Result<ScannedBlock<T>>>;

/// Reads the lines from `from` to `to`, or to the end of the last complete batch. Lines that pass the sieve are passed to
/// `take`, which runs in several threads.
pub fn scan<T: Send + 'static>(
    room: &Dir,
    from: LogPosition,
    to: Option<LogPosition>,
    sieve: Option<LineFilter>,
    take: impl Fn(CandidateLine<'_>) -> Option<T> + Send + Sync + 'static,
) -> Result<LogScan<T>> {
    let end = log::end(room)?;
    let to = to.map_or(end, |to| to.min(end));
    let left: VecDeque<u32> = log::segments(room)?
        .into_iter()
        .filter(|&segment| segment >= from.segment && LogPosition::start_of(segment) < to)
        .collect();
    let job = Arc::new(ScanJob {
        room: room.clone(),
        from,
        to,
        sieve,
        take: Box::new(take),
    });
    let most = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(READERS);
    Ok(LogScan {
        job,
        left,
        readers: VecDeque::new(),
        most,
    })
}

impl<T: Send + 'static> LogScan<T> {
    /// The values of all blocks.
    pub fn values(self) -> impl Iterator<Item = Result<T>> {
        self.flat_map(values)
    }

    /// The values of all blocks. Each block is shown to `see` before its values.
    pub fn values_seen_by(
        self,
        mut see: impl FnMut(&ScannedBlock<T>),
    ) -> impl Iterator<Item = Result<T>> {
        self.flat_map(move |block| {
            if let Ok(block) = &block {
                see(block);
            }
            values(block)
        })
    }

    fn start_readers(&mut self) -> Result<()> {
        while self.readers.len() < self.most {
            let Some(segment) = self.left.pop_front() else {
                break;
            };
            let (sender, receiver) = sync_channel(BLOCKS_AHEAD);
            let job = self.job.clone();
            std::thread::Builder::new()
                .spawn(move || {
                    if let Err(e) = job.segment(segment, &sender) {
                        let _ = sender.send(Err(e));
                    }
                })
                .doing("start a reader of", layout::segment(segment))?;
            self.readers.push_back(receiver);
        }
        Ok(())
    }
}

impl<T: Send + 'static> Iterator for LogScan<T> {
    type Item = Result<ScannedBlock<T>>;

    fn next(&mut self) -> Option<Result<ScannedBlock<T>>> {
        loop {
            if let Err(e) = self.start_readers() {
                return Some(Err(e));
            }
            match self.readers.front()?.recv() {
                Ok(block) => return Some(block),
                Err(_) => {
                    self.readers.pop_front();
                }
            }
        }
    }
}

/// The values of a block.
fn values<T>(block: Result<ScannedBlock<T>>) -> impl Iterator<Item = Result<T>> {
    let (found, failed) = match block {
        Ok(block) => (block.found, None),
        Err(e) => (Vec::new(), Some(Err(e))),
    };
    found.into_iter().map(Ok).chain(failed)
}

impl<T> ScanJob<T> {
    fn segment(&self, number: u32, blocks: &BlockSender<T>) -> Result<()> {
        let offset = if number == self.from.segment {
            self.from.offset
        } else {
            0
        };
        let end = if number == self.to.segment {
            self.to.offset
        } else {
            u64::MAX
        };
        let mut at = LogPosition {
            segment: number,
            offset,
        };
        let mut segment = LogSegment::open(&self.room, number)?
            .ok_or_else(|| segments::missing(&self.room, number))?;
        segment.skip(offset)?;
        let mut segment = segment.take(end.saturating_sub(offset));
        let (mut held, mut filled) = (vec![0; BLOCK], 0);
        loop {
            if filled == held.len() {
                // No valid record is this long: the log is damaged.
                if held.len() as u64 > limits::MESSAGE_BYTES_MOST * 2 {
                    (at.offset, filled) = (at.offset + filled as u64, 0);
                }
                held.resize(held.len() * 2, 0);
            }
            let read = segment
                .read(&mut held[filled..])
                .map_err(|e| segment.get_ref().failed(e))?;
            let Some(whole) =
                memchr::memrchr(b'\n', &held[filled..filled + read]).map(|last| filled + last + 1)
            else {
                filled += read;
                if read == 0 {
                    return segment.get_ref().complete(at.offset + filled as u64);
                }
                continue;
            };
            filled += read;
            if self.block(&held[..whole], at, blocks).is_break() {
                return Ok(());
            }
            held.copy_within(whole..filled, 0);
            (at.offset, filled) = (at.offset + whole as u64, filled - whole);
        }
    }

    /// Passes the matching lines of a block to `take`, and sends the results. Breaks if the consumer has ended.
    fn block(&self, lines: &[u8], begins: LogPosition, blocks: &BlockSender<T>) -> ControlFlow<()> {
        let mut found = Vec::new();
        let mut candidates = self.sieve.as_ref().map(|sieve| sieve.candidates(lines));
        let mut from = 0;
        while from < lines.len() {
            let Some(hit) = candidates
                .as_mut()
                .map_or(Some(from), |candidates| candidates.from(from))
            else {
                break;
            };
            let start =
                memchr::memrchr(b'\n', &lines[from..hit]).map_or(from, |end| from + end + 1);
            let end = memchr::memchr(b'\n', &lines[hit..]).map_or(lines.len(), |end| hit + end + 1);
            let at = LogPosition {
                segment: begins.segment,
                offset: begins.offset + start as u64,
            };
            found.extend((self.take)(CandidateLine {
                bytes: &lines[start..end],
                at,
            }));
            from = end;
        }
        match blocks.send(Ok(ScannedBlock {
            bytes: lines.len() as u64,
            found,
        })) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}
