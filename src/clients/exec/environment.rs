//! The environment of a command that is an agent: what mailbag and the helpers read.

use crate::message::id;
use crate::room::sessions::{HOLD, IN_GEMINI, VARIABLES};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Who the command is, and where.
pub(super) struct Place {
    /// The room.
    pub(super) room: PathBuf,
    /// The agent.
    pub(super) agent: String,
    /// Its role, if it has one.
    pub(super) role: Option<String>,
    /// The session.
    pub(super) session: String,
    /// What tells that this is it, in a sandbox too.
    pub(super) hold: String,
    /// The directory of shared files.
    pub(super) context: PathBuf,
}

impl Place {
    /// Every variable with its value; none for one that must not be set, as the role of an agent that has none.
    pub(super) fn variables(&self) -> Vec<(&'static str, Option<OsString>)> {
        let text = |text: &str| Some(OsString::from(text));
        let path = |path: &Path| Some(path.as_os_str().to_owned());
        let role = self.role.as_deref().map(OsString::from);
        // The command is a session of its own: what names the client's that runs this is not said to it.
        let foreign = VARIABLES.iter().map(|(name, _)| *name).chain([IN_GEMINI]).map(|name| (name, None));
        let own = [
            ("MAILBAG_ROOM", path(&self.room)),
            (HOLD, text(&self.hold)),
            ("MAILBAG_AGENT", text(&self.agent)),
            ("MAILBAG_ROLE", role.clone()),
            ("MAOS_AGENT_ID", text(&self.agent)),
            ("MAOS_AGENT_ROLE", role),
            ("MAOS_SESSION_ID", text(&self.session)),
            ("MAOS_MESSAGE_DIR", path(&self.room)),
            ("MAOS_SHARED_CONTEXT", path(&self.context)),
        ];
        own.into_iter().chain(foreign).collect()
    }
}

/// The session that this process is in already, or a new one.
pub(super) fn session() -> String {
    std::env::var("MAOS_SESSION_ID").ok().filter(|id| !id.is_empty()).unwrap_or_else(id::mint)
}
