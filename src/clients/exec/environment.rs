//! The environment variables of a command, for mailbag and the helpers.

use crate::message::id;
use crate::room::sessions::{HOLD, IN_GEMINI, session_variables};
use std::ffi::OsString;
use std::path::PathBuf;

/// Identity and directories of the command.
pub(super) struct CommandEnvironment {
    /// The room.
    pub(super) room: PathBuf,
    /// The agent.
    pub(super) agent: String,
    /// Its role, if it has one.
    pub(super) role: Option<String>,
    /// The session.
    pub(super) session: String,
    /// The lock file that identifies this run, also from inside a sandbox.
    pub(super) hold: String,
    /// The directory of shared files.
    pub(super) context: PathBuf,
}

impl CommandEnvironment {
    /// All variables with their values; `None` for a variable that must be unset.
    pub(super) fn variables(&self) -> Vec<(&'static str, Option<OsString>)> {
        let room = Some(OsString::from(&self.room));
        let agent = Some(OsString::from(&self.agent));
        let role = self.role.as_ref().map(OsString::from);
        // The command is its own session, so variables that name an outer client's session are unset. HOLD still shows that
        // it is an agent.
        let foreign = session_variables()
            .map(|(name, _)| name)
            .chain([IN_GEMINI])
            .map(|name| (name, None));
        let own = [
            ("MAILBAG_ROOM", room.clone()),
            (HOLD, Some(OsString::from(&self.hold))),
            ("MAILBAG_AGENT", agent.clone()),
            ("MAILBAG_ROLE", role.clone()),
            ("MAOS_AGENT_ID", agent),
            ("MAOS_AGENT_ROLE", role),
            ("MAOS_SESSION_ID", Some(OsString::from(&self.session))),
            ("MAOS_MESSAGE_DIR", room),
            ("MAOS_SHARED_CONTEXT", Some(OsString::from(&self.context))),
        ];
        own.into_iter().chain(foreign).collect()
    }
}

/// The current session, or a new one.
pub(super) fn session() -> String {
    std::env::var("MAOS_SESSION_ID")
        .ok()
        .filter(|id| !id.is_empty())
        .unwrap_or_else(id::mint)
}
