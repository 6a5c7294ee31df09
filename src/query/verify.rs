//! Verifies the log: hash chain, record numbers, complete batches and digests; and that no record is missing that the
//! checkpoint, the routed originals or a kept head refer to.

use super::head::Head;
use crate::base::error::{Error, Problem, Result};
use crate::base::hash::{Hash, hex};
use crate::disk::layout;
use crate::log::state;
use crate::log::{self, Chain, Line};
use crate::message::Message;
use crate::message::record::{Event, Record};
use crate::room::Room;
use crate::router::recover;
use serde::Serialize;
use std::collections::BTreeMap;

/// The contents of a valid log.
#[derive(Debug, Default, Serialize)]
pub struct Verified {
    /// Segments.
    pub segments: usize,
    /// Archived segments among them.
    pub archived: usize,
    /// Lines.
    pub records: u64,
    /// Batches.
    pub batches: u64,
    /// Messages whose digest was checked.
    pub messages: u64,
    /// Lines by event.
    pub events: BTreeMap<&'static str, u64>,
    /// The hash of the last line.
    pub last: String,
    /// A router is writing a batch, which was skipped.
    pub unfinished: bool,
}

/// The first invalid line.
#[derive(Debug)]
struct Bad {
    segment: u32,
    line: u64,
    what: String,
    /// Whether it is the end of the log, which a router may be writing.
    is_end: bool,
    /// Whether the log lost records.
    is_rolled_back: bool,
}

/// Evidence that the log once held a record.
#[derive(Debug, Clone)]
struct Witness {
    seq: u64,
    /// The hash of its line, if known.
    hash: Option<Hash>,
    says: String,
}

/// Verifies the whole log. The first invalid line is the error.
pub fn verify(room: &Room) -> Result<Verified> {
    verify_with_progress(room, None, &mut |_| {})
}

/// As [`verify`], also against a kept head. Calls `progress` after each line with the bytes read so far.
pub fn verify_with_progress(room: &Room, kept: Option<&Head>, progress: &mut dyn FnMut(u64)) -> Result<Verified> {
    // Collected before reading the log, because a router may be writing to it.
    let witnesses = witnesses(room, kept)?;
    // A batch that is being written looks like a truncated one. A second read tells them apart.
    let first = read(room, &witnesses, progress)?.filter_end(room)?;
    match first {
        Some(verified) => Ok(verified),
        None => read(room, &witnesses, progress)?.verified.map_err(|bad| refused(room, &bad)),
    }
}

/// The result, and the valid part before an incomplete end.
struct Found {
    verified: Result<Verified, Bad>,
    before: Verified,
}

impl Found {
    /// The final result; `None` if the log has to be read again.
    fn filter_end(self, room: &Room) -> Result<Option<Verified>> {
        match self.verified {
            Ok(verified) => Ok(Some(verified)),
            Err(bad) if !bad.is_end => Err(refused(room, &bad)),
            Err(_) if room.holder()?.is_some() => Ok(Some(Verified { unfinished: true, ..self.before })),
            Err(_) => Ok(None),
        }
    }
}

fn witnesses(room: &Room, kept: Option<&Head>) -> Result<Vec<Witness>> {
    let mut witnesses = Vec::new();
    let id = room.id()?;
    if let Some(head) = kept {
        if id.as_ref() != Some(&head.room) {
            let is = id.as_deref().unwrap_or("nothing");
            let problem =
                Problem::new("other_room", format!("the head is of room {}, and this room is {is}", head.room));
            return Err(Error::Rejected(vec![problem.fix("select the room with --room, or pass a head of this room")]));
        }
        let says = "the given head refers to it".into();
        witnesses.push(Witness { seq: head.seq, hash: head.hash(), says });
    }
    if let Some((seq, path)) = recover::last_retired(&room.dir)? {
        witnesses.push(Witness { seq, hash: None, says: format!("{} was made from it", path.display()) });
    }
    if let Some(state) = state::saved(&room.dir).filter(|state| state.room == id && state.seq > 0) {
        let says = format!("{} was made from it", layout::CHECKPOINT);
        witnesses.push(Witness { seq: state.seq, hash: Some(state.prev), says });
    }
    Ok(witnesses)
}

fn read(room: &Room, witnesses: &[Witness], progress: &mut dyn FnMut(u64)) -> Result<Found> {
    let mut read = 0;
    let mut verifier = Verifier {
        room: room.id()?,
        witnesses,
        verified: Verified::default(),
        chain: Chain::start(),
        segment: 0,
        line: 0,
    };
    let (segments, live) = (log::segments(&room.dir)?, log::live(&room.dir)?);
    verifier.verified.segments = segments.len();
    verifier.verified.archived = segments.iter().filter(|&number| live.binary_search(number).is_err()).count();
    for line in log::read_whole(&room.dir)? {
        let line = line?;
        read += line.bytes.len() as u64;
        progress(read);
        verifier.place(&line);
        if let Err(what) = verifier.take(&line) {
            let bad = verifier.bad(what, !line.bytes.ends_with(b"\n"));
            return Ok(Found { verified: Err(bad), before: verifier.verified });
        }
    }
    verifier.verified.last = hex(&verifier.chain.hash());
    if !verifier.chain.is_complete() {
        let bad = verifier
            .bad(format!("the last batch is incomplete: {} records are missing", verifier.chain.missing()), true);
        return Ok(Found { verified: Err(bad), before: verifier.verified });
    }
    let records = verifier.verified.records;
    if let Some(witness) = witnesses.iter().find(|witness| witness.seq > records) {
        let what = format!("the log ends at record {records} but once held record {}: {}", witness.seq, witness.says);
        let bad = Bad { is_rolled_back: true, ..verifier.bad(what, false) };
        return Ok(Found { verified: Err(bad), before: verifier.verified });
    }
    Ok(Found { verified: Ok(verifier.verified), before: Verified::default() })
}

struct Verifier<'a> {
    room: Option<String>,
    witnesses: &'a [Witness],
    verified: Verified,
    chain: Chain,
    segment: u32,
    line: u64,
}

impl Verifier<'_> {
    fn place(&mut self, line: &Line) {
        self.line = if self.segment == line.at.segment { self.line + 1 } else { 1 };
        self.segment = line.at.segment;
    }

    fn take(&mut self, line: &Line) -> Result<(), String> {
        let record = self.chain.take(line)?;
        self.check_room(&record)?;
        self.check_digest(&record)?;
        let of_this = self.witnesses.iter().filter(|witness| witness.seq == record.seq);
        if let Some(other) =
            of_this.into_iter().find(|witness| witness.hash.is_some_and(|hash| hash != self.chain.hash()))
        {
            return Err(format!("record {} differs from the one that the log once held: {}", record.seq, other.says));
        }
        (self.verified.records, self.verified.batches) = (self.chain.seq(), self.chain.batch());
        *self.verified.events.entry(record.event.as_str()).or_default() += 1;
        Ok(())
    }

    fn check_room(&self, record: &Record) -> Result<(), String> {
        let first = self.verified.records == 0;
        match (record.event == Event::Room, first) {
            (true, true) if record.room != self.room => {
                Err(format!("the log belongs to room {:?}, but spool/room says {:?}", record.room, self.room))
            }
            (true, false) => Err("a room record in the middle of the log".into()),
            (false, true) => Err("the log does not begin with a room record".into()),
            _ => Ok(()),
        }
    }

    fn check_digest(&mut self, record: &Record) -> Result<(), String> {
        let (Some(digest), Some(text)) = (&record.digest, &record.message) else { return Ok(()) };
        let fields = serde_json::from_str(text.get()).map_err(|e| format!("cannot parse its message: {e}"))?;
        let message = Message::from_fields(fields).ok_or("its message lacks id, from or type")?;
        let real = message.digest();
        if real != *digest {
            return Err(format!("wrong digest {}, the message has {}", hex(digest), hex(&real)));
        }
        if record.id.as_deref().is_some_and(|id| id != message.id()) {
            return Err("its id differs from the id of its message".into());
        }
        self.verified.messages += 1;
        Ok(())
    }

    fn bad(&self, what: String, is_end: bool) -> Bad {
        Bad { segment: self.segment, line: self.line, what, is_end, is_rolled_back: false }
    }
}

fn refused(room: &Room, bad: &Bad) -> Error {
    if bad.is_rolled_back {
        let fix = "restore log/ from a backup that has the record; if the file came from another room, move it away";
        return Error::Rejected(vec![Problem::new("rolled_back", &bad.what).at(layout::LOG).fix(fix)]);
    }
    let path = log::path(&room.dir, bad.segment);
    let place = format!("{} line {}", path.strip_prefix(room.dir.path()).unwrap_or(&path).display(), bad.line);
    let fix =
        "restore the segment from a backup; after a crash, the next pass moves an incomplete last batch to quarantine";
    Error::Rejected(vec![Problem::new("bad_log", &bad.what).at(place).fix(fix)])
}
