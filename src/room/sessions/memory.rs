//! The lock of a client on a session that it has in memory. Codex has one lock file for each session. It holds the
//! lock in its terminal program or in its daemon, and unloads a session without a terminal after about a minute.

use super::CODEX;
use crate::base::error::Result;
use crate::disk::{Dir, is_locked, layout, machine};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The directory of the locks, in the user's directory of Codex.
const LOCKS: &str = "thread-writer-locks";

/// The lock of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionLock {
    directory: String,
    file: String,
    /// The PID namespace of the observer. Another namespace may have other files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    namespace: Option<u64>,
}

impl SessionLock {
    /// The lock of this session. `None` if its client does not hold one now.
    pub(super) fn of(client: &str, session: Option<&str>) -> Option<SessionLock> {
        let session = session?;
        if client != CODEX {
            return None;
        }
        let home = machine::variable("CODEX_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(layout::of_client(&std::env::home_dir()?, ".codex")))?;
        let directory = layout::of_client(&home, LOCKS);
        let lock = SessionLock {
            directory: directory.to_str()?.to_owned(),
            file: format!("{session}.lock"),
            namespace: machine::namespace(),
        };
        (lock.is_held() == Some(true)).then_some(lock)
    }

    /// Returns whether the client holds the lock. `None` if that cannot be seen here.
    pub(super) fn is_held(&self) -> Option<bool> {
        if self.namespace != machine::namespace() {
            return None;
        }
        let file: Result<_> = Dir::open(Path::new(&self.directory)).ok()?.look(&self.file);
        match file {
            Ok(file) => Some(is_locked(&file)),
            Err(e) if e.is_missing() => Some(false),
            Err(_) => None,
        }
    }
}
