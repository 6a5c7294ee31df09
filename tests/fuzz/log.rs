//! Fuzz target: a torn, edited or forged log. Reading never panics, and never silently loses an
//! earlier complete batch: the result begins with every unchanged batch, or is an error.

use super::place::Place;
use mailbag::base::error::Error;
use mailbag::base::hash::{NO_HASH, hash, hex};
use mailbag::log::state::{ReplayedLog, replay};
use mailbag::message::record::Record;
use mailbag::query::verify;
use mailbag::router::daemon;
use serde_json::{Value, json};
use std::fs;
use std::sync::LazyLock;

/// A real log of three batches.
const LOG: &[u8] = include_bytes!("../../fixtures/rooms/v1/log/00000001.ndjson");
const ROOM: &[u8] = include_bytes!("../../fixtures/rooms/v1/spool/room");
const REGISTRY: &str = include_str!("../../fixtures/rooms/v1/registry.json");
/// Where each batch of it ends.
static ENDS: LazyLock<Vec<usize>> = LazyLock::new(batch_ends);

fn batch_ends() -> Vec<usize> {
    let (mut ends, mut at) = (Vec::new(), 0);
    for line in LOG.split_inclusive(|byte| *byte == b'\n') {
        let record: Record = serde_json::from_slice(line).expect("a record");
        at += line.len();
        if record.count.is_some() {
            ends.push(at);
        }
    }
    assert_eq!((ends.len(), ends.last()), (3, Some(&LOG.len())));
    ends
}

/// The first byte selects the construction of the log. The rest is edits of the real log, or the
/// log itself.
pub(crate) fn run(bytes: &[u8]) {
    let Some((&how, rest)) = bytes.split_first() else {
        return;
    };
    let mut log = if how & 1 == 0 {
        edited(rest)
    } else {
        rest.to_vec()
    };
    let forged = how & 2 != 0;
    if forged {
        log = chained(&log, how & 4 != 0);
    }
    let whole = log.clone();
    let place = Place::new(REGISTRY);
    fs::write(place.path("spool/room"), ROOM).expect("a file");
    if how & 8 != 0 {
        let middle = log
            .iter()
            .skip(log.len() / 2)
            .position(|byte| *byte == b'\n');
        let second = log.split_off(middle.map_or(log.len(), |at| log.len() / 2 + at + 1));
        fs::write(place.path("log/00000002.ndjson"), second).expect("a file");
    }
    fs::write(place.path("log/00000001.ndjson"), log).expect("a file");
    holds(&place, &whole);
}

fn holds(place: &Place, log: &[u8]) {
    let room = place.room();
    let same = log.iter().zip(LOG).take_while(|(a, b)| a == b).count();
    let untouched = ENDS.iter().filter(|end| **end <= same).count() as u64;
    let read = replay(&room.dir);
    let verified = verify::verify(&room);
    match &read {
        Ok(ReplayedLog { state, damage, .. }) => {
            assert!(
                state.batch >= untouched,
                "{} of {untouched} untouched batches",
                state.batch
            );
            assert!(
                verified.is_err() || damage.is_none(),
                "verified, though damaged: {damage:?}"
            );
            if log == LOG {
                assert!(
                    damage.is_none() && verified.is_ok() && state.batch == 3,
                    "{damage:?} {verified:?}"
                );
            }
            if damage.is_some() {
                let later = log
                    .split_inclusive(|byte| *byte == b'\n')
                    .filter(|line| is_later(line, state.batch + 1));
                assert_eq!(
                    later.count(),
                    0,
                    "batches behind {} were passed over: {damage:?}",
                    state.batch
                );
            }
        }
        Err(Error::State { what, fix, .. }) => assert!(!what.is_empty() && !fix.is_empty()),
        Err(e) => panic!("no error of state: {e:?}"),
    }
    // A router starts from it or reports an error; the remaining log is valid.
    if daemon::pass(&room).is_ok() {
        let again = replay(&room.dir).expect("what a router left can be read");
        assert!(
            again.damage.is_none() && again.state.batch >= untouched,
            "{:?} {}",
            again.damage,
            again.state.batch
        );
        assert!(read.is_ok(), "routed on from {:?}", read.err());
    }
}

fn is_later(line: &[u8], than: u64) -> bool {
    serde_json::from_slice::<Record>(line).is_ok_and(|record| record.batch > than)
}

/// Doubled again and again, it would be the edits that take time and memory.
const LARGEST: usize = 64 << 10;

/// The real log after edits. An edit has four bytes: one for its kind, two for the place, one for
/// the amount.
fn edited(mut edits: &[u8]) -> Vec<u8> {
    let mut log = LOG.to_vec();
    while let [kind, high, low, much, rest @ ..] = edits {
        edits = rest;
        if log.len() > LARGEST {
            break;
        }
        let at = usize::from(u16::from_be_bytes([*high, *low])) % (log.len() + 1);
        let end = (at + usize::from(*much)).min(log.len());
        match kind % 6 {
            0 => log[at..].iter_mut().take(1).for_each(|byte| *byte ^= much),
            1 => log.truncate(at),
            2 => drop(log.drain(at..end)),
            3 => {
                let (new, rest) = edits.split_at(usize::from(*much).min(edits.len()));
                edits = rest;
                drop(log.splice(at..at, new.iter().copied()));
            }
            4 => {
                log = lines(&log, |lines| {
                    lines.insert(
                        usize::from(*low) % (lines.len() + 1),
                        lines[usize::from(*much) % lines.len()],
                    )
                })
            }
            _ => {
                log = lines(&log, |lines| {
                    _ = lines.remove(usize::from(*much) % lines.len())
                })
            }
        }
    }
    log
}

fn lines(log: &[u8], edit: impl FnOnce(&mut Vec<&[u8]>)) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = log.split_inclusive(|byte| *byte == b'\n').collect();
    if !lines.is_empty() {
        edit(&mut lines);
    }
    lines.concat()
}

/// The lines with a new chain, so that the parser reaches their content. A process that can write
/// the log can do this.
fn chained(log: &[u8], numbered: bool) -> Vec<u8> {
    let (mut chained, mut prev) = (Vec::new(), NO_HASH);
    for (n, line) in log
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .enumerate()
    {
        let mut line = match serde_json::from_slice(line) {
            Ok(Value::Object(mut record)) => {
                record.insert("prev".into(), hex(&prev).into());
                if numbered {
                    record.insert("seq".into(), json!(n + 1));
                }
                serde_json::to_vec(&record).expect("JSON prints")
            }
            _ => line.to_vec(),
        };
        line.push(b'\n');
        prev = hash(&line);
        chained.extend(line);
    }
    chained
}
