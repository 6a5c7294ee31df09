//! Lost records that a person abandons. The log continues with numbers above all numbers that the room has shown.

use super::evidence::{self, EvidenceFile};
use super::{boot, make_durable, replay};
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Dir, layout};
use crate::log;
use crate::log::state::{BatchDamage, ReplayedLog, RoomState};
use crate::log::{Log, LogPosition};
use crate::message::gap::LogGap;
use crate::message::id;
use crate::message::record::{Event, Record};
use crate::room::spool::Spool;
use crate::room::{Room, RoomTurn, RouterLock};
use crate::router::parts::Journal;
use serde::Serialize;

/// Records that the log has lost, or has with other content.
#[derive(Debug, Clone, Serialize)]
pub struct LogLoss {
    /// The last record that the log still has.
    pub last: u64,
    /// The first lost record.
    pub from: u64,
    /// The last lost record, as far as the room shows it.
    pub to: u64,
    /// The files that show the lost records.
    pub evidence: Vec<EvidenceFile>,
}

/// Finds the records that the log has lost. Changes nothing.
pub fn find_loss(room: &Room) -> Result<Option<LogLoss>> {
    loss(room, &replay(room)?)
}

fn loss(room: &Room, replayed: &ReplayedLog) -> Result<Option<LogLoss>> {
    let state = &replayed.state;
    let mut evidence = evidence::against(&room.dir, state)?;
    if !evidence.is_empty()
        && let Some(damage) = &replayed.damage
    {
        evidence.push(damaged_record(&room.dir, state, damage)?);
    }
    let numbers = evidence.iter().map(|witness| witness.seq);
    let (Some(first), Some(last)) = (numbers.clone().min(), numbers.max()) else {
        return Ok(None);
    };
    // Some records after the end of the log may have no evidence.
    let from = first.min(state.seq + 1);
    // The first record of a log names its room, and can be written again.
    let from = from.max(2);
    let to = last.max(state.seq).max(from);
    Ok(Some(LogLoss {
        last: state.seq,
        from,
        to,
        evidence,
    }))
}

/// The last readable record in a damaged batch.
fn damaged_record(room: &Dir, state: &RoomState, damage: &BatchDamage) -> Result<EvidenceFile> {
    let mut seq = state.seq + 1;
    for line in log::read(room, damage.from)? {
        let read = log::find::head(&line?.bytes)
            .map(|head| head.seq)
            .filter(|seq| *seq <= limits::SEQ_MOST);
        seq = seq.max(read.unwrap_or_default());
    }
    Ok(EvidenceFile {
        file: layout::live_segment(damage.from.segment),
        seq,
        hash: None,
    })
}

/// Copies everything after the last complete batch into a file beside the segments.
fn keep_damaged_end(room: &Dir, damage: &BatchDamage) -> Result<()> {
    let mut end = Vec::new();
    for line in log::read(room, damage.from)? {
        end.extend(line?.bytes);
    }
    let LogPosition { segment, offset } = damage.from;
    let name = layout::given_up(segment, offset);
    room.sub(layout::LOG)?.replace(name, &end)
}

/// Records that the lost records are abandoned. Returns `None` if no record is lost. After a kill, either no or all
/// records of the gap are in the log.
pub fn accept_gap(room: &Room, lock: RouterLock) -> Result<Option<LogLoss>> {
    let _turn = RoomTurn::new(&room.dir, lock.patience())?;
    let spool = Spool::open(&room.dir)?;
    let replayed = replay(room)?;
    let Some(loss) = loss(room, &replayed)? else {
        return Ok(None);
    };
    boot::note_start(&room.dir)?;
    let ReplayedLog { state, damage, .. } = replayed;
    if let Some(damage) = &damage {
        keep_damaged_end(&room.dir, damage)?;
    }
    make_durable(room, &spool)?;
    log::renew(&room.dir, state.end)?;
    // `spool/tip` is evidence, so it is replaced only after the record is in the log.
    let log = Log::open(&room.dir, state.tip())?;
    let mut journal = Journal::new(lock, log, state, 0);
    let id = journal.check_room(room)?;
    for record in records(journal.state(), id, &loss) {
        let at = record.stamp();
        journal.add(record, at, None)?;
    }
    journal.commit()?;
    // The earlier snapshot belongs to records that the log does not have.
    journal.write_snapshot(&room.dir)?;
    Ok(Some(loss))
}

/// The record of a gap, after the record of the room if the log is empty.
fn records(state: &RoomState, room: Option<String>, loss: &LogLoss) -> Vec<Record> {
    let mut events = Vec::new();
    if state.seq == 0 {
        events.push((1, Event::Room { room }));
    }
    let gap = LogGap {
        from: loss.from,
        to: loss.to,
        evidence: loss.evidence.iter().map(ToString::to_string).collect(),
    };
    let (from, gap) = (id::HUMAN.into(), Box::new(gap));
    events.push((loss.to + 1, Event::Gap { from, gap }));
    let mut at = state.at;
    let mut records = Vec::new();
    for (seq, event) in events {
        at = at.next();
        records.push(Record {
            seq,
            at: at.to_string(),
            ..Record::new(event)
        });
    }
    records
}
