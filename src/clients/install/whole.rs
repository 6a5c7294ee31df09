//! Files that belong to mailbag as a whole: the skill, and the manifest of a plugin.

use super::json::EditError;
use crate::clients::kind::InstallPart;
use serde_json::{Value, json};

/// The skill for all clients.
pub(super) const SKILL: &str = include_str!("skill.md");

/// The beginning of each version of the skill.
const SKILL_HEAD: &str = "---\nname: mailbag\n";

/// The description of the plugin.
pub(super) const DESCRIPTION: &str = "Mail between coding agents, and to the human";

/// The author of the plugin.
pub(super) const AUTHOR: &str = "The mailbag developers";

/// The manifest of the plugin, as Claude Code and clients with its format read it.
pub(super) fn manifest() -> Value {
    json!({
        "name": "mailbag",
        "version": env!("CARGO_PKG_VERSION"),
        "description": DESCRIPTION,
        "author": {"name": AUTHOR},
        "license": env!("CARGO_PKG_LICENSE"),
    })
}

/// The content of a file.
pub(super) fn content(part: InstallPart) -> String {
    if part == InstallPart::Manifest {
        format!("{:#}\n", manifest())
    } else {
        SKILL.to_owned()
    }
}

/// Returns true if mailbag wrote a version of this file.
pub(super) fn is_ours(text: &str, part: InstallPart) -> bool {
    if part != InstallPart::Manifest {
        return text.starts_with(SKILL_HEAD);
    }
    let read: Result<Value, _> = serde_json::from_str(text);
    read.is_ok_and(|value| value["name"] == "mailbag")
}

/// Returns true if the text is a file of mailbag that a person edited, or that another version of mailbag wrote.
pub(super) fn is_edited(text: &str, part: InstallPart) -> bool {
    is_ours(text, part) && text != content(part)
}

/// Replaces an empty file, or another version. Lines that a person added at the end stay.
pub(super) fn put(text: &str, part: InstallPart) -> Result<String, EditError> {
    let content = content(part);
    if text.starts_with(&content) {
        Ok(text.to_owned())
    } else if text.trim().is_empty() || is_ours(text, part) {
        Ok(content)
    } else {
        Err(EditError::new(
            "is not a file of mailbag; rename or remove it",
        ))
    }
}

/// Returns what remains without the content of mailbag.
pub(super) fn take_out(text: &str, part: InstallPart) -> String {
    if is_ours(text, part) {
        String::new()
    } else {
        text.to_owned()
    }
}
