//! Mail that a commit of the project would contain.

use super::{Finding, shell};
use crate::base::limits;
use crate::disk::git::{self, GitOutput, RepositorySelection};
use crate::disk::layout;
use crate::room::Room;
use std::time::Duration;

/// The time for an answer of git.
const GIT_TIME: Duration = Duration::from_secs(5);

pub(super) fn look(room: &Room, findings: &mut Vec<Finding>) {
    let path = room.dir.path();
    let ignored = ask_git(room, &["check-ignore", "-q", "--no-index", layout::LOG]);
    // Any other status means that git knows no repository here.
    if ignored.is_some_and(|output| output.code == Some(1)) {
        findings.push(Finding::warning(
            "room_not_ignored",
            format!(
                "git does not ignore the room {}: a commit of all files contains its mail",
                path.display()
            ),
            format!("echo '*' >> {}", shell(&room.dir.at(layout::GITIGNORE))),
        ));
    }
    let tracked = ask_git(room, &["ls-files", "--", layout::LOG]);
    if tracked.is_some_and(|output| !output.bytes.is_empty()) {
        findings.push(Finding::warning(
            "room_tracked",
            format!(
                "git tracks files of the room {}: commits contain its mail, and a checkout overwrites it",
                path.display()
            ),
            format!("git rm -r -q --cached {}", shell(path)),
        ));
    }
}

/// The output of git in the room. `None` without git.
fn ask_git(room: &Room, args: &[&str]) -> Option<GitOutput> {
    let around = RepositorySelection::Around;
    git::run(around, room.dir.path(), args, GIT_TIME, limits::GIT_BYTES)
        .inspect_err(|e| tracing::debug!("{e}"))
        .ok()
}
