//! Building the state from the log's bytes. Only complete batches count, and a damaged last batch is distinguished from
//! earlier damage.

use super::RoomState;
use super::index::LogIndex;
use crate::base::error::{Error, Result};
use crate::disk::Dir;
use crate::log;
use crate::log::{LogChain, LogPosition, LogTip, RawLogLine, snapshot};
use crate::message::record::Record;

/// The state, and the damage of the last batch, if there is any.
pub struct ReplayedLog {
    /// The state after the last complete batch.
    pub state: RoomState,
    /// Damage in the last batch, which has no effect.
    pub damage: Option<BatchDamage>,
    /// The number of bytes that were read after the snapshot.
    pub read: u64,
}

/// The start of an incomplete last batch, and the reason.
#[derive(Debug)]
pub struct BatchDamage {
    /// The start of the batch.
    pub from: LogPosition,
    /// The problem.
    pub what: String,
}

/// Reads the log after the snapshot, or the whole log if no snapshot matches.
///
/// Batches become durable one after the other, so a crash can damage only the last one, which is reported as
/// [`BatchDamage`]. Earlier damage is an error, because the batches after it were committed.
pub fn replay(room: &Dir) -> Result<ReplayedLog> {
    replay_until(room, None)
}

/// The state after the last complete batch, for every reader except the router.
pub fn committed(room: &Dir) -> Result<RoomState> {
    let end = log::end(room)?;
    replay_until(room, Some(end)).map(|replayed| replayed.state)
}

/// As [`committed`], for a reader that has an earlier state of the room: reads only the new records, if the log still has the records
/// of that state.
pub fn committed_after(room: &Dir, before: RoomState) -> Result<RoomState> {
    let end = log::end(room)?;
    if before.seq > 0 && before.end <= end && before.tip().is_in(room)? {
        let mut state = replay_from(room, before, Some(end))?.state;
        state.index.shrink(room);
        return Ok(state);
    }
    drop(before);
    replay_until(room, Some(end)).map(|replayed| replayed.state)
}

/// The state of the part of the log that is known to be durable.
pub fn synced(room: &Dir) -> Result<RoomState> {
    replay_until(room, Some(log::synced(room)?)).map(|replayed| replayed.state)
}

fn replay_until(room: &Dir, until: Option<LogPosition>) -> Result<ReplayedLog> {
    let state = snapshot::load(room)?.unwrap_or_else(|| RoomState {
        index: LogIndex::begin(room),
        ..RoomState::default()
    });
    replay_from(room, state, until)
}

/// Begins with a state that matches the log.
fn replay_from(
    room: &Dir,
    mut state: RoomState,
    until: Option<LogPosition>,
) -> Result<ReplayedLog> {
    let mut batches = BatchReader::after(room, &state)?;
    while let Some(batch) = batches.next_until(until)? {
        for (line, record) in batch {
            let tip = LogTip::of(&line, record.seq);
            let at = record.stamp();
            state.apply(record, at, None, tip);
        }
    }
    Ok(ReplayedLog {
        state,
        damage: batches.damage,
        read: batches.read,
    })
}

/// The damage of a batch after this state, if there is any.
pub fn damage_after(room: &Dir, state: &RoomState) -> Result<Option<BatchDamage>> {
    let mut batches = BatchReader::after(room, state)?;
    while batches.next_until(None)?.is_some() {}
    Ok(batches.damage)
}

/// The batches after a state.
struct BatchReader {
    room: Dir,
    lines: log::LogLines,
    chain: LogChain,
    /// The number of the last complete batch.
    number: u64,
    /// The number of bytes that were read.
    read: u64,
    damage: Option<BatchDamage>,
}

impl BatchReader {
    fn after(room: &Dir, state: &RoomState) -> Result<BatchReader> {
        let lines = if state.end == log::START {
            log::read_whole(room)?
        } else {
            log::read(room, state.end)?
        };
        Ok(BatchReader {
            room: room.clone(),
            lines,
            chain: LogChain::after(state.prev, state.seq, state.batch),
            number: state.batch,
            read: 0,
            damage: None,
        })
    }

    /// The next complete batch that begins before a position. After the last one, `damage` is known.
    fn next_until(
        &mut self,
        until: Option<LogPosition>,
    ) -> Result<Option<Vec<(RawLogLine, Record)>>> {
        let mut batch: Vec<(RawLogLine, Record)> = Vec::new();
        while let Some(line) = self.lines.next() {
            let line = line?;
            if until.is_some_and(|until| line.at >= until) {
                break;
            }
            self.read += line.bytes.len() as u64;
            match self.chain.take(&line) {
                Ok(record) => batch.push((line, record)),
                Err(what) => {
                    let from = batch.first().map_or(line.at, |(first, _)| first.at);
                    self.check_that_none_follows(&line, &what)?;
                    self.damage = Some(BatchDamage { from, what });
                    return Ok(None);
                }
            }
            if self.chain.is_complete() {
                self.number += 1;
                return Ok(Some(batch));
            }
        }
        self.damage = batch.first().map(|(line, _)| BatchDamage {
            from: line.at,
            what: "the last batch is incomplete".into(),
        });
        Ok(None)
    }

    /// A damaged line ends the log if no later batch follows it. The blocks of one batch can reach the disk in any order,
    /// but the next batch starts only after this one is complete.
    fn check_that_none_follows(&mut self, line: &RawLogLine, what: &str) -> Result<()> {
        let mut follows = is_after(&line.bytes, self.number + 1);
        while let Some(later) = self.lines.next().transpose()? {
            follows |= is_after(&later.bytes, self.number + 1);
        }
        if !follows {
            return Ok(());
        }
        Err(Error::state(
            log::path(&self.room, line.at.segment),
            format!(
                "damaged at byte {}, with later batches after it: {what}",
                line.at.offset
            ),
            "run `mailbag log verify` and restore the segment from a backup; nothing was changed",
        ))
    }
}

/// Returns true for a record of a later batch than this one.
fn is_after(line: &[u8], batch: u64) -> bool {
    serde_json::from_slice::<Record>(line).is_ok_and(|record| record.batch > batch)
}
