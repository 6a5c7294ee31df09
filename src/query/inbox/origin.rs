//! Compares a file in an inbox with its record in the log.
//!
//! The router delivers a copy only after its record is committed, so a file without a record was placed there directly.

use super::InboxMessage;
use crate::base::error::Result;
use crate::disk::layout;
use crate::log::LogTip;
use crate::log::find::RecordFinder;
use crate::log::state::{self, RoomState};
use crate::message::copy::MessageCopies;
use crate::message::record::{EventKind, Record};
use crate::room::Room;
use crate::room::inbox::copy_name;
use serde_json::Value;
use std::sync::Arc;

/// The problem of a file that the router did not deliver.
pub const PLACED_DIRECTLY: &str = "placed here directly, sender unknown";

/// The problem of a file with a lost record.
pub const RECORD_LOST: &str = "without its record, which the log has lost; sender not confirmed";

/// The writer of a file in an inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FileAuthor {
    /// The router: it is the copy of a record.
    Router,
    /// Another writer, or an unknown one, for this reason.
    Other(String),
}

/// The part of a file that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadExtent {
    /// All of it.
    Whole,
    /// Its beginning.
    Beginning,
}

/// Checks files of one inbox.
pub(super) struct AuthorChecker<'r> {
    room: &'r Room,
    records: RecordFinder,
    /// Read once, for mail of a former name.
    state: Option<RoomState>,
}

impl AuthorChecker<'_> {
    pub(super) fn new(room: &Room) -> AuthorChecker<'_> {
        AuthorChecker {
            room,
            records: RecordFinder::new(&room.dir),
            state: None,
        }
    }

    /// Finds out who wrote this file, from its content or its beginning.
    pub(super) fn find(
        &mut self,
        mail: &InboxMessage,
        bytes: &[u8],
        extent: ReadExtent,
    ) -> FileAuthor {
        let is_copy = self.is_copy(mail, bytes, extent);
        match is_copy.and_then(|is_copy| Ok((is_copy, !is_copy && self.is_lost(mail)?))) {
            Ok((true, _)) => FileAuthor::Router,
            Ok((false, false)) => FileAuthor::Other(PLACED_DIRECTLY.into()),
            Ok((false, true)) => FileAuthor::Other(RECORD_LOST.into()),
            // This user cannot read the log: it reads its own inbox only, and other agents cannot write there.
            Err(e) if e.errno() == Some(libc::EACCES) => FileAuthor::Router,
            Err(e) => FileAuthor::Other(format!("the sender cannot be checked: {e}")),
        }
    }

    /// Returns true if the router committed a record with this number, and neither the log nor the archive has it.
    fn is_lost(&mut self, mail: &InboxMessage) -> Result<bool> {
        let Some(seq) = mail.seq else {
            return Ok(false);
        };
        let tip = LogTip::read(&self.room.dir)?;
        if tip.is_none_or(|tip| tip.seq < seq) {
            return Ok(false);
        }
        Ok(self.records.line(seq)?.is_none())
    }

    fn is_copy(&mut self, mail: &InboxMessage, bytes: &[u8], extent: ReadExtent) -> Result<bool> {
        let Some(seq) = mail.seq else {
            return Ok(false);
        };
        let Some(line) = self.records.line(seq)? else {
            return Ok(false);
        };
        let Ok(record) = line.record() else {
            return Ok(false);
        };
        if record.kind() == EventKind::Duplicate || !has_name(&record, mail) {
            return Ok(false);
        }
        let Some(copies) = MessageCopies::of(&record) else {
            return Ok(false);
        };
        let Some(owner) = layout::inbox_owner(&mail.file) else {
            return Ok(false);
        };
        for (agent, via) in record.copies() {
            if is_same(&copies.copy(agent, via), bytes, &mail.content, extent)
                && (**agent == *owner || self.is_former_name(agent, seq, owner)?)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns true if the owner of the inbox had this name when the record was accepted. Only the log knows it: the alias of
    /// a renamed agent can change later, and another agent can get its former name.
    fn is_former_name(&mut self, name: &Arc<str>, seq: u64, owner: &str) -> Result<bool> {
        if self.state.is_none() {
            self.state = Some(state::committed(&self.room.dir)?);
        }
        let state = self.state.as_ref();
        Ok(state.is_some_and(|state| **state.holder(name, seq) == *owner))
    }
}

/// Returns true if the file has the name that the router gives to a copy of this record. A read copy can have a suffix.
fn has_name(record: &Record, mail: &InboxMessage) -> bool {
    let name = copy_name(record);
    let is_unread = mail.file.parent().is_some_and(layout::is_inbox);
    mail.name == *name || !is_unread && layout::read_delivered(&mail.name) == Some(record.stamp())
}

/// Returns true if the file has the content of the copy. Other line ends or spaces between fields change nothing.
fn is_same(copy: &[u8], bytes: &[u8], content: &Value, extent: ReadExtent) -> bool {
    match extent {
        ReadExtent::Beginning => copy.starts_with(bytes),
        ReadExtent::Whole => {
            copy == bytes
                || serde_json::from_slice::<Value>(copy).is_ok_and(|copy| copy == *content)
        }
    }
}
