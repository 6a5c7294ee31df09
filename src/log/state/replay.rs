//! Building the state from the log's bytes. Only complete batches count, and a damaged last batch is distinguished from
//! earlier damage.

use super::{State, checkpoint};
use crate::base::error::{Error, Result};
use crate::disk::Dir;
use crate::log;
use crate::log::{Chain, Line, Position, Tip};
use crate::message::record::Record;

/// The state, and the damage of the last batch, if there is any.
pub struct Replayed {
    /// The state after the last complete batch.
    pub state: State,
    /// Damage in the last batch. The log from there on was never committed.
    pub damage: Option<Damage>,
    /// The number of bytes that were read after the checkpoint.
    pub read: u64,
    /// The last complete batch. `None` if the checkpoint includes it: a checkpoint is written only after the batch's
    /// sync.
    pub last: Option<Last>,
    /// The room and the last record of a checkpoint that does not match the log.
    other: Option<(Option<String>, Tip)>,
}

impl Replayed {
    /// The last record at the time of the room's checkpoint, if the log no longer has this record.
    pub fn other_checkpoint(&self) -> Option<Tip> {
        let (room, tip) = self.other.as_ref()?;
        (*room == self.state.room || self.state.seq == 0).then_some(*tip)
    }
}

/// The last complete batch of the log. Its sync may have failed.
#[derive(Debug, Clone, Copy)]
pub struct Last {
    /// Its start.
    pub from: Position,
    /// The number of its first record.
    pub seq: u64,
}

/// The start of an incomplete last batch, and the reason.
#[derive(Debug)]
pub struct Damage {
    /// The start of the batch.
    pub from: Position,
    /// The problem.
    pub what: String,
}

/// Reads the log after the checkpoint, or the whole log if no checkpoint matches.
///
/// Batches become durable one after the other, so a crash can damage only the last one, which is reported as
/// [`Damage`]. Earlier damage is an error, because the batches after it were committed.
pub fn replay(room: &Dir) -> Result<Replayed> {
    replay_until(room, None)
}

/// The state of the committed log, for every reader except the router.
pub fn committed(room: &Dir) -> Result<State> {
    let end = log::committed(room)?;
    replay_until(room, Some(end)).map(|replayed| replayed.state)
}

/// As [`committed`], for a reader that has an earlier state of the room: reads only the new records, if the log still has the records
/// of that state.
pub fn committed_after(room: &Dir, before: State) -> Result<State> {
    let end = log::committed(room)?;
    if before.seq > 0 && before.end <= end && checkpoint::fits(room, &before)? {
        return replay_from(room, Some((before, true)), Some(end)).map(|replayed| replayed.state);
    }
    drop(before);
    replay_until(room, Some(end)).map(|replayed| replayed.state)
}

/// The state that is known to be durable, because a later batch or a checkpoint follows. It excludes the last batch:
/// its sync may have failed, and a read may return cached bytes that never reached the disk.
pub fn replay_durable(room: &Dir) -> Result<State> {
    match replay(room)? {
        Replayed {
            last: Some(last), ..
        } => replay_until(room, Some(last.from)).map(|replayed| replayed.state),
        Replayed { state, .. } => Ok(state),
    }
}

fn replay_until(room: &Dir, until: Option<Position>) -> Result<Replayed> {
    replay_from(room, checkpoint::load(room)?, until)
}

/// Begins with a state and whether it matches the log.
fn replay_from(
    room: &Dir,
    begun: Option<(State, bool)>,
    until: Option<Position>,
) -> Result<Replayed> {
    let (mut state, other) = match begun {
        Some((state, true)) => (state, None),
        Some((state, false)) => {
            let tip = state.tip();
            (State::default(), Some((state.room, tip)))
        }
        None => (State::default(), None),
    };
    let mut batches = Batches::after(room, &state)?;
    let mut last = None;
    while let Some(batch) = batches.next_until(until)? {
        last = batch.first().map(|(line, first)| Last {
            from: line.at,
            seq: first.seq,
        });
        for (line, record) in batch {
            let tip = Tip {
                at: line.at,
                end: line.end(),
                seq: record.seq,
                hash: line.hash(),
            };
            let at = record.stamp();
            state.apply(record, at, None, tip);
        }
    }
    Ok(Replayed {
        state,
        damage: batches.damage,
        read: batches.read,
        last,
        other,
    })
}

/// The damage of a batch after this state, if there is any.
pub fn damage_after(room: &Dir, state: &State) -> Result<Option<Damage>> {
    let mut batches = Batches::after(room, state)?;
    while batches.next_until(None)?.is_some() {}
    Ok(batches.damage)
}

/// The batches after a state.
struct Batches {
    room: Dir,
    lines: log::Lines,
    chain: Chain,
    /// The number of the last complete batch.
    number: u64,
    /// The number of bytes that were read.
    read: u64,
    damage: Option<Damage>,
}

impl Batches {
    fn after(room: &Dir, state: &State) -> Result<Batches> {
        let lines = if state.end == log::START {
            log::read_whole(room)?
        } else {
            log::read(room, state.end)?
        };
        Ok(Batches {
            room: room.clone(),
            lines,
            chain: Chain::after(state.prev, state.seq, state.batch),
            number: state.batch,
            read: 0,
            damage: None,
        })
    }

    /// The next complete batch that begins before a position. After the last one, `damage` is known.
    fn next_until(&mut self, until: Option<Position>) -> Result<Option<Vec<(Line, Record)>>> {
        let mut batch: Vec<(Line, Record)> = Vec::new();
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
                    self.damage = Some(Damage { from, what });
                    return Ok(None);
                }
            }
            if self.chain.is_complete() {
                self.number += 1;
                return Ok(Some(batch));
            }
        }
        self.damage = batch.first().map(|(line, first)| Damage {
            from: line.at,
            what: format!(
                "the last batch has {} of {} records",
                batch.len(),
                first.count.unwrap_or(0)
            ),
        });
        Ok(None)
    }

    /// A damaged line ends the log if no later batch follows it. The blocks of one batch can reach the disk in any order,
    /// but the next batch starts only after this one is complete.
    fn check_that_none_follows(&mut self, line: &Line, what: &str) -> Result<()> {
        let mut follows = is_after(&line.bytes, self.number + 1);
        while let Some(later) = self.lines.next().transpose()? {
            follows |= is_after(&later.bytes, self.number + 1);
        }
        if !follows {
            return Ok(());
        }
        Err(Error::State {
            path: log::path(&self.room, line.at.segment),
            line: None,
            what: format!("damaged at byte {}, with later batches after it: {what}", line.at.offset),
            cure: "run `mailbag log verify` and restore the segment from a backup; nothing was changed".into(),
        })
    }
}

/// Returns true for a record of a later batch than this one.
fn is_after(line: &[u8], batch: u64) -> bool {
    serde_json::from_slice::<Record>(line).is_ok_and(|record| record.batch > batch)
}
