//! Whether a client has mailbag's MCP tools by its settings, for a hook that may read little.

use super::clients::{FileFormat, InstallPart, InstallScope, TargetFile};
use super::{homes, preexisting, read_file, text};
use crate::base::limits;
use crate::clients::kind::Client;
use std::path::Path;

/// The largest configuration file of a client that a hook parses.
const SETTINGS_PARSED: u64 = 128 << 10;
const _: () = assert!(SETTINGS_PARSED < limits::CLIENT_FILE_BYTES);

/// Returns true if a client that works in this directory has our MCP server, for the project or for the user, in a readable
/// file.
pub fn has_tools(client: Client, from: &Path) -> bool {
    let Ok(homes) = homes(from) else { return false };
    let targets = [InstallScope::Project, InstallScope::User]
        .into_iter()
        .flat_map(|scope| client.targets(scope, &homes));
    targets
        .filter(|target| {
            target.parts.contains(&InstallPart::Mcp) || target.format == FileFormat::Script
        })
        .any(|target| names_it(&target))
}

fn names_it(target: &TargetFile) -> bool {
    let Ok(file) = read_file(&target.path) else {
        return false;
    };
    let Ok(Some(text)) = text(&file) else {
        return false;
    };
    if !text.contains("mailbag") {
        return false;
    }
    match target.format {
        // Parsing the history of a client would take longer than a hook may.
        _ if text.len() as u64 > SETTINGS_PARSED => text.contains("\"mailbag\""),
        FileFormat::Script => true,
        _ => preexisting::contains_ours(target, text),
    }
}
