//! The spool, moves of files into and out of it, and the barrier that makes these moves durable.

use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::disk::{Barrier, Dir, layout};
use crate::log::state::{DeliveryDirectory, OpenRecord, RenamedAgent, StagedFile};
use crate::room::inbox;
use crate::room::spool::Spool;
use std::ffi::OsStr;
use std::sync::Arc;

/// The spool and the barrier of one router.
pub(crate) struct RouterStorage {
    room: Dir,
    spool: Spool,
    barrier: Barrier,
}

impl RouterStorage {
    pub(crate) fn new(room: &Dir, spool: Spool) -> RouterStorage {
        RouterStorage {
            room: room.clone(),
            spool,
            barrier: Barrier::new(room.clone()),
        }
    }

    /// Moves a file out of its outbox. Durable at the next barrier.
    pub(crate) fn claim(&mut self, outbox: &Dir, name: &OsStr, claim: &str) -> Result<()> {
        self.spool.claim(outbox, name, claim, &mut self.barrier)
    }

    /// The directory of claims.
    pub(crate) fn claims(&self) -> &Dir {
        &self.spool.claims
    }

    /// The names of all claims, by number.
    pub(crate) fn claimed(&self) -> Result<Vec<String>> {
        self.spool.claimed()
    }

    /// Writes a staged file. Durable at the next barrier.
    pub(crate) fn stage(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.spool.stage(name, bytes, &mut self.barrier)
    }

    /// Returns true if the copy is not delivered.
    pub(crate) fn is_staged(&self, delivery: &StagedFile) -> Result<bool> {
        self.spool.is_staged(delivery)
    }

    /// Moves staged files into one directory of an agent, and returns the files that could not be moved.
    pub(crate) fn deliver(
        &mut self,
        place: DeliveryDirectory,
        agent: &Arc<str>,
        deliveries: Vec<StagedFile>,
    ) -> Result<Vec<(StagedFile, Error)>> {
        inbox::deliver(
            &self.room,
            &self.spool.stage,
            (place, agent),
            deliveries,
            &mut self.barrier,
        )
    }

    /// Moves an unread copy to `expired/`.
    pub(crate) fn expire(&mut self, agent: &str, name: &OsStr) -> Result<()> {
        let place = layout::expired(agent);
        inbox::move_unread(&self.room, agent, name, &place, &mut self.barrier)
    }

    /// Moves an unread copy to `seen/` for a reader without the right to do so.
    pub(crate) fn mark_seen(&mut self, agent: &str, name: &OsStr) -> Result<()> {
        let place = layout::seen(agent);
        inbox::move_unread(&self.room, agent, name, &place, &mut self.barrier)
    }

    /// Moves the unread mail of a renamed agent.
    pub(crate) fn pass_on(&mut self, renamed: &RenamedAgent, until: Stamp) -> Result<()> {
        inbox::pass_on(&self.room, renamed, until, &mut self.barrier)
    }

    /// Moves a claim to the place that its records give.
    pub(crate) fn retire(&mut self, open: &OpenRecord, rejected: bool) -> Result<()> {
        self.spool.retire(open, rejected, &mut self.barrier)
    }

    /// Makes this directory durable at the next barrier.
    pub(crate) fn sync(&mut self, dir: &Dir) {
        self.barrier.dir(dir);
    }

    /// Returns true if all moves are durable.
    pub(crate) fn is_durable(&self) -> bool {
        self.barrier.is_empty()
    }

    /// Passes the barrier, which makes all moves durable.
    pub(crate) fn barrier(&mut self) -> Result<()> {
        self.barrier.pass()
    }
}
