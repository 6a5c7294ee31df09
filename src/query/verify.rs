//! Verifying the log: every line chained to the one before, numbered, in whole batches, and with digests that fit; and that
//! it holds what the checkpoint, the routed originals and a kept head say that it held.

use super::head::Head;
use crate::base::error::{Error, Problem, Result};
use crate::disk::layout;
use crate::log;
use crate::log::Line;
use crate::log::state::{self, check_line};
use crate::message::Message;
use crate::message::record::{Event, Hash, NO_HASH, Record, hex};
use crate::room::Room;
use crate::router::recover;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a whole log holds.
#[derive(Debug, Default, Serialize)]
pub struct Verified {
    /// Segments.
    pub segments: usize,
    /// How many of them are archived.
    pub archived: usize,
    /// Lines.
    pub records: u64,
    /// Batches.
    pub batches: u64,
    /// Messages whose digest was worked out again.
    pub messages: u64,
    /// Lines by event.
    pub events: BTreeMap<&'static str, u64>,
    /// The hash of the last line.
    pub last: String,
    /// A router runs, and the batch that it is writing was left out.
    pub unfinished: bool,
}

/// The first line that is wrong.
#[derive(Debug)]
struct Bad {
    segment: u32,
    line: u64,
    what: String,
    /// Is it the end of the log, which somebody may just be writing?
    is_end: bool,
    /// Does the log lack what it held?
    is_rolled_back: bool,
}

/// Something that says of a record that the log held it.
#[derive(Debug, Clone)]
struct Witness {
    seq: u64,
    /// The hash of its line, where that is known.
    hash: Option<Hash>,
    says: String,
}

/// Reads the whole log. The first bad line is the error.
pub fn verify(room: &Room) -> Result<Verified> {
    verify_telling(room, None, &mut |_| {})
}

/// As [`verify`], also against a head that was kept, and tells after each line how many bytes were read.
pub fn verify_telling(room: &Room, kept: Option<&Head>, told: &mut dyn FnMut(u64)) -> Result<Verified> {
    // Looked at before the log, which a router may go on writing.
    let witnesses = witnesses(room, kept)?;
    // A batch that is just being written looks like one that was cut short; once more shows which it is.
    let first = read(room, &witnesses, told)?.filter_end(room)?;
    match first {
        Some(verified) => Ok(verified),
        None => read(room, &witnesses, told)?.verified.map_err(|bad| refused(room, &bad)),
    }
}

/// What was found, and what came before the end that is not whole.
struct Found {
    verified: Result<Verified, Bad>,
    before: Verified,
}

impl Found {
    /// What is known for sure; `None` if it has to be read again.
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
            return Err(Error::Refused(vec![problem.fix("name the room with --room, or give the head of this one")]));
        }
        let says = "the head that you gave names it".into();
        witnesses.push(Witness { seq: head.seq, hash: head.hash(), says });
    }
    if let Some((seq, path)) = recover::last_retired(&room.dir)? {
        witnesses.push(Witness { seq, hash: None, says: format!("{} follows from it", path.display()) });
    }
    if let Some(state) = state::saved(&room.dir).filter(|state| state.room == id && state.seq > 0) {
        let says = format!("{} was made from it", layout::CHECKPOINT);
        witnesses.push(Witness { seq: state.seq, hash: Some(state.prev), says });
    }
    Ok(witnesses)
}

fn read(room: &Room, witnesses: &[Witness], told: &mut dyn FnMut(u64)) -> Result<Found> {
    let mut read = 0;
    let mut verifier = Verifier { room: room.id()?, witnesses, ..Verifier::default() };
    let (segments, live) = (log::segments(&room.dir)?, log::live(&room.dir)?);
    verifier.verified.segments = segments.len();
    verifier.verified.archived = segments.iter().filter(|&number| live.binary_search(number).is_err()).count();
    for line in log::read_whole(&room.dir)? {
        let line = line?;
        read += line.bytes.len() as u64;
        told(read);
        verifier.place(&line);
        if let Err(what) = verifier.take(&line) {
            let bad = verifier.bad(what, !line.bytes.ends_with(b"\n"));
            return Ok(Found { verified: Err(bad), before: verifier.verified });
        }
    }
    verifier.verified.last = hex(&verifier.before);
    if verifier.missing > 0 {
        let bad = verifier.bad(format!("the last batch lacks {} of its records", verifier.missing), true);
        return Ok(Found { verified: Err(bad), before: verifier.verified });
    }
    let records = verifier.verified.records;
    if let Some(witness) = witnesses.iter().find(|witness| witness.seq > records) {
        let what = format!("the log ends with record {records} and held record {}: {}", witness.seq, witness.says);
        let bad = Bad { is_rolled_back: true, ..verifier.bad(what, false) };
        return Ok(Found { verified: Err(bad), before: verifier.verified });
    }
    Ok(Found { verified: Ok(verifier.verified), before: Verified::default() })
}

#[derive(Default)]
struct Verifier<'a> {
    room: Option<String>,
    witnesses: &'a [Witness],
    verified: Verified,
    before: Hash,
    segment: u32,
    line: u64,
    /// How many records the batch still lacks.
    missing: u32,
}

impl Verifier<'_> {
    fn place(&mut self, line: &Line) {
        self.line = if self.segment == line.at.segment { self.line + 1 } else { 1 };
        self.segment = line.at.segment;
    }

    fn take(&mut self, line: &Line) -> Result<(), String> {
        let before = if self.verified.records == 0 { NO_HASH } else { self.before };
        let record = check_line(line, before, self.verified.records + 1)?;
        self.check_batch(&record)?;
        self.check_room(&record)?;
        self.check_digest(&record)?;
        self.before = line.hash();
        let of_this = self.witnesses.iter().filter(|witness| witness.seq == record.seq);
        if let Some(other) = of_this.into_iter().find(|witness| witness.hash.is_some_and(|hash| hash != self.before)) {
            return Err(format!("it is not the record {} that the log held: {}", record.seq, other.says));
        }
        self.verified.records += 1;
        *self.verified.events.entry(record.event.as_str()).or_default() += 1;
        Ok(())
    }

    fn check_batch(&mut self, record: &Record) -> Result<(), String> {
        let begins = self.missing == 0;
        let number = self.verified.batches + u64::from(begins);
        match record.count {
            _ if record.batch != number => {
                return Err(format!("its batch is {}, and {number} was to follow", record.batch));
            }
            Some(count) if begins && count > 0 => self.missing = count,
            None if !begins => {}
            Some(_) if !begins => return Err("a batch begins before the last one is whole".into()),
            _ => return Err("it begins a batch without saying of how many records".into()),
        }
        self.missing -= 1;
        self.verified.batches = number;
        Ok(())
    }

    fn check_room(&self, record: &Record) -> Result<(), String> {
        let first = self.verified.records == 0;
        match (record.event == Event::Room, first) {
            (true, true) if record.room != self.room => {
                Err(format!("it is the log of another room: {:?}, and spool/room says {:?}", record.room, self.room))
            }
            (true, false) => Err("a log begins in the middle of a log".into()),
            (false, true) => Err("the log doesn't begin with the record of its room".into()),
            _ => Ok(()),
        }
    }

    fn check_digest(&mut self, record: &Record) -> Result<(), String> {
        let (Some(digest), Some(text)) = (&record.digest, &record.message) else { return Ok(()) };
        let fields = serde_json::from_str(text.get()).map_err(|e| format!("its message can't be read: {e}"))?;
        let message = Message::from_fields(fields).ok_or("its message lacks id, from or type")?;
        let real = message.digest();
        if real != *digest {
            return Err(format!("the digest doesn't fit: it says {}, the message has {}", hex(digest), hex(&real)));
        }
        if record.id.as_deref().is_some_and(|id| id != message.id()) {
            return Err("its id is not that of its message".into());
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
        let fix = "restore log/ from a copy that holds it; a file that came from another room, move away";
        return Error::Refused(vec![Problem::new("rolled_back", &bad.what).at(layout::LOG).fix(fix)]);
    }
    let path = log::path(&room.dir, bad.segment);
    let place = format!("{} line {}", path.strip_prefix(room.dir.path()).unwrap_or(&path).display(), bad.line);
    let fix = "restore the segment from a copy; if it is the last batch after a crash, the next pass sets it aside";
    Error::Refused(vec![Problem::new("bad_log", &bad.what).at(place).fix(fix)])
}
