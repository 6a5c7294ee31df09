//! Finding other rooms nearby: in parent directories, and in worktrees of the same repository.

use super::find;
use crate::disk::git::main_worktree;
use crate::disk::{Dir, layout};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The largest file of git that is read; such a file contains a path.
const POINTER: u64 = 64 << 10;

/// A room near a directory.
#[derive(Debug, Clone)]
pub struct NearbyRoom {
    /// Its path.
    pub path: PathBuf,
    /// How it was found.
    pub by: &'static str,
}

/// Every room near a directory, each once. The room that commands use is the first.
pub fn near(from: &Path) -> Vec<NearbyRoom> {
    let mut places: Vec<(PathBuf, &'static str)> = Vec::new();
    if let Ok(path) = find(None, from) {
        places.push((path, "found from the working directory"));
    }
    places.push((from.join(layout::ROOM), "in the working directory"));
    for directory in from.ancestors() {
        places.push((directory.join(layout::ROOM), "in a parent directory"));
        for worktree in worktrees(directory) {
            let path = worktree.join(layout::ROOM);
            places.push((path, "in a worktree of the same repository"));
        }
    }
    let mut known = Vec::new();
    places.retain(|(path, _)| match identity(path) {
        Some(identity) if !known.contains(&identity) => {
            known.push(identity);
            true
        }
        _ => false,
    });
    places
        .into_iter()
        .map(|(path, by)| NearbyRoom { path, by })
        .collect()
}

/// The device and inode of a room, which identify it under any path. `None` if the path is not a room.
pub fn identity(path: &Path) -> Option<(u64, u64)> {
    let dir = Dir::open(path).ok()?;
    dir.sub(layout::SPOOL).ok()?;
    dir.meta().ok().map(|meta| (meta.device, meta.inode))
}

/// All worktrees of the repository at a directory, from git's own files (gitrepository-layout(5)): the main worktree,
/// and the others from `worktrees/*/gitdir`, which contain the paths of their `.git` files.
fn worktrees(directory: &Path) -> Vec<PathBuf> {
    let main = main_worktree(directory).unwrap_or_else(|| directory.to_path_buf());
    let Some(listed) = Dir::open(&main.join(".git/worktrees")).ok() else {
        return Vec::new();
    };
    let Ok(listing) = listed.list() else {
        return Vec::new();
    };
    let mut all = vec![main];
    for entry in listing.flatten() {
        let text = listed
            .sub(&entry.name)
            .and_then(|dir| dir.read("gitdir", POINTER))
            .ok()
            .flatten();
        let Some(text) = text else { continue };
        let file = Path::new(OsStr::from_bytes(text.trim_ascii_end())).to_path_buf();
        // Newer versions of git can write a path relative to the file.
        let file = listed.at(&entry.name).join(file);
        all.extend(file.parent().map(Path::to_path_buf));
    }
    all
}
