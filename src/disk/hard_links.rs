//! The other names of a file with several hard links.

use super::{Dir, layout};
use rustix::fs::FileType;
use std::path::{Path, PathBuf};

/// A search for the other names of one file.
pub struct HardLinkSearch {
    file: PathBuf,
    inode: u64,
    device: u64,
    /// The number of further names to be compared.
    left: usize,
}

impl HardLinkSearch {
    /// A search through at most `most` names. `None` if the file has only one name.
    pub fn of(file: &Path, most: usize) -> Option<HardLinkSearch> {
        let dir = Dir::open(file.parent()?).ok()?;
        let meta = dir.stat(file.file_name()?).ok()??;
        let has_others = meta.kind == FileType::RegularFile && meta.links > 1;
        let file = file.to_path_buf();
        has_others.then_some(HardLinkSearch {
            file,
            inode: meta.inode,
            device: meta.device,
            left: most,
        })
    }

    /// The other names of the file at or below `place`. If `place` does not exist, the nearest directory above it is
    /// searched.
    pub fn below(&mut self, place: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let nearest = place.ancestors().find(|above| Dir::open(above).is_ok());
        let mut open: Vec<PathBuf> = nearest.map(Path::to_path_buf).into_iter().collect();
        while let Some(at) = open.pop() {
            let Ok(dir) = Dir::open(&at) else { continue };
            // An inode number identifies a file only within its file system.
            let is_here = dir.meta().is_ok_and(|meta| meta.device == self.device);
            let Ok(listing) = dir.list() else { continue };
            for entry in listing
                .flatten()
                .filter(|entry| entry.name != layout::REPOSITORY)
            {
                if self.left == 0 {
                    return found;
                }
                self.left -= 1;
                let path = layout::below(&at, &entry.name);
                if entry.kind == FileType::Directory {
                    open.push(path);
                } else if is_here && entry.inode == self.inode && path != self.file {
                    found.push(path);
                }
            }
        }
        found
    }
}
