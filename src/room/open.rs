//! A room as a whole: finding it, making it, and who may route in it.

use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::disk::{Dir, Readers, layout};
use crate::message::id;
use crate::room::registry::Registry;
use crate::room::settings::Settings;
use std::path::{Path, PathBuf};

/// An open room.
#[derive(Clone)]
pub struct Room {
    /// The room's directory.
    pub dir: Dir,
}

/// What [`Room::init`] found or made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// There was no room.
    New,
    /// There was one already; nothing of it was changed.
    Already,
}

impl Room {
    /// Opens the room at a directory, unless it belongs to somebody else and the person did not agree to use it.
    pub fn open(path: &Path) -> Result<Room> {
        let room = Room::look(path)?;
        room.check_trusted()?;
        Ok(room)
    }

    /// As [`Room::open`], for whoever only says what stands there, whoever it belongs to. That the directory is there is
    /// not enough: a room has a `spool/`.
    pub fn look(path: &Path) -> Result<Room> {
        let none = || Error::NotFound {
            what: format!("no room at {}", path.display()),
            cure: format!("make one with `mailbag init {}`", path.display()),
        };
        let dir = match Dir::open_room(path) {
            Err(e) if e.errno() == Some(libc::EACCES) => return Err(e),
            dir => dir.map_err(|_| none())?,
        };
        match dir.stat(layout::SPOOL)?.is_some_and(|spool| spool.is_directory()) {
            true => Ok(Room { dir }),
            false => Err(none()),
        }
    }

    /// Makes a room at a directory, or completes what is missing of one. Files that stand there already are not
    /// touched: a harness may have made its inboxes and outboxes before. Safe to run at any time and any number of
    /// times, also after a kill in the middle of it.
    pub fn init(path: &Path) -> Result<(Room, Made)> {
        Room::init_for(path, Readers::Owner)
    }

    /// As [`Room::init`]; a new room can be read by these.
    pub fn init_for(path: &Path, readers: Readers) -> Result<(Room, Made)> {
        let room = Room { dir: Dir::make_room(path, readers)? };
        room.check_trusted()?;
        let dir = room.dir;
        let made = if dir.stat(layout::ROOM_ID)?.is_some() { Made::Already } else { Made::New };
        for directory in layout::DIRECTORIES {
            dir.make(directory)?;
        }
        let room = Room { dir };
        let _held = room.lock_registry()?;
        if room.dir.stat(layout::REGISTRY)?.is_none() {
            room.dir.replace(layout::REGISTRY, Registry::empty().to_json().as_bytes())?;
        }
        if room.dir.stat(layout::GITIGNORE)?.is_none() {
            room.dir.replace(layout::GITIGNORE, b"*\n")?;
        }
        for directory in [layout::outbox(id::HUMAN), layout::seen(id::HUMAN)] {
            room.dir.make(directory)?;
        }
        // Last, because its presence says that the room is whole.
        if room.dir.stat(layout::ROOM_ID)?.is_none() {
            room.dir.replace(layout::ROOM_ID, format!("{}\n", id::mint()).as_bytes())?;
        }
        room.note_place()?;
        Ok((room, made))
    }

    /// The room's id, as `spool/room` has it.
    pub fn id(&self) -> Result<Option<String>> {
        let bytes = self.dir.read(layout::ROOM_ID, 256)?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned()).filter(|id| !id.is_empty()))
    }

    /// The registry as it stands on disk. A missing one is an error, never taken for an empty one.
    pub fn registry(&self) -> Result<Registry> {
        let bytes = self.dir.read(layout::REGISTRY, limits::REGISTRY_BYTES)?.ok_or_else(|| Error::State {
            path: self.dir.at(layout::REGISTRY),
            line: None,
            what: "is missing".into(),
            cure: "put it back, or run `mailbag init` for one with only the human in it".into(),
        })?;
        Registry::parse(&bytes).map_err(|problems| self.unreadable(layout::REGISTRY, problems))
    }

    /// The settings as they stand on disk; a room without the file has the defaults.
    pub fn settings(&self) -> Result<Settings> {
        let bytes = self.dir.read(layout::SETTINGS, limits::REGISTRY_BYTES)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        Settings::parse(&text).map_err(|problems| self.unreadable(layout::SETTINGS, problems))
    }

    fn unreadable(&self, name: &str, problems: Vec<crate::base::error::Problem>) -> Error {
        let line = problems.first().and_then(|p| p.place.strip_prefix("line ")?.split(' ').next()?.parse().ok());
        Error::State {
            path: self.dir.at(name),
            line,
            what: problems.iter().map(|p| p.to_string()).collect::<Vec<_>>().join("; "),
            cure: "mend the file; it was not changed".into(),
        }
    }
}

/// Finds the room: what was asked for, else `.mailbag` in this directory or the nearest above it. In a linked git
/// worktree the main worktree's room comes first, so that sessions in several worktrees share one.
pub fn find(asked: Option<&Path>, from: &Path) -> Result<PathBuf> {
    if let Some(path) = asked {
        return Ok(path.to_path_buf());
    }
    let none = || Error::NotFound {
        what: format!("no room: there is no {} in {} or above it", layout::ROOM, from.display()),
        cure: "make one with `mailbag init`, or name one with --room DIR or MAILBAG_ROOM".into(),
    };
    from.ancestors()
        .flat_map(|directory| [main_worktree(directory), Some(directory.to_path_buf())])
        .flatten()
        .map(|directory| below(&directory))
        .find(|room| is_room(room))
        .ok_or_else(none)
}

/// Is this directory a room? One that this user may not enter is one: passed over, it would be taken for missing.
pub fn is_room(path: &Path) -> bool {
    match Dir::open(path).and_then(|dir| dir.stat(layout::SPOOL)) {
        Ok(spool) => spool.is_some_and(|spool| spool.is_directory()),
        Err(e) => e.errno() == Some(libc::EACCES),
    }
}

/// Where the room of a directory is, if it has one.
pub fn below(directory: &Path) -> PathBuf {
    directory.join(layout::ROOM)
}

/// Where `mailbag init` makes a room when no directory is named: here, or in a linked git worktree, beside the main
/// worktree's files.
pub fn default_place(from: &Path) -> PathBuf {
    from.ancestors().find_map(main_worktree).unwrap_or_else(|| from.to_path_buf()).join(layout::ROOM)
}

/// The main worktree that a linked one belongs to: its `.git` is a file that names its own directory in the main
/// repository, where `commondir` names the repository (gitrepository-layout(5)).
pub(super) fn main_worktree(directory: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(directory.join(".git")).ok()?;
    let own = directory.join(text.strip_prefix("gitdir:")?.trim());
    let common = own.join(std::fs::read_to_string(own.join("commondir")).ok()?.trim());
    Some(common.canonicalize().ok()?.parent()?.to_path_buf())
}
