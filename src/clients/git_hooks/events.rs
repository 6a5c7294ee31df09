//! Answers the hooks of git: stops a commit of files that another agent owns, and records a commit.

use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::clients::hook_events;
use crate::commands::commit::{self, Commit};
use crate::disk::git::{self, Which, Worktree};
use crate::disk::machine;
use crate::query::claims;
use crate::query::committer::Committer;
use crate::query::guard::{self, Owned, Verdict};
use crate::room::Room;
use crate::room::repository::{Ground, Place};
use crate::room::sessions::{self, Caller};
use crate::room::settings::Guard;
use std::path::Path;

/// Whether a commit may pass: judges its files. A commit of a merge, rebase, cherry-pick or revert passes.
pub fn pre_commit(room: &Room, directory: &Path, committer: &Committer) -> Result<Verdict> {
    let guard = room.settings()?.guard;
    let Some(worktree) = Worktree::around(directory).filter(|_| guard != Guard::Off) else { return Ok(Verdict::Free) };
    if worktree.is_in_operation() {
        return Ok(Verdict::Free);
    }
    // Both sides of a rename, because the old path disappears.
    let args = ["diff", "--cached", "--name-only", "--no-renames", "--no-ext-diff", "-z"];
    let owned = owned(room, &worktree, directory, committer.agent(), &args)?;
    Ok(match (owned.is_empty(), committer, guard) {
        (true, ..) => Verdict::Free,
        (false, Committer::Agent(_), Guard::Deny) => Verdict::Stop(owned),
        _ => Verdict::Warn(owned),
    })
}

/// Records the newest commit as activity of its agent. The owners of its files are told: the check was bypassed, or could
/// not know them. The commits of a rebase are not new.
pub fn post_commit(room: &Room, directory: &Path, committer: &Committer) -> Result<()> {
    let (Some(agent), Some(worktree)) = (committer.agent(), Worktree::around(directory)) else { return Ok(()) };
    if worktree.is_in_operation() {
        return Ok(());
    }
    let args = ["log", "-1", "-z", "--no-show-signature", "--format=%H%n%s"];
    let Some(head) = ask(directory, &args)? else { return Ok(()) };
    let head = String::from_utf8_lossy(&head);
    let (id, subject) = head.trim_end_matches(['\n', '\0']).split_once('\n').unwrap_or((&head, ""));
    let (id, subject) = (id.to_owned(), subject.to_owned());
    let repository = Ground::of(room).name(&worktree);
    let guarded = room.settings().is_ok_and(|settings| settings.guard != Guard::Off);
    let args = ["diff-tree", "--root", "-r", "--no-commit-id", "--name-only", "--no-renames", "-z", &id];
    let found = if guarded { owned(room, &worktree, directory, Some(agent), &args) } else { Ok(Vec::new()) };
    // An unreadable state does not keep the commit from being recorded.
    let owned = found.unwrap_or_else(|e| {
        tracing::debug!("{e}");
        Vec::new()
    });
    let commit = Commit { id, branch: worktree.branch(), repository, subject };
    commit::record(room, agent, &commit, &owned)?;
    hook_events::deliver(room)
}

/// Tells a session something once. `None` if the session was told before.
pub fn once(room: &Room, what: String) -> Option<String> {
    let session = Caller::from_environment().map_or_else(machine::terminal_session, |caller| caller.key());
    (sessions::first_time(room, &session, &what) != Some(false)).then_some(what)
}

/// The files of other agents among the paths that git prints.
fn owned(room: &Room, worktree: &Worktree, directory: &Path, agent: Option<&str>, args: &[&str]) -> Result<Vec<Owned>> {
    let claims = claims::owners(room)?;
    if claims.held().is_empty() {
        return Ok(Vec::new());
    }
    let Some(paths) = ask(directory, args)? else {
        let cure = "run it by hand to see why".into();
        return Err(Error::NotFound { what: format!("`git {}` failed", args.join(" ")), cure });
    };
    let ground = Ground::of(room);
    let paths = paths.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    let files: Vec<Vec<Place>> =
        paths.map(|path| ground.in_worktree(worktree, &String::from_utf8_lossy(path))).collect();
    Ok(guard::owned(&claims, agent, files.iter().map(Vec::as_slice)))
}

fn ask(directory: &Path, args: &[&str]) -> Result<Option<Vec<u8>>> {
    git::ask(Which::Named, directory, args, limits::GUARD_TIME, limits::GIT_BYTES)
}
