//! The outboxes: which files wait in them, whose turn it is, and when a file is ready to be taken.

mod lines;

pub use lines::read as read_lines;

use crate::disk::{self, Dir, Lease, Listing, Meta, file_meta};
use crate::error::{Doing, Problem, Result};
use crate::{layout, limits};
use rustix::fs::FileType;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many names one outbox may have queued before it is scanned instead.
const QUEUED: usize = 1024;
/// How many directory scans are kept open from turn to turn; another outbox begins its scan anew at each turn.
const SCANS: usize = 16;

/// All outboxes of the room, and who is next.
#[derive(Default)]
pub struct Outboxes {
    boxes: BTreeMap<Arc<str>, Outbox>,
    turns: VecDeque<Arc<str>>,
    scans: usize,
}

#[derive(Default)]
struct Outbox {
    names: VecDeque<OsString>,
    scan: Scan,
    /// The directory's time when it was last read, and at the sweep before: equal means that nothing has come since,
    /// however coarse the file system's clock.
    times: [Option<i128>; 2],
    in_line: bool,
}

#[derive(Default)]
enum Scan {
    #[default]
    None,
    Wanted,
    Open(Listing),
}

impl Outboxes {
    /// A file may have come into this outbox.
    pub fn hint(&mut self, agent: &Arc<str>, name: OsString) {
        let outbox = self.boxes.entry(agent.clone()).or_default();
        if outbox.names.len() >= QUEUED {
            outbox.want_scan();
        } else {
            outbox.names.push_back(name);
        }
        Self::line_up(&mut self.turns, outbox, agent);
    }

    /// This outbox is to be read from the beginning.
    pub fn scan(&mut self, agent: &Arc<str>) {
        let outbox = self.boxes.entry(agent.clone()).or_default();
        outbox.want_scan();
        Self::line_up(&mut self.turns, outbox, agent);
    }

    /// Looks at the outbox's own time, and has it read if anything may have come since the last two looks.
    pub fn sweep(&mut self, room: &Dir, agent: &Arc<str>) -> Result<()> {
        let time = room.stat(layout::outbox(agent))?.map(|meta| meta.changed);
        let outbox = self.boxes.entry(agent.clone()).or_default();
        let quiet = time.is_some() && outbox.times == [time, time];
        outbox.times = [time, outbox.times[0]];
        if !quiet {
            self.scan(agent);
        }
        Ok(())
    }

    /// Forgets an outbox.
    pub fn forget(&mut self, agent: &str) {
        if let Some(Outbox { scan: Scan::Open(_), .. }) = self.boxes.remove(agent) {
            self.scans -= 1;
        }
        self.turns.retain(|waiting| &**waiting != agent);
    }

    /// Does any outbox wait for its turn?
    pub fn is_idle(&self) -> bool {
        self.turns.is_empty()
    }

    /// The next outbox in turn, with some of its names; `None` when no outbox waits. Names are in the order in which
    /// their events came, or where the directory was read, in the order of the names, a thousand at a time.
    pub fn next_turn(&mut self, room: &Dir) -> Option<(Arc<str>, Result<Turn>)> {
        let agent = self.turns.pop_front()?;
        let outbox = self.boxes.get_mut(&agent)?;
        outbox.in_line = false;
        let turn = room.sub(layout::outbox(&agent)).and_then(|dir| {
            outbox.fill(&dir, &mut self.scans)?;
            let take = outbox.names.len().min(limits::TURN);
            let names = outbox.names.drain(..take).collect();
            let uid = dir.meta()?.uid;
            Ok(Turn { dir, names, uid })
        });
        if turn.is_ok() && (!outbox.names.is_empty() || !matches!(outbox.scan, Scan::None)) {
            Self::line_up(&mut self.turns, outbox, &agent);
        }
        Some((agent, turn))
    }

    /// Gives back names that were not looked at, to be the first of their outbox's next turn.
    pub fn give_back(&mut self, agent: &Arc<str>, names: Vec<OsString>) {
        let outbox = self.boxes.entry(agent.clone()).or_default();
        names.into_iter().rev().for_each(|name| outbox.names.push_front(name));
        if !outbox.names.is_empty() {
            Self::line_up(&mut self.turns, outbox, agent);
        }
    }

    /// Gives back names that have to wait, first in line for when the outbox is looked at again: by a hint, or a scan.
    pub fn rest(&mut self, agent: &Arc<str>, names: Vec<OsString>) {
        let outbox = self.boxes.entry(agent.clone()).or_default();
        names.into_iter().rev().for_each(|name| outbox.names.push_front(name));
        // What it has read of the directory stands in `names`; an open directory would be kept from others.
        if matches!(outbox.scan, Scan::Open(_)) {
            outbox.scan = Scan::Wanted;
            self.scans -= 1;
        }
        if std::mem::take(&mut outbox.in_line) {
            self.turns.retain(|waiting| waiting != agent);
        }
    }

    fn line_up(turns: &mut VecDeque<Arc<str>>, outbox: &mut Outbox, agent: &Arc<str>) {
        if !std::mem::replace(&mut outbox.in_line, true) {
            turns.push_back(agent.clone());
        }
    }
}

/// One outbox's turn.
pub struct Turn {
    /// The outbox.
    pub dir: Dir,
    /// Names in it that may be messages.
    pub names: Vec<OsString>,
    /// Who owns the outbox.
    pub uid: u32,
}

impl Outbox {
    fn want_scan(&mut self) {
        if matches!(self.scan, Scan::None) {
            self.scan = Scan::Wanted;
        }
    }

    fn fill(&mut self, dir: &Dir, open: &mut usize) -> Result<()> {
        if !self.names.is_empty() {
            return Ok(());
        }
        let mut listing = match std::mem::take(&mut self.scan) {
            Scan::None => return Ok(()),
            Scan::Wanted => dir.list()?,
            Scan::Open(listing) => {
                *open -= 1;
                listing
            }
        };
        while self.names.len() < QUEUED {
            let Some(entry) = listing.next() else {
                self.names.make_contiguous().sort_unstable();
                return Ok(());
            };
            let name = entry?.name;
            if layout::is_message_file(&name) {
                self.names.push_back(name);
            }
        }
        self.names.make_contiguous().sort_unstable();
        self.scan = if *open < SCANS {
            *open += 1;
            Scan::Open(listing)
        } else {
            Scan::Wanted
        };
        Ok(())
    }
}

/// What a look at a file in an outbox found.
pub enum Look {
    /// It can be taken: what it holds, and what it was when it was read.
    Ready(Box<Ready>),
    /// Not yet, for this reason; look again after this long, or when an event comes.
    Later(&'static str, Option<Duration>),
    /// There is no such file any more.
    Gone,
}

/// A file that can be taken.
pub struct Ready {
    /// What it holds.
    pub content: Content,
    /// How many bytes were read.
    pub bytes: u64,
    /// Which file it was, and how it stood; `None` if it couldn't be opened.
    pub meta: Option<Meta>,
}

/// What a file holds: JSON, or why it can't be a message.
pub enum Content {
    /// One message.
    One(Result<Value, Problem>),
    /// A message a line.
    Lines(Vec<Line>),
}

/// A line of a file that holds a message a line.
pub struct Line {
    /// Its number in the file, from 1.
    pub number: u32,
    /// Its text, without the blanks around it.
    pub text: Vec<u8>,
    /// What it holds.
    pub content: Result<Value, Problem>,
}

/// Is a file whole?
pub enum Whole {
    /// It is.
    Yes(Content),
    /// It is empty or ends too early: its writer may not be done. Once it has stood still, it holds this.
    NotYet(Content),
}

/// What a file has to satisfy.
pub struct Terms {
    /// The most bytes.
    pub most: u64,
    /// Who owns the outbox, if that is known.
    pub outbox_uid: Option<u32>,
    /// Is it a claim? Then its sender has had the time to remove the file's other names.
    pub claimed: bool,
    /// Who must own the file, where the registry pins it.
    pub owner: Option<u32>,
}

/// Looks at a file: is it one, is it whole, does nobody write it any more? Reads it if so.
pub fn look(dir: &Dir, name: &OsStr, terms: &Terms, patience: &mut Patience) -> Result<Look> {
    let mut file = match dir.look(name) {
        Ok(file) => file,
        Err(e) => return look_at_unopenable(dir, name, e, patience),
    };
    let meta = file_meta(&file).doing("look at", dir.at(name))?;
    if let Some(problem) = unfit(&meta, terms) {
        return Ok(ready(Err(problem), meta));
    }
    if meta.links > 1 {
        if let Some(wait) = patience.wait(dir, name, &meta).filter(|_| !terms.claimed) {
            return Ok(Look::Later("it has another name elsewhere (a hard link)", Some(wait)));
        }
        if terms.outbox_uid.is_some_and(|uid| uid != meta.uid) {
            let problem =
                Problem::new("hard_link", "the file has another name elsewhere and is not owned by the outbox's owner");
            return Ok(ready(Err(problem.fix("write a file of your own, or remove the other name")), meta));
        }
    }
    if disk::lease(&file) == Lease::Writer {
        patience.forget(dir, name);
        return Ok(Look::Later("a program still holds it open for writing", Some(limits::SWEEP_UNTRUSTED)));
    }
    if meta.size > terms.most {
        return Ok(ready(Err(too_large(meta.size, terms.most)), meta));
    }
    let bytes = read_whole(&mut file, meta.size as usize).doing("read", dir.at(name))?;
    if bytes.len() as u64 != meta.size {
        return Ok(Look::Later("it is being written", Some(limits::STAND_STILL)));
    }
    let whole = if layout::is_lines_file(name) { lines::read(&bytes) } else { lines::one(&bytes) };
    let content = match whole {
        Whole::Yes(content) => content,
        Whole::NotYet(content) => match patience.wait(dir, name, &meta) {
            Some(wait) => return Ok(Look::Later("it is empty or ends too early", Some(wait))),
            None => content,
        },
    };
    patience.forget(dir, name);
    Ok(Look::Ready(Box::new(Ready { content, bytes: meta.size, meta: Some(meta) })))
}

/// Reads a file of known size, and one byte more if there is one: that it has grown then shows in the length. A read of
/// a regular file that comes back short has met its end.
fn read_whole(file: &mut File, size: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; size + 1];
    let mut length = 0;
    while length < size {
        match file.read(&mut bytes[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    bytes.truncate(length);
    Ok(bytes)
}

fn ready(content: Result<Value, Problem>, meta: Meta) -> Look {
    Look::Ready(Box::new(Ready { content: Content::One(content), bytes: meta.size, meta: Some(meta) }))
}

fn look_at_unopenable(dir: &Dir, name: &OsStr, e: crate::error::Error, patience: &mut Patience) -> Result<Look> {
    let refuse = |code, what: &str, fix: &str| {
        let content = Content::One(Err(Problem::new(code, what).fix(fix)));
        Ok(Look::Ready(Box::new(Ready { content, bytes: 0, meta: None })))
    };
    match e.errno() {
        Some(libc::ENOENT) => Ok(Look::Gone),
        Some(libc::ELOOP) => refuse("symlink", "the file is a symbolic link", "write a regular file"),
        Some(libc::ENXIO | libc::EOPNOTSUPP) => {
            refuse("not_a_file", "it is not a regular file", "write a regular file")
        }
        Some(libc::EACCES | libc::EPERM) => {
            let Some(meta) = dir.stat(name)? else { return Ok(Look::Gone) };
            match patience.wait(dir, name, &meta) {
                Some(wait) => Ok(Look::Later("it may not be read (permission denied)", Some(wait))),
                None => refuse("unreadable", "the router may not read the file", "make it readable: chmod a+r"),
            }
        }
        _ => Err(e),
    }
}

fn unfit(meta: &Meta, terms: &Terms) -> Option<Problem> {
    if meta.kind != FileType::RegularFile {
        let what = match meta.kind {
            FileType::Directory => "it is a directory",
            FileType::Fifo => "it is a FIFO",
            _ => "it is not a regular file",
        };
        return Some(Problem::new("not_a_file", what).fix("write a regular file"));
    }
    let owner = terms.owner.filter(|&uid| uid != meta.uid)?;
    let what = format!("the file belongs to user {}, and this agent's files must belong to user {owner}", meta.uid);
    Some(Problem::new("wrong_owner", what).fix("write it as that user, or change `uid` in registry.json"))
}

fn too_large(size: u64, most: u64) -> Problem {
    Problem::new("too_large", format!("the file has {size} bytes, and a message may have {most}"))
        .fix("put the bulk into a file under context/ and name it in `attachments`, or raise `message_bytes` in settings.toml")
}

/// Remembers how files stood that were not ready, and since when they have stood like that.
pub struct Patience {
    stood: HashMap<std::path::PathBuf, (Meta, Instant)>,
    /// What the file system's clock says, for a single pass that can't wait and see.
    now: Option<i128>,
}

impl Patience {
    /// For a router that runs on: by the monotonic clock. For a single pass, by the file system's own clock, given as
    /// the change time of a file just written there.
    pub fn new(now: Option<i128>) -> Patience {
        Patience { stood: HashMap::new(), now }
    }

    // How long to wait until this file has stood still for long enough; None when it has.
    fn wait(&mut self, dir: &Dir, name: &OsStr, meta: &Meta) -> Option<Duration> {
        if let Some(now) = self.now {
            let stood = u64::try_from(now - meta.changed).map_or(Duration::ZERO, Duration::from_nanos);
            return limits::STAND_STILL.checked_sub(stood).filter(|wait| !wait.is_zero());
        }
        let (last, since) = self.stood.entry(dir.at(name)).or_insert_with(|| (*meta, Instant::now()));
        if last != meta {
            (*last, *since) = (*meta, Instant::now());
        }
        limits::STAND_STILL.checked_sub(since.elapsed()).filter(|wait| !wait.is_zero())
    }

    fn forget(&mut self, dir: &Dir, name: &OsStr) {
        if !self.stood.is_empty() {
            self.stood.remove(&dir.at(name));
        }
    }

    /// Forgets files that stopped being waited for.
    pub fn tidy(&mut self) {
        self.stood.retain(|_, (_, since)| since.elapsed() < limits::SWEEP_TRUSTED * 4);
    }
}
