//! Answers the hooks of git: stops a commit of files that another agent owns, and records a commit.

use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::clients::hook_events;
use crate::commands::claim::release_lapsed;
use crate::commands::commit::{self, GitCommit};
use crate::commands::follow::let_router_process;
use crate::disk::git::{self, RepositorySelection, Worktree};
use crate::features::claims::Claims;
use crate::message::id;
use crate::query::claims;
use crate::query::committer::Committer;
use crate::query::guard::{self, GuardVerdict, OwnedFile};
use crate::room::Room;
use crate::room::repository::{RepositoryBase, RepositoryPath};
use crate::room::settings::GuardMode;
use std::collections::BTreeSet;
use std::path::Path;

/// The staged paths. Both sides of a rename count, because the old path disappears.
const STAGED: [&str; 6] = [
    "diff",
    "--cached",
    "--name-only",
    "--no-renames",
    "--no-ext-diff",
    "-z",
];

/// Whether a commit may pass: judges the files that it changes. During a merge, cherry-pick, revert or rebase, git itself
/// says which changes come from committed work: those pass.
pub fn pre_commit(room: &Room, directory: &Path, committer: &Committer) -> Result<GuardVerdict> {
    let guard = room.settings()?.guard;
    if guard == GuardMode::Off {
        return Ok(GuardVerdict::Free);
    }
    let Some(worktree) = Worktree::around(directory) else {
        return Ok(GuardVerdict::Free);
    };
    let_router_process(room, limits::READER_WAIT);
    let verdict = judge_staged(room, directory, committer, &worktree, guard)?;
    // Without a router, nothing has released claims that lapsed.
    if verdict != GuardVerdict::Free && release_lapsed(room) {
        return judge_staged(room, directory, committer, &worktree, guard);
    }
    Ok(verdict)
}

fn judge_staged(
    room: &Room,
    directory: &Path,
    committer: &Committer,
    worktree: &Worktree,
    guard: GuardMode,
) -> Result<GuardVerdict> {
    let claims = claims::owners(room)?;
    if claims.held().is_empty() {
        return Ok(GuardVerdict::Free);
    }
    let staged = paths(directory, &STAGED)?;
    let agent = committer.agent();
    if owned(room, &claims, worktree, agent, &staged).is_empty() {
        return Ok(GuardVerdict::Free);
    }
    let GitOperationChanges { edited, conflicted } = match operation(directory)? {
        Some(progress) => progress,
        None => GitOperationChanges {
            edited: staged,
            conflicted: BTreeSet::new(),
        },
    };
    let own_edits = owned(room, &claims, worktree, agent, &edited);
    if !own_edits.is_empty() && guard == GuardMode::Deny && agent.is_some() {
        return Ok(GuardVerdict::Stop(own_edits));
    }
    let touched = edited.union(&conflicted).cloned().collect();
    let found = owned(room, &claims, worktree, agent, &touched);
    Ok(if found.is_empty() {
        GuardVerdict::Free
    } else {
        GuardVerdict::Warn(found)
    })
}

/// The staged changes during an operation of git, without the changes of the operation itself.
struct GitOperationChanges {
    /// The paths that differ from the result of the operation.
    edited: BTreeSet<String>,
    /// The conflicting paths. The operation has no result for them.
    conflicted: BTreeSet<String>,
}

/// The operation in progress. Its head must be a commit, and git computes the result again: a file in the git directory proves
/// nothing.
fn operation(directory: &Path) -> Result<Option<GitOperationChanges>> {
    for (head, sides) in [
        ("MERGE_HEAD", vec!["HEAD", "MERGE_HEAD"]),
        (
            "CHERRY_PICK_HEAD",
            vec!["--merge-base=CHERRY_PICK_HEAD^", "HEAD", "CHERRY_PICK_HEAD"],
        ),
        (
            "REVERT_HEAD",
            vec!["--merge-base=REVERT_HEAD", "HEAD", "REVERT_HEAD^"],
        ),
        (
            "REBASE_HEAD",
            vec!["--merge-base=REBASE_HEAD^", "HEAD", "REBASE_HEAD"],
        ),
    ] {
        if ask(
            directory,
            &["rev-parse", "-q", "--verify", &format!("{head}^{{commit}}")],
        )?
        .is_none()
        {
            continue;
        }
        let merge = [
            "merge-tree",
            "--write-tree",
            "-z",
            "--name-only",
            "--no-messages",
        ];
        let merged = git::run(
            RepositorySelection::Named,
            directory,
            &[&merge[..], &sides[..]].concat(),
            limits::GUARD_TIME,
            limits::GIT_BYTES,
        )?;
        // An older git cannot compute the result, and a first commit has no parent: then all is judged.
        if !matches!(merged.code, Some(0 | 1)) {
            continue;
        }
        let mut parts = split(&merged.bytes).into_iter();
        let Some(tree) = parts.next() else { continue };
        let conflicted: BTreeSet<String> = parts.collect();
        let edited = paths(directory, &[&STAGED[..], &[tree.as_str()]].concat())?;
        let edited = edited.difference(&conflicted).cloned().collect();
        return Ok(Some(GitOperationChanges { edited, conflicted }));
    }
    Ok(None)
}

/// Records the newest commit as activity of its agent. The owners of its files are notified: the check was bypassed, could
/// not know them, or let the commit pass. A commit that a rebase or the like made again is not new, and counts only if it
/// changes owned files. A person's commit is recorded only in that case.
pub fn post_commit(room: &Room, directory: &Path, committer: &Committer) -> Result<()> {
    let sender = match committer {
        Committer::Agent(agent) => agent,
        Committer::Human => id::HUMAN,
        Committer::Unknown(_) => return Ok(()),
    };
    let Some(worktree) = Worktree::around(directory) else {
        return Ok(());
    };
    let args = ["log", "-1", "-z", "--no-show-signature", "--format=%H%n%s"];
    let Some(head) = ask(directory, &args)? else {
        return Ok(());
    };
    let head = String::from_utf8_lossy(&head);
    let (id, subject) = head
        .trim_end_matches(['\n', '\0'])
        .split_once('\n')
        .unwrap_or((&head, ""));
    let (id, subject) = (id.to_owned(), subject.to_owned());
    let repository = RepositoryBase::of(room).name(&worktree);
    // An unreadable state does not keep the commit from being recorded.
    let owned = committed(room, &worktree, directory, committer.agent(), &id).unwrap_or_else(|e| {
        tracing::debug!("{e}");
        Vec::new()
    });
    if owned.is_empty() && (worktree.looks_in_operation() || *committer == Committer::Human) {
        return Ok(());
    }
    let commit = GitCommit {
        id,
        branch: worktree.branch(),
        repository,
        subject,
    };
    commit::record(room, sender, &commit, &owned)?;
    hook_events::deliver(room)
}

/// The files of other agents that a commit changes. A merge changes what differs from all of its parents.
fn committed(
    room: &Room,
    worktree: &Worktree,
    directory: &Path,
    agent: Option<&str>,
    commit: &str,
) -> Result<Vec<OwnedFile>> {
    let claims = claims::owners(room)?;
    if claims.held().is_empty() || room.settings()?.guard == GuardMode::Off {
        return Ok(Vec::new());
    }
    let args = [
        "diff-tree",
        "-c",
        "--root",
        "-r",
        "--no-commit-id",
        "--name-only",
        "--no-renames",
        "-z",
        commit,
    ];
    Ok(owned(
        room,
        &claims,
        worktree,
        agent,
        &paths(directory, &args)?,
    ))
}

/// The files of other agents among these paths of a worktree.
fn owned(
    room: &Room,
    claims: &Claims,
    worktree: &Worktree,
    agent: Option<&str>,
    paths: &BTreeSet<String>,
) -> Vec<OwnedFile> {
    let ground = RepositoryBase::of(room);
    let files: Vec<Vec<RepositoryPath>> = paths
        .iter()
        .map(|path| ground.in_worktree(worktree, path))
        .collect();
    guard::owned(claims, agent, files.iter().map(Vec::as_slice))
}

/// The paths that git prints.
fn paths(directory: &Path, args: &[&str]) -> Result<BTreeSet<String>> {
    let Some(printed) = ask(directory, args)? else {
        return Err(Error::not_found(
            format!("`git {}` failed", args.join(" ")),
            "run it by hand to see why",
        ));
    };
    Ok(split(&printed).into_iter().collect())
}

fn split(printed: &[u8]) -> Vec<String> {
    let parts = printed
        .split(|byte| *byte == 0)
        .filter(|part| !part.is_empty());
    parts
        .map(|part| String::from_utf8_lossy(part).into_owned())
        .collect()
}

fn ask(directory: &Path, args: &[&str]) -> Result<Option<Vec<u8>>> {
    git::ask(
        RepositorySelection::Named,
        directory,
        args,
        limits::GUARD_TIME,
        limits::GIT_BYTES,
    )
}
