//! git's own files: the worktree around a directory, and the repository that several worktrees share. They are read
//! directly (gitrepository-layout(5)), because to start git takes longer than a hook may. Other facts come from git itself.

use super::layout;
use crate::base::error::{Doing, Error, Result};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use wait_timeout::ChildExt;

/// The variables that name a repository or its parts. git sets them for hooks.
const NAMED: [&str; 6] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
];

/// Which repository git uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The repository around the directory.
    Around,
    /// The repository of the environment, as in a hook of git; otherwise the one around the directory.
    Named,
}

/// The output of a git command, and its exit status.
pub struct GitAnswer {
    /// The exit status. `None` if a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub bytes: Vec<u8>,
}

/// The output of a git command that only reads. `None` if git ended with another status than 0, `Err` if it could not
/// run, took too long, or printed more than `most` bytes.
pub fn ask(
    which: Which,
    at: &Path,
    args: &[&str],
    within: Duration,
    most: u64,
) -> Result<Option<Vec<u8>>> {
    let answer = run(which, at, args, within, most)?;
    Ok((answer.code == Some(0)).then_some(answer.bytes))
}

/// As [`ask`], with the exit status.
pub fn run(
    which: Which,
    at: &Path,
    args: &[&str],
    within: Duration,
    most: u64,
) -> Result<GitAnswer> {
    let started = Instant::now();
    let mut git = Command::new("git");
    // Nothing that the repository's configuration names is started, and no lock is taken.
    git.args([
        "--no-optional-locks",
        "-c",
        "core.fsmonitor=false",
        "-c",
        "log.showSignature=false",
    ]);
    git.args(args)
        .current_dir(at)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if which == Which::Around {
        for name in NAMED {
            git.env_remove(name);
        }
    }
    let mut child = match git.spawn() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            let cure = "install git, or add it to the PATH".into();
            return Err(Error::NotFound {
                what: "there is no git on the PATH".into(),
                cure,
            });
        }
        child => child.doing("start", "git")?,
    };
    let (tell, heard) = std::sync::mpsc::channel();
    if let Some(pipe) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = pipe.take(most + 1).read_to_end(&mut bytes);
            let _ = tell.send(read.map(|_| bytes));
        });
    }
    let left = |limit: Duration| limit.saturating_sub(started.elapsed());
    let output = heard.recv_timeout(left(within));
    let status = match &output {
        Ok(Ok(bytes)) if bytes.len() as u64 <= most => {
            child.wait_timeout(left(within)).doing("wait for", "git")?
        }
        _ => None,
    };
    let (Ok(Ok(bytes)), Some(status)) = (output, status) else {
        let _ = child.kill();
        let _ = child.wait();
        let what = format!(
            "git {} gave no complete answer within {} ms",
            args.join(" "),
            within.as_millis()
        );
        return Err(Error::Timeout {
            what,
            cure: "run it by hand to see why".into(),
        });
    };
    Ok(GitAnswer {
        code: status.code(),
        bytes,
    })
}

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
            return git
                .join("HEAD")
                .symlink_metadata()
                .is_ok()
                .then(|| Worktree {
                    top,
                    common: git.clone(),
                    git,
                });
        }
        let git = pointed(&top, &place, "gitdir:")?;
        // A submodule has no `commondir`.
        let common = pointed(&git, &git.join("commondir"), "")
            .filter(|common| is_linked(&place, &git, common));
        Some(Worktree {
            top,
            common: common.unwrap_or_else(|| git.clone()),
            git,
        })
    }

    /// The nearest worktree that contains this directory. The directory need not exist.
    pub fn around(directory: &Path) -> Option<Worktree> {
        directory.ancestors().find_map(Worktree::at)
    }

    /// Returns true for a worktree of the same repository, also under another mount point.
    pub fn shares_repository(&self, other: &Worktree) -> bool {
        self.common == other.common || is_same_file(&self.common, &other.common)
    }

    /// Is it a linked worktree?
    pub fn is_linked(&self) -> bool {
        self.git != self.common
    }

    /// Returns true for a submodule. Its git directory is in another repository.
    pub fn is_submodule(&self) -> bool {
        !self.is_linked()
            && !self.git.starts_with(&self.top)
            && self.git.ancestors().any(|above| above.ends_with("modules"))
    }

    /// Does it look as if a merge, rebase, cherry-pick or revert is in progress? Anyone can make these files, so only what
    /// no protection depends on may ask this.
    pub fn looks_in_operation(&self) -> bool {
        let signs = [
            "MERGE_HEAD",
            "CHERRY_PICK_HEAD",
            "REVERT_HEAD",
            "rebase-merge",
            "rebase-apply",
            "sequencer",
        ];
        signs.iter().any(|sign| exists(&self.git.join(sign)))
    }

    /// The branch that is checked out. `None` if the head is detached.
    pub fn branch(&self) -> Option<String> {
        let head = std::fs::read_to_string(self.git.join("HEAD")).ok()?;
        Some(head.trim().strip_prefix("ref: refs/heads/")?.to_owned())
    }

    /// The name of its repository: the main worktree's directory, or that of a bare repository or submodule. It is the
    /// same in all worktrees.
    pub fn repository(&self) -> Option<&str> {
        let is_inside = self
            .common
            .file_name()
            .is_some_and(|name| name == layout::REPOSITORY);
        let named = if is_inside {
            self.common.parent()?
        } else {
            self.common.as_path()
        };
        let name = named.file_name()?.to_str()?;
        Some(
            name.strip_suffix(".git")
                .filter(|rest| !rest.is_empty())
                .unwrap_or(name),
        )
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
    from.join(text.strip_prefix(prefix)?.trim())
        .canonicalize()
        .ok()
}

/// Returns true if the repository has this linked worktree. Anyone can make a `.git` file that names another repository, so
/// the repository must also name the worktree. A worktree that was moved, or that is seen under another mount point, is
/// not at the path that the repository knows.
fn is_linked(place: &Path, git: &Path, common: &Path) -> bool {
    let back = std::fs::read_to_string(git.join("gitdir")).unwrap_or_default();
    let known = git.join(back.trim());
    git.parent() == Some(&common.join("worktrees"))
        && (is_same_file(&known, place) || !exists(&known))
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| {
        std::fs::metadata(path)
            .ok()
            .map(|meta| (meta.dev(), meta.ino()))
    };
    identity(one).is_some() && identity(one) == identity(other)
}

/// Is there anything at this path? A dangling link counts.
pub fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// A path without symbolic links, `.` and `..`. The end of it need not exist.
pub fn resolved(path: &Path) -> PathBuf {
    let there = path
        .ancestors()
        .find_map(|above| Some((above.canonicalize().ok()?, path.strip_prefix(above).ok()?)));
    let Some((mut real, rest)) = there else {
        return path.to_path_buf();
    };
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

#[cfg(test)]
mod tests {
    use super::*;

    fn git(at: &Path, args: &[&str]) {
        let mut command = Command::new("git");
        command
            .args(["-c", "user.name=x", "-c", "user.email=x@example.org"])
            .args(args)
            .current_dir(at);
        assert!(command.output().expect("git").status.success(), "{args:?}");
    }

    #[test]
    fn a_directory_that_only_says_that_it_is_a_linked_worktree_is_none() {
        let home = tempfile::tempdir().expect("a directory");
        let at = |below: &str| home.path().canonicalize().expect("a directory").join(below);
        for directory in ["main", "other", "made-up/git"] {
            std::fs::create_dir_all(at(directory)).expect("a directory");
        }
        git(&at("main"), &["init", "-q"]);
        git(&at("main"), &["commit", "-q", "--allow-empty", "-m", "x"]);
        git(
            &at("main"),
            &["worktree", "add", "-q", "../linked", "-b", "linked"],
        );
        assert_eq!(main_worktree(&at("linked")), Some(at("main")));
        // The repository knows this worktree at another place.
        std::fs::copy(at("linked/.git"), at("other/.git")).expect("a copy");
        assert_eq!(main_worktree(&at("other")), None);
        // The repository does not know this worktree.
        std::fs::write(at("made-up/.git"), "gitdir: git\n").expect("a file");
        std::fs::write(
            at("made-up/git/commondir"),
            at("main/.git").display().to_string(),
        )
        .expect("a file");
        assert_eq!(main_worktree(&at("made-up")), None);
        let shares = |one: &str| {
            let (one, main) = (
                Worktree::at(&at(one)),
                Worktree::at(&at("main")).expect("a worktree"),
            );
            one.is_some_and(|one| one.shares_repository(&main))
        };
        assert_eq!(
            ["linked", "other", "made-up"].map(shares),
            [true, false, false]
        );
        std::fs::rename(at("linked"), at("moved")).expect("the same file system");
        assert_eq!(main_worktree(&at("moved")), Some(at("main")));
    }
}
