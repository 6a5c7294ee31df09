//! The log and the in-memory state built from it. Only the journal appends to the log and changes the state.

use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::base::hash::hash;
use crate::base::limits;
use crate::base::test_sizes;
use crate::disk::{Dir, Meta, layout};
use crate::log::state::IndexedLog;
use crate::log::state::RoomState;
use crate::log::{self, Log, LogPosition, LogTip, OpenLines};
use crate::message::Message;
use crate::message::record::{Event, EventKind, Record};
use crate::room::{Room, RouterLock};
use crate::router::temporary;

/// The log of a room, as the holder of the room's lock has it.
pub(crate) struct Journal {
    lock: RouterLock,
    log: Log,
    state: RoomState,
    /// The version of `spool/room` that was last read and belonged to the log.
    room_id: Option<Meta>,
    /// The number of bytes of the log after the last snapshot.
    unsaved: u64,
    /// The size of the last snapshot in bytes.
    snapshot_bytes: u64,
    tally: RouterTotals,
    open: OpenBatch,
    /// The end of a batch with an unfinished or failed commit, and its work.
    unsure: Option<(LogTip, RouterTotals)>,
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

impl RouterTotals {
    /// Adds the work of a batch.
    fn add(&mut self, batch: RouterTotals) {
        self.accepted += batch.accepted;
        self.copies += batch.copies;
        self.rejected += batch.rejected;
        self.duplicates += batch.duplicates;
    }
}

/// A batch of records that are judged and applied, and not in the log yet.
#[derive(Default)]
struct OpenBatch {
    /// The lines, without the number of records in the last one.
    lines: OpenLines,
    tally: RouterTotals,
}

impl Journal {
    /// Continues from what recovery found: the log has `unsaved` bytes after the snapshot.
    pub(crate) fn new(lock: RouterLock, log: Log, state: RoomState, unsaved: u64) -> Journal {
        Journal {
            lock,
            log,
            state,
            room_id: None,
            unsaved,
            snapshot_bytes: 0,
            tally: RouterTotals::default(),
            open: OpenBatch::default(),
            unsure: None,
        }
    }

    /// Notes that the router makes progress. Fails if another room or lock file is at the path.
    pub(crate) fn note_step(&mut self) -> Result<()> {
        self.lock.note_step()
    }

    /// Drops everything that is not in the log, and continues from the log that recovery found. Returns true if it ends
    /// with the batch that failed in its commit.
    pub(crate) fn restart(&mut self, log: Log, state: RoomState, unsaved: u64) -> bool {
        (self.log, self.state, self.open) = (log, state, OpenBatch::default());
        self.unsaved = unsaved;
        match self.unsure.take() {
            Some((tip, tally)) if tip == self.state.tip() => {
                self.tally.add(tally);
                true
            }
            _ => false,
        }
    }

    /// The state after the last judged record.
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

    /// The next record, with its accept time.
    pub(crate) fn begin_record(&self, event: Event) -> (Record, Stamp) {
        let at = self.state.at.next();
        (self.state.begin_record(event, self.state.seq + 1, at), at)
    }

    /// Applies a judged record to the state, with its checked message. The log has it after [`Journal::commit`].
    pub(crate) fn add(
        &mut self,
        mut record: Record,
        at: Stamp,
        message: Option<&Message>,
    ) -> Result<()> {
        let is_first = self.open.lines.is_empty();
        let place = if is_first {
            self.log.end()?
        } else {
            self.state.end
        };
        record.batch = self.state.batch + u64::from(is_first);
        record.prev = self.state.prev;
        let line = record.line();
        let tip = LogTip {
            at: place,
            end: LogPosition {
                offset: place.offset + line.len() as u64,
                ..place
            },
            seq: record.seq,
            hash: hash(&line),
        };
        self.open.lines.add(record.seq, place, &line);
        let tally = &mut self.open.tally;
        match record.kind() {
            EventKind::Accepted => {
                tally.accepted += 1;
                tally.copies += record.recipients().count() as u64;
            }
            EventKind::Rejected => tally.rejected += 1,
            EventKind::Duplicate => tally.duplicates += 1,
            _ => {}
        }
        self.state.apply(record, at, message, tip);
        Ok(())
    }

    /// Returns true if the batch has a record.
    pub(crate) fn has_records(&self) -> bool {
        !self.open.lines.is_empty()
    }

    /// The log with the records of the batch.
    pub(crate) fn indexed<'a>(&'a self, room: &'a Dir) -> IndexedLog<'a> {
        self.state.indexed_with(room, &self.open.lines)
    }

    /// The record at a position of the log or of the batch.
    pub(crate) fn read_record(&self, room: &Dir, at: LogPosition) -> Result<Option<Record>> {
        match self.open.lines.line_at(at) {
            Some(line) => Ok(line.record().ok()),
            None => log::read_record(room, at),
        }
    }

    /// The commit point: appends the batch and syncs the log. Before it, the batch has no effect outside the memory.
    pub(crate) fn commit(&mut self) -> Result<()> {
        let OpenBatch { lines, tally } = std::mem::take(&mut self.open);
        let (lines, mut bytes) = lines.into_parts();
        let (Some(first), Some(at)) = (lines.first(), lines.last()) else {
            return Ok(());
        };
        Record::end_batch(&mut bytes, lines.len());
        let tip = LogTip {
            at: *at,
            end: LogPosition {
                offset: first.offset + bytes.len() as u64,
                ..*first
            },
            seq: self.state.seq,
            hash: hash(&bytes[(at.offset - first.offset) as usize..]),
        };
        self.unsure = Some((tip, tally));
        self.log.append(&bytes)?;
        self.log.commit(tip)?;
        self.unsure = None;
        self.state.end_batch(tip);
        self.unsaved += bytes.len() as u64;
        self.tally.add(tally);
        Ok(())
    }

    /// Removes the expiry of a message that needs no notice.
    pub(crate) fn forget_expiry(&mut self, seq: u64) {
        self.state.expiries.expired(seq);
    }

    /// Writes the snapshot if the log has grown enough since the last one.
    pub(crate) fn save_snapshot(&mut self, room: &Dir) -> Result<()> {
        // A large state is written less often, so that the size of snapshots stays in proportion to the log.
        let enough = test_sizes::snapshot_bytes()
            .unwrap_or(limits::SNAPSHOT_BYTES.max(8 * self.snapshot_bytes));
        if (self.unsaved >= enough || self.state.index.is_due(self.state.end))
            && let Err(e) = self.write_snapshot(room)
        {
            // Without a snapshot, the next start only reads more of the log.
            tracing::warn!("{}", temporary(e)?);
        }
        Ok(())
    }

    /// Writes the snapshot, and the index if it is due. No record may be missing in the log.
    pub(crate) fn write_snapshot(&mut self, room: &Dir) -> Result<()> {
        debug_assert!(!self.has_records(), "a snapshot within a batch");
        self.snapshot_bytes = self.state.save(room)?;
        self.unsaved = 0;
        Ok(())
    }
}
