//! Entries with mailbag's name that existed before the installation, and links out of a project.

use super::clients::{ClientDirectories, FileFormat, InstallPart, InstallScope, TargetFile};
use super::json::JsonFile;
use super::{InstallRequest, allow, is_installed, plugin, sections, servers, toml, whole};
use crate::base::error::{Error, Result};
use crate::clients::kind::Client;
use crate::disk::UserFile;
use std::path::{Path, PathBuf};

/// The situation before the installation.
pub(super) struct PreexistingState<'a> {
    /// The project that links must not lead out of, because the author of a repository may have made the links.
    pub(super) project: Option<&'a Path>,
    /// The files of the clients with mailbag hooks. An entry in another file is the user's.
    files: Vec<PathBuf>,
}

impl PreexistingState<'_> {
    pub(super) fn of<'a>(
        asked: &InstallRequest<'_>,
        homes: &'a ClientDirectories,
    ) -> PreexistingState<'a> {
        let project = (asked.scope == InstallScope::Project).then_some(homes.project.as_path());
        let files = Client::ALL
            .into_iter()
            .filter(|client| is_installed(*client, asked.scope, homes))
            .flat_map(|client| client.targets(asked.scope, homes))
            .map(|target| target.path)
            .collect();
        PreexistingState { project, files }
    }

    /// As [`ours`], before or after an installation.
    pub(super) fn ours(
        &self,
        target: &TargetFile,
        client: Client,
        text: &str,
        backup: Option<&str>,
    ) -> TargetFile {
        let is_first = !self.files.contains(&target.path);
        ours(target, client, text, backup.or(is_first.then_some(text)))
    }
}

/// The parts of a target that we may change: not a server or section that the user wrote under our name. `witness` is the
/// text before the installation; the backup records it for later runs.
pub(super) fn ours(
    target: &TargetFile,
    client: Client,
    text: &str,
    witness: Option<&str>,
) -> TargetFile {
    let mut ours = target.clone();
    // Single rules of the person's own stay, not the whole part.
    if target.parts.contains(&InstallPart::Allow) {
        ours.kept = rules_in(target, witness.unwrap_or_default(), client);
    }
    let is_own = contains_ours(target, text)
        && witness.is_some_and(|witness| contains_ours(target, witness));
    ours.parts
        .retain(|part| !is_own || matches!(part, InstallPart::Hooks | InstallPart::Allow));
    ours
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
        FileFormat::Whole => {
            let part = target.parts.first();
            part.is_some_and(|part| whole::is_as_written(text, *part))
        }
    }
}

/// Returns true for a whole file that nothing proves to be mailbag's. It is neither replaced nor deleted.
pub(super) fn is_unproven(target: &TargetFile, text: &str) -> bool {
    match (target.format, target.parts.first()) {
        (FileFormat::Script, _) => plugin::is_edited(text),
        (FileFormat::Whole, Some(part)) => {
            !text.trim().is_empty() && !whole::is_as_written(text, *part)
        }
        _ => false,
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
