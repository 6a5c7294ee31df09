//! Files that words name which somebody else may have written: a command's output, a model's call of a tool.
//!
//! A person may attach any file. Words may lead only below the repository, the room's context and directories that the
//! settings name. The file is opened by handles from there on, so that no link can lead out meanwhile.

use super::files;
use crate::base::error::{Doing, Error, Result};
use crate::disk::{Dir, file_meta, layout};
use crate::message::address::quoted;
use crate::room::Room;
use crate::room::settings::Settings;
use rustix::fs::FileType;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A file that words may name, opened.
#[derive(Debug)]
pub struct Permitted {
    /// Its own name.
    pub name: String,
    /// Its path without links.
    pub path: PathBuf,
    /// Its path below the room's context, if it stands there.
    pub in_context: Option<PathBuf>,
    /// The file.
    pub file: File,
}

/// Opens a regular file that words name, as seen from the working directory.
pub fn open(room: &Room, settings: &Settings, file: &Path) -> Result<Permitted> {
    let path = files::find(file)?;
    let shown = || quoted(&file.display().to_string());
    let context = files::context(room, settings).canonicalize().ok();
    let own = room.dir.path().canonicalize().doing("find", room.dir.path())?;
    let is_private = |below: &Path| path.starts_with(&own) || below.components().any(|part| part.as_os_str() == ".git");
    let mut allowed: Vec<PathBuf> = settings.attach_from.iter().map(PathBuf::from).collect();
    allowed.extend(repository()?);
    let in_context = context.iter().map(|root| (root.clone(), true));
    let elsewhere = allowed.iter().filter_map(|root| Some((root.canonicalize().ok()?, false)));
    let found = in_context.chain(elsewhere).find_map(|(root, is_context)| {
        let below = path.strip_prefix(&root).ok()?.to_path_buf();
        (is_context || !is_private(&below)).then_some((root, below, is_context))
    });
    let Some((root, below, is_context)) = found else {
        return Err(Error::Usage {
            what: format!("can't attach {}: it is outside of the repository and the room's context", shown()),
            cure: format!(
                "copy it below {}, or let a person attach it, or name its directory as `attach_from` in {}",
                context.as_deref().unwrap_or(Path::new("the room's context")).display(),
                layout::SETTINGS
            ),
        });
    };
    let refused = |what: &str| Error::Usage {
        what: format!("can't attach {}: it {what}", shown()),
        cure: "name a regular file".into(),
    };
    let (Some(parent), Some(name)) = (below.parent(), below.file_name()) else { return Err(refused("is a directory")) };
    let name = name.to_str().ok_or_else(|| refused("has a name that is not UTF-8"))?.to_owned();
    let root = Dir::open(&root)?;
    let dir = if parent.as_os_str().is_empty() { root } else { root.sub(parent)? };
    let file = dir.look(&name)?;
    if file_meta(&file).doing("look at", &path)?.kind != FileType::RegularFile {
        return Err(refused("is no regular file"));
    }
    Ok(Permitted { name, in_context: is_context.then(|| below.clone()), path, file })
}

/// The repository in which this program works, or else the directory; never a person's home, which holds their keys.
fn repository() -> Result<Option<PathBuf>> {
    let here = std::env::current_dir().doing("find the working directory", ".")?;
    let project = here.ancestors().find(|directory| is_own_project(directory)).unwrap_or(&here).to_path_buf();
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    let holds_home = home.is_some_and(|home| home.starts_with(&project));
    Ok(Some(project).filter(|project| !holds_home && project.parent().is_some()))
}

/// A repository that somebody else put above the working directory is not this user's.
fn is_own_project(directory: &Path) -> bool {
    let me = rustix::process::geteuid().as_raw();
    let is_mine = |meta: crate::disk::Meta| meta.uid == me;
    let Ok(dir) = Dir::open(directory) else { return false };
    [layout::REPOSITORY, layout::ROOM].iter().any(|name| dir.stat(name).ok().flatten().is_some_and(is_mine))
}
