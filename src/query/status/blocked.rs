//! Blocked files and directories that the router reported and that are still blocked.

use crate::base::limits;
use crate::base::text::{shell_path, shell_word};
use crate::disk::layout;
use crate::room::outbox::{UnreadOutbox, fix_beside};
use crate::room::registry::Registry;
use crate::room::{Room, is_edited};
use rustix::fs::FileType;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// The permission bits that a user needs to read its directory.
const OWN_ACCESS: u32 = 0o500;

/// A blocked file or directory, as the router reported it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BlockedPath {
    /// A file or directory of the room.
    #[serde(default)]
    pub path: String,
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// The start time.
    #[serde(default)]
    pub since: String,
    /// The command that retries it.
    #[serde(default)]
    pub fix: String,
}

impl BlockedPath {
    /// Returns true if it is about a link to another room.
    pub fn is_link(&self) -> bool {
        Path::new(&self.path).starts_with(layout::LINKS)
    }
}

/// As [`blocked`], for links alone.
pub(crate) fn blocked_links(room: &Room) -> Vec<BlockedPath> {
    let mut all = blocked(room, None, "");
    all.retain(BlockedPath::is_link);
    all
}

/// The blocked files that the router reported and that still exist.
pub(crate) fn blocked(room: &Room, registry: Option<&Registry>, again: &str) -> Vec<BlockedPath> {
    // A name that is not UTF-8 is shown with replacement characters and cannot be looked up.
    let is_lossy = |line: &BlockedPath| line.path.contains(char::REPLACEMENT_CHARACTER);
    // The worklog is beside the room, and is reported even if it does not exist.
    let is_outside = |line: &BlockedPath| line.path.starts_with(layout::OUTSIDE);
    let lines = reported(room).filter(|line| {
        is_lossy(line)
            || is_outside(line)
            || room
                .dir
                .stat(&line.path)
                .map_or(true, |meta| meta.is_some())
    });
    let mut all: Vec<BlockedPath> = lines
        .map(|line| BlockedPath {
            fix: blocked_fix(room, registry, &line.path, again),
            ..line
        })
        .collect();
    // The router reports a failed look at an inbox with a slash, next to a failed delivery.
    let mut seen = BTreeSet::new();
    for line in &mut all {
        line.path.truncate(line.path.trim_end_matches('/').len());
    }
    all.retain(|line| seen.insert(line.path.clone()));
    for line in unreadable(room) {
        match all.iter_mut().find(|known| known.path == line.path) {
            Some(known) => known.fix = line.fix,
            None => all.push(line),
        }
    }
    all
}

/// Outboxes and inboxes that their user cannot read. The router notices lost permissions only with its next look at all
/// directories.
fn unreadable(room: &Room) -> Vec<BlockedPath> {
    let mut all = Vec::new();
    for parent in [layout::OUTBOXES, layout::INBOXES] {
        // `status` reports a parent that cannot be read.
        for agent in room.directories(parent).unwrap_or_default() {
            let place = layout::below(Path::new(parent), agent.as_ref());
            let Ok(Some(meta)) = room.dir.stat(&place) else {
                continue;
            };
            if meta.mode & OWN_ACCESS != OWN_ACCESS
                && let Err(e) = room.dir.sub(&place).and_then(|dir| dir.list())
            {
                all.push(BlockedPath {
                    path: place.display().to_string(),
                    reason: e.to_string(),
                    since: meta.changed_at().to_string(),
                    fix: format!("chmod u+rwx {}", shell_path(&room.dir.at(&place))),
                });
            }
        }
    }
    all
}

/// All that the router reported.
fn reported(room: &Room) -> impl Iterator<Item = BlockedPath> + use<> {
    let bytes = room.dir.read(layout::WAITING, limits::REGISTRY_BYTES);
    let bytes = bytes.ok().flatten().unwrap_or_default();
    let lines: Vec<Value> = serde_json::from_slice(&bytes).unwrap_or_default();
    lines
        .into_iter()
        .filter_map(|line| serde_json::from_value(line).ok())
}

/// Why a dropped file is pending, as the router reported it: the file itself, the picked-up file, or its whole outbox.
pub fn reason_of(room: &Room, file: &Path) -> Option<String> {
    let outbox = file.parent()?;
    let line = reported(room).find(|line| {
        let what = Path::new(&line.path);
        [file, outbox, Path::new(layout::OUTBOXES)].contains(&what) || is_claim_of(what, file)
    });
    line.map(|line| line.reason)
}

fn is_claim_of(what: &Path, file: &Path) -> bool {
    let claim = what
        .strip_prefix(layout::CLAIM)
        .ok()
        .and_then(|claim| layout::read_claim(claim.to_str()?));
    claim.is_some_and(|claim| file.file_name().is_some_and(|name| name == claim.original))
}

/// The command that lets a person correct a file that people edit: `registry.json`, `settings.toml` or `charter.md`.
pub fn edited_file_fix(room: &Room, name: &str, line: Option<u64>) -> String {
    let place = room.dir.at(name);
    let path = shell_path(&place);
    match room.dir.stat(name) {
        Ok(Some(meta)) if meta.kind != FileType::RegularFile => move_aside(&place),
        Ok(Some(meta)) if meta.mode & 0o400 == 0 => format!("chmod u+r {path}"),
        _ => {
            let line = line.map(|line| format!("+{line} ")).unwrap_or_default();
            format!("${{EDITOR:-vi}} {line}{path}")
        }
    }
}

/// The command that fixes a blocked file. If only a person can fix it, the file has its own command. For all others it is
/// `again`, which makes another pass.
fn blocked_fix(room: &Room, registry: Option<&Registry>, what: &str, again: &str) -> String {
    if let Ok(below) = Path::new(what).strip_prefix(layout::LINKS) {
        let tag = below.iter().next().unwrap_or_default().to_string_lossy();
        // The state of the other room is blocked if it does not fit the items that this room sent.
        return if Path::new(what) == layout::link_state(&tag) {
            format!("mailbag link remove {tag} --bounce")
        } else {
            format!("mailbag link status {tag}")
        };
    }
    if is_edited(what) {
        return edited_file_fix(room, what, None);
    }
    let what = what.trim_end_matches('/');
    let Ok(Some(meta)) = room.dir.stat(what) else {
        return again.to_owned();
    };
    let is_directory = meta.kind == FileType::Directory;
    let (parent, name) = what.split_once('/').unwrap_or(("", what));
    match parent {
        _ if name.contains('/') => again.to_owned(),
        layout::OUTBOXES if is_directory => match registry {
            Some(known) if !known.has_active(name) => {
                UnreadOutbox::of(&room.dir, Some(known), name).fix
            }
            _ => again.to_owned(),
        },
        layout::OUTBOXES if meta.kind == FileType::RegularFile => {
            fix_beside(&room.dir, what, |name| {
                registry.is_some_and(|known| known.agent(name).is_some())
            })
        }
        layout::OUTBOXES | layout::INBOXES if !is_directory => move_aside(&room.dir.at(what)),
        "" if is_directory && Path::new(name).extension().is_some() => {
            move_aside(&room.dir.at(what))
        }
        _ => again.to_owned(),
    }
}

/// The command that renames a file or a directory that is in the place of another one.
fn move_aside(path: &Path) -> String {
    let path = path.to_string_lossy();
    format!(
        "mv -n {} {}",
        shell_word(&path),
        shell_word(&format!("{path}.aside"))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_gets_the_command_that_no_retry_replaces() {
        let directory = tempfile::tempdir().expect("a directory");
        let (room, _) = Room::init(directory.path()).expect("a room");
        for place in ["MAILBOX.md", layout::ROSTER, "outbox/Human", "outbox/x/sub"] {
            room.dir.make(place).expect("a directory");
        }
        room.dir.replace("inbox/bob", b"?").expect("a file");
        let registry = room.registry().expect("a registry");
        let at = |place: &str| room.dir.at(place).display().to_string();
        let aside = |place| format!("mv -n {0} {0}.aside", at(place));
        let [mailbox, roster, inbox] = ["MAILBOX.md", "roster.json", "inbox/bob"].map(aside);
        let human = format!("mv -n {}/* {}/", at("outbox/Human"), at("outbox/human"));
        for (what, fix) in [
            ("MAILBOX.md", mailbox.as_str()),
            ("roster.json", &roster),
            ("inbox/bob/", &inbox),
            ("outbox/x", "mailbag agent add x"),
            ("outbox/Human", &human),
            ("outbox/x/sub", "again"),
            ("claims.json", "again"),
        ] {
            let given = blocked_fix(&room, Some(&registry), what, "again");
            assert_eq!(given, fix, "{what}");
        }
    }
}
