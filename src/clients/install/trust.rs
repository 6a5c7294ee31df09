//! Whether a client runs our hooks. Each client asks the user in its own way and stores the answer in a file. Without an
//! answer in the file, the result is unknown.

use super::clients::{ClientDirectories, InstallScope};
use super::json::{JsonDialect, JsonFile};
use super::{hooks, read_file, text, toml};
use crate::base::hash::{hash, hex};
use crate::clients::kind::{Client, TrustRecord};
use crate::disk::layout;
use crate::disk::paths::PathQuestions;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The user's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HookTrust {
    /// The client runs the hooks.
    Yes,
    /// The client silently skips the hooks.
    No,
    /// The client's files do not show it.
    Unknown,
}

/// Checks whether a client runs the installed hooks.
pub(super) fn look(client: Client, scope: InstallScope, homes: &ClientDirectories) -> HookTrust {
    match (client.facts().trust, scope) {
        (TrustRecord::CodexDigests, _) => codex(scope, homes),
        (TrustRecord::None, _) => HookTrust::Yes,
        // User settings need no trust.
        (_, InstallScope::User) => HookTrust::Yes,
        (TrustRecord::ClaudeProjects, InstallScope::Project) => claude(homes),
        (TrustRecord::Folders, InstallScope::Project) => folders(client, homes),
        (TrustRecord::Elsewhere, InstallScope::Project) => HookTrust::Unknown,
        (TrustRecord::CopilotFolders, InstallScope::Project) => listed_folders(client, homes),
        (TrustRecord::FoldersIfEnabled, InstallScope::Project)
            if !asks_for_trust(client, homes) =>
        {
            HookTrust::Yes
        }
        (TrustRecord::FoldersIfEnabled, InstallScope::Project) => folders(client, homes),
    }
}

/// Claude Code stores trust for each directory.
fn claude(homes: &ClientDirectories) -> HookTrust {
    let of_user = Client::Claude.targets(InstallScope::User, homes);
    let state = of_user
        .iter()
        .find(|target| target.path.ends_with(".claude.json"))
        .and_then(|target| read_json(&target.path, JsonDialect::Strict))
        .map(|json| json.value())
        .unwrap_or_default();
    let mut directories = homes.project.ancestors();
    if directories.any(|directory| {
        let name = directory.to_str().unwrap_or_default();
        state["projects"][name]["hasTrustDialogAccepted"] == true
    }) {
        HookTrust::Yes
    } else {
        HookTrust::Unknown
    }
}

/// Returns true if the person enabled the client's question for the trust of a directory.
fn asks_for_trust(client: Client, homes: &ClientDirectories) -> bool {
    let file = layout::of_client(&client.directory(homes), "settings.json");
    read_json(&file, JsonDialect::Comments).is_some_and(|settings| {
        settings.value().pointer("/security/folderTrust/enabled") == Some(&true.into())
    })
}

/// Gemini CLI and Qwen Code store a list of directories. The nearest directory counts.
fn folders(client: Client, homes: &ClientDirectories) -> HookTrust {
    let file = layout::of_client(&client.directory(homes), "trustedFolders.json");
    let Some(listed) = read_json(&file, JsonDialect::Comments) else {
        return HookTrust::Unknown;
    };
    let listed = listed.value();
    let decision = homes
        .project
        .ancestors()
        .find_map(|directory| listed.get(directory.to_str()?)?.as_str());
    match decision {
        Some("TRUST_FOLDER") => HookTrust::Yes,
        Some("DO_NOT_TRUST") => HookTrust::No,
        _ => HookTrust::Unknown,
    }
}

/// Copilot CLI stores the list of trusted directories.
fn listed_folders(client: Client, homes: &ClientDirectories) -> HookTrust {
    let file = layout::of_client(&client.directory(homes), "config.json");
    let config = read_json(&file, JsonDialect::Comments)
        .map(|json| json.value())
        .unwrap_or_default();
    let listed = config["trustedFolders"].as_array();
    let mut trusted = listed.into_iter().flatten().filter_map(Value::as_str);
    if trusted.any(|listed| {
        homes
            .project
            .ancestors()
            .any(|directory| directory == listed)
    }) {
        HookTrust::Yes
    } else {
        HookTrust::Unknown
    }
}

/// Codex stores, for each hook by file, event and index, the digest of the trusted version.
fn codex(scope: InstallScope, homes: &ClientDirectories) -> HookTrust {
    let targets = Client::Codex.targets(scope, homes);
    let Some(file) = targets.first().map(|target| &target.path) else {
        return HookTrust::Unknown;
    };
    let Some(json) = read_json(file, JsonDialect::Strict) else {
        return HookTrust::Unknown;
    };
    let config = layout::of_client(&Client::Codex.directory(homes), "config.toml");
    let config = read(&config).unwrap_or_default();
    let names: Vec<PathBuf> = [Some(file.clone()), file.real_path().ok()]
        .into_iter()
        .flatten()
        .collect();
    let mut all = Vec::new();
    for event in Client::Codex.all_events() {
        for one in hooks::ours(&json, Client::Codex, event) {
            let hook = format!("{}:{}:{}", snake(event), one.group, one.hook);
            let is_disabled =
                codex_record(&config, &names, &hook, "enabled").as_deref() == Some("false");
            all.push(match codex_record(&config, &names, &hook, "trusted_hash") {
                None => HookTrust::No,
                Some(_) if is_disabled => HookTrust::No,
                Some(trusted)
                    if one.wanted.is_some()
                        && trusted
                            == digest(
                                event,
                                &json.value()["hooks"][event][one.group],
                                one.hook,
                            ) =>
                {
                    HookTrust::Yes
                }
                // Changed after it was trusted, or in a format that this program does not know.
                Some(_) => HookTrust::Unknown,
            });
        }
    }
    if scope == InstallScope::Project {
        let level = homes.project.ancestors().find_map(|directory| {
            toml::text_at(&config, &["projects", directory.to_str()?, "trust_level"])
        });
        match level.as_deref() {
            Some("trusted") => {}
            Some(_) => all.push(HookTrust::No),
            None => all.push(HookTrust::Unknown),
        }
    }
    match all.first() {
        Some(first) if all.iter().all(|one| one == first) => *first,
        Some(_) if all.contains(&HookTrust::No) => HookTrust::No,
        _ => HookTrust::Unknown,
    }
}

/// A value that Codex stores for a hook of a file with these names.
fn codex_record(config: &str, names: &[PathBuf], hook: &str, field: &str) -> Option<String> {
    names.iter().find_map(|name| {
        let key = format!("{}:{hook}", name.display());
        toml::text_at(config, &["hooks", "state", &key, field])
    })
}

/// The digest of a hook as Codex computes it: over compact JSON with sorted keys and defaults filled in.
fn digest(event: &str, group: &Value, hook: usize) -> String {
    let handler = &group["hooks"][hook];
    let timeout = handler
        .get("timeout")
        .cloned()
        .unwrap_or_else(|| json!(600));
    let hook = json!({"async": false, "command": handler["command"], "timeout": timeout, "type": "command"});
    let mut whole = json!({"event_name": snake(event), "hooks": [hook]});
    if let Some(matcher) = group.get("matcher") {
        whole["matcher"] = matcher.clone();
    }
    format!("sha256:{}", hex(&hash(whole.to_string())))
}

/// `SessionStart` as `session_start`.
fn snake(event: &str) -> String {
    let mut name = String::new();
    for c in event.chars() {
        if c.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(c.to_ascii_lowercase());
    }
    name
}

fn read(path: &Path) -> Option<String> {
    text(&read_file(path).ok()?).ok()?.map(str::to_owned)
}

fn read_json(path: &Path, dialect: JsonDialect) -> Option<JsonFile> {
    JsonFile::read(&read(path)?, dialect).ok()
}
