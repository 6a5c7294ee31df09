//! Who calls: which client, which of its sessions, and which process that is.

use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::disk::machine::{self, Process};

/// The variables by which clients name their session to the commands they run, each with the client. Seen in
/// `docs/hooks.md`.
pub const VARIABLES: [(&str, &str); 3] =
    [("CLAUDE_CODE_SESSION_ID", CLAUDE), ("CODEX_SESSION_ID", CODEX), ("GEMINI_SESSION_ID", GEMINI)];
/// Set in the shell of Gemini CLI, which doesn't name the session there.
pub const IN_GEMINI: &str = "GEMINI_CLI";

const CLAUDE: &str = "claude";
const CODEX: &str = "codex";
const GEMINI: &str = "gemini";

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
                what: format!("{} is no session's id", crate::message::address::quoted(id)),
                cure: format!("give letters, digits and . _ - : at most {} of them", limits::SESSION_ID),
            });
        }
        let above = client_above();
        if client == CODEX || session.is_none() && above.as_ref().is_some_and(|(_, name)| name == CODEX) {
            // All its sessions share one process, and its shell can't see that.
            return Ok(Caller { client: CODEX.to_owned(), session, process: None });
        }
        Ok(Caller { client: client.to_owned(), session, process: above.map(|(process, _)| process) })
    }

    /// The session whose client has started this program as a server. Such a server may outlive the session that it was
    /// started in: Claude Code begins another one in the same process, so that only the process counts there.
    pub fn of_server() -> Result<Caller> {
        let caller = Caller::from_environment().map_or_else(|| Caller::here("mcp", None), Ok)?;
        match client_above() {
            Some((_, name)) if name == CLAUDE => Ok(Caller { session: None, ..caller }),
            _ => Ok(caller),
        }
    }

    /// The session that Codex names with each call to a server that it has started.
    pub fn codex(session: &str) -> Result<Caller> {
        Caller::here(CODEX, Some(session.to_owned()))
    }

    /// Can it be told from other sessions?
    pub fn is_known(&self) -> bool {
        self.session.is_some() || self.process.is_some()
    }

    /// The session that the environment names, if it does, or its process.
    pub fn from_environment() -> Option<Caller> {
        let value = |name| std::env::var(name).ok().filter(|id| is_session(id));
        match VARIABLES.iter().find_map(|(name, client)| Some((value(name)?, client))) {
            Some((id, client)) => Caller::here(client, Some(id)).ok(),
            None if std::env::var_os(IN_GEMINI).is_some() => Caller::here(GEMINI, None).ok(),
            None => None,
        }
    }
}

/// The nearest process above that is no shell.
fn client_above() -> Option<(Process, String)> {
    machine::ancestors(limits::ANCESTORS).into_iter().find(|(_, name)| !SHELLS.contains(&name.as_str()))
}

fn is_session(id: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':');
    (1..=limits::SESSION_ID).contains(&id.len()) && id.chars().all(plain)
}
