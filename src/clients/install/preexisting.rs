//! Entries with mailbag's name that existed before the installation, and links out of a project.

use super::clients::{ClientDirectories, FileFormat, InstallPart, InstallScope, TargetFile};
use super::json::JsonFile;
use super::{InstallRequest, allow, is_installed, plugin, sections, servers, toml, whole};
use crate::base::error::{Error, Result};
use crate::clients::kind::Client;
use crate::disk::UserFile;
use std::path::Path;

/// The situation before the installation.
pub(super) struct PreexistingState<'a> {
    /// The project that links must not lead out of, because the author of a repository may have made the links.
    pub(super) project: Option<&'a Path>,
    /// Whether the client had no mailbag hooks.
    pub(super) is_first: bool,
    /// Whether no client had mailbag hooks.
    pub(super) is_first_of_all: bool,
}

impl PreexistingState<'_> {
    pub(super) fn of<'a>(
        asked: &InstallRequest<'_>,
        homes: &'a ClientDirectories,
    ) -> PreexistingState<'a> {
        let is_first = !is_installed(asked.client, asked.scope, homes);
        let project = (asked.scope == InstallScope::Project).then_some(homes.project.as_path());
        let others = project.is_some()
            && Client::ALL
                .into_iter()
                .any(|client| is_installed(client, asked.scope, homes));
        PreexistingState {
            project,
            is_first,
            is_first_of_all: is_first && !others,
        }
    }

    /// The parts of a target that we may change: not a server or section that the user wrote under our name. The backup
    /// records that for later runs.
    pub(super) fn ours(
        &self,
        target: &TargetFile,
        client: Client,
        text: &str,
        backup: Option<&str>,
    ) -> TargetFile {
        let mut ours = target.clone();
        let mut parts = Vec::new();
        for part in &target.parts {
            if *part == InstallPart::Allow {
                // Single rules of the person's own stay, not the whole part.
                let witness = backup.or(self.is_first.then_some(text)).unwrap_or_default();
                ours.kept = rules_in(target, witness, client);
                parts.push(*part);
                continue;
            }
            let is_first = if *part == InstallPart::Mcp {
                self.is_first
            } else {
                self.is_first_of_all
            };
            let witness = backup.or(is_first.then_some(text));
            let is_own = *part != InstallPart::Hooks
                && contains_ours(target, text)
                && witness.is_some_and(|witness| contains_ours(target, witness));
            if !is_own {
                parts.push(*part);
            }
        }
        ours.parts = parts;
        ours
    }
}

/// Our rules in a text. An invalid text is rejected later, when it is edited.
fn rules_in(target: &TargetFile, text: &str, client: Client) -> Vec<String> {
    let FileFormat::Json(dialect) = target.format else {
        return Vec::new();
    };
    JsonFile::read(text, dialect)
        .map(|json| allow::found(&json, client))
        .unwrap_or_default()
}

/// Returns true if a text contains our server or section. An invalid text is rejected later, when it is edited.
pub(super) fn contains_ours(target: &TargetFile, text: &str) -> bool {
    match target.format {
        FileFormat::Json(dialect) => {
            JsonFile::read(text, dialect).is_ok_and(|json| servers::find(&json).is_some())
        }
        FileFormat::Toml => matches!(toml::server(text), Ok(Some(_))),
        FileFormat::Markdown => sections::has_section(text, InstallPart::Section) == Ok(true),
        FileFormat::Script => matches!(plugin::find(text), Ok(Some(_))),
        FileFormat::Whole => whole::is_ours(text, target.parts[0]),
    }
}

/// Fails if links lead out of the project.
pub(super) fn check_inside(file: &UserFile, project: Option<&Path>) -> Result<()> {
    match project
        .map(|project| file.led_out_of(project))
        .transpose()?
        .flatten()
    {
        None => Ok(()),
        Some(real) => Err(Error::state(
            file.path(),
            format!("is a link out of the project, to {}", real.display()),
            "replace the link with a file, or edit the target by hand; nothing was changed",
        )),
    }
}
