//! Commits with an agent's name in brackets at the beginning of the subject line: `[alice] Fix the login`.
//!
//! Any program can write such a line, so it only informs: no lease and no presence depends on it.

use crate::base::error::Result;
use crate::base::limits;
use crate::disk::git::{self, RepositorySelection, Worktree};
use crate::features::presence::AgentCommit;
use crate::room::Room;
use crate::room::registry::Registry;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The number of the newest commits that `who` searches for agents' names.
const PREFIX_COMMITS: usize = 200;
/// The time limit of this search. After it, `who` shows only recorded commits.
const PREFIX_TIME: Duration = Duration::from_millis(200);

/// The newest commit of each agent.
pub type Commits = BTreeMap<Arc<str>, AgentCommit>;

/// The newest such commit of each agent in the repository of the room, among the newest commits of all branches. A git
/// that fails or is slow gives none.
pub fn by_prefix(room: &Room, registry: &Registry) -> Commits {
    let path = git::resolved(room.dir.path());
    let Some(worktree) = path.parent().and_then(Worktree::around) else {
        return BTreeMap::new();
    };
    let lines = log(&worktree.top).unwrap_or_else(|e| {
        tracing::debug!("{e}");
        None
    });
    let (text, mut newest) = (lines.unwrap_or_default(), BTreeMap::new());
    for line in String::from_utf8_lossy(&text).split('\0') {
        let mut fields = line.splitn(3, '\n');
        let (Some(id), Some(seconds), Some(subject)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let agent = prefix(subject).and_then(|name| registry.find(name));
        let (Some(agent), Ok(seconds)) = (agent, seconds.parse::<i64>()) else {
            continue;
        };
        let at = seconds.saturating_mul(1_000_000);
        newest.entry(agent.id.clone()).or_insert(AgentCommit {
            id: id.to_owned(),
            branch: None,
            at,
        });
    }
    newest
}

fn log(top: &Path) -> Result<Option<Vec<u8>>> {
    let count = format!("--max-count={}", PREFIX_COMMITS);
    let args = [
        "log",
        "--branches",
        &count,
        "-z",
        "--no-show-signature",
        "--format=%H%n%ct%n%s",
    ];
    git::ask(
        RepositorySelection::Around,
        top,
        &args,
        PREFIX_TIME,
        limits::GIT_BYTES,
    )
}

/// The name in brackets at the beginning of a subject line.
fn prefix(subject: &str) -> Option<&str> {
    let (name, _) = subject.strip_prefix('[')?.split_once(']')?;
    Some(name.trim()).filter(|name| !name.is_empty())
}
