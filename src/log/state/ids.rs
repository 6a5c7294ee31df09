//! An index from (sender, id) to a position in the log. It has 16 bytes per entry, so that a million entries are small.

use super::State;
use crate::base::hash::Hasher;
use crate::log::Position;
use crate::message::record::{Event, Record};
use std::collections::HashMap;

/// Maps the hash of (sender, id) to the record's position. Two pairs with the same hash use neighbouring keys, so a
/// caller must compare the record itself.
#[derive(Debug, Clone, Default)]
pub struct Ids(HashMap<u64, u64>);

impl Ids {
    /// Stores the position of the record of (sender, id).
    pub fn insert(&mut self, sender: &str, id: &str, at: Position) {
        let mut key = key(sender, id);
        while self.0.contains_key(&key) {
            key = key.wrapping_add(1);
        }
        self.0.insert(key, pack(at));
    }

    /// The positions of records that may match (sender, id); usually none.
    pub fn places<'a>(
        &'a self,
        sender: &str,
        id: &str,
    ) -> impl Iterator<Item = Position> + use<'a> {
        let first = key(sender, id);
        (0..)
            .map_while(move |step| self.0.get(&first.wrapping_add(step)))
            .map(|&place| unpack(place))
    }

    /// Stores the position of a record: by the id of its message, and an accepted retry by its rejection.
    pub(super) fn add(&mut self, record: &Record, at: Position) {
        let Some(from) = record
            .from
            .as_ref()
            .filter(|_| record.event != Event::Duplicate)
        else {
            return;
        };
        if let Some(id) = &record.id {
            self.insert(from, id, at);
        }
        if let Some(rejection) = record.retries.filter(|_| record.event == Event::Accepted) {
            self.insert(from, &retry_key(rejection, record.line), at);
        }
    }

    /// The positions of records that may be the accepted retry of a rejection.
    pub fn retries<'a>(
        &'a self,
        sender: &str,
        rejection: u64,
        line: Option<u32>,
    ) -> impl Iterator<Item = Position> + use<'a> {
        self.places(sender, &retry_key(rejection, line))
    }

    /// Removes the entries whose segments are not in this list. An entry with a neighbour stays, because the neighbour
    /// may be found through it.
    pub fn forget_all_but(&mut self, segments: &[u32]) {
        let is_old = |place: u64| segments.binary_search(&unpack(place).segment).is_err();
        let old = self
            .0
            .iter()
            .filter(|&(key, &place)| is_old(place) && !self.0.contains_key(&key.wrapping_add(1)));
        let mut old: Vec<u64> = old.map(|(&key, _)| key).collect();
        old.sort_unstable();
        self.0.retain(|key, _| old.binary_search(key).is_err());
        self.0.shrink_to_fit();
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Is the index empty?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All entries as 16 bytes each, in no order.
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.0
            .iter()
            .flat_map(|(key, place)| [key.to_le_bytes(), place.to_le_bytes()])
            .flatten()
            .collect()
    }

    /// Reads the output of [`Ids::bytes`].
    pub(super) fn from_bytes(bytes: &[u8]) -> Ids {
        let number = |half: &[u8]| {
            half.iter()
                .rev()
                .fold(0u64, |n, &byte| n << 8 | u64::from(byte))
        };
        Ids(bytes
            .chunks_exact(16)
            .map(|entry| (number(&entry[..8]), number(&entry[8..])))
            .collect())
    }
}

/// No message has an id with this character.
fn retry_key(rejection: u64, line: Option<u32>) -> String {
    format!("~{rejection}~{}", line.unwrap_or_default())
}

// A hash with collisions that are expensive to find, and with the same value in every build.
fn key(sender: &str, id: &str) -> u64 {
    let mut hasher = Hasher::default();
    hasher.update(sender);
    hasher.update([0]);
    hasher.update(id);
    hasher
        .finish()
        .iter()
        .take(8)
        .fold(0, |n, &byte| n << 8 | u64::from(byte))
}

fn pack(at: Position) -> u64 {
    u64::from(at.segment) << 32 | at.offset & 0xffff_ffff
}

fn unpack(place: u64) -> Position {
    Position {
        segment: (place >> 32) as u32,
        offset: place & 0xffff_ffff,
    }
}

impl State {
    /// Removes the ids of archived segments from the index.
    pub fn forget_archived_ids(
        &mut self,
        room: &crate::disk::Dir,
    ) -> crate::base::error::Result<()> {
        let live = crate::log::live(room)?;
        if live.first() != Some(&1) || live.windows(2).any(|pair| pair[0] + 1 != pair[1]) {
            self.ids.forget_all_but(&live);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_archived_segments_are_forgotten_and_the_others_are_not() {
        let mut ids = Ids::default();
        for n in 0..100u64 {
            ids.insert(
                "alice",
                &n.to_string(),
                Position {
                    segment: 1 + (n / 50) as u32,
                    offset: n,
                },
            );
        }
        // The same hash again: its position is found through the first one's key.
        ids.insert(
            "alice",
            "7",
            Position {
                segment: 2,
                offset: 700,
            },
        );
        ids.forget_all_but(&[2, 3]);
        assert_eq!((ids.len(), ids.places("alice", "3").count()), (52, 0));
        assert_eq!(
            ids.places("alice", "7").last(),
            Some(Position {
                segment: 2,
                offset: 700
            })
        );
        assert_eq!(
            ids.places("alice", "99").next(),
            Some(Position {
                segment: 2,
                offset: 99
            })
        );
    }

    #[test]
    fn a_million_ids_come_back_from_their_bytes() {
        let mut ids = Ids::default();
        for n in 0..1000u64 {
            ids.insert(
                "alice",
                &n.to_string(),
                Position {
                    segment: 3,
                    offset: n * 700,
                },
            );
        }
        let again = Ids::from_bytes(&ids.bytes());
        assert_eq!(
            again.places("alice", "999").next(),
            Some(Position {
                segment: 3,
                offset: 999 * 700
            })
        );
        assert_eq!(again.places("alicf", "999").next(), None);
    }
}
