//! Channels: each conversation is a file that only grows, with one line for each message, in the order of the log.
//!
//! The router appends to a conversation after the commit. After a kill, or if the file is not as the router left it,
//! the router compares its end with the log: missing lines are written again, and foreign lines are kept elsewhere
//! and cut out. Nothing is synced, because everything can be rebuilt.

use super::foreign::{AgentFinder, ForeignLines, RemovedLines};
use super::tail::{self, LineClassifier, RouterLines};
use super::{line, of, paths};
use crate::base::error::{Error, ErrorContext, Result};
use crate::disk::File;
use crate::disk::{AppendFile, Dir, Meta, layout};
use crate::log;
use crate::log::LogPosition;
use crate::log::state::RoomState;
use crate::message::id;
use crate::message::record::Record;
use crate::router::projections::ProjectedMessage;
use rustix::fs::FileType;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// The number of conversations that stay open for the next message.
const OPEN: usize = 32;
/// Missing lines are written in pieces of this size, in bytes.
const GATHERED: usize = 8 << 20;
/// The number of attempts of a repair, because another program may write at the same time.
const PATIENCE: usize = 16;

/// All conversations of a room.
pub(super) struct ChannelFiles {
    pub(super) room: Dir,
    /// Each file as it was left.
    left: BTreeMap<Arc<str>, ChannelFile>,
    open: BTreeMap<Arc<str>, AppendFile>,
    /// Lines of the batch that is being applied.
    queued: BTreeMap<Arc<str>, Vec<u8>>,
    /// Conversations with a failed write. The next check of all files repeats it.
    broken: BTreeSet<Arc<str>>,
    /// Cuts with notices that the log does not have.
    pub(super) due: Vec<RemovedLines>,
    /// Whether the notes of earlier routers about cuts were read.
    pub(super) has_read_notes: bool,
    /// The channels with a link to the roster.
    linked: BTreeSet<Arc<str>>,
    /// Whether files may have holes.
    pub(super) suspect: bool,
}

/// A file as it was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ChannelFile {
    device: u64,
    inode: u64,
    size: u64,
}

/// The result of writing to a conversation.
pub(super) struct ChannelWriteResult {
    pub(super) channel: Arc<str>,
    /// The foreign lines.
    pub(super) cut: Vec<RemovedLines>,
    /// The reason of a failed write.
    pub(super) error: Option<Error>,
}

/// A conversation under repair.
struct ChannelRepair {
    channel: Arc<str>,
    known: RouterLines,
    append: AppendFile,
    gathered: Vec<u8>,
    cut: Vec<RemovedLines>,
}

impl ChannelFile {
    fn of(meta: &Meta) -> ChannelFile {
        ChannelFile {
            device: meta.device,
            inode: meta.inode,
            size: meta.size,
        }
    }

    fn is_same_file(&self, meta: &Meta) -> bool {
        (self.device, self.inode) == (meta.device, meta.inode)
    }
}

impl ChannelFiles {
    /// Begins without knowledge of any file.
    pub(super) fn new(room: Dir) -> ChannelFiles {
        ChannelFiles {
            room,
            left: BTreeMap::new(),
            open: BTreeMap::new(),
            queued: BTreeMap::new(),
            broken: BTreeSet::new(),
            due: Vec::new(),
            has_read_notes: false,
            linked: BTreeSet::new(),
            suspect: false,
        }
    }

    /// Queues the line of a committed message for the write of its batch.
    pub(super) fn queue(&mut self, ProjectedMessage { seq, at, message }: &ProjectedMessage) {
        if message.is_for_router() {
            return;
        }
        let lines = self.queued.entry(message.channel().into()).or_default();
        line::write(lines, message, *seq, at);
    }

    /// Writes the queued lines, with one write for each channel. A file that is not as it was left is repaired from
    /// the log instead, which also has the queued messages.
    pub(super) fn write(
        &mut self,
        state: &RoomState,
        find: AgentFinder<'_>,
    ) -> Vec<ChannelWriteResult> {
        let mut strange = Vec::new();
        let mut queued = std::mem::take(&mut self.queued);
        for (channel, lines) in queued.iter().filter(|(_, lines)| !lines.is_empty()) {
            if self.broken.contains(channel) {
                continue;
            }
            match self.append(channel, lines) {
                Ok(true) => {}
                Ok(false) | Err(_) => strange.push(channel.clone()),
            }
        }
        // A few buffers stay allocated for the next batch.
        if queued.len() <= OPEN {
            for lines in queued.values_mut() {
                lines.clear();
                lines.shrink_to(GATHERED / OPEN);
            }
            self.queued = queued;
        }
        self.repair(strange, state, find)
    }

    /// Repairs every conversation that is not as it was left. The first check compares the ends of all with the log.
    pub(super) fn check_all(
        &mut self,
        state: &RoomState,
        find: AgentFinder<'_>,
    ) -> Vec<ChannelWriteResult> {
        self.broken.clear();
        self.linked.clear();
        let mut channels: BTreeSet<Arc<str>> = of(state).keys().cloned().collect();
        channels.extend(self.existing());
        let strange = channels
            .into_iter()
            .filter(|channel| !self.is_as_left(channel))
            .collect();
        self.repair(strange, state, find)
    }

    /// Makes missing links to the roster beside the conversations. Each link is tried again after the next check.
    pub(super) fn link_rosters(&mut self, state: &RoomState) -> Result<()> {
        let mut done = Ok(());
        for channel in of(state).keys() {
            if self.linked.contains(channel) {
                continue;
            }
            if let Some(dir) = self.room.sub_if_exists(paths::channel(channel))? {
                done = done.and(dir.link(layout::ROSTER, paths::ROSTER_FROM_CHANNEL));
                self.linked.insert(channel.clone());
            }
        }
        done
    }

    /// All conversations on disk, even without a record in the log.
    pub(super) fn existing(&self) -> Vec<Arc<str>> {
        let channels = self.room.sub(paths::CHANNELS);
        let names = channels.and_then(|dir| dir.names()).unwrap_or_default();
        names
            .into_iter()
            .filter(|name| id::is_name(name))
            .filter(|name| {
                let meta = self.room.stat(paths::conversation(name));
                meta.is_ok_and(|meta| meta.is_some())
            })
            .map(Arc::from)
            .collect()
    }

    fn is_as_left(&self, channel: &str) -> bool {
        let Some(left) = self.left.get(channel) else {
            return false;
        };
        matches!(self.room.stat(paths::conversation(channel)), Ok(Some(meta)) if ChannelFile::of(&meta) == *left)
    }

    /// Appends with one write; returns false if another program has written to the file.
    fn append(&mut self, channel: &Arc<str>, lines: &[u8]) -> Result<bool> {
        if !self.is_as_left(channel) {
            return Ok(false);
        }
        if !self.open.contains_key(channel) {
            let append = AppendFile::open(
                &self.room.sub(paths::channel(channel))?,
                paths::CONVERSATION,
                None,
            )?;
            if self.left.get(channel) != Some(&ChannelFile::of(&append.meta()?)) {
                return Ok(false);
            }
            self.hold(channel, append);
        }
        let (Some(append), Some(left)) = (self.open.get_mut(channel), self.left.get_mut(channel))
        else {
            return Ok(false);
        };
        append.append(lines)?;
        let size = left.size + lines.len() as u64;
        if append.meta()?.size != size {
            return Ok(false);
        }
        left.size = size;
        Ok(true)
    }

    fn hold(&mut self, channel: &Arc<str>, append: AppendFile) {
        if self.open.len() >= OPEN {
            self.open.clear();
        }
        self.open.insert(channel.clone(), append);
    }

    /// Compares conversations with the log, and repairs them.
    fn repair(
        &mut self,
        channels: Vec<Arc<str>>,
        state: &RoomState,
        find: AgentFinder<'_>,
    ) -> Vec<ChannelWriteResult> {
        let mut results = Vec::new();
        let mut repairs = Vec::new();
        for channel in channels {
            self.open.remove(&channel);
            match self.begin(&channel, state, find) {
                Ok(Some(repair)) => repairs.push(repair),
                Ok(None) => results.push(self.result(channel, Vec::new(), Ok(()))),
                Err(e) => results.push(self.result(channel, Vec::new(), Err(e))),
            }
        }
        let done = self.complete(&mut repairs, state);
        for repair in repairs {
            let done = match &done {
                Ok(()) => self.finish(&repair.channel, &repair.known, repair.append),
                Err(e) => Err(Error::busy(e.to_string(), "it is tried again")),
            };
            results.push(self.result(repair.channel, repair.cut, done));
        }
        results
    }

    fn result(
        &mut self,
        channel: Arc<str>,
        cut: Vec<RemovedLines>,
        done: Result<()>,
    ) -> ChannelWriteResult {
        let error = done.err();
        if error.is_some() {
            // The file's content is unknown now, so the next check compares it with the log.
            self.left.remove(&channel);
            self.broken.insert(channel.clone());
        }
        ChannelWriteResult {
            channel,
            cut,
            error,
        }
    }

    /// Finds the router's own lines of a file, keeps all others elsewhere, and cuts them off. Returns `None` without
    /// a file to repair.
    fn begin(
        &mut self,
        channel: &Arc<str>,
        state: &RoomState,
        find: AgentFinder<'_>,
    ) -> Result<Option<ChannelRepair>> {
        let last = of(state).get(channel).map_or(0, |said| said.last);
        let directory = paths::channel(channel);
        if last == 0 && self.room.stat(paths::conversation(channel))?.is_none() {
            self.left.remove(channel);
            return Ok(None);
        }
        let dir = self.room.make_loose(&directory)?;
        let path = dir.at(paths::CONVERSATION);
        let mut file = match dir.look(paths::CONVERSATION) {
            Err(e) if e.is_missing() => {
                dir.create(paths::CONVERSATION, b"")?;
                dir.look(paths::CONVERSATION)?
            }
            file => file?,
        };
        let meta = file.meta().doing("look at", &path)?;
        reject_other_kinds(&meta, &path)?;
        let upto = match self.left.get(channel) {
            Some(left) if left.is_same_file(&meta) && meta.size >= left.size => left.size,
            // The file was replaced or cut, so any line may have changed.
            Some(_) => 0,
            None if self.suspect => tail::first_blank(&mut file, &path)?.unwrap_or(meta.size),
            None => meta.size,
        };
        let judge = LineClassifier::new(&self.room, state, channel);
        let known = judge.last_of_ours(&mut file, upto, &path)?;
        let (mut cut, mut end) = (Vec::new(), known.end);
        // Repeated if a foreign line was added while the last one was kept.
        for _ in 0..PATIENCE {
            let (kept, ends) = keep_foreign(&judge, &known, &mut file, end, find)?;
            cut.extend(kept);
            end = ends;
            if let Some(append) = AppendFile::open_if(&dir, paths::CONVERSATION, end, known.end)? {
                return Ok(Some(ChannelRepair {
                    channel: channel.clone(),
                    known,
                    append,
                    gathered: Vec::new(),
                    cut,
                }));
            }
        }
        let what = format!("another program keeps writing to {}", path.display());
        Err(Error::busy(what, "it is tried again"))
    }

    /// Writes the missing lines of all channels, with one pass over the log.
    fn complete(&mut self, repairs: &mut [ChannelRepair], state: &RoomState) -> Result<()> {
        let mut lacking: BTreeMap<Arc<str>, &mut ChannelRepair> = BTreeMap::new();
        for repair in repairs {
            let last = of(state).get(&repair.channel);
            if last.is_some_and(|said| said.last > repair.known.seq) {
                lacking.insert(repair.channel.clone(), repair);
            }
        }
        let Some(from) = lacking.values().map(|repair| repair.known.at).min() else {
            return Ok(());
        };
        let mut gathered = 0;
        missing(&self.room, from, state.seq, |record| {
            let Some(repair) = record
                .channel()
                .and_then(|channel| lacking.get_mut(&*channel))
            else {
                return Ok(true);
            };
            if record.seq <= repair.known.seq {
                return Ok(true);
            }
            let line = line::of_record(record).unwrap_or_default();
            gathered += line.len();
            repair.gathered.extend(line);
            if gathered >= GATHERED {
                gathered = 0;
                for repair in lacking.values_mut() {
                    repair.flush()?;
                }
            }
            Ok(true)
        })?;
        lacking.into_values().try_for_each(ChannelRepair::flush)
    }

    fn finish(
        &mut self,
        channel: &Arc<str>,
        known: &RouterLines,
        append: AppendFile,
    ) -> Result<()> {
        let mut left = ChannelFile::of(&append.meta()?);
        if left.size != append.length() {
            // Another program wrote to the file. Only the earlier content is known, and the next check repairs the
            // file.
            left.size = known.end;
        }
        self.left.insert(channel.clone(), left);
        self.hold(channel, append);
        Ok(())
    }
}

/// Keeps the foreign lines after a position elsewhere. Returns them and the end of the file.
fn keep_foreign(
    judge: &LineClassifier<'_>,
    known: &RouterLines,
    file: &mut File,
    from: u64,
    find: AgentFinder<'_>,
) -> Result<(Vec<RemovedLines>, u64)> {
    let path = judge.room.at(paths::conversation(judge.channel));
    let mut foreign = ForeignLines::new(judge, known.seq, find);
    let (mut torn, mut last) = (Vec::new(), known.seq);
    let end = tail::lines_from(file, from, &path, &mut |line| {
        if !line.ends_with(b"\n") {
            torn = line.to_vec();
        } else if let Some(seq) = judge.follows(line, last)? {
            last = seq;
        } else {
            foreign.add(line)?;
        }
        Ok(())
    })?;
    if !torn.is_empty() && !is_torn_off(judge, known, &torn)? {
        foreign.add(&torn)?;
    }
    Ok((foreign.kept()?, end))
}

/// Returns true for the beginning of a router's line that will be written again.
fn is_torn_off(judge: &LineClassifier<'_>, known: &RouterLines, torn: &[u8]) -> Result<bool> {
    let written = torn
        .iter()
        .rposition(|&byte| byte != 0)
        .map_or(&torn[..0], |last| &torn[..=last]);
    if written.is_empty() {
        return Ok(true);
    }
    let mut found = false;
    let wanted = BTreeMap::from([(judge.channel, known.seq)]);
    missing(judge.room, known.at, judge.state.seq, |record| {
        let channel = record.channel();
        let last = channel.as_deref().and_then(|channel| wanted.get(channel));
        if last.is_some_and(|last| record.seq > *last) {
            found |= line::of_record(record).is_some_and(|line| line.starts_with(written));
        }
        Ok(!found)
    })?;
    Ok(found)
}

impl ChannelRepair {
    fn flush(&mut self) -> Result<()> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        self.append.append(&std::mem::take(&mut self.gathered))
    }
}

/// Calls `each` for the records of the log from a position on, up to the last committed record, or until `each`
/// returns false.
fn missing(
    room: &Dir,
    from: LogPosition,
    last: u64,
    mut each: impl FnMut(&Record) -> Result<bool>,
) -> Result<()> {
    for line in log::read(room, from)? {
        let Ok(record) = line?.record() else {
            return Ok(());
        };
        if record.seq > last || !each(&record)? {
            return Ok(());
        }
    }
    Ok(())
}

fn reject_other_kinds(meta: &Meta, path: &Path) -> Result<()> {
    let what = match (meta.kind, meta.links) {
        (FileType::RegularFile, 1) => return Ok(()),
        (FileType::RegularFile, _) => "has another name elsewhere (a hard link)",
        _ => "is not a regular file",
    };
    let what = format!(
        "{} {what}, so the conversation is not written to it",
        path.display()
    );
    Err(Error::busy(what, "remove it, and it is made again"))
}
