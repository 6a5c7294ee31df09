//! Storage: the room's directories and their permissions, the file system, and system limits.

use super::{ExaminedRoom, Finding, shell};
use crate::base::error::Result;
use crate::disk::fs::Volume;
use crate::disk::{Dir, events_work, layout, mounts};
use rustix::fs::FileType;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A disk with less free space is nearly full: a batch and a log segment must fit.
const BYTES_LEAST: u64 = 64 << 20;
/// Fewest free inodes: each message needs several files.
const FILES_LEAST: u64 = 1000;
/// Largest number of directories in a finding.
const NAMED: usize = 3;

pub(super) fn look(examined: &ExaminedRoom<'_>, findings: &mut Vec<Finding>) -> Result<()> {
    let room = &examined.room.dir;
    let all = places(examined)?;
    reach(room, &all, findings)?;
    space(room, findings);
    if !events_work(room) {
        let what = "this file system reports no file events, so a router polls every two seconds";
        findings.push(Finding::note(
            "silent_file_system",
            what,
            "mailbag run --poll",
        ));
    }
    Ok(())
}

/// All directories that mail passes through.
fn places(examined: &ExaminedRoom<'_>) -> Result<Vec<PathBuf>> {
    let mut all: Vec<PathBuf> = layout::DIRECTORIES.iter().map(PathBuf::from).collect();
    for agent in directories_and_links(&examined.room.dir, layout::OUTBOXES) {
        all.push(layout::outbox(&agent));
    }
    for agent in directories_and_links(&examined.room.dir, layout::INBOXES) {
        all.push(layout::inbox(&agent));
    }
    // The router creates a link's directories with its first item.
    for tag in directories_and_links(&examined.room.dir, layout::LINKS) {
        for directory in [layout::link_in(&tag), layout::link_out(&tag)] {
            if examined.room.dir.stat(&directory)?.is_some() {
                all.push(directory);
            }
        }
    }
    Ok(all)
}

fn directories_and_links(room: &Dir, of: &str) -> Vec<String> {
    let Ok(listing) = room.sub(of).and_then(|dir| dir.list()) else {
        return Vec::new();
    };
    let kinds = [FileType::Directory, FileType::Symlink, FileType::Unknown];
    let names = listing
        .flatten()
        .filter(|entry| kinds.contains(&entry.kind));
    let mut names: Vec<String> = names
        .filter_map(|entry| entry.name.into_string().ok())
        .collect();
    names.retain(|name| !name.starts_with('.'));
    names.sort_unstable();
    names
}

/// Directories that are missing, cannot be opened or written, or are on another file system.
fn reach(room: &Dir, all: &[PathBuf], findings: &mut Vec<Finding>) -> Result<()> {
    let own = room.meta()?;
    let mut unwritable: Vec<&Path> = Vec::new();
    let mut read_only: BTreeMap<PathBuf, Vec<&Path>> = BTreeMap::new();
    for below in all {
        let path = room.at(below);
        if room.stat(below).is_ok_and(|meta| meta.is_none()) {
            let what = format!("{} is missing", path.display());
            let fix = format!("mkdir -p {}", shell(&path));
            findings.push(Finding::warning("missing_directory", what, fix).fixable());
            continue;
        }
        match room.sub(below) {
            Err(e) => {
                let fix = format!("ls -lad {}", shell(&path));
                findings.push(Finding::problem(
                    "unreachable_directory",
                    e.to_string(),
                    fix,
                ));
            }
            Ok(dir) => {
                let meta = dir.meta()?;
                if meta.device != own.device {
                    findings.push(other_file_system(&path));
                }
                if dir.is_writable() {
                    continue;
                }
                match mounts::read_only_mount(&dir) {
                    Some(mount_point) => read_only.entry(mount_point).or_default().push(below),
                    None => unwritable.push(below),
                }
            }
        }
    }
    for (mount_point, those) in read_only {
        findings.push(mounted_read_only(&mount_point, &those));
    }
    findings.extend(not_writable(room, &unwritable));
    Ok(())
}

fn other_file_system(path: &Path) -> Finding {
    let what = format!(
        "{} is on another file system than the room, so messages cannot be moved there atomically",
        path.display()
    );
    Finding::problem("other_file_system", what, format!("df {}", shell(path)))
}

/// A change of the permissions has no effect there, even by the superuser.
fn mounted_read_only(mount_point: &Path, those: &[&Path]) -> Finding {
    let what = format!(
        "{} is mounted read-only, so no file can be written to {}; in a sandbox, allow it to write to the whole room",
        mount_point.display(),
        names_of(those)
    );
    let fix = format!("sudo mount -o remount,rw {}", shell(mount_point));
    Finding::problem("read_only_mount", what, fix)
}

/// The first directories by name, and the number of the others.
fn names_of(those: &[&Path]) -> String {
    let names: Vec<String> = those
        .iter()
        .take(NAMED)
        .map(|below| below.display().to_string())
        .collect();
    let more = if those.len() > NAMED {
        format!(" and {} more", those.len() - NAMED)
    } else {
        String::new()
    };
    format!("{}{more}", names.join(", "))
}

fn not_writable(room: &Dir, those: &[&Path]) -> Option<Finding> {
    those.first()?;
    let what = format!("you have no write permission for {}", names_of(those));
    let paths: Vec<String> = those.iter().map(|below| shell(&room.at(below))).collect();
    let fix = format!("chmod u+rwx {}", paths.join(" "));
    Some(Finding::problem("unwritable_directory", what, fix))
}

fn space(room: &Dir, findings: &mut Vec<Finding>) {
    let Some(Volume { bytes, files, .. }) = mounts::free(room) else {
        return;
    };
    if bytes < BYTES_LEAST {
        let what = format!("the disk is nearly full: {} MiB free", bytes >> 20);
        findings.push(Finding::problem(
            "disk_full",
            what,
            "mailbag archive --older-than 7d",
        ));
    }
    if let Some(files) = files.filter(|files| *files < FILES_LEAST) {
        let what = format!("the file system is nearly out of inodes: {files} free");
        findings.push(Finding::problem(
            "no_inodes",
            what,
            "mailbag archive --older-than 7d",
        ));
    }
}
