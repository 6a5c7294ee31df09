//! What the program itself drops into an outbox, and its draft.

use super::{is_message_file, outbox};
use std::path::PathBuf;

/// How the program names a message that it drops.
pub fn message_file(id: &str) -> String {
    format!("{id}.json")
}

/// Where a message that the program drops stands until it is routed.
pub fn dropped(agent: &str, id: &str) -> PathBuf {
    outbox(agent).join(message_file(id))
}

/// The name under which a command of this process writes a message before it stands in an outbox.
pub fn unsent(name: &str) -> String {
    format!(".{name}.{}.tmp", std::process::id())
}

/// Is this a name that [`unsent`] gives, in whatever process?
pub fn is_unsent(name: &std::ffi::OsStr) -> bool {
    let inner = name.to_str().and_then(|name| name.strip_prefix('.')?.strip_suffix(".tmp")?.rsplit_once('.'));
    inner.is_some_and(|(name, pid)| pid.parse::<u32>().is_ok() && is_message_file(name.as_ref()))
}
