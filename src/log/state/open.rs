//! Open records: committed, but their copies or picked-up files may still have to be moved.

use super::RoomState;
use crate::base::clock::Stamp;
use crate::disk::layout;
use crate::message::id;
use crate::message::record::{EventKind, RecipientGroup, RouterAction};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A committed record with copies or a picked-up file that may still have to be moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenRecord {
    /// The record's number.
    pub seq: u64,
    /// The kind of the record.
    pub event: EventKind,
    /// Its accept time in microseconds since 1970.
    pub at: i64,
    /// The picked-up file to retire: a file name in `spool/claim`.
    pub claim: Option<String>,
    /// The line of the picked-up file, for a file with one message per line.
    pub line: Option<u32>,
    /// The sender of the delivered message.
    pub from: Arc<str>,
    /// The id of the delivered message.
    pub id: String,
    /// The recipients.
    pub to: Vec<RecipientGroup>,
    /// The router's own action for it.
    pub act: Option<RouterAction>,
    /// For a renaming: the files that must be moved.
    pub renamed: Option<RenamedAgent>,
    /// Recipients that were renamed since, each with its present name: copies that are still staged go there.
    pub now: BTreeMap<Arc<str>, Arc<str>>,
}

/// The files of an agent that has another name now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenamedAgent {
    /// The name so far.
    pub of: Arc<str>,
    /// The agent.
    pub to: Arc<str>,
    /// The accept times of the unread messages that the agent also received itself.
    pub twice: BTreeSet<i64>,
}

/// A staged file and its target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedFile {
    /// Its name in `spool/stage`.
    pub staged: String,
    /// The kind of target directory.
    pub place: DeliveryDirectory,
    /// The agent that owns the target directory.
    pub agent: Arc<str>,
    /// The file name in the target directory.
    pub name: Arc<str>,
}

/// The kind of an agent's directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeliveryDirectory {
    /// `inbox/<agent>`: a copy.
    Inbox,
    /// `rejected/<agent>`: the explanation of a rejection.
    Rejected,
}

impl DeliveryDirectory {
    /// The directory, relative to the room.
    pub fn of(self, agent: &str) -> std::path::PathBuf {
        match self {
            DeliveryDirectory::Inbox => layout::inbox(agent),
            DeliveryDirectory::Rejected => layout::rejected(agent),
        }
    }
}

impl RoomState {
    /// Returns true if everything in this record's picked-up file was rejected. The records of its lines are consecutive,
    /// and all stay open until the first of them is retired.
    pub fn is_all_refused(&self, open: &OpenRecord) -> bool {
        let before = self.open.range(..open.seq).rev();
        let after = self.open.range(open.seq..);
        before
            .take_while(|(_, other)| other.claim == open.claim)
            .chain(after.take_while(|(_, other)| other.claim == open.claim))
            .all(|(_, open)| open.event == EventKind::Rejected)
    }
}

impl OpenRecord {
    /// The fields of the picked-up file's name. `None` for a message that the router wrote.
    pub fn claimed(&self) -> Option<layout::SpoolFileName<'_>> {
        self.claim.as_deref().and_then(layout::read_claim)
    }

    /// Returns true if it arrived with an item of a link.
    pub fn is_item(&self) -> bool {
        self.claimed()
            .is_some_and(|claim| layout::link_of(claim.agent).is_some())
    }

    /// Every staged file of this record, with its target.
    pub fn deliveries(&self) -> impl Iterator<Item = StagedFile> {
        let claimed = self.claimed();
        let number = claimed.map_or(0, |claim| claim.number);
        let explained = if self.event == EventKind::Rejected && !self.is_item() {
            claimed
        } else {
            None
        };
        let explanation = explained.map(|claim| StagedFile {
            staged: layout::staged_explanation(self.seq, number),
            place: DeliveryDirectory::Rejected,
            agent: claim.agent.into(),
            name: match self.line {
                Some(line) => layout::explanation_of_line(self.seq, claim.original, line).into(),
                None => layout::explanation(self.seq, claim.original).into(),
            },
        });
        let name: Arc<str> =
            layout::delivered(Stamp::from_micros(self.at), &self.from, &self.id).into();
        let groups = if self.event == EventKind::Duplicate {
            &[]
        } else {
            self.to.as_slice()
        };
        let copies = groups.iter().flat_map(|group| &group.agents);
        let copies = copies.filter(|agent| id::tag_of(agent).is_none());
        let copies = copies.map(move |agent| StagedFile {
            staged: layout::staged(self.seq, number, agent),
            place: DeliveryDirectory::Inbox,
            agent: self.now.get(agent).unwrap_or(agent).clone(),
            name: name.clone(),
        });
        explanation.into_iter().chain(copies)
    }

    /// The directory and name of the picked-up file after delivery. `rejected` means that nothing in it was accepted.
    pub fn retires_to(&self, rejected: bool) -> Option<(std::path::PathBuf, String)> {
        let claim = self.claimed()?;
        let directory = if rejected {
            layout::rejected(claim.agent)
        } else {
            layout::sent(claim.agent)
        };
        Some((directory, layout::retired(self.seq, claim.original)))
    }
}
