//! The plugins and extensions that the clients' own commands install from a checkout of mailbag.

use super::clients::{ClientDirectories, HookConfiguration};
use super::whole::{AUTHOR, DESCRIPTION, SKILL, manifest};
use super::{hooks, read_file, servers, text};
use crate::clients::kind::{Client, ClientPackage, PluginListing};
use crate::disk::layout;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

const README: &str = include_str!("package_readme.md");

/// Texts of files by their paths below the top of the repository.
type PackageFiles = BTreeMap<String, String>;

/// The file that shows that the client's own command installed the plugin, if it did.
pub fn package_record(client: Client, homes: &ClientDirectories) -> Option<PathBuf> {
    let package = client.facts().package.as_ref()?;
    let path = layout::of_client(&client.directory(homes), package.record);
    let file = read_file(&path).ok()?;
    let text = text(&file).ok()??;
    text.contains(package.entry).then_some(path)
}

/// The files of all plugins and extensions.
pub fn package_files() -> PackageFiles {
    let mut files = PackageFiles::new();
    for client in Client::ALL {
        if let Some(package) = &client.facts().package {
            add_package(client, package, &mut files);
        }
    }
    files
}

fn add_package(client: Client, package: &ClientPackage, files: &mut PackageFiles) {
    let folder = format!("packaging/plugins/{}", client.as_str());
    let wanted = HookConfiguration {
        program: env!("CARGO_PKG_NAME").into(),
        is_plugin: true,
        ..HookConfiguration::default()
    };
    let servers = servers::all(client, &wanted);
    let hooks = json!({"hooks": hooks::all(client, &wanted)});
    let mut manifest = manifest();
    let marketplace = match package.listing {
        PluginListing::Nothing => {
            manifest["mcpServers"] = servers.clone();
            None
        }
        PluginListing::Claude(path) => Some((path, claude_marketplace(&folder))),
        PluginListing::Codex(path) => {
            manifest["mcpServers"] = "./.mcp.json".into();
            manifest["hooks"] = "./hooks/hooks.json".into();
            manifest["skills"] = "./skills/".into();
            Some((path, codex_marketplace(&folder)))
        }
    };
    if let Some((path, marketplace)) = marketplace {
        files.insert(path.into(), print(&marketplace));
        files.insert(
            format!("{folder}/.mcp.json"),
            print(&json!({"mcpServers": servers})),
        );
    }
    files.insert(format!("{folder}/{}", package.manifest), print(&manifest));
    files.insert(format!("{folder}/hooks/hooks.json"), print(&hooks));
    files.insert(format!("{folder}/skills/mailbag/SKILL.md"), SKILL.into());
    files.insert(format!("{folder}/README.md"), README.into());
}

fn claude_marketplace(folder: &str) -> Value {
    json!({
        "name": "mailbag",
        "owner": {"name": AUTHOR},
        "metadata": {"description": DESCRIPTION},
        "plugins": [{
            "name": "mailbag",
            "source": format!("./{folder}"),
            "description": DESCRIPTION,
        }],
    })
}

fn codex_marketplace(folder: &str) -> Value {
    json!({
        "name": "mailbag",
        "interface": {"displayName": "mailbag"},
        "plugins": [{
            "name": "mailbag",
            "source": {"source": "local", "path": format!("./{folder}")},
            "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
            "category": "Productivity",
        }],
    })
}

fn print(value: &Value) -> String {
    format!("{value:#}\n")
}
