//! Names of messages that mailbag itself drops into an outbox, and of their drafts.

use super::{is_message_file, outbox};
use crate::base::process;
use std::path::PathBuf;

/// The name of a message that mailbag drops.
pub fn message_file(id: &str) -> String {
    format!("{id}.json")
}

/// The name of a dropped file without the ending that says how it holds messages.
pub fn message_stem(name: &str) -> &str {
    let stem = name.strip_suffix(".ndjson");
    stem.or(name.strip_suffix(".json")).unwrap_or(name)
}

/// The path of a message that mailbag dropped and that is not routed yet.
pub fn dropped(agent: &str, id: &str) -> PathBuf {
    outbox(agent).join(message_file(id))
}

/// The name of a message's draft in an outbox while a command of this process writes it.
pub fn unsent(name: &str) -> String {
    format!(".{name}.{}.tmp", process::id())
}

/// The name of a changed file that is kept beside the new one.
pub fn kept_aside(name: &std::ffi::OsStr, digest: &str) -> std::ffi::OsString {
    let mut kept = name.to_owned();
    kept.push(format!(".kept-{digest}"));
    kept
}

/// Returns true for a name of [`unsent`], of any process.
pub fn is_unsent(name: &std::ffi::OsStr) -> bool {
    let name = name.to_str().and_then(|name| name.strip_prefix('.'));
    let inner = name.and_then(|name| name.strip_suffix(".tmp")?.rsplit_once('.'));
    inner.is_some_and(|(name, pid)| pid.parse::<u32>().is_ok() && is_message_file(name.as_ref()))
}

/// The beginning of the name of a request for a pass.
const PASS_REQUEST: &str = ".pass-";

/// The name of a request for a pass in an outbox.
pub fn pass_request(id: &str) -> String {
    format!("{PASS_REQUEST}{id}")
}

/// Returns true if this is the name of a request for a pass.
pub fn is_pass_request(name: &std::ffi::OsStr) -> bool {
    name.as_encoded_bytes().starts_with(PASS_REQUEST.as_bytes())
}
