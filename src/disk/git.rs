//! git's own files: the worktree around a directory, and the repository that several worktrees share. They are read
//! directly (gitrepository-layout(5)), because to start git takes longer than a hook may. Other facts come from git itself.

use super::{layout, machine, paths};
use crate::base::error::{Error, ErrorContext, Result};
use crate::disk::paths::PathQuestions;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The variables that name a repository or its parts. git sets them for hooks.
const NAMED: [&str; 6] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
];

/// The repository that git uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepositorySelection {
    /// The repository around the directory.
    Around,
    /// The repository that the environment names, as in a hook of git. Otherwise as `Around`.
    Named,
}

/// The output of a git command, and its exit status.
pub struct GitOutput {
    /// The exit status. `None` if a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub bytes: Vec<u8>,
}

/// The output of a git command that only reads. `None` if git ended with another status than 0, `Err` if it could not
/// run, took too long, or printed more than `most` bytes.
pub fn ask(
    which: RepositorySelection,
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
    which: RepositorySelection,
    at: &Path,
    args: &[&str],
    within: Duration,
    most: u64,
) -> Result<GitOutput> {
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
    if which == RepositorySelection::Around {
        for name in NAMED {
            git.env_remove(name);
        }
    }
    let mut child = match git.spawn() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Err(Error::not_found(
                "git is not on the PATH",
                "install git, or add it to the PATH",
            ));
        }
        child => child.doing("start", "git")?,
    };
    let (output, received) = std::sync::mpsc::channel();
    if let Some(pipe) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = pipe.take(most + 1).read_to_end(&mut bytes);
            let _ = output.send(read.map(|_| bytes));
        });
    }
    let output = received.recv_timeout(within.saturating_sub(started.elapsed()));
    let status = match &output {
        Ok(Ok(bytes)) if bytes.len() as u64 <= most => {
            let left = within.saturating_sub(started.elapsed());
            machine::wait_for_child(&mut child, left).doing("wait for", "git")?
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
        return Err(Error::timeout(what, "run it by hand to see why"));
    };
    Ok(GitOutput {
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
    /// The worktree that has its top at this directory.
    pub fn at(top: &Path) -> Option<Worktree> {
        let top = top.real_path().ok()?;
        let place = top.join(layout::REPOSITORY);
        let meta = paths::meta(&place).ok()?;
        if meta.is_directory() {
            let git = place.real_path().ok()?;
            // git ignores an empty `.git`.
            return exists(&git.join("HEAD")).then(|| Worktree {
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

    /// Returns true for a linked worktree.
    pub fn is_linked(&self) -> bool {
        self.git != self.common
    }

    /// Returns true for a submodule. Its git directory is in another repository.
    pub fn is_submodule(&self) -> bool {
        !self.is_linked()
            && !self.git.starts_with(&self.top)
            && self.git.ancestors().any(|above| above.ends_with("modules"))
    }

    /// Returns true if git's files show a merge, rebase, cherry-pick or revert in progress. Anyone can make these files,
    /// so no protection may depend on the result.
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
        let head = paths::read_text(&self.git.join("HEAD")).ok()?;
        Some(head.trim().strip_prefix("ref: refs/heads/")?.to_owned())
    }

    /// The name of its repository: the directory of the main worktree, the bare repository or the submodule. All
    /// worktrees of a repository have the same name.
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
    let text = paths::read_text(file).ok()?;
    from.join(text.strip_prefix(prefix)?.trim())
        .real_path()
        .ok()
}

/// Returns true if the repository has this linked worktree. Anyone can make a `.git` file that names another repository,
/// so the repository must also name the worktree. After a move, or under another mount point, the path that the
/// repository knows is not this one.
fn is_linked(place: &Path, git: &Path, common: &Path) -> bool {
    let back = paths::read_text(&git.join("gitdir")).unwrap_or_default();
    let known = git.join(back.trim());
    git.parent() == Some(&common.join("worktrees"))
        && (is_same_file(&known, place) || !exists(&known))
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let (one, other) = (paths::meta(one), paths::meta(other));
    matches!((one, other), (Ok(one), Ok(other)) if one.is_same_file(&other))
}

/// Returns true if the path exists, even as a dangling link.
pub fn exists(path: &Path) -> bool {
    path.is_named()
}

/// A path without symbolic links, `.` and `..`. Its last parts need not exist.
pub fn resolved(path: &Path) -> PathBuf {
    let there = path
        .ancestors()
        .find_map(|above| Some((above.real_path().ok()?, path.strip_prefix(above).ok()?)));
    let Some((mut real, rest)) = there else {
        return path.to_path_buf();
    };
    for part in rest.components() {
        match part {
            std::path::Component::ParentDir => {
                real.pop();
            }
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
            std::path::Component::ParentDir => {
                plain.pop();
            }
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
    fn a_directory_that_only_claims_to_be_a_linked_worktree_is_not_one() {
        let home = tempfile::tempdir().expect("a directory");
        let home = home.path().canonicalize().expect("a directory");
        for directory in ["main", "other", "made-up/git"] {
            std::fs::create_dir_all(home.join(directory)).expect("a directory");
        }
        git(&home.join("main"), &["init", "-q"]);
        git(
            &home.join("main"),
            &["commit", "-q", "--allow-empty", "-m", "x"],
        );
        git(
            &home.join("main"),
            &["worktree", "add", "-q", "../linked", "-b", "linked"],
        );
        assert_eq!(main_worktree(&home.join("linked")), Some(home.join("main")));
        // The repository knows this worktree at another place.
        std::fs::copy(home.join("linked/.git"), home.join("other/.git")).expect("a copy");
        assert_eq!(main_worktree(&home.join("other")), None);
        // The repository does not know this worktree.
        std::fs::write(home.join("made-up/.git"), "gitdir: git\n").expect("a file");
        std::fs::write(
            home.join("made-up/git/commondir"),
            home.join("main/.git").display().to_string(),
        )
        .expect("a file");
        assert_eq!(main_worktree(&home.join("made-up")), None);
        let main = Worktree::at(&home.join("main")).expect("a worktree");
        let shares = ["linked", "other", "made-up"].map(|one| {
            Worktree::at(&home.join(one)).is_some_and(|one| one.shares_repository(&main))
        });
        assert_eq!(shares, [true, false, false]);
        std::fs::rename(home.join("linked"), home.join("moved")).expect("the same file system");
        assert_eq!(main_worktree(&home.join("moved")), Some(home.join("main")));
    }
}
