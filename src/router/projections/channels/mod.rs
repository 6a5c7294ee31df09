//! Channels: each conversation as a file that only grows, one line a message, in the order of the log.
//!
//! The log decides. The router appends to a conversation after the commit. After a kill, or if the file is not as it
//! was left, the router compares its end with the log: missing lines are written again, and foreign lines are kept
//! elsewhere and cut out. Nothing is synced, because everything can be rebuilt.

mod behind;
mod foreign;
mod holes;
mod line;
mod projection;
mod tail;

pub use behind::{Behind, behind};
pub use line::{ChannelLine, line, of_record};

use crate::base::error::{Doing, Error, Result};
use crate::disk::{Append, Barrier, Dir, Durability, Meta, file_meta, layout};
use crate::log;
use crate::log::Position;
use crate::log::state::State;
use crate::message::id;
use crate::message::record::Record;
use crate::router::projections::Accepted;
use foreign::{CutOut, Find, Foreign};
use rustix::fs::FileType;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use tail::{Judge, Known};

/// The number of conversations that stay open for the next message.
const OPEN: usize = 32;
/// Missing lines are written in pieces of this size.
const GATHERED: usize = 8 << 20;
/// The number of attempts of a repair, because another program may write at the same time.
const PATIENCE: usize = 16;

/// All conversations of a room.
pub(in crate::router) struct Channels {
    room: Dir,
    /// Each file as it was left.
    left: BTreeMap<Arc<str>, Left>,
    open: BTreeMap<Arc<str>, Append>,
    /// Lines of the batch that is being applied.
    queued: BTreeMap<Arc<str>, Vec<u8>>,
    /// Conversations with a failed write, which the next look at all files repeats.
    broken: BTreeSet<Arc<str>>,
    /// Cuts with notices that the log does not have.
    due: Vec<CutOut>,
    /// The notes of earlier routers about cuts were read.
    has_read_notes: bool,
    /// Whether files may have holes.
    suspect: bool,
}

/// A file as it was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Left {
    device: u64,
    inode: u64,
    size: u64,
}

/// The result of writing to a conversation.
struct Told {
    channel: Arc<str>,
    /// The foreign lines.
    cut: Vec<CutOut>,
    /// Why it could not be written to.
    error: Option<Error>,
}

/// A conversation under repair.
struct Mending {
    channel: Arc<str>,
    known: Known,
    append: Append,
    gathered: Vec<u8>,
    cut: Vec<CutOut>,
}

impl Left {
    fn of(meta: &Meta) -> Left {
        Left {
            device: meta.device,
            inode: meta.inode,
            size: meta.size,
        }
    }

    fn is_same_file(&self, meta: &Meta) -> bool {
        (self.device, self.inode) == (meta.device, meta.inode)
    }
}

impl Channels {
    /// Nothing is known about any file yet.
    pub(in crate::router) fn new(room: Dir) -> Channels {
        let (left, open, queued, broken) = (
            BTreeMap::new(),
            BTreeMap::new(),
            BTreeMap::new(),
            BTreeSet::new(),
        );
        Channels {
            room,
            left,
            open,
            queued,
            broken,
            due: Vec::new(),
            has_read_notes: false,
            suspect: false,
        }
    }

    /// Makes the line of a committed message, to be written with its batch.
    fn queue(&mut self, Accepted { seq, at, message }: &Accepted) {
        if message.is_for_router() {
            return;
        }
        if !self.queued.contains_key(message.channel()) {
            self.queued.insert(message.channel().into(), Vec::new());
        }
        self.queued
            .get_mut(message.channel())
            .into_iter()
            .for_each(|lines| line::write(lines, message, *seq, at));
    }

    /// Writes the queued lines, with one write for each channel. A file that is not as it was left is repaired from the
    /// log instead, which also has the queued messages.
    fn write(&mut self, state: &State, find: Find<'_>) -> Vec<Told> {
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
            queued.values_mut().for_each(|lines| {
                lines.clear();
                lines.shrink_to(GATHERED / OPEN);
            });
            self.queued = queued;
        }
        self.mend(strange, state, find)
    }

    /// Repairs every conversation that is not as it was left. The first look compares the ends of all with the log.
    fn look(&mut self, state: &State, find: Find<'_>) -> Vec<Told> {
        self.broken.clear();
        let mut channels: BTreeSet<Arc<str>> = state.channels.keys().cloned().collect();
        channels.extend(self.there());
        let strange = channels
            .into_iter()
            .filter(|channel| !self.is_as_left(channel))
            .collect();
        self.mend(strange, state, find)
    }

    // Conversations on disk, also those without a record in the log.
    fn there(&self) -> Vec<Arc<str>> {
        let Ok(listing) = self.room.sub(layout::CHANNELS).and_then(|dir| dir.list()) else {
            return Vec::new();
        };
        let names = listing
            .flatten()
            .filter_map(|entry| entry.name.into_string().ok())
            .filter(|name| id::is_name(name));
        let stands = |name: &String| {
            self.room
                .stat(layout::conversation(name))
                .is_ok_and(|meta| meta.is_some())
        };
        names.filter(stands).map(Arc::from).collect()
    }

    fn is_as_left(&self, channel: &str) -> bool {
        let Some(left) = self.left.get(channel) else {
            return false;
        };
        matches!(self.room.stat(layout::conversation(channel)), Ok(Some(meta)) if Left::of(&meta) == *left)
    }

    /// Appends with one write; returns false if another program has written to the file.
    fn append(&mut self, channel: &Arc<str>, lines: &[u8]) -> Result<bool> {
        if !self.is_as_left(channel) {
            return Ok(false);
        }
        if !self.open.contains_key(channel) {
            let append = Append::open(
                &self.room.sub(layout::channel(channel))?,
                layout::CONVERSATION,
                None,
            )?;
            if self.left.get(channel) != Some(&Left::of(&append.meta()?)) {
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

    fn hold(&mut self, channel: &Arc<str>, append: Append) {
        if self.open.len() >= OPEN {
            self.open.clear();
        }
        self.open.insert(channel.clone(), append);
    }

    /// Compares conversations with the log, and repairs them.
    fn mend(&mut self, channels: Vec<Arc<str>>, state: &State, find: Find<'_>) -> Vec<Told> {
        let mut told = Vec::new();
        let mut mending = Vec::new();
        for channel in channels {
            self.open.remove(&channel);
            match self.begin(&channel, state, find) {
                Ok(Some(begun)) => mending.push(begun),
                Ok(None) => told.push(Told {
                    channel,
                    cut: Vec::new(),
                    error: None,
                }),
                Err(e) => told.push(self.broken(channel, Vec::new(), e)),
            }
        }
        let done = self.complete(&mut mending, state);
        for mending in mending {
            let done = match &done {
                Ok(()) => self.finish(&mending.channel, &mending.known, mending.append),
                Err(e) => Err(Error::Busy {
                    what: e.to_string(),
                    cure: "it is tried again".into(),
                }),
            };
            let Mending { channel, cut, .. } = mending;
            told.push(match done {
                Ok(()) => Told {
                    channel,
                    cut,
                    error: None,
                },
                Err(e) => self.broken(channel, cut, e),
            });
        }
        told
    }

    fn broken(&mut self, channel: Arc<str>, cut: Vec<CutOut>, e: Error) -> Told {
        // The file's content is unknown now, so the next look compares it with the log.
        self.left.remove(&channel);
        self.broken.insert(channel.clone());
        Told {
            channel,
            cut,
            error: Some(e),
        }
    }

    /// Finds the router's own lines of a file, keeps all others elsewhere, and cuts them off. `None` if there is
    /// nothing to do.
    fn begin(
        &mut self,
        channel: &Arc<str>,
        state: &State,
        find: Find<'_>,
    ) -> Result<Option<Mending>> {
        let last = state.channels.get(channel).map_or(0, |said| said.last);
        let directory = layout::channel(channel);
        if last == 0 && self.room.stat(layout::conversation(channel))?.is_none() {
            self.left.remove(channel);
            return Ok(None);
        }
        let dir = self.room.make_with(
            &directory,
            &mut Barrier::new(Durability::Process, self.room.clone()),
        )?;
        let path = dir.at(layout::CONVERSATION);
        let mut file = match dir.look(layout::CONVERSATION) {
            Err(e) if e.errno() == Some(libc::ENOENT) => {
                dir.create(layout::CONVERSATION, b"")?;
                dir.look(layout::CONVERSATION)?
            }
            file => file?,
        };
        let meta = file_meta(&file).doing("look at", &path)?;
        refuse_strange(&meta, &path)?;
        let upto = match self.left.get(channel) {
            Some(left) if left.is_same_file(&meta) && meta.size >= left.size => left.size,
            // Replaced or cut: any line may have changed.
            Some(_) => 0,
            None if self.suspect => tail::first_blank(&mut file, &path)?.unwrap_or(meta.size),
            None => meta.size,
        };
        let judge = Judge::new(&self.room, state, channel);
        let known = judge.last_of_ours(&mut file, upto, &path)?;
        let (mut cut, mut end) = (Vec::new(), known.end);
        // Again, if a foreign line was added while the last one was kept.
        for _ in 0..PATIENCE {
            end = self.keep_foreign(&judge, &mut file, (end, &path), &known, find, &mut cut)?;
            if let Some(append) = Append::open_if(&dir, layout::CONVERSATION, end, known.end)? {
                return Ok(Some(Mending {
                    channel: channel.clone(),
                    known,
                    append,
                    gathered: Vec::new(),
                    cut,
                }));
            }
        }
        let what = format!("somebody else keeps writing to {}", path.display());
        Err(Error::Busy {
            what,
            cure: "it is tried again".into(),
        })
    }

    /// Keeps elsewhere the foreign lines from a place on, and returns where the file ended.
    fn keep_foreign(
        &self,
        judge: &Judge<'_>,
        file: &mut File,
        (from, path): (u64, &Path),
        known: &Known,
        find: Find<'_>,
        cut: &mut Vec<CutOut>,
    ) -> Result<u64> {
        let mut foreign = Foreign::new(judge, known.seq, find);
        let (mut torn, mut last) = (Vec::new(), known.seq);
        let end = tail::lines_from(file, from, path, &mut |line| match line.ends_with(b"\n") {
            true => match judge.follows(line, last)? {
                Some(seq) => {
                    last = seq;
                    Ok(())
                }
                None => foreign.add(line),
            },
            false => {
                torn = line.to_vec();
                Ok(())
            }
        })?;
        if !torn.is_empty() && !self.is_torn_off(judge, known, &torn)? {
            foreign.add(&torn)?;
        }
        cut.extend(foreign.kept()?);
        Ok(end)
    }

    /// Returns true for the beginning of a router's line that will be written again.
    fn is_torn_off(&self, judge: &Judge<'_>, known: &Known, torn: &[u8]) -> Result<bool> {
        let written = torn
            .iter()
            .rposition(|&byte| byte != 0)
            .map_or(&torn[..0], |last| &torn[..=last]);
        if written.is_empty() {
            return Ok(true);
        }
        let mut found = false;
        let wanted = BTreeMap::from([(judge.channel, known.seq)]);
        missing(&self.room, known.at, judge.state.seq, |record| {
            let channel = record.channel();
            let last = channel.as_deref().and_then(|channel| wanted.get(channel));
            if last.is_some_and(|last| record.seq > *last) {
                found |= line::of_record(record).is_some_and(|line| line.starts_with(written));
            }
            Ok(!found)
        })?;
        Ok(found)
    }

    /// Writes the missing lines of all channels, with one pass over the log.
    fn complete(&mut self, mending: &mut [Mending], state: &State) -> Result<()> {
        let lacks = |mending: &&mut Mending| {
            state
                .channels
                .get(&mending.channel)
                .is_some_and(|said| said.last > mending.known.seq)
        };
        let mut lacking: BTreeMap<Arc<str>, &mut Mending> = mending
            .iter_mut()
            .filter(lacks)
            .map(|mending| (mending.channel.clone(), mending))
            .collect();
        let Some(from) = lacking.values().map(|mending| mending.known.at).min() else {
            return Ok(());
        };
        let mut gathered = 0;
        missing(&self.room, from, state.seq, |record| {
            let Some(mending) = record
                .channel()
                .and_then(|channel| lacking.get_mut(&*channel))
            else {
                return Ok(true);
            };
            if record.seq <= mending.known.seq {
                return Ok(true);
            }
            let line = line::of_record(record).unwrap_or_default();
            gathered += line.len();
            mending.gathered.extend(line);
            if gathered >= GATHERED {
                gathered = 0;
                lacking
                    .values_mut()
                    .try_for_each(|mending| mending.flush())?;
            }
            Ok(true)
        })?;
        lacking.into_values().try_for_each(Mending::flush)
    }

    fn finish(&mut self, channel: &Arc<str>, known: &Known, append: Append) -> Result<()> {
        let mut left = Left::of(&append.meta()?);
        if left.size != append.length() {
            // Another program wrote: only the earlier content is known, and the next look repairs the file.
            left.size = known.end;
        }
        self.left.insert(channel.clone(), left);
        self.hold(channel, append);
        Ok(())
    }
}

impl Mending {
    fn flush(&mut self) -> Result<()> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        self.append.append(&std::mem::take(&mut self.gathered))
    }
}

/// Passes the records of the log from a position on to `each`, up to the last committed record, or until `each` returns
/// `false`.
fn missing(
    room: &Dir,
    from: Position,
    last: u64,
    mut each: impl FnMut(&Record) -> Result<bool>,
) -> Result<()> {
    for line in log::read(room, from)? {
        let Ok(record) = serde_json::from_slice::<Record>(&line?.bytes) else {
            return Ok(());
        };
        if record.seq > last || !each(&record)? {
            return Ok(());
        }
    }
    Ok(())
}

fn refuse_strange(meta: &Meta, path: &Path) -> Result<()> {
    let what = match (meta.kind, meta.links) {
        (FileType::RegularFile, 1) => return Ok(()),
        (FileType::RegularFile, _) => "has another name elsewhere (a hard link)",
        _ => "is not a regular file",
    };
    let what = format!(
        "{} {what}, so the conversation is not written to it",
        path.display()
    );
    Err(Error::Busy {
        what,
        cure: "remove it, and it is made again".into(),
    })
}
