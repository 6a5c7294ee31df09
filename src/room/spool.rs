//! The spool: picked-up files and staged files. Only the router writes to it.

use crate::base::error::Result;
use crate::disk::{Barrier, Dir, layout};
use crate::log::state::{OpenRecord, StagedFile};
use std::ffi::OsStr;

/// The opened spool.
pub struct Spool {
    room: Dir,
    /// `spool/claim`
    pub claims: Dir,
    /// `spool/stage`
    pub stage: Dir,
}

impl Spool {
    /// Opens the spool, and creates missing directories.
    pub fn open(room: &Dir) -> Result<Spool> {
        Ok(Spool {
            room: room.clone(),
            claims: room.make(layout::CLAIM)?,
            stage: room.make(layout::STAGE)?,
        })
    }

    /// Moves a file out of its outbox. From here on, the sender's file name no longer identifies it. Atomic: after a
    /// kill the file is either in the outbox or in `spool/claim`. Durable at the next barrier.
    pub fn claim(
        &self,
        outbox: &Dir,
        name: &OsStr,
        claim: &str,
        barrier: &mut Barrier,
    ) -> Result<()> {
        outbox.rename(name, &self.claims, claim, "claim the file as")?;
        barrier.moved(outbox, &self.claims);
        Ok(())
    }

    /// The names of all picked-up files, in the order of their numbers.
    pub fn claimed(&self) -> Result<Vec<String>> {
        let mut names = self.claims.names()?;
        names.sort_by_key(|name| layout::read_claim(name).map(|claim| claim.number));
        Ok(names)
    }

    /// The names of all staged files.
    pub fn staged(&self) -> Result<Vec<String>> {
        self.stage.names()
    }

    /// Writes a staged file. After a kill it is known to be complete only if its record is
    /// in the log. Durable at the next barrier.
    pub fn stage(&self, name: &str, bytes: &[u8], barrier: &mut Barrier) -> Result<()> {
        let file = self.stage.create(name, bytes)?;
        barrier.file(file, || self.stage.at(name));
        barrier.dir(&self.stage);
        Ok(())
    }

    /// Returns true if the staged file exists, so that its copy is not delivered.
    pub fn is_staged(&self, delivery: &StagedFile) -> Result<bool> {
        Ok(self.stage.stat(&delivery.staged)?.is_some())
    }

    /// Moves a picked-up file to `rejected/` if all of it was rejected, otherwise to `sent/`. A missing picked-up file
    /// was retired before.
    pub fn retire(&self, open: &OpenRecord, rejected: bool, barrier: &mut Barrier) -> Result<()> {
        // The log has the message of an item, and its sender the item.
        if let (Some(claim), true) = (&open.claim, open.is_item()) {
            self.claims.remove(claim)?;
            barrier.dir(&self.claims);
            return Ok(());
        }
        let (Some(claim), Some((directory, name))) = (&open.claim, open.retires_to(rejected))
        else {
            return Ok(());
        };
        // Durable at the barrier, so that first messages of many senders do not need a sync each.
        let to = self.room.make_with(directory, barrier)?;
        match self
            .claims
            .rename(claim, &to, name, "retire the message to")
        {
            // Another program has put the picked-up file back. Recovery sets it aside.
            Err(e) if e.errno() == Some(libc::EEXIST) => return Ok(()),
            // The picked-up file was retired before, unless the target directory is missing.
            Err(e) if e.is_missing() && self.claims.stat(claim)?.is_none() => {}
            done => done?,
        }
        barrier.moved(&self.claims, &to);
        Ok(())
    }
}
