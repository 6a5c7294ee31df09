//! Files that belong to mailbag as a whole: the skill, and the manifest of a plugin.

use super::blocks::{is_sealed, seal};
use crate::clients::kind::InstallPart;
use serde_json::{Value, json};

/// The skill for all clients.
pub(super) const SKILL: &str = include_str!("skill.md");

/// A comment in the skill.
const SKILL_COMMENT: [&str; 2] = ["<!-- ", " -->"];

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
        seal(SKILL, SKILL_COMMENT)
    }
}

/// Returns true if mailbag wrote this whole text, in this version or another.
pub(super) fn is_as_written(text: &str, part: InstallPart) -> bool {
    if part != InstallPart::Manifest {
        return is_sealed(text, SKILL_COMMENT);
    }
    let read: Result<Value, _> = serde_json::from_str(text);
    read.is_ok_and(|value| {
        let mut same = manifest();
        same["version"] = value["version"].clone();
        format!("{same:#}\n") == text
    })
}
