//! Repeats the steps of a simulated computer in a real directory, so that a real power cut can be compared with the
//! simulated ones.

use super::disk::{Change, Content, Disk, Id, Name, ROOT};
use super::machine::Machine;
use super::state::{Durability, Step};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Result;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The real directory, with the files that were written to.
struct Replay<'p> {
    root: &'p Path,
    files: HashMap<Id, File>,
}

impl Machine {
    /// Makes the disk before the first step in a directory, makes it durable, and repeats the first `at` steps.
    pub(crate) fn replay(&self, at: usize, root: &Path) -> Result<()> {
        let inner = self.lock();
        let mut state = inner.base.clone();
        make(&state.now, ROOT, root)?;
        sync_all(root)?;
        let files = HashMap::new();
        let mut replay = Replay { root, files };
        for step in &inner.steps[..at] {
            let before = state.now.clone();
            state.advance(step);
            replay.step(step, &before, &state.now)?;
        }
        Ok(())
    }
}

fn make(disk: &Disk, id: Id, path: &Path) -> Result<()> {
    match &disk.get(id).content {
        Content::Directory(entries) => {
            fs::create_dir_all(path)?;
            entries
                .iter()
                .try_for_each(|(name, id)| make(disk, *id, &path.join(name)))
        }
        Content::File(bytes) => fs::write(path, bytes),
        Content::Link(target) => std::os::unix::fs::symlink(target, path),
    }
}

fn sync_all(root: &Path) -> Result<()> {
    Ok(rustix::fs::syncfs(File::open(root)?)?)
}

impl Replay<'_> {
    fn step(&mut self, step: &Step, before: &Disk, after: &Disk) -> Result<()> {
        match &step.change {
            Change::Make { at, inode, new } => {
                let path = self.place(at, after);
                match &new.content {
                    Content::Directory(_) => fs::create_dir(path)?,
                    Content::Link(target) => std::os::unix::fs::symlink(target, path)?,
                    Content::File(bytes) => {
                        let file = File::create_new(path)?;
                        file.write_all_at(bytes, 0)?;
                        self.files.insert(*inode, file);
                    }
                }
            }
            Change::Rename { from, to, .. } => {
                fs::rename(self.place(from, before), self.place(to, before))?;
            }
            Change::Remove { at, inode } => {
                let path = self.place(at, before);
                if before.get(*inode).is_directory() {
                    fs::remove_dir(path)?;
                } else {
                    fs::remove_file(path)?;
                }
            }
            Change::Write { file, at, bytes } => {
                self.file(*file, before)?.write_all_at(bytes, *at)?
            }
            Change::Put { file, bytes } => {
                let file = self.file(*file, before)?;
                file.set_len(0)?;
                file.write_all_at(bytes, 0)?;
            }
            Change::SetLength { file, length } => self.file(*file, before)?.set_len(*length)?,
            Change::Sync(id) => self.file(*id, before)?.sync_all()?,
            Change::SyncData(id) => self.file(*id, before)?.sync_data()?,
            Change::SyncAll => sync_all(self.root)?,
            // A cut does not show the times, and no sync fails here.
            Change::SetModified { .. }
            | Change::SetMode { .. }
            | Change::FailedSync(_)
            | Change::Forget(_) => {}
        }
        if step.durability == Durability::Immediate {
            self.make_durable(&step.change, after)?;
        }
        Ok(())
    }

    fn make_durable(&mut self, change: &Change, disk: &Disk) -> Result<()> {
        if let Some(file) = change.inode().filter(|id| disk.get(*id).is_named()) {
            self.file(file, disk)?.sync_all()?;
        }
        // The directory that a file left comes first.
        for place in change.places() {
            File::open(self.path(place.directory, disk))?.sync_all()?;
        }
        Ok(())
    }

    fn place(&self, place: &Name, disk: &Disk) -> PathBuf {
        self.path(place.directory, disk).join(&place.name)
    }

    fn path(&self, id: Id, disk: &Disk) -> PathBuf {
        match disk.parent(id) {
            Some((parent, name)) => self.path(parent, disk).join(name),
            None => self.root.to_owned(),
        }
    }

    fn file(&mut self, id: Id, disk: &Disk) -> Result<&File> {
        if disk.get(id).is_directory() || !self.files.contains_key(&id) {
            let path = self.path(id, disk);
            let is_directory = disk.get(id).is_directory();
            let file = File::options().read(true).write(!is_directory).open(path)?;
            self.files.insert(id, file);
        }
        Ok(&self.files[&id])
    }
}
