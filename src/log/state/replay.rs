//! From the log's bytes to its state: whole batches count, a damaged last batch is told from damage further back.

use super::{State, checkpoint};
use crate::base::error::{Error, Result};
use crate::disk::Dir;
use crate::log;
use crate::log::{Line, Position};
use crate::message::record::{Record, hex};

/// The state, and what is wrong with the log's last batch, if anything.
pub struct Replayed {
    /// The state after the last whole batch.
    pub state: State,
    /// Damage in the last batch. What stands from there on was never committed.
    pub damage: Option<Damage>,
    /// How many bytes of log were read, from the checkpoint on.
    pub read: u64,
    /// The last whole batch; `None` where the checkpoint has it, which is written behind its sync.
    pub last: Option<Last>,
    /// The room and the last record of a checkpoint that does not fit the log.
    ahead: Option<(Option<String>, u64)>,
}

impl Replayed {
    /// The last record that the log held when the checkpoint was made, if the log ends before it now.
    pub fn rolled_back_from(&self) -> Option<u64> {
        let (room, seq) = self.ahead.as_ref()?;
        (*seq > self.state.seq && (*room == self.state.room || self.state.seq == 0)).then_some(*seq)
    }
}

/// The last whole batch of the log. Its sync may have failed.
#[derive(Debug, Clone, Copy)]
pub struct Last {
    /// Where it begins.
    pub from: Position,
    /// The number of its first record.
    pub seq: u64,
}

/// Where a last batch begins that is not whole, and why it isn't.
#[derive(Debug)]
pub struct Damage {
    /// Where the batch begins.
    pub from: Position,
    /// What is wrong with it.
    pub what: String,
}

/// Reads the log from the checkpoint on, or from its start if there is no checkpoint that fits.
///
/// Batches are made durable one by one, so after a crash only the last can be damaged: that is reported as
/// [`Damage`]. Damage further back is an error, because what stands behind it was committed.
pub fn replay(room: &Dir) -> Result<Replayed> {
    replay_until(room, None)
}

/// The state that the committed log amounts to, for whoever reads beside the router.
pub fn committed(room: &Dir) -> Result<State> {
    let end = log::committed(room)?;
    replay_until(room, Some(end)).map(|replayed| replayed.state)
}

/// The state that a later batch, or a checkpoint, shows to be durable. The last batch is left out: its sync may have
/// failed, and a read does not tell, because it may find in memory what never reached the disk.
pub fn replay_durable(room: &Dir) -> Result<State> {
    match replay(room)? {
        Replayed { last: Some(last), .. } => replay_until(room, Some(last.from)).map(|replayed| replayed.state),
        Replayed { state, .. } => Ok(state),
    }
}

fn replay_until(room: &Dir, until: Option<Position>) -> Result<Replayed> {
    let (mut state, ahead) = match checkpoint::load(room)? {
        Some((state, true)) => (state, None),
        Some((state, false)) => (State::default(), Some((state.room, state.seq))),
        None => (State::default(), None),
    };
    let start = state.end;
    let mut batch: Vec<(Line, Record)> = Vec::new();
    let (mut read, mut last) = (0, None);
    let mut lines = if start == log::START { log::read_whole(room)? } else { log::read(room, start)? };
    while let Some(line) = lines.next() {
        let line = line?;
        if until.is_some_and(|until| line.at >= until) {
            break;
        }
        read += line.bytes.len() as u64;
        let before = batch.last().map_or(state.prev, |(line, _)| line.hash());
        match check_line(&line, before, state.seq + batch.len() as u64 + 1) {
            Ok(record) => match fits_batch(&record, &state, &batch) {
                Ok(()) => batch.push((line, record)),
                Err(what) => {
                    return damaged(
                        room,
                        Replayed { state, damage: None, read, last, ahead },
                        &batch,
                        (&line, what),
                        lines,
                    );
                }
            },
            Err(what) => {
                return damaged(
                    room,
                    Replayed { state, damage: None, read, last, ahead },
                    &batch,
                    (&line, what),
                    lines,
                );
            }
        }
        if batch.first().and_then(|(_, first)| first.count) == Some(batch.len() as u32) {
            last = batch.first().map(|(line, first)| Last { from: line.at, seq: first.seq });
            for (line, record) in batch.drain(..) {
                let hash = line.hash();
                state.apply(record, line.at, line.bytes.len() as u64, hash);
            }
        }
    }
    let damage = batch.first().map(|(line, first)| Damage {
        from: line.at,
        what: format!("the last batch has {} of {} records", batch.len(), first.count.unwrap_or(0)),
    });
    state.forget_archived_ids(room)?;
    Ok(Replayed { state, damage, read, last, ahead })
}

/// Checks a line by itself and against the line before: it is whole, it is a record, its number follows, and it
/// carries the hash of the line before.
pub fn check_line(line: &Line, before: crate::message::record::Hash, seq: u64) -> Result<Record, String> {
    if line.bytes.last() != Some(&b'\n') {
        return Err("the line is cut short".into());
    }
    let record: Record = serde_json::from_slice(&line.bytes).map_err(|e| format!("it is not a record: {e}"))?;
    if record.prev != before {
        let (has, wants) = (hex(&record.prev), hex(&before));
        return Err(format!("the chain is broken: prev is {has}, the line before hashes to {wants}"));
    }
    if record.seq != seq {
        return Err(format!("its seq is {}, and {seq} was to follow", record.seq));
    }
    Ok(record)
}

fn fits_batch(record: &Record, state: &State, batch: &[(Line, Record)]) -> Result<(), String> {
    match (batch.is_empty(), record.count) {
        _ if record.batch != state.batch + 1 => Err(format!("its batch is {}, not {}", record.batch, state.batch + 1)),
        (true, Some(count)) if count > 0 => Ok(()),
        (true, _) => Err("it begins a batch without its count".into()),
        (false, None) => Ok(()),
        (false, Some(_)) => Err("a batch begins before the last one is whole".into()),
    }
}

/// A damaged line ends the log if nothing behind it belongs to a later batch: blocks of one batch may reach the disk
/// in any order, but no later batch is begun before this one is whole.
fn damaged(
    room: &Dir,
    before: Replayed,
    batch: &[(Line, Record)],
    (line, what): (&Line, String),
    rest: log::Lines,
) -> Result<Replayed> {
    for later in std::iter::once(Ok(None)).chain(rest.map(|line| line.map(Some))) {
        let later = later?;
        let bytes = later.as_ref().map_or(&line.bytes, |line| &line.bytes);
        let number = serde_json::from_slice::<Record>(bytes).map(|record| record.batch);
        if number.is_ok_and(|number| number > before.state.batch + 1) {
            return Err(Error::State {
                path: log::path(room, line.at.segment),
                line: None,
                what: format!("damaged at byte {}, with later batches behind it: {what}", line.at.offset),
                cure: "run `mailbag log verify` and restore the segment from a copy; nothing was changed".into(),
            });
        }
    }
    let from = batch.first().map_or(line.at, |(first, _)| first.at);
    Ok(Replayed { damage: Some(Damage { from, what }), ..before })
}
