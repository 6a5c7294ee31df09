//! Explains which room commands in a directory use.

use super::open::find;
use crate::disk::git::{Worktree, main_worktree, resolved};
use crate::disk::{Dir, layout};
use std::path::{Path, PathBuf};

/// Says why commands in a directory use this room, which they find, or which is new.
pub fn reason(room: &Path, from: &Path) -> String {
    let (room, from) = (resolved(room), resolved(from));
    let Some(directory) = directory_of(&room) else {
        return NAMED.into();
    };
    let shown = directory.display();
    let Some(worktree) = Worktree::around(&from) else {
        return if from == directory {
            "in this directory, which is in no git repository".into()
        } else if from.starts_with(directory) {
            format!("found in the parent directory {shown}; `mailbag init` makes one here")
        } else {
            NAMED.into()
        };
    };
    let top = worktree.top.display();
    if main_worktree(&worktree.top).as_deref() == Some(directory) {
        return format!(
            "found in {shown}, the main worktree of this repository; {top} is a linked worktree and shares its room"
        );
    }
    let kind = if worktree.is_submodule() {
        "git submodule"
    } else {
        "git repository"
    };
    if worktree.top == directory {
        format!("at the top of this {kind}")
    } else if !from.starts_with(directory) {
        NAMED.into()
    } else if worktree.top.starts_with(directory) {
        format!(
            "found in the parent directory {shown}; the {kind} {top} has no room of its own; `mailbag init` makes one here"
        )
    } else if from == directory {
        format!(
            "in this directory; the top of the {kind} is {top}, where commands use another room"
        )
    } else {
        format!("found in the parent directory {shown}; `mailbag init` makes one here")
    }
}

/// The reason of a room that no search finds.
const NAMED: &str = "named by you";

/// The directory of a room with the default name.
fn directory_of(room: &Path) -> Option<&Path> {
    if room.ends_with(layout::ROOM) {
        room.parent()
    } else {
        None
    }
}

/// The room that competes with a new one for the commands in its directory, with a warning for the person who made the new
/// one: commands used a room above it, or use another one.
pub fn competing_room(room: &Path) -> Option<(PathBuf, String)> {
    let room = resolved(room);
    let directory = directory_of(&room)?;
    let new = directory.display();
    let used = find(None, directory).ok()?;
    if identity(&used) != identity(&room) {
        let warning = format!(
            "commands in {new} use the room {} and not the new one, because all worktrees of a repository share a room; \
             select the new room with --room or MAILBAG_ROOM",
            used.display()
        );
        return Some((used, warning));
    }
    let above = find(None, directory.parent()?).ok()?;
    if identity(&above) == identity(&room) {
        return None;
    }
    let warning = format!(
        "{new} is below another room, {}: commands in {new} now use the new room, and its agents and those of the \
         other room do not reach each other; `mailbag link add` connects two rooms",
        above.display()
    );
    Some((above, warning))
}

/// The device and inode of a room, which identify it under any path. `None` if the path is not a room.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let dir = Dir::open(path).ok()?;
    dir.sub(layout::SPOOL).ok()?;
    dir.meta().ok().map(|meta| (meta.device, meta.inode))
}
