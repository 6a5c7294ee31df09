//! Who calls: which client, which of its sessions, and which process that is.

use crate::disk::machine::{self, Process};
use crate::error::{Error, Result};
use crate::limits;

/// The variables by which clients name their session to the commands they run, each with the client.
pub const VARIABLES: [(&str, &str); 3] =
    [("CLAUDE_CODE_SESSION_ID", "claude"), ("CODEX_THREAD_ID", "codex"), ("GEMINI_SESSION_ID", "gemini")];

/// What stands between a client and what it runs, and is no client itself.
const SHELLS: [&str; 12] =
    ["sh", "bash", "dash", "zsh", "fish", "ksh", "busybox", "env", "timeout", "nice", "setsid", "mailbag"];

/// A session that calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The client's name.
    pub client: String,
    /// Its own id of the session, where it is known.
    pub session: Option<String>,
    /// The client's process, where the system tells.
    pub process: Option<Process>,
}

impl Caller {
    /// A session of this client that has run this program: its process is the nearest one above that is no shell.
    pub fn here(client: &str, session: Option<String>) -> Result<Caller> {
        if let Some(id) = session.as_deref().filter(|id| !is_session(id)) {
            return Err(Error::Usage {
                what: format!("{} is no session's id", crate::address::quoted(id)),
                cure: format!("give letters, digits and . _ - : at most {} of them", limits::SESSION_ID),
            });
        }
        let above = machine::ancestors(limits::ANCESTORS);
        let process = above.into_iter().find(|(_, name)| !SHELLS.contains(&name.as_str())).map(|(process, _)| process);
        Ok(Caller { client: client.to_owned(), session, process })
    }

    /// The session that the environment names, if it names one.
    pub fn from_environment() -> Option<Caller> {
        let value = |name| std::env::var(name).ok().filter(|id| is_session(id));
        let (id, client) = VARIABLES.iter().find_map(|(name, client)| Some((value(name)?, client)))?;
        Caller::here(client, Some(id)).ok()
    }
}

fn is_session(id: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':');
    (1..=limits::SESSION_ID).contains(&id.len()) && id.chars().all(plain)
}
