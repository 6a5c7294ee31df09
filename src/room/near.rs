//! Other rooms that somebody may have meant: above, below, and in the worktrees of the same repository.

use super::find;
use super::open::main_worktree;
use crate::disk::{Dir, layout};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The longest file of git's that is read: each holds a path.
const POINTER: u64 = 64 << 10;
/// How many directories below the working directory are looked into.
const BELOW: usize = 1000;

/// A room that stands near a directory.
#[derive(Debug, Clone)]
pub struct Near {
    /// Where it is.
    pub path: PathBuf,
    /// How it was found.
    pub by: &'static str,
}

/// Every room near a directory, each once, the one that commands find there first.
pub fn near(from: &Path) -> Vec<Near> {
    let mut all: Vec<Near> = Vec::new();
    let mut known = Vec::new();
    let mut add = |path: PathBuf, by| {
        let Some(identity) = identity(&path) else { return };
        if !known.contains(&identity) {
            known.push(identity);
            all.push(Near { path, by });
        }
    };
    if let Ok(path) = find(None, from) {
        add(path, "found from the working directory");
    }
    add(from.join(layout::ROOM), "in the working directory");
    for directory in from.ancestors() {
        add(directory.join(layout::ROOM), "in a directory above");
        for worktree in worktrees(directory) {
            add(worktree.join(layout::ROOM), "in a worktree of the same repository");
        }
    }
    for directory in below(from) {
        add(directory.join(layout::ROOM), "in a directory below");
    }
    all
}

/// What tells a room from another under whatever name; `None` where there is none.
pub fn identity(path: &Path) -> Option<(u64, u64)> {
    let dir = Dir::open(path).ok()?;
    dir.sub(layout::SPOOL).ok()?;
    dir.meta().ok().map(|meta| (meta.device, meta.inode))
}

fn below(from: &Path) -> Vec<PathBuf> {
    let Some(listing) = Dir::open(from).ok().and_then(|dir| dir.list().ok()) else { return Vec::new() };
    let mut names: Vec<_> = listing.flatten().map(|entry| entry.name).take(BELOW).collect();
    names.sort_unstable();
    names.into_iter().map(|name| from.join(name)).collect()
}

/// All worktrees of the repository whose files begin at a directory, by what git wrote down itself
/// (gitrepository-layout(5)): the main one, and `worktrees/*/gitdir`, which name the `.git` files of the others.
fn worktrees(directory: &Path) -> Vec<PathBuf> {
    let main = main_worktree(directory).unwrap_or_else(|| directory.to_path_buf());
    let Some(listed) = Dir::open(&main.join(".git/worktrees")).ok() else { return Vec::new() };
    let Ok(listing) = listed.list() else { return Vec::new() };
    let mut all = vec![main];
    for entry in listing.flatten() {
        let text = listed.sub(&entry.name).and_then(|dir| dir.read("gitdir", POINTER)).ok().flatten();
        let Some(text) = text else { continue };
        let file = Path::new(OsStr::from_bytes(text.trim_ascii_end())).to_path_buf();
        // Newer versions of git may write a path relative to the file itself.
        let file = listed.at(&entry.name).join(file);
        all.extend(file.parent().map(Path::to_path_buf));
    }
    all
}
