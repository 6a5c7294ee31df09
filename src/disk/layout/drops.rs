//! Names of messages that mailbag itself drops into an outbox, and of their drafts.

use super::{is_message_file, outbox};
use std::path::PathBuf;

/// The name of a message that mailbag drops.
pub fn message_file(id: &str) -> String {
    format!("{id}.json")
}

/// The path of a message that mailbag dropped and that is not routed yet.
pub fn dropped(agent: &str, id: &str) -> PathBuf {
    outbox(agent).join(message_file(id))
}

/// The draft name under which a command of this process writes a message before it drops the message.
pub fn unsent(name: &str) -> String {
    format!(".{name}.{}.tmp", std::process::id())
}

/// The name of a changed worklog that is kept beside the new one.
pub fn kept_worklog(name: &std::ffi::OsStr, digest: &str) -> std::ffi::OsString {
    let mut kept = name.to_owned();
    kept.push(format!(".kept-{digest}"));
    kept
}

/// Is this a name of [`unsent`], of any process?
pub fn is_unsent(name: &std::ffi::OsStr) -> bool {
    let inner = name.to_str().and_then(|name| name.strip_prefix('.')?.strip_suffix(".tmp")?.rsplit_once('.'));
    inner.is_some_and(|(name, pid)| pid.parse::<u32>().is_ok() && is_message_file(name.as_ref()))
}
