//! Explains which room commands in a directory use.

use super::open::find;
use crate::disk::git::{Worktree, main_worktree, resolved};
use crate::disk::{Dir, layout};
use std::path::{Path, PathBuf};

/// Says why commands in a directory use this room, which they find, or which is new.
pub fn reason(room: &Path, from: &Path) -> String {
    let from = resolved(from);
    let room = resolved(room);
    let Some(directory) = directory_of(&room) else {
        return "named by you".into();
    };
    let shown = directory.display();
    let around = Worktree::around(&from);
    if let Some(worktree) = &around
        && main_worktree(&worktree.top).as_deref() == Some(directory)
    {
        let linked = worktree.top.display();
        return format!(
            "found in {shown}, the main worktree of this repository; {linked} is a linked worktree and shares its room"
        );
    }
    let kind = around.as_ref().map(kind_of);
    let top = around.map(|worktree| worktree.top);
    match (top, kind) {
        (Some(top), Some(kind)) if top == directory => format!("at the top of this {kind}"),
        _ if !from.starts_with(directory) => "named by you".into(),
        (Some(top), Some(kind)) if top.starts_with(directory) => format!(
            "found in the parent directory {shown}; the {kind} {} has no room of its own; `mailbag init` makes one here",
            top.display()
        ),
        (Some(top), Some(kind)) if from == directory => format!(
            "in this directory; the top of the {kind} is {}, where commands use another room",
            top.display()
        ),
        _ if from == directory => "in this directory, which is in no git repository".into(),
        _ => format!("found in the parent directory {shown}; `mailbag init` makes one here"),
    }
}

/// The directory of a room with the default name.
fn directory_of(room: &Path) -> Option<&Path> {
    if room.ends_with(layout::ROOM) {
        room.parent()
    } else {
        None
    }
}

fn kind_of(worktree: &Worktree) -> &'static str {
    if worktree.is_submodule() {
        "git submodule"
    } else {
        "git repository"
    }
}

/// A room that competes with a new one for the commands in its directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompetingRoom {
    /// Commands used this room, which is above the new one.
    Replaced(PathBuf),
    /// Commands use this room, and not the new one.
    Preferred(PathBuf),
}

impl CompetingRoom {
    /// The competing room of a new room, if there is one.
    pub fn of(room: &Path) -> Option<CompetingRoom> {
        let room = resolved(room);
        let directory = directory_of(&room)?;
        let used = find(None, directory).ok()?;
        if identity(&used) != identity(&room) {
            return Some(CompetingRoom::Preferred(used));
        }
        let above = find(None, directory.parent()?).ok()?;
        (identity(&above) != identity(&room)).then_some(CompetingRoom::Replaced(above))
    }

    /// The other room.
    pub fn room(&self) -> &Path {
        match self {
            CompetingRoom::Replaced(room) | CompetingRoom::Preferred(room) => room,
        }
    }

    /// A warning for the person who made the new room.
    pub fn warning(&self, new: &Path) -> String {
        let new = new.parent().unwrap_or(new).display();
        match self {
            CompetingRoom::Replaced(room) => format!(
                "{new} is below another room, {}: commands in {new} now use the new room, and its agents and those of the \
                 other room do not reach each other; `mailbag link add` connects two rooms",
                room.display()
            ),
            CompetingRoom::Preferred(room) => format!(
                "commands in {new} use the room {} and not the new one, because all worktrees of a repository share a room; \
                 select the new room with --room or MAILBAG_ROOM",
                room.display()
            ),
        }
    }
}

/// The device and inode of a room, which identify it under any path. `None` if the path is not a room.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let dir = Dir::open(path).ok()?;
    dir.sub(layout::SPOOL).ok()?;
    dir.meta().ok().map(|meta| (meta.device, meta.inode))
}
