//! The index of relations: the records that name a message or a thread.
//!
//! The router writes it in runs: each is a sorted file for a part of one segment. The state has the entries of the
//! records after the last run. The index follows from the log: if a run is missing, damaged or of another log, readers
//! search the log itself, and the router writes the run again with the next checkpoint.

use super::{LINK_REMOVED, RoomState};
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::hash::{Hash, short_hash};
use crate::base::limits;
use crate::disk::{Dir, SortedEntry, SortedFile, layout};
use crate::log::{self, LogPosition, LogTip};
use crate::message::answer::ConversationKeys;
use crate::message::claim::ClaimChange;
use crate::message::record::{MessageHead, Record};
use crate::message::reference::{PREFIX_CHARACTERS, bare};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A property that finds records.
#[derive(Debug, Clone, Copy)]
pub enum Relation<'a> {
    /// The id of its message.
    Id(&'a str),
    /// The first characters of the id of its message.
    Prefix(IdPrefix<'a>),
    /// The thread id of its message.
    Thread(&'a str),
    /// The id or the number of the message that it answers.
    Answered(&'a str),
    /// The number of a message with a receipt or a notice in it.
    Concerned(u64),
    /// It renames an agent.
    Rename,
}

/// The first [`PREFIX_CHARACTERS`] of an id.
#[derive(Debug, Clone, Copy)]
pub struct IdPrefix<'a>(&'a str);

impl<'a> IdPrefix<'a> {
    /// `None` if the text is too short to find ids that begin with it.
    pub fn of(text: &'a str) -> Option<IdPrefix<'a>> {
        text.get(..PREFIX_CHARACTERS).map(IdPrefix)
    }
}

impl Relation<'_> {
    fn key(self) -> u64 {
        let (kind, name) = match self {
            Relation::Id(id) => ("id", id),
            Relation::Prefix(IdPrefix(text)) => ("beginning", text),
            Relation::Thread(thread) => ("thread", thread),
            Relation::Answered(name) => ("answered", name),
            Relation::Concerned(seq) => ("concerned", &*seq.to_string()),
            Relation::Rename => ("rename", ""),
        };
        short_hash(kind, name)
    }
}

/// The format of the index. Runs of another format are not used.
const VERSION: u32 = 2;

/// The part of a segment that a run covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct RunCoverage {
    version: u32,
    /// The first record.
    from: LogPosition,
    /// The last record.
    #[serde(flatten)]
    tip: LogTip,
}

/// A file of entries.
#[derive(Debug)]
struct RelationRun {
    covered: RunCoverage,
    file: SortedFile,
}

/// The entries of records of one segment.
#[derive(Debug, Clone)]
struct SegmentRelations {
    covered: RunCoverage,
    entries: Vec<SortedEntry>,
}

/// The entries of the newest records, which are in no run.
#[derive(Debug, Clone, Default)]
pub struct RecentRelations {
    parts: Vec<SegmentRelations>,
    count: usize,
    /// Whether entries were dropped.
    is_partial: bool,
}

impl RecentRelations {
    /// Returns true if readers cannot use the index before the next checkpoint, or soon cannot.
    pub fn is_due(&self) -> bool {
        self.is_partial || self.count > limits::RECENT_RELATIONS / 2
    }

    /// Adds the record of the line with this position, end and hash.
    pub(super) fn add(&mut self, record: &Record, head: Option<&MessageHead<'_>>, line: &LogTip) {
        // Without a checkpoint, the whole log is read. The router then makes the runs of the older records from the log.
        if self.count > limits::RECENT_RELATIONS {
            *self = RecentRelations {
                is_partial: true,
                ..RecentRelations::default()
            };
        }
        let entries = entries(record, head, line.at);
        self.count += entries.len();
        match self.parts.last_mut() {
            Some(part) if part.covered.tip.end == line.at => part.add(line, entries),
            _ => self.parts.push(SegmentRelations::new(line, entries)),
        }
    }

    /// Writes the entries as runs, and merges small runs. Missing runs are made from the log. `end` is the end of the log. A
    /// failure only makes readers slower.
    pub(super) fn save(&mut self, room: &Dir, end: LogPosition) {
        let recent = std::mem::take(self);
        if let Err(e) = write_runs(room, recent.parts, end) {
            tracing::warn!("{e}; the index of relations is written again later");
        }
    }

    /// The first record that is in no run.
    fn begin(&self, end: LogPosition) -> LogPosition {
        self.parts.first().map_or(end, |part| part.covered.from)
    }
}

impl SegmentRelations {
    fn new(line: &LogTip, entries: Vec<SortedEntry>) -> SegmentRelations {
        let covered = RunCoverage {
            version: VERSION,
            from: line.at,
            tip: *line,
        };
        SegmentRelations { covered, entries }
    }

    fn add(&mut self, line: &LogTip, entries: Vec<SortedEntry>) {
        self.covered.tip = *line;
        self.entries.extend(entries);
    }

    fn write(mut self, dir: &Dir) -> Result<()> {
        self.entries.sort_unstable();
        self.entries.dedup();
        let RunCoverage { from, tip, .. } = self.covered;
        let name = layout::run(from.segment, from.offset, tip.end.offset);
        let label = serde_json::to_vec(&self.covered).expect("it has only text keys");
        SortedFile::write(dir, &name, &label, &self.entries)
    }
}

impl RelationRun {
    fn name(&self) -> String {
        let RunCoverage { from, tip, .. } = self.covered;
        layout::run(from.segment, from.offset, tip.end.offset)
    }

    /// Returns true if the log has the last record, or if the segment is in the archive, which nothing changes.
    fn is_of_log(&self, room: &Dir) -> Result<bool> {
        let tip = &self.covered.tip;
        let line = log::read_live(room, tip.at)?;
        Ok(match line {
            Some(line) => line.hash() == tip.hash && line.end() == tip.end,
            None => log::length(room, tip.at.segment)?.is_none(),
        })
    }
}

/// All relations of the log up to a state.
#[derive(Debug)]
pub struct Relations {
    room: Dir,
    recent: Arc<RecentRelations>,
    runs: Vec<RelationRun>,
    end: LogPosition,
}

impl Relations {
    /// Opens the runs. `None` if a part of the log before this state has no run that can be read.
    pub fn open(room: &Dir, state: &RoomState) -> Option<Relations> {
        let begin = state.relations.begin(state.end);
        let (runs, gaps) = chained(room, begin)
            .inspect_err(|e| tracing::debug!("{e}; the log is searched instead"))
            .ok()?;
        gaps.is_empty().then_some(Relations {
            room: room.clone(),
            recent: state.relations.clone(),
            runs,
            end: state.end,
        })
    }

    /// The positions of the records that may have one of these relations, in the order of the log. `None` if a run is
    /// damaged. The run is then removed, if this process may do that, so that the router writes it again.
    pub fn places(&self, relations: &[Relation<'_>]) -> Option<Vec<LogPosition>> {
        let mut places: Vec<u64> = Vec::new();
        for key in relations.iter().map(|relation| relation.key()) {
            for run in &self.runs {
                match run.file.find(key) {
                    Ok(found) => places.extend(found),
                    Err(e) => {
                        tracing::warn!("{}: {e}", layout::RUNS);
                        let _ = self
                            .room
                            .sub(layout::RUNS)
                            .and_then(|dir| dir.remove(run.name()));
                        return None;
                    }
                }
            }
            let recent = self.recent.parts.iter().flat_map(|part| &part.entries);
            places.extend(recent.filter(|entry| entry.0 == key).map(|entry| entry.1));
        }
        places.sort_unstable();
        places.dedup();
        let places = places.into_iter().map(LogPosition::unpack);
        Some(places.take_while(|place| *place < self.end).collect())
    }
}

impl RoomState {
    /// Removes damaged runs of the index. Returns true if the other runs cover the log up to this state. Reads the whole
    /// index, which a power cut can damage, because it is never synced.
    pub fn relations_are_whole(&self, room: &Dir) -> bool {
        let checked = remove_damaged_runs(room)
            .and_then(|()| chained(room, self.relations.begin(self.end)))
            .inspect_err(|e| tracing::debug!("{e}; the index of relations is not checked"));
        checked.is_ok_and(|(_, gaps)| gaps.is_empty())
    }
}

fn remove_damaged_runs(room: &Dir) -> Result<()> {
    for run in list_runs(room, None)? {
        if run.file.check().is_err() {
            room.sub(layout::RUNS)?.remove(run.name())?;
        }
    }
    Ok(())
}

/// A part of the log without a run: from a position to another one, or to the end of the segment.
type UncoveredRange = (LogPosition, Option<LogPosition>);

/// The runs that cover the log one after the other up to a position, and the parts that none covers.
fn chained(room: &Dir, until: LogPosition) -> Result<(Vec<RelationRun>, Vec<UncoveredRange>)> {
    let mut all = list_runs(room, None)?;
    let (mut chain, mut gaps): (Vec<RelationRun>, Vec<UncoveredRange>) = (Vec::new(), Vec::new());
    let segments = log::segments(room)?;
    for (n, &segment) in segments.iter().enumerate() {
        if segment > until.segment {
            break;
        }
        let mut at = LogPosition::start_of(segment);
        let mut hash = None;
        // The next segment begins with the hash of this one's last record, which can be long.
        let next = hash_before(room, segments.get(n + 1).copied())?;
        for run in all.extract_if(.., |run| run.covered.from.segment == segment) {
            let is_next = run.covered.from <= at && run.covered.tip.end > at;
            if is_next && (next == Some(run.covered.tip.hash) || run.is_of_log(room)?) {
                at = run.covered.tip.end;
                hash = Some(run.covered.tip.hash);
                chain.push(run);
            }
        }
        if segment == until.segment {
            if at < until {
                gaps.push((at, Some(until)));
            }
        } else if hash.is_none() || hash != next {
            gaps.push((at, None));
        }
    }
    Ok((chain, gaps))
}

/// The hash of the last record before a segment, which its first record names.
fn hash_before(room: &Dir, segment: Option<u32>) -> Result<Option<Hash>> {
    let Some(segment) = segment else {
        return Ok(None);
    };
    let first = log::read_record(room, LogPosition::start_of(segment))?;
    Ok(first.map(|record| record.prev))
}

/// All runs, or the runs of one segment, by their beginning, longer ones first.
fn list_runs(room: &Dir, segment: Option<u32>) -> Result<Vec<RelationRun>> {
    let mut runs = Vec::new();
    let Some(dir) = room.sub_if_exists(layout::RUNS)? else {
        return Ok(runs);
    };
    let prefix = segment.map_or_else(String::new, layout::runs_of);
    for entry in dir.list()? {
        let name = entry?.name.into_string().unwrap_or_default();
        if name.starts_with(&prefix)
            && let Ok(file) = SortedFile::open(&dir, &name)
            && let Ok(covered) = serde_json::from_slice::<RunCoverage>(file.label())
            && covered.version == VERSION
        {
            let run = RelationRun { covered, file };
            // A killed router leaves a run under a temporary name.
            if run.name() == name {
                runs.push(run);
            }
        }
    }
    runs.sort_unstable_by_key(|run| (run.covered.from, Reverse(run.covered.tip.end)));
    Ok(runs)
}

fn write_runs(room: &Dir, recent: Vec<SegmentRelations>, end: LogPosition) -> Result<()> {
    let dir = room.make_loose(layout::RUNS)?;
    let begin = recent.first().map_or(end, |part| part.covered.from);
    let (chain, gaps) = chained(room, begin)?;
    let has_others = !gaps.is_empty() || dir.list()?.count() != chain.len();
    let mut changed: Vec<u32> = Vec::new();
    for (from, to) in gaps {
        if let Some(part) = part_of_log(room, from, to)? {
            part.write(&dir)?;
        }
        changed.push(from.segment);
    }
    for part in recent {
        changed.push(part.covered.from.segment);
        part.write(&dir)?;
    }
    changed.dedup();
    for segment in changed {
        merge(room, &dir, segment, segment < end.segment)?;
    }
    if has_others {
        remove_others(room, &dir, end)?;
    }
    Ok(())
}

/// Removes all files but the runs in use: runs of another log, and files of a killed router.
fn remove_others(room: &Dir, dir: &Dir, end: LogPosition) -> Result<()> {
    let (runs, _) = chained(room, end)?;
    let names: BTreeSet<String> = runs.iter().map(RelationRun::name).collect();
    for entry in dir.list()? {
        let name = entry?.name;
        if !name.to_str().is_some_and(|name| names.contains(name)) {
            dir.remove(&name)?;
        }
    }
    Ok(())
}

/// Reads the entries of a part of the log.
fn part_of_log(
    room: &Dir,
    from: LogPosition,
    to: Option<LogPosition>,
) -> Result<Option<SegmentRelations>> {
    let mut part: Option<SegmentRelations> = None;
    for line in log::read(room, from)? {
        let line = line?;
        if line.at.segment != from.segment || to.is_some_and(|to| line.at >= to) {
            break;
        }
        let record = line.record().map_err(|e| {
            Error::busy(
                format!("the log is damaged at byte {}: {e}", line.at.offset),
                "run `mailbag log verify`",
            )
        })?;
        let tip = LogTip {
            at: line.at,
            end: line.end(),
            seq: record.seq,
            hash: line.hash(),
        };
        let entries = entries(&record, None, line.at);
        match &mut part {
            Some(part) => part.add(&tip, entries),
            None => part = Some(SegmentRelations::new(&tip, entries)),
        }
    }
    Ok(part)
}

/// Merges the last runs of a segment while the last one is not much smaller than the one before it, so that their number
/// stays small. A complete segment gets one run.
fn merge(room: &Dir, dir: &Dir, segment: u32, is_complete: bool) -> Result<()> {
    let mut runs = list_runs(room, Some(segment))?;
    let mut merged: Vec<RelationRun> = Vec::new();
    let mut count = 0;
    while let Some(run) = runs.pop() {
        let is_next = merged
            .last()
            .is_none_or(|later| later.covered.from == run.covered.tip.end);
        let is_large = count > 0 && run.file.count() > 2 * count;
        if !is_next || is_large && !is_complete {
            break;
        }
        count += run.file.count();
        merged.push(run);
    }
    merged.reverse();
    if let [first, .., last] = merged.as_slice() {
        let mut entries = Vec::new();
        for run in &merged {
            let of_run = run.file.entries();
            // The router makes it again from the log.
            if of_run.is_err() {
                dir.remove(run.name())?;
            }
            entries.extend(of_run.doing("read", dir.at(run.name()))?);
        }
        let covered = RunCoverage {
            from: first.covered.from,
            ..last.covered
        };
        SegmentRelations { covered, entries }.write(dir)?;
        for run in &merged {
            dir.remove(run.name())?;
        }
    }
    Ok(())
}

/// The numbers of the messages in a notice that they were not delivered, because their link was removed.
pub fn undelivered(record: &Record) -> Vec<u64> {
    let about = record.about().and_then(|about| about.split_once(' '));
    if about.is_none_or(|(what, _)| what != LINK_REMOVED) {
        return Vec::new();
    }
    let fields = record.message_fields();
    let seqs = fields
        .as_ref()
        .and_then(|fields| fields.get("metadata")?.get("seqs")?.as_array());
    let numbers = seqs.into_iter().flatten().filter_map(Value::as_u64);
    numbers.collect()
}

/// The entries of a record. `head` is the head of its message, if it was read before.
fn entries(record: &Record, head: Option<&MessageHead<'_>>, at: LogPosition) -> Vec<SortedEntry> {
    let receipts = record.receipts.iter().chain(record.ack());
    let mut concerned: Vec<u64> = receipts
        .flat_map(|receipt| &receipt.seqs)
        .copied()
        .collect();
    let arrived = record
        .arrived()
        .into_iter()
        .flat_map(|arrived| &arrived.receipts);
    concerned.extend(arrived.flat_map(|receipt| &receipt.seqs));
    let about = record.about().and_then(|about| about.split_once(' '));
    concerned.extend(about.and_then(|(_, seq)| seq.parse::<u64>().ok()));
    concerned.extend(undelivered(record));
    let concerned = concerned.into_iter();
    let mut keys: Vec<u64> = concerned
        .map(|seq| Relation::Concerned(seq).key())
        .collect();
    if let Some(ClaimChange::Rename { .. }) = record.ownership() {
        keys.push(Relation::Rename.key());
    }
    if let Some(answers) = record.accepted().and_then(|accepted| accepted.answers) {
        keys.push(Relation::Answered(&answers.to_string()).key());
    }
    if let Some(id) = record.id() {
        keys.push(Relation::Id(id).key());
        keys.extend(IdPrefix::of(id).map(|text| Relation::Prefix(text).key()));
    }
    let links = match head {
        Some(head) => head.shares(),
        None => record
            .message_head()
            .map_or_else(ConversationKeys::default, |head| head.shares()),
    };
    if let Some(thread) = &links.thread {
        keys.push(Relation::Thread(thread).key());
    }
    if let Some(answered) = &links.correlation {
        keys.push(Relation::Answered(bare(answered)).key());
    }
    keys.into_iter().map(|key| (key, at.pack())).collect()
}
