//! A disk that rejects writes for a while, as the kernel's cache shows it, simulated in any directory.
//!
//! When a sync fails, ext4, xfs and btrfs count the pages that they could not write as written: programs read them as
//! before, a later sync has nothing to do, and only the next boot shows the content of the disk. On ext4 such a page stays
//! lost even if it is written again, unless memory has dropped it before. Here the disk is a copy of each file's pages. A
//! sync that succeeds copies the pages written since the last one. A sync that fails loses them, except pages that the seed
//! chooses. At a boot each file gets the content of its copy. Names are durable immediately: the sweeps of power cuts test
//! their order.

use super::calls::Call;
use super::letters::Random;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The size of a page.
const PAGE: usize = 4096;

/// The content on the disk of every file that the program wrote to, by inode.
pub(crate) struct Cache {
    files: HashMap<u64, Pages>,
    random: Random,
}

/// A file on the disk.
#[derive(Default)]
struct Pages {
    bytes: Vec<u8>,
    /// Pages that were written to since a sync was last tried.
    dirty: BTreeSet<usize>,
    /// Pages that could not be written, and are still in memory.
    lost: BTreeSet<usize>,
}

impl Cache {
    pub(crate) fn new(random: Random) -> Cache {
        Cache { files: HashMap::new(), random }
    }

    /// Must be called before each call, with the old content in place. `fails` is true if the call will fail.
    pub(crate) fn about_to(&mut self, call: &Call, fails: bool, room: &Path) -> io::Result<()> {
        let Some(path) = call.paths.first() else { return Ok(()) };
        let Ok(meta) = fs::metadata(path) else { return Ok(()) };
        let (file, at) = (meta.ino(), call.at.map(|at| at as usize));
        match call.name {
            "syncfs" => files(room).try_for_each(|(path, file)| self.sync(file, &path, fails))?,
            _ if !meta.is_file() => {}
            "fsync" | "fdatasync" => self.sync(file, path, fails)?,
            "fadvise64" => self.drop_pages(file, path)?,
            "ftruncate" => {
                if let Some(pages) = self.files.get_mut(&file) {
                    pages.cut(at.unwrap_or_default());
                }
            }
            name if name.contains("write") && !fails => {
                // Without a place it is at the end: nothing here writes in the middle of a file but by `pwrite64`.
                let (before, bytes) = (fs::read(path)?, call.bytes.unwrap_or_default() as usize);
                let at = at.unwrap_or(before.len());
                let pages = self.files.entry(file).or_insert_with(|| Pages { bytes: before, ..Pages::default() });
                pages.dirty.extend(at / PAGE..(at + bytes).div_ceil(PAGE));
            }
            _ => {}
        }
        Ok(())
    }

    /// The machine starts again: files get the content of the disk. Returns the number of files that differed.
    pub(crate) fn boot(&mut self, room: &Path) -> io::Result<usize> {
        let mut changed = 0;
        for (path, file) in files(room) {
            let Some(mut pages) = self.files.remove(&file) else { continue };
            let content = fs::read(&path)?;
            // Unsynced pages were written or lost at random.
            pages.fail(&content, &mut self.random);
            if pages.bytes != content {
                fs::write(&path, &pages.bytes)?;
                changed += 1;
            }
        }
        self.files.clear();
        booted(room)?;
        Ok(changed)
    }

    fn sync(&mut self, file: u64, path: &Path, fails: bool) -> io::Result<()> {
        let Some(pages) = self.files.get_mut(&file) else { return Ok(()) };
        let content = fs::read(path)?;
        if fails { pages.fail(&content, &mut self.random) } else { pages.sync(&content) }
        Ok(())
    }

    /// Drops clean pages from memory: the next read finds the content of the disk.
    fn drop_pages(&mut self, file: u64, path: &Path) -> io::Result<()> {
        let Some(pages) = self.files.get_mut(&file) else { return Ok(()) };
        let mut content = fs::read(path)?;
        let lost: Vec<usize> = std::mem::take(&mut pages.lost).into_iter().collect();
        let (kept, dropped): (Vec<_>, Vec<_>) = lost.into_iter().partition(|page| pages.dirty.contains(page));
        pages.lost.extend(kept);
        for page in dropped {
            let to = content.len().min((page + 1) * PAGE);
            let from = to.min(page * PAGE);
            let there = pages.bytes.len().clamp(from, to);
            content[from..there].copy_from_slice(&pages.bytes[from..there]);
            content[there..to].fill(0);
        }
        fs::write(path, content)
    }
}

impl Pages {
    fn sync(&mut self, content: &[u8]) {
        for page in std::mem::take(&mut self.dirty) {
            if !self.lost.contains(&page) {
                self.write(page, content);
            }
        }
        self.bytes.resize(content.len(), 0);
    }

    /// Some pages reach the disk, the others never will. A page that does not may leave a hole in its place, or the file
    /// as short as it was.
    fn fail(&mut self, content: &[u8], random: &mut Random) {
        let (lucky, hole) = ([0, 0, 1, 2][random.below(4)], random.below(2) == 0);
        for page in std::mem::take(&mut self.dirty) {
            let end = content.len().min((page + 1) * PAGE);
            if random.below(4) < lucky && !self.lost.contains(&page) {
                self.write(page, content);
                continue;
            }
            self.lost.insert(page);
            if hole && self.bytes.len() < end {
                self.bytes.resize(end, 0);
            }
        }
    }

    fn cut(&mut self, length: usize) {
        self.bytes.truncate(length);
        self.dirty.retain(|page| page * PAGE < length);
        self.lost.retain(|page| page * PAGE < length);
    }

    fn write(&mut self, page: usize, content: &[u8]) {
        let (from, to) = (page * PAGE, content.len().min((page + 1) * PAGE));
        if from < to {
            self.bytes.resize(self.bytes.len().max(to), 0);
            self.bytes[from..to].copy_from_slice(&content[from..to]);
        }
    }
}

/// The machine has started again: the boot that a room's router noted is over.
pub(crate) fn booted(room: &Path) -> io::Result<()> {
    let note = room.join("spool/boot");
    if note.exists() { fs::write(note, "an earlier boot") } else { Ok(()) }
}

/// The regular files of a room, with their inodes.
fn files(room: &Path) -> impl Iterator<Item = (PathBuf, u64)> {
    let entries = walkdir::WalkDir::new(room).into_iter().flatten().filter(|entry| entry.file_type().is_file());
    entries.filter_map(|entry| Some((entry.path().to_path_buf(), entry.metadata().ok()?.ino())))
}
