//! How paths lead to inodes.

use super::disk::{Content, Disk, Id, Name, ROOT};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// The number of links in one path that Linux follows.
const LINKS: usize = 40;
const LONGEST: usize = 255;

/// The inode of a path below a directory. A link on the way is an error, a link at the end is the result.
pub(super) fn find(disk: &Disk, from: Id, path: &Path) -> Result<Id, Errno> {
    if path.as_os_str().is_empty() {
        return Err(Errno::NOENT);
    }
    if path.file_name().is_none() {
        return directory(disk, from, path);
    }
    let place = place(disk, from, path)?;
    disk.at(&place).ok_or(Errno::NOENT)
}

/// The directory and the name of a path, which need not exist.
pub(super) fn place(disk: &Disk, from: Id, path: &Path) -> Result<Name, Errno> {
    if path.as_os_str().is_empty() {
        return Err(Errno::NOENT);
    }
    let name = path.file_name().ok_or(Errno::INVAL)?;
    check(name)?;
    let above = path.parent().unwrap_or_else(|| Path::new(""));
    Ok(Name {
        directory: directory(disk, from, above)?,
        name: name.to_owned(),
    })
}

/// As [`place`], in a directory that still has a name.
pub(super) fn new_place(disk: &Disk, from: Id, path: &Path) -> Result<Name, Errno> {
    let place = place(disk, from, path)?;
    if !disk.get(place.directory).is_named() {
        return Err(Errno::NOENT);
    }
    Ok(place)
}

fn check(name: &OsStr) -> Result<(), Errno> {
    if name.as_bytes().contains(&0) {
        return Err(Errno::INVAL);
    }
    if name.len() > LONGEST {
        return Err(Errno::NAMETOOLONG);
    }
    Ok(())
}

fn directory(disk: &Disk, from: Id, path: &Path) -> Result<Id, Errno> {
    let mut at = from;
    for part in path.components() {
        at = match part {
            Component::RootDir | Component::Prefix(_) => ROOT,
            Component::CurDir => at,
            Component::ParentDir => disk.parent(at).map_or(at, |(parent, _)| parent),
            Component::Normal(name) => {
                check(name)?;
                *disk.entries(at)?.get(name).ok_or(Errno::NOENT)?
            }
        };
        disk.entries(at)?;
    }
    disk.entries(at).map(|_| at)
}

/// The inode of a path with all links followed, and its path without links.
pub(super) fn follow(disk: &Disk, from: Id, path: &Path) -> Result<(Id, PathBuf), Errno> {
    if path.as_os_str().is_empty() {
        return Err(Errno::NOENT);
    }
    let mut way = way_to(disk, from);
    let mut rest: VecDeque<OsString> = parts(path);
    let mut links = 0;
    while let Some(part) = rest.pop_front() {
        let at = way.last().map_or(ROOT, |(_, id)| *id);
        if part == "/" {
            way.clear();
            continue;
        }
        let entries = disk.entries(at)?;
        if part == ".." {
            way.pop();
        }
        if part == "." || part == ".." {
            continue;
        }
        check(&part)?;
        let id = *entries.get(&part).ok_or(Errno::NOENT)?;
        let Content::Link(target) = &disk.get(id).content else {
            way.push((part, id));
            continue;
        };
        links += 1;
        if links > LINKS {
            return Err(Errno::LOOP);
        }
        for part in parts(target).into_iter().rev() {
            rest.push_front(part);
        }
    }
    let id = way.last().map_or(ROOT, |(_, id)| *id);
    let mut path = PathBuf::from("/");
    path.extend(way.into_iter().map(|(name, _)| name));
    Ok((id, path))
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let parts = path.components();
    parts.map(|part| part.as_os_str().to_owned()).collect()
}

/// The names that lead to a directory.
fn way_to(disk: &Disk, directory: Id) -> Vec<(OsString, Id)> {
    let mut way = Vec::new();
    let mut at = directory;
    while let Some((parent, name)) = disk.parent(at) {
        way.push((name.clone(), at));
        at = parent;
    }
    way.reverse();
    way
}

/// Returns true if a directory is another one, or below it.
pub(super) fn is_below(disk: &Disk, directory: Id, above: Id) -> bool {
    directory == above || way_to(disk, directory).iter().any(|(_, id)| *id == above)
}
