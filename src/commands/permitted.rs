//! Opens files with untrusted paths, from a command's output or a model's tool call.
//!
//! A person may attach any file. An untrusted path must be below the repository, the room's context or a directory that the
//! settings allow. The file is opened relative to directory handles, so that no link can lead elsewhere.

use super::files;
use crate::base::error::{Error, ErrorContext, Result};
use crate::disk::File;
use crate::disk::machine::here;
use crate::disk::paths::PathQuestions;
use crate::disk::{Dir, layout};
use crate::message::address::quoted;
use crate::room::Room;
use crate::room::settings::Settings;
use rustix::fs::FileType;
use std::path::{Path, PathBuf};

/// A file that words may name, opened.
#[derive(Debug)]
pub struct PermittedFile {
    /// Its file name.
    pub name: String,
    /// Its path without links.
    pub path: PathBuf,
    /// Its path below the room's context, if it is there.
    pub in_context: Option<PathBuf>,
    /// The file.
    pub file: File,
}

/// Opens a regular file by an untrusted path, relative to the working directory.
pub fn open(room: &Room, settings: &Settings, file: &Path) -> Result<PermittedFile> {
    let path = files::find(file)?;
    let own = room.dir.path().real_path().doing("find", room.dir.path())?;
    // A symbolic link in the room does not make another directory its context: only the setting does.
    let context = files::context(room, settings)
        .real_path()
        .ok()
        .filter(|path| settings.has_context_outside() || path.starts_with(&own));
    let mut allowed: Vec<PathBuf> = settings.attach_from.iter().map(PathBuf::from).collect();
    allowed.extend(repository()?);
    let in_context = context.iter().map(|root| (root.clone(), true));
    let elsewhere = allowed
        .iter()
        .filter_map(|root| Some((root.real_path().ok()?, false)));
    let found = in_context.chain(elsewhere).find_map(|(root, is_context)| {
        let below = path.strip_prefix(&root).ok()?.to_path_buf();
        let is_private =
            path.starts_with(&own) || below.components().any(|part| part.as_os_str() == ".git");
        (is_context || !is_private).then_some((root, below, is_context))
    });
    let Some((root, below, is_context)) = found else {
        let is_withheld = settings.withheld.iter().any(|one| one.key == "attach_from");
        return Err(Error::usage(
            format!(
                "cannot attach {}: it is outside the repository and the room's context",
                quoted(&file.display().to_string())
            ),
            format!(
                "copy it below {}, ask a person to attach it, or {}",
                context
                    .as_deref()
                    .unwrap_or(Path::new("the room's context"))
                    .display(),
                if is_withheld {
                    "trust the room's `attach_from` with `mailbag trust`".to_owned()
                } else {
                    format!("add its directory to `attach_from` in {}", layout::SETTINGS)
                }
            ),
        ));
    };
    let (Some(parent), Some(name)) = (below.parent(), below.file_name()) else {
        return Err(unsuitable(file, "is a directory"));
    };
    let name = name
        .to_str()
        .ok_or_else(|| unsuitable(file, "has a name that is not UTF-8"))?
        .to_owned();
    let root = Dir::open(&root)?;
    let dir = if parent.as_os_str().is_empty() {
        root
    } else {
        root.sub(parent)?
    };
    let opened = dir.look(&name)?;
    if opened.meta().doing("look at", &path)?.kind != FileType::RegularFile {
        return Err(unsuitable(file, "is not a regular file"));
    }
    Ok(PermittedFile {
        name,
        in_context: is_context.then(|| below.clone()),
        path,
        file: opened,
    })
}

fn unsuitable(file: &Path, what: &str) -> Error {
    let file = quoted(&file.display().to_string());
    Error::usage(
        format!("cannot attach {file}: it {what}"),
        "pass a regular file",
    )
}

/// The repository of the working directory, or the directory itself; never a user's home, because it contains keys.
fn repository() -> Result<Option<PathBuf>> {
    let here = here()?;
    let project = here
        .ancestors()
        .find(|directory| is_own_project(directory))
        .unwrap_or(&here)
        .to_path_buf();
    let home = std::env::home_dir().and_then(|home| home.real_path().ok());
    let holds_home = home.is_some_and(|home| home.starts_with(&project));
    Ok(Some(project).filter(|project| !holds_home && project.parent().is_some()))
}

/// Whether a project belongs to this user. Another user may have made a repository above the working directory.
fn is_own_project(directory: &Path) -> bool {
    let me = rustix::process::geteuid().as_raw();
    let Ok(dir) = Dir::open(directory) else {
        return false;
    };
    [layout::REPOSITORY, layout::ROOM]
        .iter()
        .any(|name| matches!(dir.stat(name), Ok(Some(meta)) if meta.uid == me))
}
