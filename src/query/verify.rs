//! Verifies the log: hash chain, record numbers, complete batches and digests; and that no record is missing that the
//! router's files, the routed originals, the delivered copies or a kept head show.

use super::head::LogHead;
use crate::base::error::{Error, Problem, Result};
use crate::base::hash::hex;
use crate::disk::layout;
use crate::log::{self, LogChain, RawLogLine};
use crate::message::Message;
use crate::message::record::{Event, EventKind, MessageName, Record};
use crate::room::Room;
use crate::router::recover::evidence::{self, EvidenceFile};
use serde::Serialize;
use std::collections::BTreeMap;

/// The contents of a valid log.
#[derive(Debug, Default, Serialize)]
pub struct VerifiedLog {
    /// Segments.
    pub segments: usize,
    /// Archived segments among them.
    pub archived: usize,
    /// Lines.
    pub records: u64,
    /// Batches.
    pub batches: u64,
    /// Number of messages with a checked digest.
    pub messages: u64,
    /// Lines by event.
    pub events: BTreeMap<&'static str, u64>,
    /// Lost records that a person gave up.
    pub gaps: Vec<VerifiedGap>,
    /// The hash of the last line.
    pub last: String,
    /// A router is writing a batch, which was skipped.
    pub unfinished: bool,
}

/// An accepted gap.
#[derive(Debug, Serialize)]
pub struct VerifiedGap {
    /// The first lost record.
    pub from: u64,
    /// The last lost record.
    pub to: u64,
    /// The record that accepts the gap.
    pub seq: u64,
    /// When it was accepted.
    pub at: String,
}

/// The first invalid line.
#[derive(Debug)]
struct InvalidLine {
    segment: u32,
    line: u64,
    what: String,
    /// Whether it is the end of the log, which a router may be writing.
    is_end: bool,
    /// Whether the log lost records.
    is_rolled_back: bool,
}

/// Verifies the whole log. The first invalid line is the error.
pub fn verify(room: &Room) -> Result<VerifiedLog> {
    verify_with_progress(room, None, &mut |_| {})
}

/// As [`verify`], also against a kept head. Calls `progress` after each line with the bytes read so far.
pub fn verify_with_progress(
    room: &Room,
    kept: Option<&LogHead>,
    progress: &mut dyn FnMut(u64),
) -> Result<VerifiedLog> {
    // Collected before reading the log, because a router may be writing to it.
    let witnesses = witnesses(room, kept)?;
    // A batch that is being written looks like a truncated one. A second read shows the difference.
    let first = read(room, &witnesses, progress)?.filter_end(room)?;
    match first {
        Some(verified) => Ok(verified),
        None => read(room, &witnesses, progress)?
            .verified
            .map_err(|bad| refused(room, &bad)),
    }
}

/// The result, and the valid part before an incomplete end.
struct VerificationOutcome {
    verified: Result<VerifiedLog, InvalidLine>,
    before: VerifiedLog,
}

impl VerificationOutcome {
    /// The final result; `None` if the log has to be read again.
    fn filter_end(self, room: &Room) -> Result<Option<VerifiedLog>> {
        match self.verified {
            Ok(verified) => Ok(Some(verified)),
            Err(bad) if !bad.is_end => Err(refused(room, &bad)),
            Err(_) if room.running_router()?.is_some() => Ok(Some(VerifiedLog {
                unfinished: true,
                ..self.before
            })),
            Err(_) => Ok(None),
        }
    }
}

fn witnesses(room: &Room, kept: Option<&LogHead>) -> Result<Vec<EvidenceFile>> {
    let mut witnesses = evidence::newest(room)?;
    if let Some(head) = kept {
        let id = room.id()?;
        if id.as_ref() != Some(&head.room) {
            let is = id.as_deref().unwrap_or("nothing");
            let problem = Problem::new(
                "other_room",
                format!("the head is of room {}, and this room is {is}", head.room),
            );
            return Err(Error::Rejected(vec![
                problem.fix("select the room with --room, or pass a head of this room"),
            ]));
        }
        witnesses.push(EvidenceFile {
            file: "the given head".into(),
            seq: head.seq,
            hash: head.hash(),
        });
    }
    Ok(witnesses)
}

fn read(
    room: &Room,
    witnesses: &[EvidenceFile],
    progress: &mut dyn FnMut(u64),
) -> Result<VerificationOutcome> {
    let mut read = 0;
    let mut verifier = Verifier {
        room: room.id()?,
        witnesses,
        verified: VerifiedLog::default(),
        chain: LogChain::start(),
        differs: Vec::new(),
        segment: 0,
        line: 0,
    };
    let (segments, live) = (log::segments(&room.dir)?, log::live(&room.dir)?);
    verifier.verified.segments = segments.len();
    verifier.verified.archived = segments
        .iter()
        .filter(|&number| live.binary_search(number).is_err())
        .count();
    for line in log::read_whole(&room.dir)? {
        let line = line?;
        read += line.bytes.len() as u64;
        progress(read);
        verifier.place(&line);
        if let Err(what) = verifier.take(&line) {
            let bad = if line.bytes.ends_with(b"\n") {
                verifier.bad(what, false)
            } else {
                verifier.incomplete_end(what)
            };
            return Ok(VerificationOutcome {
                verified: Err(bad),
                before: verifier.verified,
            });
        }
    }
    verifier.verified.last = hex(&verifier.chain.hash());
    if !verifier.chain.is_complete() {
        let bad = verifier.incomplete_end("the last batch is incomplete".into());
        return Ok(VerificationOutcome {
            verified: Err(bad),
            before: verifier.verified,
        });
    }
    if let Some(bad) = verifier.find_loss() {
        return Ok(VerificationOutcome {
            verified: Err(bad),
            before: verifier.verified,
        });
    }
    Ok(VerificationOutcome {
        verified: Ok(verifier.verified),
        before: VerifiedLog::default(),
    })
}

struct Verifier<'a> {
    room: Option<String>,
    witnesses: &'a [EvidenceFile],
    verified: VerifiedLog,
    chain: LogChain,
    /// Records that differ from earlier records with the same numbers, in the order of the log.
    differs: Vec<(u64, InvalidLine)>,
    segment: u32,
    line: u64,
}

impl Verifier<'_> {
    fn place(&mut self, line: &RawLogLine) {
        self.line = if self.segment == line.at.segment {
            self.line + 1
        } else {
            1
        };
        self.segment = line.at.segment;
    }

    fn take(&mut self, line: &RawLogLine) -> Result<(), String> {
        let record = self.chain.take(line)?;
        self.check_room(&record)?;
        self.check_digest(&record)?;
        let of_this = self
            .witnesses
            .iter()
            .filter(|witness| witness.seq == record.seq);
        if let Some(other) = of_this
            .into_iter()
            .find(|one| one.hash.is_some_and(|hash| hash != self.chain.hash()))
        {
            let what = format!(
                "record {} differs from the hash in {}",
                record.seq,
                other.file.display()
            );
            self.differs.push((record.seq, self.bad(what, false)));
        }
        if let Event::Gap { gap, .. } = &record.event {
            let (from, to, seq, at) = (gap.from, gap.to, record.seq, record.at.clone());
            self.verified.gaps.push(VerifiedGap { from, to, seq, at });
        }
        self.verified.records += 1;
        self.verified.batches = self.chain.batch();
        *self
            .verified
            .events
            .entry(record.kind().as_str())
            .or_default() += 1;
        Ok(())
    }

    /// The first record that was lost or changed without a person's consent.
    fn find_loss(&mut self) -> Option<InvalidLine> {
        let gaps = &self.verified.gaps;
        let is_accepted = |seq: &u64| gaps.iter().any(|gap| (gap.from..=gap.to).contains(seq));
        if let Some(n) = self.differs.iter().position(|(seq, _)| !is_accepted(seq)) {
            return Some(self.differs.swap_remove(n).1);
        }
        let last = self.chain.seq();
        let lost: Vec<EvidenceFile> = self
            .witnesses
            .iter()
            .filter(|witness| witness.seq > last)
            .cloned()
            .collect();
        if lost.is_empty() {
            return None;
        }
        let what = format!(
            "the log ends at record {last}, but {}",
            evidence::describe(&lost, last)
        );
        Some(InvalidLine {
            is_rolled_back: true,
            ..self.bad(what, false)
        })
    }

    /// The problem of an incomplete end. The log has lost records if the room shows a later one.
    fn incomplete_end(&mut self, what: String) -> InvalidLine {
        match self.find_loss() {
            Some(loss) => InvalidLine {
                what: format!("{what}, and {}", loss.what),
                ..loss
            },
            None => self.bad(what, true),
        }
    }

    fn check_room(&self, record: &Record) -> Result<(), String> {
        let first = self.verified.records == 0;
        match (record.kind() == EventKind::Room, first) {
            (true, true) => match &record.event {
                Event::Room { room } if *room != self.room => Err(format!(
                    "the log belongs to room {room:?}, but spool/room says {:?}",
                    self.room
                )),
                _ => Ok(()),
            },
            (true, false) => Err("a room record in the middle of the log".into()),
            (false, true) => Err("the log does not begin with a room record".into()),
            _ => Ok(()),
        }
    }

    fn check_digest(&mut self, record: &Record) -> Result<(), String> {
        let (Some(MessageName { id, digest, .. }), Some(text)) = (record.name(), record.message())
        else {
            return Ok(());
        };
        let fields = serde_json::from_str(text.get())
            .map_err(|e| format!("cannot parse its message: {e}"))?;
        let message = Message::from_fields(fields).ok_or("its message lacks id, from or type")?;
        let real = message.digest();
        if real != *digest {
            return Err(format!(
                "wrong digest {}, the message has {}",
                hex(digest),
                hex(&real)
            ));
        }
        if id != message.id() {
            return Err("its id differs from the id of its message".into());
        }
        self.verified.messages += 1;
        Ok(())
    }

    fn bad(&self, what: String, is_end: bool) -> InvalidLine {
        InvalidLine {
            segment: self.segment,
            line: self.line,
            what,
            is_end,
            is_rolled_back: false,
        }
    }
}

fn refused(room: &Room, bad: &InvalidLine) -> Error {
    if bad.is_rolled_back {
        let fix = "restore log/ from a backup that has these records; if a file is from another room, move it away; to \
                   give the records up, run `mailbag log accept-gap`";
        return Error::Rejected(vec![
            Problem::new("rolled_back", &bad.what)
                .at(layout::LOG)
                .fix(fix),
        ]);
    }
    let path = log::path(&room.dir, bad.segment);
    let place = format!(
        "{} line {}",
        path.strip_prefix(room.dir.path())
            .unwrap_or(&path)
            .display(),
        bad.line
    );
    let fix = "restore the segment from a backup; after a crash, the next pass cuts an incomplete last batch off";
    Error::Rejected(vec![Problem::new("bad_log", &bad.what).at(place).fix(fix)])
}
