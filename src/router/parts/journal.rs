//! The log and the in-memory state built from it. Only the journal appends to the log and changes the state.

use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::base::hash::hash;
use crate::base::limits;
use crate::base::test_sizes;
use crate::disk::{Dir, Meta, layout};
use crate::log::state::RoomState;
use crate::log::{Log, LogPosition, LogTip};
use crate::message::Message;
use crate::message::record::{EventKind, Record};
use crate::room::{Room, RouterLock};
use crate::router::temporary;

/// The log of a room, as the holder of the room's lock has it.
pub(crate) struct Journal {
    lock: RouterLock,
    log: Log,
    state: RoomState,
    /// The version of `spool/room` that was last read and belonged to the log.
    room_id: Option<Meta>,
    /// The position of the last snapshot.
    snapshot_at: Option<LogPosition>,
    /// The size of the last snapshot in bytes.
    snapshot_bytes: u64,
    tally: RouterTotals,
}

/// The work of a router since it started.
///
/// ```
/// use mailbag::room::Room;
/// use mailbag::router::daemon::{PassResult, pass};
///
/// let home = tempfile::tempdir()?;
/// let (room, _) = Room::init(home.path())?;
/// std::fs::write(home.path().join("outbox/human/note.json"), r#"{"to": "human", "body": "a note to myself"}"#)?;
/// let PassResult::Routed(tally) = pass(&room)? else { unreachable!("no other router runs") };
/// assert_eq!((tally.accepted, tally.copies), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct RouterTotals {
    /// Messages accepted.
    pub accepted: u64,
    /// Copies of accepted messages.
    pub copies: u64,
    /// Files rejected.
    pub rejected: u64,
    /// Repeated messages.
    pub duplicates: u64,
    /// Items that are pending for a temporary reason.
    pub waiting: usize,
}

/// The lines of a batch and their positions in the log.
pub(crate) struct BatchLines {
    bytes: Vec<u8>,
    tips: Vec<LogTip>,
}

impl BatchLines {
    /// The position of each line, in order.
    pub(crate) fn tips(&self) -> impl Iterator<Item = LogTip> {
        self.tips.iter().copied()
    }
}

impl Journal {
    pub(crate) fn new(lock: RouterLock, log: Log, state: RoomState) -> Journal {
        Journal {
            lock,
            log,
            state,
            room_id: None,
            snapshot_at: None,
            snapshot_bytes: 0,
            tally: RouterTotals::default(),
        }
    }

    /// Notes that the router makes progress. Fails if another room or lock file is at the path.
    pub(crate) fn note_step(&mut self) -> Result<()> {
        self.lock.note_step()
    }

    /// The state after the last commit.
    pub(crate) fn state(&self) -> &RoomState {
        &self.state
    }

    /// The work of this router since it started.
    pub(crate) fn tally(&self) -> RouterTotals {
        self.tally
    }

    /// Checks that this room still belongs to the log, and that the log ends as the last batch left it. A moved,
    /// cleaned or restored room may have another router. Returns the room's id if the log is empty.
    pub(crate) fn check_room(&mut self, room: &Room) -> Result<Option<String>> {
        self.lock.check()?;
        self.log.check()?;
        let meta = room.dir.stat(layout::ROOM_ID)?;
        if meta.is_some() && meta == self.room_id {
            return Ok(None);
        }
        let id = room.id()?;
        match (&self.state.room, &id) {
            (Some(log), Some(id)) if log == id => {
                self.room_id = meta;
                Ok(None)
            }
            (None, Some(_)) => Ok(id),
            (log, id) => Err(Error::moved(
                format!(
                    "spool/room says {}, the log {}",
                    id.as_deref().unwrap_or("nothing"),
                    log.as_deref().unwrap_or("nothing")
                ),
                "the room was moved or cleaned; nothing more was changed",
            )),
        }
    }

    /// Formats the lines of a batch, each with the hash of the line before.
    pub(crate) fn lines<'r>(
        &mut self,
        records: impl ExactSizeIterator<Item = &'r mut Record>,
    ) -> Result<BatchLines> {
        let (end, count, batch) = (self.log.end()?, records.len() as u32, self.state.batch + 1);
        let (mut bytes, mut prev) = (Vec::with_capacity(records.len() * 1024), self.state.prev);
        let mut tips = Vec::with_capacity(records.len());
        for (n, record) in records.enumerate() {
            (record.batch, record.prev, record.count) = (batch, prev, (n == 0).then_some(count));
            let line = record.line();
            prev = hash(&line);
            let at = LogPosition {
                offset: end.offset + bytes.len() as u64,
                ..end
            };
            bytes.extend(line);
            let end = LogPosition {
                offset: end.offset + bytes.len() as u64,
                ..end
            };
            let (seq, hash) = (record.seq, prev);
            tips.push(LogTip { at, end, seq, hash });
        }
        Ok(BatchLines { bytes, tips })
    }

    /// Appends the lines of a batch. They have no effect before [`Journal::commit`].
    pub(crate) fn append(&mut self, lines: &BatchLines) -> Result<()> {
        self.log.append(&lines.bytes)
    }

    /// Commits the appended lines.
    pub(crate) fn commit(&mut self, lines: &BatchLines) -> Result<()> {
        self.log
            .commit(lines.tips().last().unwrap_or(self.state.tip()))
    }

    /// Applies a committed record to the state, with its line and its checked message.
    pub(crate) fn apply(
        &mut self,
        record: Record,
        at: Stamp,
        message: Option<&Message>,
        tip: LogTip,
    ) {
        match record.kind() {
            EventKind::Accepted => {
                self.tally.accepted += 1;
                self.tally.copies += record.recipients().count() as u64;
            }
            EventKind::Rejected => self.tally.rejected += 1,
            EventKind::Duplicate => self.tally.duplicates += 1,
            _ => {}
        }
        self.state.apply(record, at, message, tip);
    }

    /// Removes the expiry of a message that needs no notice.
    pub(crate) fn forget_expiry(&mut self, seq: u64) {
        self.state.timers.expired(seq);
    }

    /// Writes the snapshot if the log has grown enough since the last one.
    pub(crate) fn save_snapshot(&mut self, room: &Dir) -> Result<()> {
        let end = self.state.end;
        let grown = match self.snapshot_at {
            Some(at) if at.segment == end.segment => end.offset - at.offset,
            _ => end.offset,
        };
        let is_another_segment = self.snapshot_at.is_some_and(|at| at.segment != end.segment);
        // A large state is written less often, so that the size of snapshots stays in proportion to the log.
        let enough = test_sizes::snapshot_bytes()
            .unwrap_or(limits::SNAPSHOT_BYTES.max(8 * self.snapshot_bytes));
        if grown >= enough || is_another_segment || self.state.index.is_due(end) {
            match self.write_snapshot(room) {
                Ok(()) => self.snapshot_at = Some(end),
                // Without a snapshot, the next start only reads more of the log.
                Err(e) => tracing::warn!("{}", temporary(e)?),
            }
        }
        Ok(())
    }

    /// Writes the snapshot.
    pub(crate) fn write_snapshot(&mut self, room: &Dir) -> Result<()> {
        self.snapshot_bytes = self.state.save(room)?;
        Ok(())
    }
}
