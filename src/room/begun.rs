//! A room that can be removed again: it gets a mark, and is removed only while it has no content of agents or people.
//!
//! Both happen under another name beside the room, so that a kill leaves no half of a room under its own name.

use super::{Room, RoomCreation, check_not_a_link, check_path};
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::disk::{Dir, layout};
use crate::room::registry::Registry;
use rustix::fs::FileType;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The result of [`Room::take_back`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoomRemoval {
    /// The room did not exist.
    Absent,
    /// The room was removed.
    Removed,
    /// The room was not changed, for this reason.
    Kept(String),
}

/// Files that a router and hooks write without any message.
const DERIVED: [&str; 6] = [
    layout::ROSTER,
    layout::COMMITTED,
    layout::WAITING,
    layout::PLACE,
    layout::ROOM_ID,
    layout::LOCK,
];

/// Where empty files are locks, or a log without a record.
const LOCKS: [&str; 3] = [layout::SPOOL, layout::LOG, layout::SESSIONS];

impl Room {
    /// As [`Room::init`]. A room that did not exist gets a mark, so that [`Room::take_back`] can remove it.
    ///
    /// ```
    /// use mailbag::room::{Room, RoomRemoval};
    ///
    /// let home = tempfile::tempdir()?;
    /// let path = home.path().join(".mailbag");
    /// Room::begin(&path)?;
    /// assert_eq!(Room::take_back(&path)?, RoomRemoval::Removed);
    /// Room::init(&path)?;
    /// assert!(matches!(Room::take_back(&path)?, RoomRemoval::Kept(_)), "another program's room");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn begin(path: &Path) -> Result<(Room, RoomCreation)> {
        check_path(path)?;
        check_not_a_link(path.to_path_buf())?;
        clear_draft(path)?;
        let draft = layout::room_draft(path);
        if is_there(path)? {
            return Room::init(path);
        }
        let dir = Dir::make_room(&draft)?;
        dir.make(layout::SPOOL)?;
        dir.replace(layout::BEGUN, b"")?;
        match rename(&draft, path) {
            // Another process has made the room since the check.
            Err(_) if is_there(path)? => clear_draft(path)?,
            renamed => renamed?,
        }
        let (room, _) = Room::init(path)?;
        Ok((room, RoomCreation::New))
    }

    /// Why [`Room::take_back`] would keep the room, or that it would remove it. Changes nothing.
    pub fn removal(path: &Path) -> Result<RoomRemoval> {
        if !is_there(path)? {
            // A killed process may have left it under its other name.
            let has_rest = is_there(&layout::room_draft(path))?;
            return Ok(if has_rest {
                RoomRemoval::Removed
            } else {
                RoomRemoval::Absent
            });
        }
        let room = Room::look(path)?;
        Ok(match room.reason_to_stay()? {
            Some(why) => RoomRemoval::Kept(why),
            None => RoomRemoval::Removed,
        })
    }

    /// Removes a room that [`Room::begin`] created, unless it has content of agents or people.
    pub fn take_back(path: &Path) -> Result<RoomRemoval> {
        let removal = Room::removal(path)?;
        clear_draft(path)?;
        if removal != RoomRemoval::Removed || !is_there(path)? {
            return Ok(removal);
        }
        let draft = layout::room_draft(path);
        rename(path, &draft)?;
        // A message may have been sent since the check.
        if let Some(found) = first_content(&Dir::open(&draft)?)? {
            rename(&draft, path)?;
            return Ok(RoomRemoval::Kept(contains(&found)));
        }
        clear_draft(path)?;
        Ok(RoomRemoval::Removed)
    }

    fn reason_to_stay(&self) -> Result<Option<String>> {
        if self.dir.stat(layout::BEGUN)?.is_none() {
            return Ok(Some("`mailbag up` did not create it".into()));
        }
        if self.router_presence()?.holder().is_some() {
            return Ok(Some("a router is running in it".into()));
        }
        Ok(first_content(&self.dir)?.map(|found| contains(&found)))
    }
}

fn contains(found: &Path) -> String {
    if found == Path::new(layout::REGISTRY) {
        return "agents are registered in it".into();
    }
    format!("it contains {}", found.display())
}

/// The first file of a room that an agent or a person wrote.
fn first_content(room: &Dir) -> Result<Option<PathBuf>> {
    let mut open = vec![PathBuf::new()];
    while let Some(at) = open.pop() {
        let dir = if at.as_os_str().is_empty() {
            room.clone()
        } else {
            room.sub(&at)?
        };
        for entry in dir.list()? {
            let path = at.join(entry?.name);
            match room.stat(&path)? {
                Some(meta) if meta.is_directory() => open.push(path),
                Some(meta)
                    if meta.kind == FileType::RegularFile
                        && is_generated(room, &path, meta.size)? => {}
                Some(_) => return Ok(Some(path)),
                None => {}
            }
        }
    }
    Ok(None)
}

/// Returns true if a file contains only text that mailbag writes by itself.
fn is_generated(room: &Dir, path: &Path, size: u64) -> Result<bool> {
    let Some(name) = path.to_str() else {
        return Ok(false);
    };
    let generated = match name {
        _ if size == 0 && LOCKS.iter().any(|above| path.starts_with(above)) => return Ok(true),
        layout::GITIGNORE => "*\n".to_owned(),
        layout::REGISTRY => Registry::empty().to_json().to_owned(),
        // A kill during a replacement leaves a temporary file.
        _ if name.ends_with(".tmp") => {
            let above = path.parent().and_then(Path::to_str);
            return Ok(matches!(above, Some("" | layout::SPOOL)));
        }
        _ => {
            return Ok(DERIVED.contains(&name)
                || path.starts_with(layout::FIRED)
                || path.strip_prefix(layout::SPOOL) == Ok(Path::new(layout::BOOT)));
        }
    };
    let content = room.read(path, limits::REGISTRY_BYTES)?;
    Ok(content.as_deref() == Some(generated.as_bytes()))
}

/// Removes the draft of a room that a killed process left.
fn clear_draft(path: &Path) -> Result<()> {
    let draft = layout::room_draft(path);
    if !is_there(&draft)? {
        return Ok(());
    }
    let dir = Dir::open(&draft)?;
    match first_content(&dir)? {
        None => clear(&dir)?,
        Some(found) => {
            return Err(Error::state(
                draft,
                format!(
                    "should be the rest of a room that was being removed, but {}",
                    contains(&found)
                ),
                "move it away, and run the command again",
            ));
        }
    }
    let (above, name) = place(&draft)?;
    above.remove_empty(name)?;
    above.sync()
}

fn clear(dir: &Dir) -> Result<()> {
    for entry in dir.list()?.collect::<Result<Vec<_>>>()? {
        match dir.stat(&entry.name)? {
            Some(meta) if meta.is_directory() => {
                clear(&dir.sub(&entry.name)?)?;
                dir.remove_empty(&entry.name)?;
            }
            _ => dir.remove(&entry.name)?,
        }
    }
    Ok(())
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    let ((above, name), (_, new)) = (place(from)?, place(to)?);
    above.rename_directory(name, new)
}

fn is_there(path: &Path) -> Result<bool> {
    match place(path) {
        Ok((above, name)) => Ok(above.stat(name)?.is_some()),
        Err(e) if e.is_missing() => Ok(false),
        Err(e) => Err(e),
    }
}

/// The directory of a path, and the name in it.
fn place(path: &Path) -> Result<(Dir, &OsStr)> {
    let above = path
        .parent()
        .filter(|above| !above.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    Ok((Dir::open(above)?, path.file_name().unwrap_or_default()))
}
