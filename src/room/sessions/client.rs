//! The calling session: its client, its id and its process.

use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::disk::machine::{self, Process};
use std::path::PathBuf;

const CLAUDE: &str = "claude";
/// The client with several sessions in one process, and a queue of messages for each.
pub const CODEX: &str = "codex";
const GEMINI: &str = "gemini";
const QWEN: &str = "qwen";
const COPILOT: &str = "copilot";
const KIMI: &str = "kimi";
/// The name of the process of Kimi CLI, which gives no variable to its commands.
const KIMI_PROCESS: &str = "kimi-code";

/// A client, and the signs that identify its processes. See `docs/hooks.md`.
#[derive(Debug)]
pub struct KnownClient {
    /// Its name on the command line and in leases.
    pub name: &'static str,
    /// The variable with the session's id in the environment of its commands.
    pub session: Option<&'static str>,
    /// Other variables that it sets for its commands.
    pub marks: &'static [&'static str],
    /// Its programs.
    pub programs: &'static [&'static str],
    /// The packages of npm and Python that contain it.
    pub packages: &'static [&'static str],
}

impl KnownClient {
    /// The variables that it sets for its commands, each with the client's name.
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.session
            .iter()
            .chain(self.marks)
            .map(|variable| (*variable, self.name))
    }
}

/// All known clients.
pub const KNOWN: [KnownClient; 13] = [
    KnownClient {
        name: CLAUDE,
        session: Some("CLAUDE_CODE_SESSION_ID"),
        marks: &["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"],
        programs: &["claude"],
        packages: &["claude-code"],
    },
    KnownClient {
        name: CODEX,
        session: Some("CODEX_SESSION_ID"),
        marks: &[
            "CODEX_THREAD_ID",
            "CODEX_SANDBOX",
            "CODEX_SANDBOX_NETWORK_DISABLED",
        ],
        programs: &["codex"],
        packages: &["codex"],
    },
    KnownClient {
        name: GEMINI,
        session: Some("GEMINI_SESSION_ID"),
        marks: &[IN_GEMINI],
        programs: &["gemini"],
        packages: &["gemini-cli"],
    },
    KnownClient {
        name: QWEN,
        session: Some("QWEN_CODE_SESSION_ID"),
        marks: &["QWEN_CODE"],
        programs: &["qwen"],
        packages: &["qwen-code"],
    },
    KnownClient {
        name: "opencode",
        session: Some("OPENCODE_SESSION_ID"),
        marks: &["OPENCODE"],
        programs: &["opencode"],
        packages: &["opencode-ai"],
    },
    KnownClient {
        name: COPILOT,
        session: Some("COPILOT_AGENT_SESSION_ID"),
        marks: &[IN_COPILOT],
        programs: &["copilot"],
        packages: &["copilot"],
    },
    KnownClient {
        name: KIMI,
        session: None,
        marks: &[],
        programs: &["kimi"],
        packages: &["kimi-cli", "kimi_cli", KIMI_PROCESS],
    },
    // `mailbag install` does not know the following ones.
    KnownClient {
        name: "Cursor",
        session: None,
        marks: &["CURSOR_AGENT"],
        programs: &["cursor-agent"],
        packages: &[],
    },
    KnownClient {
        name: "aider",
        session: None,
        marks: &[],
        programs: &["aider"],
        packages: &["aider"],
    },
    KnownClient {
        name: "goose",
        session: None,
        marks: &["GOOSE_TERMINAL"],
        programs: &["goose"],
        packages: &[],
    },
    KnownClient {
        name: "Cline",
        session: None,
        marks: &["CLINE_ACTIVE"],
        programs: &["cline"],
        packages: &["cline"],
    },
    KnownClient {
        name: "Auggie",
        session: None,
        marks: &["AUGMENT_AGENT"],
        programs: &["auggie"],
        packages: &["auggie"],
    },
    KnownClient {
        name: "an agent",
        session: None,
        marks: &["AI_AGENT"],
        programs: &[],
        packages: &[],
    },
];

/// A variable in the shell of Gemini CLI, which does not give the session's id.
pub const IN_GEMINI: &str = "GEMINI_CLI";

/// A variable in all processes of Copilot CLI, which also runs the hooks in a project's settings of Claude Code.
const IN_COPILOT: &str = "COPILOT_CLI";

/// The variables that contain a session's id, each with its client.
pub fn session_variables() -> impl Iterator<Item = (&'static str, &'static str)> {
    KNOWN
        .iter()
        .filter_map(|client| Some((client.session?, client.name)))
}

/// Processes between a client and its commands.
const SHELLS: [&str; 12] = [
    "sh", "bash", "dash", "zsh", "fish", "ksh", "busybox", "env", "timeout", "nice", "setsid",
    "mailbag",
];

/// A calling session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallingSession {
    /// The client's name.
    pub client: String,
    /// The client's id of the session, if known.
    pub session: Option<String>,
    /// The client's process, if the system reports it.
    pub process: Option<Process>,
    /// Its working directory, if known.
    pub directory: Option<PathBuf>,
}

impl CallingSession {
    /// A session of this client that started this program. Its process is the nearest parent that is not a shell.
    pub fn here(client: &str, session: Option<String>) -> Result<CallingSession> {
        if let Some(id) = session.as_deref().filter(|id| !is_session(id)) {
            return Err(Error::usage(
                format!(
                    "{} is not a valid session id",
                    crate::message::address::quoted(id)
                ),
                format!(
                    "use letters, digits and . _ - : with at most {} characters",
                    limits::SESSION_ID
                ),
            ));
        }
        let above = client_above();
        let is_codex = client == CODEX
            || session.is_none() && above.as_ref().is_some_and(|(_, name)| name == CODEX);
        Ok(CallingSession {
            client: if is_codex { CODEX } else { client }.to_owned(),
            session,
            // All sessions of Codex share one process, which its shell cannot see.
            process: match above {
                Some((process, _)) if !is_codex => Some(process),
                _ => None,
            },
            directory: machine::here().ok(),
        })
    }

    /// The session that this program serves, if a client started it as a server. A server can outlive its first session,
    /// because Claude Code and Qwen Code start the next one in the same process. So only the process identifies it.
    pub fn of_server() -> Result<CallingSession> {
        let caller = CallingSession::from_environment()
            .map_or_else(|| CallingSession::here("mcp", None), Ok)?;
        match client_above() {
            Some((_, name)) if name == CLAUDE || caller.client == QWEN => Ok(CallingSession {
                session: None,
                ..caller
            }),
            _ => Ok(caller),
        }
    }

    /// The session that Codex names in each call to a server.
    pub fn codex(session: &str) -> Result<CallingSession> {
        CallingSession::here(CODEX, Some(session.to_owned()))
    }

    /// A text that identifies the session.
    pub fn key(&self) -> String {
        let id = match (&self.session, self.process) {
            (Some(session), _) => session.clone(),
            (None, process) => process.map_or(String::new(), |process| process.pid.to_string()),
        };
        format!("{}:{id}", self.client)
    }

    /// Returns true if this session can be distinguished from others.
    pub fn is_known(&self) -> bool {
        self.session.is_some() || self.process.is_some()
    }

    /// The session in the environment, otherwise the process of the client.
    pub fn from_environment() -> Option<CallingSession> {
        let named = session_variables().find_map(|(name, client)| {
            let id = std::env::var(name).ok().filter(|id| is_session(id))?;
            Some((id, client))
        });
        match named {
            Some((id, client)) => CallingSession::here(client, Some(id)).ok(),
            None if std::env::var_os(IN_GEMINI).is_some() => {
                CallingSession::here(GEMINI, None).ok()
            }
            None if client_above().is_some_and(|(_, name)| name == KIMI_PROCESS) => {
                CallingSession::here(KIMI, None).ok()
            }
            None => None,
        }
    }
}

/// Returns true if another client runs the hook of this client. Copilot CLI runs the hooks of Claude Code, and would wait
/// for the hook that waits for mail. Claude Code itself, even in the shell of Copilot CLI, names the session to its hooks.
pub fn is_run_by_another(client: &str, session: Option<&str>) -> bool {
    let own = std::env::var("CLAUDE_CODE_SESSION_ID").ok();
    client == CLAUDE && std::env::var_os(IN_COPILOT).is_some() && own.as_deref() != session
}

/// The nearest parent process that is not a shell.
fn client_above() -> Option<(Process, String)> {
    machine::ancestors(limits::ANCESTORS)
        .into_iter()
        .find(|(_, name)| !SHELLS.contains(&name.as_str()))
}

fn is_session(id: &str) -> bool {
    (1..=limits::SESSION_ID).contains(&id.len())
        && id
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._-:".contains(&b))
}
