//! The content of a disk: numbered files, directories and links, and the changes to them.
//!
//! A number is never used again, so a change can be applied to a disk without earlier changes.

use super::fingerprint::FastHasher;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// The number of an inode.
pub(super) type Id = u64;
pub(super) type Entries = BTreeMap<OsString, Id>;

pub(super) const ROOT: Id = 1;

/// A file, directory or link, without its name.
#[derive(Debug, Clone)]
pub(super) struct Inode {
    pub(super) content: Content,
    pub(super) mode: u32,
    pub(super) modified: i128,
    pub(super) changed: i128,
    /// The number of names. A directory has one more, for itself.
    pub(super) links: u64,
    digest: OnceLock<u64>,
}

#[derive(Debug, Clone, Hash)]
pub(super) enum Content {
    Directory(Entries),
    File(Vec<u8>),
    Link(PathBuf),
}

/// A place for a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) directory: Id,
    pub(super) name: OsString,
}

/// The change of one call.
#[derive(Debug)]
pub(super) enum Change {
    Make {
        at: Name,
        inode: Id,
        new: Arc<Inode>,
    },
    Rename {
        from: Name,
        to: Name,
        inode: Id,
        replaced: Option<Id>,
    },
    Remove {
        at: Name,
        inode: Id,
    },
    Write {
        file: Id,
        at: u64,
        bytes: Vec<u8>,
    },
    /// A new content in one step. Only other programs do this.
    Put {
        file: Id,
        bytes: Vec<u8>,
    },
    SetLength {
        file: Id,
        length: u64,
    },
    SetModified {
        file: Id,
        time: i128,
    },
    SetMode {
        file: Id,
        mode: u32,
    },
    /// A file with its times and mode, or a directory with its names.
    Sync(Id),
    /// A file without its times and mode.
    SyncData(Id),
    SyncAll,
    /// The disk did not accept the bytes of this file, or of all files.
    FailedSync(Option<Id>),
    Forget(Id),
}

impl Change {
    /// The places that a change of names touches; none for another change.
    pub(super) fn places(&self) -> Vec<&Name> {
        match self {
            Change::Make { at, .. } | Change::Remove { at, .. } => vec![at],
            Change::Rename { from, to, .. } => vec![from, to],
            _ => Vec::new(),
        }
    }

    /// The change in words, to go before its path and after it.
    pub(super) fn words(&self) -> (&'static str, String) {
        match self {
            Change::Make { .. } => ("the new name", String::new()),
            Change::Rename { .. } => ("the rename of", String::new()),
            Change::Remove { .. } => ("the removal of", String::new()),
            Change::Write { at, bytes, .. } => {
                ("the write to", format!(" ({} at {at})", bytes.len()))
            }
            Change::Put { .. } => ("the content of", String::new()),
            Change::SetLength { length, .. } => ("the length of", format!(" ({length})")),
            Change::SetModified { .. } => ("the time of", String::new()),
            Change::SetMode { mode, .. } => ("the mode of", format!(" ({mode:o})")),
            Change::Sync(_) | Change::SyncData(_) | Change::SyncAll => {
                ("the sync of", String::new())
            }
            Change::FailedSync(_) => ("the failed sync of", String::new()),
            Change::Forget(_) => ("forgetting", String::new()),
        }
    }

    pub(super) fn is_of_names(&self) -> bool {
        self.named().is_some()
    }

    /// The file, for a change of bytes or of a length.
    pub(super) fn file_of_bytes(&self) -> Option<Id> {
        match self {
            Change::Write { file, .. }
            | Change::Put { file, .. }
            | Change::SetLength { file, .. } => Some(*file),
            _ => None,
        }
    }

    /// The file or directory, for a change of its names.
    pub(super) fn named(&self) -> Option<Id> {
        match self {
            Change::Make { inode, .. }
            | Change::Rename { inode, .. }
            | Change::Remove { inode, .. } => Some(*inode),
            _ => None,
        }
    }

    /// The file or directory that changes.
    pub(super) fn inode(&self) -> Option<Id> {
        let named = self.named().or_else(|| self.file_of_bytes());
        named.or_else(|| self.file_of_attributes())
    }

    /// The file or directory, for a change of its time or mode.
    pub(super) fn file_of_attributes(&self) -> Option<Id> {
        match self {
            Change::SetModified { file, .. } | Change::SetMode { file, .. } => Some(*file),
            _ => None,
        }
    }
}

impl Inode {
    pub(super) fn new(content: Content, mode: u32, when: i128) -> Inode {
        let links = u64::from(matches!(content, Content::Directory(_)));
        Inode {
            content,
            mode,
            modified: when,
            changed: when,
            links,
            digest: OnceLock::new(),
        }
    }

    pub(super) fn is_directory(&self) -> bool {
        matches!(self.content, Content::Directory(_))
    }

    /// Returns true if it has a name.
    pub(super) fn is_named(&self) -> bool {
        self.links > u64::from(self.is_directory())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match &self.content {
            Content::File(bytes) => bytes,
            _ => &[],
        }
    }

    /// A number for the content and the mode.
    pub(super) fn digest(&self) -> u64 {
        *self.digest.get_or_init(|| {
            let mut hasher = FastHasher::default();
            (&self.content, self.mode).hash(&mut hasher);
            hasher.finish()
        })
    }
}

/// All inodes. A clone copies one pointer, and its first change copies one for each inode.
#[derive(Debug, Clone, Default)]
pub(super) struct Disk(Arc<Vec<Option<Arc<Inode>>>>);

impl Disk {
    pub(super) fn next(&self) -> Id {
        self.0.len().max(1) as Id
    }

    pub(super) fn insert(&mut self, id: Id, inode: Arc<Inode>) {
        let inodes = Arc::make_mut(&mut self.0);
        if inodes.len() <= id as usize {
            inodes.resize(id as usize + 1, None);
        }
        inodes[id as usize] = Some(inode);
    }

    pub(super) fn get(&self, id: Id) -> &Inode {
        let inode = self.0.get(id as usize).and_then(Option::as_ref);
        inode.expect("an inode stays in the table")
    }

    pub(super) fn edit(&mut self, id: Id) -> &mut Inode {
        let inode = Arc::make_mut(&mut self.0)[id as usize].as_mut();
        let inode = Arc::make_mut(inode.expect("an inode stays in the table"));
        inode.digest = OnceLock::new();
        inode
    }

    pub(super) fn entries(&self, id: Id) -> Result<&Entries, Errno> {
        match &self.get(id).content {
            Content::Directory(entries) => Ok(entries),
            Content::File(_) => Err(Errno::NOTDIR),
            Content::Link(_) => Err(Errno::LOOP),
        }
    }

    pub(super) fn at(&self, place: &Name) -> Option<Id> {
        let entries = self.entries(place.directory).ok()?;
        entries.get(&place.name).copied()
    }

    /// The parent of a file or directory, with the name there.
    pub(super) fn parent(&self, id: Id) -> Option<(Id, &OsString)> {
        if id == ROOT {
            return None;
        }
        (ROOT..self.next()).find_map(|parent| {
            let inode = self.0[parent as usize].as_ref()?;
            let Content::Directory(entries) = &inode.content else {
                return None;
            };
            let (name, _) = entries.iter().find(|(_, child)| **child == id)?;
            Some((parent, name))
        })
    }

    /// Makes, replaces or removes a name.
    pub(super) fn set_name(&mut self, place: &Name, to: Option<Id>, when: i128) {
        let directory = self.edit(place.directory);
        let Content::Directory(entries) = &mut directory.content else {
            return;
        };
        let before = match to {
            Some(id) => entries.insert(place.name.clone(), id),
            None => entries.remove(&place.name),
        };
        (directory.modified, directory.changed) = (when, when);
        if let Some(id) = before {
            let inode = self.edit(id);
            (inode.links, inode.changed) = (inode.links - 1, when);
        }
        if let Some(id) = to {
            let inode = self.edit(id);
            (inode.links, inode.changed) = (inode.links + 1, when);
        }
    }

    /// Applies a change that is not a sync.
    pub(super) fn apply(&mut self, change: &Change, when: i128) {
        match change {
            Change::Make { at, inode, .. } => self.set_name(at, Some(*inode), when),
            Change::Remove { at, .. } => self.set_name(at, None, when),
            Change::Rename {
                from, to, inode, ..
            } => {
                self.set_name(from, None, when);
                self.set_name(to, Some(*inode), when);
            }
            Change::Write { file, at, bytes } => self.write(*file, *at, bytes, when),
            Change::Put { file, bytes } => {
                self.change_bytes(*file, when, |old| old.clone_from(bytes));
            }
            Change::SetLength { file, length } => {
                self.change_bytes(*file, when, |old| old.resize(*length as usize, 0));
            }
            Change::SetModified { file, time } => {
                let inode = self.edit(*file);
                (inode.modified, inode.changed) = (*time, when);
            }
            Change::SetMode { file, mode } => {
                let inode = self.edit(*file);
                (inode.mode, inode.changed) = (*mode, when);
            }
            Change::Sync(_)
            | Change::SyncData(_)
            | Change::SyncAll
            | Change::FailedSync(_)
            | Change::Forget(_) => {}
        }
    }

    pub(super) fn write(&mut self, file: Id, at: u64, bytes: &[u8], when: i128) {
        let (from, to) = (at as usize, at as usize + bytes.len());
        self.change_bytes(file, when, |old| {
            old.resize(old.len().max(to), 0);
            old[from..to].copy_from_slice(bytes);
        });
    }

    /// As [`Disk::write`], but the bytes that make the file longer are zeros, and the others stay as they are.
    pub(super) fn write_without_content(&mut self, file: Id, at: u64, length: usize, when: i128) {
        let end = at as usize + length;
        self.change_bytes(file, when, |old| old.resize(old.len().max(end), 0));
    }

    fn change_bytes(&mut self, file: Id, when: i128, change: impl FnOnce(&mut Vec<u8>)) {
        let inode = self.edit(file);
        (inode.modified, inode.changed) = (when, when);
        if let Content::File(bytes) = &mut inode.content {
            change(bytes);
        }
    }
}
