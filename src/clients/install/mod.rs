//! Installs mailbag into agent clients: merges hooks, the MCP server and a section of instructions into the user's files, and
//! removes them again.
//!
//! A [`InstallPlan`] lists the changes by file, and can be shown before anything is written. All checks run while the plan is made,
//! before any file is changed.

mod allow;
mod blocks;
mod preexisting;
mod changing;
mod clients;
mod form;
mod hooks;
mod json;
mod hook_test;
mod sections;
pub mod has_tools;
mod servers;
mod status;
#[cfg(test)]
mod tests;
mod toml;
mod toml_hooks;
mod whole;
mod trust;
mod notes;
mod packages;
mod plugin;
mod program;
mod questions;
mod removal;

use crate::clients::kind::{Client, ClientQuestion};
pub(super) use blocks::marked;
pub(super) use changing::{BackupAction, changing};
pub use changing::{FileChange, FileChangeKind};
pub use clients::{ClientDirectories, InstallScope};
pub(super) use hook_test::HookCall;
pub use hook_test::{DRY_RUN, HookTest};
pub(super) use notes::NAME;
pub use notes::shut_out;
pub use packages::{package_files, package_record};
pub(super) use program::program;
pub use removal::{RemovalExtent, uninstall, uninstall_among};
pub use status::{ClientStatus, HookPresence, is_installed, status};
pub use trust::HookTrust;

use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::base::written_path::write_path;
use crate::disk::{Dir, UserFile, layout};
use crate::features::approvals::signature::DecisionKey;
use crate::query::identity;
use crate::room::actor::require_person;
use crate::room::sessions;
use crate::room::{self, Room};
use clients::{FileFormat, HookConfiguration, InstallPart, TargetFile};
use form::InstallMethod;
pub use form::runs_hooks_of_settings;
pub(super) use json::EditError;
use json::JsonFile;
use preexisting::{PreexistingState, check_inside, is_unproven};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A request to install or uninstall.
pub struct InstallRequest<'a> {
    /// The client.
    pub client: Client,
    /// Project or user.
    pub scope: InstallScope,
    /// The agent of the client's sessions; without it, each session joins.
    pub agent: Option<&'a str>,
    /// As a part of `mailbag up`, the room that this uses, or makes before it installs. Then the agent of an earlier installation
    /// stays, and the client's questions are listed instead of described in notes.
    pub for_up: Option<&'a Path>,
    /// Whether hooks send the client's permission requests to the human.
    pub approvals: bool,
    /// The program to call; by default this one.
    pub program: Option<&'a Path>,
    /// The room that `--room` or `MAILBAG_ROOM` names.
    pub room: Option<&'a Path>,
    /// The working directory.
    pub from: &'a Path,
}

/// All changes of an installation.
#[derive(Debug, Serialize)]
pub struct InstallPlan {
    /// The client's name on the command line, or `git`.
    pub client: &'static str,
    /// Its display name.
    #[serde(skip)]
    pub name: &'static str,
    /// Project or user.
    pub scope: InstallScope,
    /// The project directory, the client's user directory, or git's directory of hooks.
    #[serde(serialize_with = "write_path")]
    pub directory: PathBuf,
    /// Files to change; empty if there is nothing to do.
    pub files: Vec<FileChange>,
    /// Lines that the user has to add, because the file belongs to another program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub manual_edits: Vec<ManualEdit>,
    /// The client's questions to the person, with the answers.
    #[serde(skip)]
    pub questions: Vec<ClientQuestion>,
    /// Notes for the user.
    pub notes: Vec<String>,
    #[serde(skip)]
    pub(super) test: HookCall,
    /// Whether the installation needs the person's key.
    #[serde(skip)]
    pub(super) needs_key: bool,
}

/// Lines for a file that `install` does not change.
#[derive(Debug, Serialize)]
pub struct ManualEdit {
    /// The file.
    #[serde(serialize_with = "write_path")]
    pub path: PathBuf,
    /// Why the file is not changed.
    pub reason: String,
    /// The lines to add.
    pub lines: String,
}

/// Plans an installation.
pub fn install(asked: &InstallRequest<'_>) -> Result<InstallPlan> {
    check_approvals(asked)?;
    let homes = homes(asked.from)?;
    let room = room::find(asked.room, asked.from).and_then(|path| Room::open(&path));
    let agent = match asked.for_up {
        Some(_) => status(asked.client, asked.scope, &homes).agent,
        None => asked
            .agent
            .map(|name| registered(asked, name))
            .transpose()?,
    };
    let wanted = HookConfiguration {
        program: program(asked.program)?,
        agent,
        approvals: asked.approvals,
        is_plugin: false,
    };
    let mut notes = notes::on_install(asked, &homes, &wanted, room.as_ref());
    let before = PreexistingState::of(asked, &homes);
    let mut files = Vec::new();
    let form = InstallMethod::on_this_machine(asked.client, asked.scope);
    for target in targets(asked.client, asked.scope, &homes)? {
        let target = target.for_form(form);
        files.extend(if target.parts.is_empty() {
            let extent = RemovalExtent::Whole;
            removal::take_out(
                &target.obsolete(),
                asked.client,
                before.project,
                extent,
                &mut notes,
            )?
        } else {
            put(&target, asked.client, &wanted, &before, &mut notes)?
        });
    }
    // A backup is the only record of an entry of the user's own. It is written first, because a killed run leaves hooks of ours.
    files.sort_by_key(|file| file.change != FileChangeKind::Kept);
    let questions = questions::of(asked.client, asked.scope, &homes);
    if asked.for_up.is_none() {
        notes.extend(
            questions
                .iter()
                .map(|ask| notes::question(asked.client, ask)),
        );
    }
    Ok(InstallPlan {
        questions,
        ..plan(asked, homes, files, notes, wanted)
    })
}

impl InstallPlan {
    /// Writes the changes.
    pub fn apply(&self) -> Result<()> {
        if self.needs_key {
            DecisionKey::make()?;
        }
        self.files.iter().try_for_each(FileChange::apply)
    }

    /// Runs the hook once, as the client does at the start of a session. The run binds no session and announces nothing.
    pub fn test_hook(&self) -> HookTest {
        hook_test::run(&self.test)
    }
}

fn check_approvals(asked: &InstallRequest<'_>) -> Result<()> {
    if !asked.approvals {
        return Ok(());
    }
    if asked.client.approval_event().is_none() {
        return Err(Error::usage(
            format!(
                "{} has no hook that can answer a permission request",
                asked.client.name()
            ),
            "install without --approvals; the client asks in its own dialog",
        ));
    }
    require_person("install approvals by mail")
}

/// The project and home directories for a working directory.
pub fn homes(from: &Path) -> Result<ClientDirectories> {
    // A container's user may lack an entry. Its home is then the root directory.
    let home = std::env::home_dir()
        .filter(|home| !home.as_os_str().is_empty())
        .unwrap_or_else(|| PathBuf::from("/"));
    // Project settings in the home directory would apply to every project below it.
    let above = from
        .ancestors()
        .take_while(|directory| *directory != home || *directory == from);
    // Any user can create a project in a directory such as /tmp.
    let project = above
        .into_iter()
        .find(|directory| {
            layout::is_project(directory) && (*directory == from || !is_world_writable(directory))
        })
        .unwrap_or(from)
        .to_path_buf();
    Ok(ClientDirectories { project, home })
}

fn is_world_writable(directory: &Path) -> bool {
    Dir::open(directory)
        .and_then(|dir| dir.meta())
        .is_ok_and(|meta| meta.mode & 0o002 != 0)
}

fn plan(
    asked: &InstallRequest<'_>,
    homes: ClientDirectories,
    files: Vec<FileChange>,
    notes: Vec<String>,
    wanted: HookConfiguration,
) -> InstallPlan {
    let directory = match asked.scope {
        InstallScope::Project => homes.project.clone(),
        InstallScope::User => asked.client.directory(&homes),
    };
    let (client, name) = (asked.client.as_str(), asked.client.name());
    let test = HookCall::of_client(asked.client, &wanted, &homes.project);
    InstallPlan {
        client,
        name,
        scope: asked.scope,
        directory,
        files,
        manual_edits: Vec::new(),
        questions: Vec::new(),
        notes,
        test,
        needs_key: wanted.approvals,
    }
}

/// The files for a client. No include line is needed if the client's instruction file is a link to AGENTS.md, or if the
/// client is configured to read AGENTS.md.
fn targets(
    client: Client,
    scope: InstallScope,
    homes: &ClientDirectories,
) -> Result<Vec<TargetFile>> {
    let all = client.targets(scope, homes);
    let agents = layout::of_client(&homes.project, layout::AGENTS);
    let agents = read_file(&agents)?.real().to_path_buf();
    let reads_agents = client == Client::Gemini && status::reads_agents(&all);
    let without_rules = allow::would_replace_theirs(client, scope, homes);
    let mut kept = Vec::new();
    for mut target in all {
        target
            .parts
            .retain(|part| *part != InstallPart::Allow || !without_rules);
        let include = target.parts == [InstallPart::Include];
        let same = include && read_file(&target.path)?.real() == agents;
        if !(include && (same || reads_agents)) {
            kept.push(target);
        }
    }
    Ok(kept)
}

fn put(
    target: &TargetFile,
    client: Client,
    wanted: &HookConfiguration,
    from: &PreexistingState<'_>,
    notes: &mut Vec<String>,
) -> Result<Option<FileChange>> {
    let original = read_file(&target.path)?;
    let backup = read_backup(&target.path)?;
    check_inside(&original, from.project)?;
    let before = text(&original)?;
    let now = before.unwrap_or_default();
    if is_unproven(target, now) {
        notes.push(notes::unproven(&target.path));
        return Ok(None);
    }
    let ours = from.ours(target, client, now, text(&backup)?);
    let obsolete = from.ours(&target.obsolete(), client, now, text(&backup)?);
    let after = undo(&obsolete, now, client)
        .and_then(|rest| edit(&ours, &rest, client, wanted))
        .map_err(|wrong| refused(&original, wrong))?;
    let is_own = ours.parts != target.parts;
    if is_own {
        notes.push(notes::theirs(&target.path));
    }
    if before == Some(after.as_str()) && !(is_own && backup.bytes().is_none()) {
        return Ok(None);
    }
    original.check_writable()?;
    let is_ours = [&ours, &obsolete]
        .iter()
        .any(|target| undo(target, now, client).is_ok_and(|rest| rest != now));
    let keep = if before.is_some() && !is_ours {
        BackupAction::Make
    } else {
        BackupAction::Leave
    };
    changing(&target.path, &original, Some(after), keep).map(Some)
}

/// A file's text with our entries.
fn edit(
    target: &TargetFile,
    text: &str,
    client: Client,
    wanted: &HookConfiguration,
) -> Result<String, EditError> {
    match target.format {
        _ if target.parts.is_empty() => Ok(text.to_owned()),
        FileFormat::Json(dialect) => {
            let mut json = JsonFile::read(text, dialect)?;
            // Each part is inserted at the top, so start with the last.
            for part in target.parts.iter().rev() {
                match part {
                    InstallPart::Hooks => {
                        let is_plugin = target.of_plugin.contains(part);
                        let wanted = HookConfiguration {
                            is_plugin,
                            ..wanted.clone()
                        };
                        hooks::put(&mut json, client, &wanted)?;
                    }
                    InstallPart::Allow => allow::put(&mut json, client)?,
                    _ => servers::put(&mut json, client, wanted)?,
                }
            }
            Ok(json.text().to_owned())
        }
        FileFormat::Toml if target.parts.contains(&InstallPart::Hooks) => {
            toml_hooks::put(text, client, wanted)
        }
        FileFormat::Toml => toml::put(text, wanted),
        FileFormat::Markdown => sections::put(text, target.parts[0]),
        FileFormat::Script => plugin::put(text, client, wanted),
        FileFormat::Whole => Ok(whole::content(target.parts[0])),
    }
}

/// A file's text without our entries.
fn undo(target: &TargetFile, text: &str, client: Client) -> Result<String, EditError> {
    match target.format {
        _ if target.parts.is_empty() => Ok(text.to_owned()),
        FileFormat::Json(_) if text.trim().is_empty() => Ok(text.to_owned()),
        FileFormat::Json(dialect) => {
            let mut json = JsonFile::read(text, dialect)?;
            for part in &target.parts {
                match part {
                    InstallPart::Hooks => hooks::take_out(&mut json, client)?,
                    InstallPart::Allow => allow::take_out(&mut json, client, &target.kept)?,
                    _ => servers::take_out(&mut json)?,
                }
            }
            Ok(json.text().to_owned())
        }
        FileFormat::Toml if target.parts.contains(&InstallPart::Hooks) => {
            toml_hooks::take_out(text, client)
        }
        FileFormat::Toml => toml::take_out(text),
        FileFormat::Markdown => sections::take_out(text),
        FileFormat::Script => plugin::take_out(text),
        FileFormat::Whole => Ok(String::new()),
    }
}

/// Reads a file of a client or of git.
pub(super) fn read_file(path: &Path) -> Result<UserFile> {
    UserFile::read(path, limits::CLIENT_FILE_BYTES)
}

/// Reads the backup of a file.
pub(super) fn read_backup(path: &Path) -> Result<UserFile> {
    read_file(&layout::backup(path))
}

/// A file's text, if there is a file.
pub(super) fn text(file: &UserFile) -> Result<Option<&str>> {
    file.bytes()
        .map(|bytes| {
            std::str::from_utf8(bytes)
                .map_err(|_| refused(file, EditError::new("is not UTF-8 text")))
        })
        .transpose()
}

pub(super) fn refused(file: &UserFile, wrong: EditError) -> Error {
    let fix = "correct the file and run the command again; nothing was changed".into();
    Error::State {
        path: file.path().to_path_buf(),
        line: wrong.line,
        what: wrong.what,
        fix,
    }
}

/// The id of a registered agent.
fn registered(asked: &InstallRequest<'_>, name: &str) -> Result<String> {
    let room = Room::open(&room::find(asked.room, asked.from)?)?;
    let registry = room.registry()?;
    let agent = identity::registered(&registry, name, Some("--agent"))?;
    sessions::refuse_human(&agent.id)?;
    Ok(agent.id.to_string())
}
