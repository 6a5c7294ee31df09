//! The cleanup job: packs what is old into the archive, while the router runs or not.

use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::disk::{failpoint, layout};
use crate::log;
use crate::log::state::{self, State};
use crate::log::{Position, START, find};
use crate::message::record::{Hash, Record, hex};
use crate::room::Room;
use crate::room::archive::{self, Archive, Kind, Left, Packed, Source};
use crate::router::recover::note_failed_sync;
use serde::Serialize;
use serde_json::Value;
use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

/// What shared files are called here.
const CONTEXT: &str = "context";

/// How often a log is read again that its router was just writing.
const TRIES: usize = 8;

/// What a run did, or with `dry_run` would do.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// What is at least as old as this was packed.
    pub before: String,
    /// Was nothing changed?
    pub dry_run: bool,
    /// What was packed, for each kind that there was any of.
    pub packed: Vec<Kindly>,
    /// What was left alone, the first few.
    pub left: Vec<Left>,
    /// How many more were left alone.
    pub left_more: u64,
    /// Files that an earlier run had packed, and was killed before it removed them.
    pub finished: u64,
}

/// What was packed of one kind.
#[derive(Debug, Serialize)]
pub struct Kindly {
    /// `log`, `sent`, `seen`, `expired`, `rejected` or `context`.
    pub kind: &'static str,
    /// How many files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What they take in the archive.
    pub packed_bytes: u64,
    /// Where they stand there, relative to the room; of `context`, relative to that.
    pub packs: Vec<PathBuf>,
}

/// How far it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Progress {
    /// What is being packed.
    pub kind: &'static str,
    /// Bytes read so far, of all kinds.
    pub bytes: u64,
}

/// Packs what is at least as old as `bound`. What was done before an error is told with it.
pub fn archive(room: &Room, bound: Stamp, dry_run: bool, told: &mut dyn FnMut(Progress)) -> (Report, Result<()>) {
    let report = Report { before: bound.to_string(), dry_run, ..Report::default() };
    let mut run = Run { room, bound, archive: None, report, told, read: 0 };
    let done = note_failed_sync(&room.dir, run.run());
    (run.report, done)
}

struct Run<'a> {
    room: &'a Room,
    bound: Stamp,
    /// None in a dry run.
    archive: Option<Archive>,
    report: Report,
    told: &'a mut dyn FnMut(Progress),
    read: u64,
}

impl Run<'_> {
    fn run(&mut self) -> Result<()> {
        if !self.report.dry_run {
            let (archive, finished) = Archive::open(self.room)?;
            (self.archive, self.report.finished) = (Some(archive), finished);
        }
        self.segments()?;
        Kind::ALL.into_iter().try_for_each(|kind| self.files(kind))?;
        self.artifacts()
    }

    /// The large texts among what was shared.
    fn artifacts(&mut self) -> Result<()> {
        let settings = self.room.settings()?;
        let context = Path::new(&settings.context);
        // What lies outside the room is its owner's own.
        if !context.components().all(|part| matches!(part, Component::Normal(_))) {
            return Ok(());
        }
        let context = match self.room.dir.sub(context) {
            Err(e) if e.errno() == Some(libc::ENOENT) => return Ok(()),
            Err(e) => {
                self.leave(Left { path: context.to_path_buf(), why: e.to_string() });
                return Ok(());
            }
            Ok(context) => context,
        };
        let (room, mut shared) = (self.room.clone(), None);
        let mut is_shared = |path: &Path, digest: &Hash| {
            let shared = match &mut shared {
                Some(shared) => shared,
                // The log is read only where there is something to compress.
                none => none.insert(announced(&room)?),
            };
            Ok(path.to_str().is_some_and(|path| shared.contains(&(path.to_owned(), hex(digest)))))
        };
        archive::artifacts(&context, self.bound, &mut is_shared, &mut |artifact| {
            let Run { archive, told, read, .. } = self;
            let mut tell = |bytes| {
                *read += bytes;
                told(Progress { kind: CONTEXT, bytes: *read });
            };
            let packed = match artifact {
                Err(left) => Packed { left: vec![left], ..Packed::default() },
                Ok(artifact) => match archive {
                    Some(archive) => archive.artifact(&artifact, &mut tell)?,
                    None => archive::weigh_artifact(&artifact, &mut tell)?,
                },
            };
            self.add(CONTEXT, packed);
            Ok(())
        })
    }

    fn segments(&mut self) -> Result<()> {
        let (state, mut relied) = (replay(self.room)?, false);
        for number in log::live(&self.room.dir)? {
            // Nothing in front of the last batch will be written to any more.
            if number >= state.end.segment {
                break;
            }
            let (Some(first), Some(next)) = (self.first(number)?, self.first(number + 1)?) else { continue };
            let is_old = next.stamp() <= self.bound || first.stamp() <= self.bound && self.last(number)? <= self.bound;
            if !is_old {
                continue;
            }
            match open_in(&state, &first, &next) {
                Some(open) => self.leave(Left {
                    path: layout::live_segment(number),
                    why: format!("record {open} in it is not settled yet: `mailbag status` says what waits"),
                }),
                None => {
                    if let Some(archive) = self.archive.as_mut().filter(|_| !std::mem::replace(&mut relied, true)) {
                        archive.rely_on(&state)?;
                    }
                    self.segment(number, &first)?;
                }
            }
        }
        Ok(())
    }

    fn first(&self, number: u32) -> Result<Option<Record>> {
        let line = log::read_one(&self.room.dir, Position { segment: number, offset: 0 })?;
        Ok(line.and_then(|line| serde_json::from_slice(&line.bytes).ok()))
    }

    /// When the last record of a segment was accepted.
    fn last(&self, number: u32) -> Result<Stamp> {
        let mut last = Vec::new();
        for line in log::read(&self.room.dir, Position { segment: number, offset: 0 })? {
            let line = line?;
            if line.at.segment > number {
                break;
            }
            last = line.bytes;
        }
        Ok(serde_json::from_slice::<Record>(&last).map_or(Stamp::from_micros(i64::MAX), |record| record.stamp()))
    }

    fn segment(&mut self, number: u32, first: &Record) -> Result<()> {
        let Run { room, archive, told, read, .. } = self;
        let mut tell = |bytes| {
            *read += bytes;
            told(Progress { kind: layout::LOG, bytes: *read });
        };
        let packed = match archive {
            Some(archive) => archive.segment(number, &first.stamp().month(), &mut tell)?,
            None => archive::weigh_segment(&room.dir, number, &mut tell)?,
        };
        self.add(layout::LOG, packed);
        Ok(())
    }

    fn files(&mut self, kind: Kind) -> Result<()> {
        let (room, bound) = (self.room.dir.clone(), self.bound);
        let (mut chunk, most) = (Vec::new(), failpoint::pack_files());
        archive::each(&room, kind, bound, &mut |source| {
            match source {
                Ok(source) => chunk.push(source),
                Err(left) => self.leave(left),
            }
            if chunk.len() >= most { self.pack(kind, std::mem::take(&mut chunk)) } else { Ok(()) }
        })?;
        self.pack(kind, chunk)
    }

    fn pack(&mut self, kind: Kind, mut chunk: Vec<Source>) -> Result<()> {
        chunk.sort_by(|a, b| (&a.month, &a.agent, &a.name).cmp(&(&b.month, &b.agent, &b.name)));
        for month in chunk.chunk_by(|a, b| a.month == b.month) {
            let sources: Vec<&Source> = month.iter().collect();
            let Run { room, archive, told, read, .. } = self;
            let mut tell = |bytes| {
                *read += bytes;
                told(Progress { kind: kind.as_str(), bytes: *read });
            };
            let packed = match archive {
                Some(archive) => archive.files(kind, &sources, &mut tell)?,
                None => archive::weigh_files(&room.dir, kind, &sources, &mut tell)?,
            };
            self.add(kind.as_str(), packed);
        }
        Ok(())
    }

    fn add(&mut self, kind: &'static str, packed: Packed) {
        packed.left.into_iter().for_each(|left| self.leave(left));
        if packed.files == 0 {
            return;
        }
        if self.report.packed.last().is_none_or(|last| last.kind != kind) {
            self.report.packed.push(Kindly { kind, files: 0, bytes: 0, packed_bytes: 0, packs: Vec::new() });
        }
        if let Some(sum) = self.report.packed.last_mut() {
            sum.files += packed.files;
            sum.bytes += packed.bytes;
            sum.packed_bytes += packed.packed_bytes;
            sum.packs.extend(packed.path);
        }
    }

    fn leave(&mut self, left: Left) {
        match self.report.left.len() < limits::PACK_LEFT {
            true => self.report.left.push(left),
            false => self.report.left_more += 1,
        }
    }
}

/// The files of the context that messages announced: path and SHA-256.
fn announced(room: &Room) -> Result<HashSet<(String, String)>> {
    let sieve = find::sieve(&["\"attachments\"".to_owned()])?;
    let take = |line: &[u8], _| {
        let record: Record = serde_json::from_slice(line).ok()?;
        let message: Value = serde_json::from_str(record.message?.get()).ok()?;
        let text = |of: &Value, field: &str| of.get(field).and_then(Value::as_str).map(str::to_owned);
        let attachments = message.get("attachments")?.as_array()?.iter();
        Some(attachments.filter_map(|one| Some((text(one, "path")?, text(one, "sha256")?))).collect::<Vec<_>>())
    };
    let mut announced = HashSet::new();
    for block in find::scan(&room.dir, (START, None), sieve, take)? {
        announced.extend(block?.found.into_iter().flatten());
    }
    Ok(announced)
}

/// The first record of a segment that is not settled.
fn open_in(state: &State, first: &Record, next: &Record) -> Option<u64> {
    state.open.range(first.seq..next.seq.max(first.seq)).next().map(|(&seq, _)| seq)
}

/// What the log amounts to, as far as it is surely durable: the checkpoint that the archiver writes must not count a batch
/// that a power cut takes away. A batch that its router is just writing can look like damage with more behind it; read again,
/// it doesn't.
fn replay(room: &Room) -> Result<State> {
    let mut tries = 0;
    loop {
        match state::replay_durable(&room.dir) {
            Err(Error::State { .. }) if tries < TRIES && room.holder()?.is_some() => tries += 1,
            state => return state,
        }
    }
}
