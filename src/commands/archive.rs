//! Packs old data into the archive, with or without a running router.

use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::base::hash::{Hash, hex};
use crate::base::test_sizes;
use crate::base::written_path::write_path;
use crate::disk::layout;
use crate::features::archive::{self, ArchiveWriter, PackResult, PackSource, SkippedFile};
use crate::log;
use crate::log::state::{self, RoomState};
use crate::log::{LogPosition, START, find};
use crate::message::record::Record;
use crate::room::Room;
use crate::router::recover::note_failed_sync;
use serde::Serialize;
use serde_json::Value;
use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

/// The most skipped files in the list of one archiver run.
const PACK_SKIPPED: usize = 20;

/// The report's name for shared files.
const CONTEXT: &str = "context";
/// The report's name for originals, read, expired and rejected files.
const MAIL: &str = "mail";

/// How often the log is read again while a router writes to it.
const TRIES: usize = 8;

/// The result of a run, or with `dry_run` the expected result.
#[derive(Debug, Default, Serialize)]
pub struct ArchiveReport {
    /// Everything up to this time was packed.
    pub before: String,
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// Packed data by kind.
    pub packed: Vec<PackedKind>,
    /// The first few skipped files.
    pub skipped: Vec<SkippedFile>,
    /// Number of further skipped files.
    pub skipped_more: u64,
}

/// Packed data of one kind.
#[derive(Debug, Default, Serialize)]
pub struct PackedKind {
    /// `log`, `mail` or `context`.
    pub kind: &'static str,
    /// Number of files.
    pub files: u64,
    /// Their size.
    pub bytes: u64,
    /// Their size in the archive; 0 if nothing was changed.
    pub packed_bytes: u64,
    /// Paths in the archive, relative to the room; for `context`, relative to the context.
    #[serde(serialize_with = "write_path")]
    pub packs: Vec<PathBuf>,
}

/// Progress of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct ArchiveProgress {
    /// The kind being packed.
    pub kind: &'static str,
    /// Bytes read so far, of all kinds.
    pub bytes: u64,
}

/// Packs everything up to `bound`. If an error occurs, the report covers the completed part.
pub fn archive(
    room: &Room,
    bound: Stamp,
    dry_run: bool,
    progress: &mut dyn FnMut(ArchiveProgress),
) -> (ArchiveReport, Result<()>) {
    let report = ArchiveReport {
        before: bound.to_string(),
        dry_run,
        ..ArchiveReport::default()
    };
    let mut run = ArchiveRun {
        room,
        bound,
        archive: None,
        report,
        progress,
        read: 0,
    };
    let done = note_failed_sync(&room.dir, run.run());
    (run.report, done)
}

struct ArchiveRun<'a> {
    room: &'a Room,
    bound: Stamp,
    /// None in a dry run.
    archive: Option<ArchiveWriter>,
    report: ArchiveReport,
    progress: &'a mut dyn FnMut(ArchiveProgress),
    read: u64,
}

impl ArchiveRun<'_> {
    fn run(&mut self) -> Result<()> {
        if !self.report.dry_run {
            self.archive = Some(ArchiveWriter::open(self.room)?);
        }
        self.segments()?;
        self.files()?;
        self.artifacts()
    }

    /// Packs large shared text files.
    fn artifacts(&mut self) -> Result<()> {
        let settings = self.room.settings()?;
        let context = Path::new(&settings.context);
        // A context outside the room is not ours to pack.
        if !context
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
        {
            return Ok(());
        }
        let context = match self.room.dir.sub(context) {
            Err(e) if e.is_missing() => return Ok(()),
            Err(e) => {
                self.skip(SkippedFile {
                    path: context.to_path_buf(),
                    reason: e.to_string(),
                });
                return Ok(());
            }
            Ok(context) => context,
        };
        let mut shared = SharedFiles {
            room: self.room,
            announced: None,
        };
        archive::artifacts(
            &context,
            self.bound,
            &mut |path, digest| shared.contains(path, digest),
            &mut |artifact| match artifact {
                Err(skipped) => {
                    self.skip(skipped);
                    Ok(())
                }
                Ok(artifact) => self.pack(
                    CONTEXT,
                    PackResult::of(1, artifact.bytes()),
                    |writer, count| writer.artifact(&artifact, count),
                ),
            },
        )
    }

    fn segments(&mut self) -> Result<()> {
        let (mut state, mut relied) = (replay(self.room)?, false);
        for number in log::live(&self.room.dir)? {
            // The router never writes to a segment before the last batch.
            if number >= state.end.segment {
                break;
            }
            let (Some(first), Some(next)) = (self.first(number)?, self.first(number + 1)?) else {
                continue;
            };
            let is_old = next.time(next.stamp()) <= self.bound
                || first.time(first.stamp()) <= self.bound && self.last(number)? <= self.bound;
            if !is_old {
                continue;
            }
            match open_in(&state, &first, &next) {
                Some(open) => self.skip(SkippedFile {
                    path: layout::live_segment(number),
                    reason: format!(
                        "record {open} in it is not settled: `mailbag status` lists the pending items"
                    ),
                }),
                None => {
                    if let Some(archive) = &mut self.archive
                        && !std::mem::replace(&mut relied, true)
                    {
                        archive.rely_on(&mut state)?;
                    }
                    self.segment(number)?;
                }
            }
        }
        Ok(())
    }

    fn first(&self, number: u32) -> Result<Option<Record>> {
        log::read_record(&self.room.dir, LogPosition::start_of(number))
    }

    /// When the last record of a segment was accepted.
    fn last(&self, number: u32) -> Result<Stamp> {
        let mut last = Vec::new();
        for line in log::read(&self.room.dir, LogPosition::start_of(number))? {
            let line = line?;
            if line.at.segment > number {
                break;
            }
            last = line.bytes;
        }
        Ok(
            serde_json::from_slice::<Record>(&last)
                .map_or(Stamp::from_micros(i64::MAX), |record| {
                    record.time(record.stamp())
                }),
        )
    }

    fn segment(&mut self, number: u32) -> Result<()> {
        let size = self.room.dir.stat(layout::live_segment(number))?;
        let bytes = size.map_or(0, |meta| meta.size);
        self.pack(layout::LOG, PackResult::of(1, bytes), |writer, count| {
            writer.segment(number, count)
        })
    }

    fn files(&mut self) -> Result<()> {
        let (room, bound) = (self.room.dir.clone(), self.bound);
        let (mut chunk, most) = (Vec::new(), test_sizes::pack_files());
        archive::each(&room, bound, &mut |source| {
            match source {
                Ok(source) => chunk.push(source),
                Err(skipped) => self.skip(skipped),
            }
            if chunk.len() >= most {
                self.pack_files(&std::mem::take(&mut chunk))
            } else {
                Ok(())
            }
        })?;
        self.pack_files(&chunk)
    }

    fn pack_files(&mut self, chunk: &[PackSource]) -> Result<()> {
        let bytes = chunk.iter().map(|source| source.bytes).sum();
        self.pack(
            MAIL,
            PackResult::of(chunk.len() as u64, bytes),
            |writer, count| writer.files(chunk, count),
        )
    }

    /// Packs with the writer, or takes the counted result without one, and adds the result to the report.
    fn pack(
        &mut self,
        kind: &'static str,
        counted: PackResult,
        pack: impl FnOnce(&mut ArchiveWriter, &mut dyn FnMut(u64)) -> Result<PackResult>,
    ) -> Result<()> {
        let Some(writer) = &mut self.archive else {
            self.add(kind, counted);
            return Ok(());
        };
        let packed = pack(writer, &mut |bytes| {
            self.read += bytes;
            (self.progress)(ArchiveProgress {
                kind,
                bytes: self.read,
            });
        })?;
        self.add(kind, packed);
        Ok(())
    }

    fn add(&mut self, kind: &'static str, packed: PackResult) {
        for skipped in packed.skipped {
            self.skip(skipped);
        }
        if packed.files == 0 {
            return;
        }
        if self
            .report
            .packed
            .last()
            .is_none_or(|last| last.kind != kind)
        {
            self.report.packed.push(PackedKind {
                kind,
                ..PackedKind::default()
            });
        }
        if let Some(sum) = self.report.packed.last_mut() {
            sum.files += packed.files;
            sum.bytes += packed.bytes;
            sum.packed_bytes += packed.packed_bytes;
            sum.packs.extend(packed.path);
        }
    }

    fn skip(&mut self, skipped: SkippedFile) {
        if self.report.skipped.len() < PACK_SKIPPED {
            self.report.skipped.push(skipped)
        } else {
            self.report.skipped_more += 1
        }
    }
}

/// The shared files that messages announced. The log is read for the first file.
struct SharedFiles<'a> {
    room: &'a Room,
    announced: Option<HashSet<AnnouncedFile>>,
}

#[derive(PartialEq, Eq, Hash)]
struct AnnouncedFile {
    path: String,
    sha256: String,
}

impl SharedFiles<'_> {
    fn contains(&mut self, path: &Path, digest: &Hash) -> Result<bool> {
        let Some(path) = path.to_str() else {
            return Ok(false);
        };
        let announced = match &mut self.announced {
            Some(announced) => announced,
            none => none.insert(announced(self.room)?),
        };
        Ok(announced.contains(&AnnouncedFile {
            path: path.to_owned(),
            sha256: hex(digest),
        }))
    }
}

fn announced(room: &Room) -> Result<HashSet<AnnouncedFile>> {
    let sieve = find::LineFilter::of(&["\"attachments\"".to_owned()])?;
    let mut announced = HashSet::new();
    for block in find::scan(&room.dir, START, None, sieve, read_shared_files)? {
        announced.extend(block?.found.into_iter().flatten());
    }
    Ok(announced)
}

fn read_shared_files(line: find::CandidateLine<'_>) -> Option<Vec<AnnouncedFile>> {
    let record: Record = serde_json::from_slice(line.bytes).ok()?;
    let message: Value = record.message_as()?;
    let attachments = message.get("attachments")?.as_array()?.iter();
    let files = attachments.filter_map(|attachment| {
        Some(AnnouncedFile {
            path: attachment.get("path")?.as_str()?.to_owned(),
            sha256: attachment.get("sha256")?.as_str()?.to_owned(),
        })
    });
    Some(files.collect())
}

/// The first unsettled record of a segment.
fn open_in(state: &RoomState, first: &Record, next: &Record) -> Option<u64> {
    state
        .open
        .range(first.seq..next.seq.max(first.seq))
        .next()
        .map(|(&seq, _)| seq)
}

/// The state of the durable part of the log: the snapshot that the archiver writes must not count a batch that a power cut
/// can remove. A batch that a router is writing can look like damage in the middle of the log, so a failed read is repeated.
fn replay(room: &Room) -> Result<RoomState> {
    let mut tries = 0;
    loop {
        match state::synced(&room.dir) {
            Err(Error::State { .. }) if tries < TRIES && room.running_router()?.is_some() => {
                tries += 1
            }
            state => return state,
        }
    }
}
