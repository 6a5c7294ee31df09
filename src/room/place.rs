//! Where a room stands, so that a copy of it is told from it: both have the same id and the same log.

use super::Room;
use crate::base::error::Result;
use crate::disk::{Dir, layout};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The largest file that says where a room stands.
const BYTES: u64 = 64 << 10;

/// Where a room stood when it was last known to be itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    /// The inode of its directory, which a move on one file system keeps and no copy has. A device's number changes
    /// with the next boot, and is not asked for.
    inode: u64,
    path: PathBuf,
}

/// A room that is not where it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// Where the original stood.
    pub from: PathBuf,
    /// Does a room with the same id stand there?
    pub stands: bool,
}

impl Copied {
    /// What a person is told of it.
    pub fn told(&self) -> String {
        let from = self.from.display();
        match self.stands {
            true => format!("this room is a copy of {from}, and both may deliver the same mail"),
            false => format!("this room is a copy of {from}, or was restored from one"),
        }
    }
}

impl Room {
    /// The original of this room, if it is a copy.
    pub fn copied(&self) -> Result<Option<Copied>> {
        let (Some(known), here) = (self.known_place()?, self.place()?) else { return Ok(None) };
        if known == here {
            return Ok(None);
        }
        let is_there =
            |dir: &Dir| dir.meta().is_ok_and(|there| self.dir.meta().is_ok_and(|own| !own.is_same_file(&there)));
        // A snapshot keeps inodes: it shows where another room has the same id.
        let other =
            Room::open(&known.path).ok().filter(|other| is_there(&other.dir) && other.id().ok() == self.id().ok());
        let is_copy = known.inode != here.inode || (known.path != here.path && other.is_some());
        Ok(is_copy.then(|| Copied { from: known.path, stands: other.is_some() }))
    }

    /// Notes where the room stands: where that is not known, and where it was moved.
    pub fn note_place(&self) -> Result<()> {
        let (known, here) = (self.known_place()?, self.place()?);
        if known.as_ref() == Some(&here) || self.copied()?.is_some() {
            return Ok(());
        }
        self.write_place(&here)
    }

    /// Takes a copy for a room of its own from now on.
    pub fn adopt(&self) -> Result<()> {
        self.write_place(&self.place()?)
    }

    fn place(&self) -> Result<Place> {
        let path = self.dir.path();
        let path = path.canonicalize().unwrap_or_else(|_| Path::new(path).to_path_buf());
        Ok(Place { inode: self.dir.meta()?.inode, path })
    }

    // What can't be read says nothing.
    fn known_place(&self) -> Result<Option<Place>> {
        Ok(self.dir.read(layout::PLACE, BYTES)?.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    fn write_place(&self, place: &Place) -> Result<()> {
        let text = serde_json::to_string(place).expect("a place is plain data") + "\n";
        self.dir.replace(layout::PLACE, text.as_bytes())
    }
}
