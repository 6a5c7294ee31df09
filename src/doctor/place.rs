//! Where the room stands: its directories and who may write them, the file system, and what the machine allows.

use super::{Finding, Patient, Severity, count, shell};
use crate::base::error::Result;
use crate::disk::machine::{self, Free};
use crate::disk::{Dir, Meta, events_work, layout};
use crate::query::status::directories;
use rustix::fs::FileType;
use std::path::{Path, PathBuf};

/// Less than this is a disk that is nearly full: a batch and a log segment have to fit.
const BYTES_LEAST: u64 = 64 << 20;
/// Each message needs some files.
const FILES_LEAST: u64 = 1000;
/// A router watches the room, its outboxes and its inboxes beside those of each agent.
const PLACES: u64 = 3;
/// What a router holds open beside its watches: log, spool, conversations, scans.
const HELD: u64 = 256;
/// How many directories of one kind are named.
const NAMED: usize = 3;

pub(super) fn look(patient: &Patient<'_>, findings: &mut Vec<Finding>) -> Result<()> {
    let room = &patient.room.dir;
    let all = places(patient)?;
    reach(room, &all, findings)?;
    space(room, findings);
    if !events_work(room) {
        let what = "this file system tells of no changes, so a router looks every two seconds instead of being woken";
        findings.push(Finding::new("silent_file_system", Severity::Note, what, "mailbag run --poll"));
    } else {
        bounds(patient, findings)?;
    }
    Ok(())
}

/// Every directory that mail goes through.
fn places(patient: &Patient<'_>) -> Result<Vec<PathBuf>> {
    let mut all: Vec<PathBuf> = layout::DIRECTORIES.iter().map(PathBuf::from).collect();
    for agent in directories_and_links(&patient.room.dir, layout::OUTBOXES) {
        all.push(layout::outbox(&agent));
    }
    for agent in directories_and_links(&patient.room.dir, layout::INBOXES) {
        all.push(layout::inbox(&agent));
    }
    Ok(all)
}

fn directories_and_links(room: &Dir, of: &str) -> Vec<String> {
    let Ok(listing) = room.sub(of).and_then(|dir| dir.list()) else { return Vec::new() };
    let kinds = [FileType::Directory, FileType::Symlink, FileType::Unknown];
    let names = listing.flatten().filter(|entry| kinds.contains(&entry.kind));
    let mut names: Vec<String> = names.filter_map(|entry| entry.name.into_string().ok()).collect();
    names.retain(|name| !name.starts_with('.'));
    names.sort_unstable();
    names
}

/// Which are missing, can't be opened or written, or stand on another file system.
fn reach(room: &Dir, all: &[PathBuf], findings: &mut Vec<Finding>) -> Result<()> {
    let own = room.meta()?;
    let me = rustix::process::geteuid().as_raw();
    let mut unwritable: Vec<(&Path, Meta)> = Vec::new();
    for below in all {
        let path = room.at(below);
        if room.stat(below).is_ok_and(|meta| meta.is_none()) {
            let what = format!("{} is missing", path.display());
            let cure = format!("mkdir -p {}", shell(&path));
            findings.push(Finding::new("missing_directory", Severity::Warning, what, cure).fixable());
            continue;
        }
        match room.sub(below) {
            Err(e) => {
                let cure = format!("ls -lad {}", shell(&path));
                findings.push(Finding::new("unreachable_directory", Severity::Problem, e.to_string(), cure));
            }
            Ok(dir) => {
                let meta = dir.meta()?;
                if meta.device != own.device {
                    findings.push(other_file_system(&path));
                }
                if !dir.is_writable() {
                    unwritable.push((below, meta));
                }
            }
        }
    }
    for is_mine in [true, false] {
        let those = unwritable.iter().filter(|(_, meta)| (meta.uid == me) == is_mine).copied();
        findings.extend(not_writable(room, &those.collect::<Vec<_>>(), is_mine));
    }
    Ok(())
}

fn other_file_system(path: &Path) -> Finding {
    let what = format!(
        "{} is on another file system than the room, and no message can be moved there in one step",
        path.display()
    );
    Finding::new("other_file_system", Severity::Problem, what, format!("df {}", shell(path)))
}

fn not_writable(room: &Dir, those: &[(&Path, Meta)], is_mine: bool) -> Option<Finding> {
    let (_, meta) = those.first()?;
    let names: Vec<String> = those.iter().take(NAMED).map(|(below, _)| below.display().to_string()).collect();
    let more = if those.len() > NAMED { format!(" and {} more", those.len() - NAMED) } else { String::new() };
    let which = format!("{}{more}", names.join(", "));
    if is_mine {
        let paths: Vec<String> = those.iter().map(|(below, _)| shell(&room.at(below))).collect();
        let what = format!("you own {which}, and may not write there");
        let cure = format!("chmod u+rwx {}", paths.join(" "));
        return Some(Finding::new("unwritable_directory", Severity::Problem, what, cure));
    }
    // In a room of several users that may well be meant: then the router is one who may write everywhere.
    let what = format!("you may not write {which}, of user {}; whoever may has to route", meta.uid);
    let cure = format!("sudo -u '#{}' mailbag --room {} run", meta.uid, shell(room.path()));
    Some(Finding::new("unwritable_directory", Severity::Warning, what, cure))
}

fn space(room: &Dir, findings: &mut Vec<Finding>) {
    let Some(Free { bytes, files }) = machine::free(room) else { return };
    if bytes < BYTES_LEAST {
        let what = format!("the disk is nearly full: {} MiB are free", bytes >> 20);
        findings.push(Finding::new("disk_full", Severity::Problem, what, "mailbag archive --older-than 7d"));
    }
    if let Some(files) = files.filter(|files| *files < FILES_LEAST) {
        let what = format!("the file system has room for {files} more files only");
        findings.push(Finding::new("no_inodes", Severity::Problem, what, "mailbag archive --older-than 7d"));
    }
}

fn bounds(patient: &Patient<'_>, findings: &mut Vec<Finding>) -> Result<()> {
    let (outboxes, inboxes) =
        (directories(patient.room, layout::OUTBOXES)?.len(), directories(patient.room, layout::INBOXES)?.len());
    // An inbox may have a second directory to watch, of what was handed out.
    let wanted = PLACES + outboxes as u64 + 2 * inboxes as u64;
    if let Some(most) = machine::watches().filter(|most| *most < wanted) {
        let what = format!("a router wants to watch {wanted} directories, and this user may watch {most}");
        let cure = format!("sudo sysctl fs.inotify.max_user_watches={}", (wanted * 4).max(1 << 16));
        findings.push(Finding::new("few_watches", Severity::Warning, what, cure));
    }
    let waiting = count(inboxes, "agent");
    if let Some(most) = machine::watchers().filter(|most| *most < inboxes as u64 + 1) {
        let what = format!("{waiting} that wait for mail need a watcher each, and this user may have {most}");
        let cure = format!("sudo sysctl fs.inotify.max_user_instances={}", (inboxes as u64 * 4).max(512));
        findings.push(Finding::new("few_watchers", Severity::Warning, what, cure));
    }
    if let Some(most) = machine::open_files().filter(|most| *most < HELD) {
        let what = format!("a process may hold {most} files open, and a router wants {HELD}");
        findings.push(Finding::new("few_open_files", Severity::Warning, what, "ulimit -n 4096"));
    }
    Ok(())
}
