//! The form of an installation: edits of the client's settings, or a plugin that the client loads from the project.

use super::clients::{InstallScope, TargetFile};
use super::{HookTrust, homes, status};
use crate::clients::kind::Client;
use crate::disk::machine;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// Time limit of a client that prints its version.
const VERSION_WITHIN: Duration = Duration::from_secs(5);

/// How mailbag is installed in a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InstallMethod {
    /// In its settings.
    Settings,
    /// As a plugin of the project.
    Plugin,
}

impl InstallMethod {
    /// The form for the version of a client on this machine. A client without a known version gets the settings, which all
    /// versions read.
    pub(super) fn on_this_machine(client: Client, scope: InstallScope) -> InstallMethod {
        let Some(plugin) = &client.facts().plugin else {
            return InstallMethod::Settings;
        };
        if scope == InstallScope::Project
            && version(client).is_some_and(|version| version >= plugin.since)
        {
            InstallMethod::Plugin
        } else {
            InstallMethod::Settings
        }
    }
}

/// Returns true if the client runs the hooks of its settings. The hooks of a plugin then do nothing.
pub fn runs_hooks_of_settings(client: Client, from: &Path) -> bool {
    let Ok(homes) = homes(from) else { return false };
    [InstallScope::Project, InstallScope::User]
        .into_iter()
        .any(|scope| {
            let files = client.facts().files(scope);
            let found = status(client, scope, &homes);
            found.trusted == HookTrust::Yes
                && found
                    .hook_files
                    .iter()
                    .any(|path| files.iter().any(|file| path.ends_with(file.name)))
        })
}

impl TargetFile {
    /// Limits the parts to a form. The parts of the other form become obsolete.
    pub(super) fn for_form(mut self, form: InstallMethod) -> TargetFile {
        self.obsolete = match form {
            InstallMethod::Settings => self.of_plugin.clone(),
            InstallMethod::Plugin => self.of_settings.clone(),
        };
        self.parts.retain(|part| !self.obsolete.contains(part));
        self
    }

    /// The same file with the obsolete parts only.
    pub(super) fn obsolete(&self) -> TargetFile {
        TargetFile {
            parts: self.obsolete.clone(),
            ..self.clone()
        }
    }
}

/// The version of a client's program on the PATH.
fn version(client: Client) -> Option<[u32; 3]> {
    static KNOWN: [OnceLock<Option<[u32; 3]>>; Client::ALL.len()] =
        [const { OnceLock::new() }; Client::ALL.len()];
    let at = Client::ALL.iter().position(|one| *one == client)?;
    *KNOWN[at].get_or_init(|| read_version(&print_version(client)?))
}

fn print_version(client: Client) -> Option<String> {
    let program = machine::program(client.facts().program)?;
    let mut child = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    if machine::wait_for_child(&mut child, VERSION_WITHIN)
        .ok()?
        .is_none()
    {
        let _ = child.kill();
        let _ = child.wait();
        return None;
    }
    let mut text = String::new();
    let output = child.stdout.take()?;
    output.take(1 << 10).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The first version number in a text.
fn read_version(text: &str) -> Option<[u32; 3]> {
    let mut words = text.split(|c: char| !c.is_ascii_digit() && c != '.');
    words.find_map(|word| {
        let numbers = word.split('.').map_while(|number| number.parse().ok());
        numbers.collect::<Vec<u32>>().try_into().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::read_version;

    #[test]
    fn the_version_is_found_in_what_clients_print() {
        assert_eq!(read_version("2.1.332 (Claude Code)\n"), Some([2, 1, 332]));
        assert_eq!(read_version("Copilot CLI 1.0.102.\n"), Some([1, 0, 102]));
        assert_eq!(read_version("codex-cli 0.169.0\n"), Some([0, 169, 0]));
        assert_eq!(read_version("1.18\n"), None);
        assert_eq!(read_version(""), None);
    }
}
