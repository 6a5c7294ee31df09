//! git's own files: the worktree around a directory, and the repository that several worktrees share. They are read
//! directly (gitrepository-layout(5)), because to start git takes longer than a hook may.

use super::layout;
use std::path::{Path, PathBuf};

/// A directory that git tracks: the main worktree of a repository, a linked worktree, or a submodule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    /// Its top directory, without symbolic links.
    pub top: PathBuf,
    /// Its own git directory.
    pub git: PathBuf,
    /// The git directory that it shares with the other worktrees of its repository.
    pub common: PathBuf,
}

impl Worktree {
    /// The worktree whose top is this directory.
    pub fn at(top: &Path) -> Option<Worktree> {
        let top = top.canonicalize().ok()?;
        let place = top.join(layout::REPOSITORY);
        let meta = std::fs::metadata(&place).ok()?;
        if meta.is_dir() {
            let git = place.canonicalize().ok()?;
            // An empty `.git` is no repository, and git ignores it.
            return git.join("HEAD").symlink_metadata().is_ok().then(|| Worktree { top, common: git.clone(), git });
        }
        let git = pointed(&top, &place, "gitdir:")?;
        // A submodule has no `commondir`.
        let common = pointed(&git, &git.join("commondir"), "").unwrap_or_else(|| git.clone());
        Some(Worktree { top, git, common })
    }

    /// The nearest worktree that contains this directory. The directory need not exist.
    pub fn around(directory: &Path) -> Option<Worktree> {
        directory.ancestors().find_map(Worktree::at)
    }

    /// Is it a linked worktree?
    pub fn is_linked(&self) -> bool {
        self.git != self.common
    }

    /// The name of its repository: the main worktree's directory, or that of a bare repository or submodule. It is the
    /// same in all worktrees.
    pub fn repository(&self) -> Option<&str> {
        let is_inside = self.common.file_name().is_some_and(|name| name == layout::REPOSITORY);
        let named = if is_inside { self.common.parent()? } else { self.common.as_path() };
        let name = named.file_name()?.to_str()?;
        Some(name.strip_suffix(".git").filter(|rest| !rest.is_empty()).unwrap_or(name))
    }
}

/// The main worktree of a linked worktree.
pub fn main_worktree(directory: &Path) -> Option<PathBuf> {
    let linked = Worktree::at(directory).filter(Worktree::is_linked)?;
    Some(linked.common.parent()?.to_path_buf())
}

/// The directory that a file of git names, relative to `from`.
fn pointed(from: &Path, file: &Path, prefix: &str) -> Option<PathBuf> {
    let text = std::fs::read_to_string(file).ok()?;
    from.join(text.strip_prefix(prefix)?.trim()).canonicalize().ok()
}

/// Is there anything at this path? A dangling link counts.
pub fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// A path without symbolic links, `.` and `..`. The end of it need not exist.
pub fn resolved(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|above| Some((above.canonicalize().ok()?, path.strip_prefix(above).ok()?)));
    let Some((mut real, rest)) = there else { return path.to_path_buf() };
    for part in rest.components() {
        match part {
            std::path::Component::ParentDir => drop(real.pop()),
            part => real.push(part),
        }
    }
    real
}

/// A path without `.` and `..`, but with its symbolic links.
pub fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}
