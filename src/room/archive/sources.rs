//! The files that may be archived: the kinds, and the age of a file.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::written_path::write_path;
use crate::disk::{Dir, Meta, layout, machine};
use rustix::fs::FileType;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The kinds of files that are archived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveKind {
    /// The originals of routed messages.
    Sent,
    /// Read mail.
    Seen,
    /// Mail that expired unread.
    Expired,
    /// Rejected files with their explanations.
    Rejected,
}

impl ArchiveKind {
    /// All kinds.
    pub const ALL: [ArchiveKind; 4] = [
        ArchiveKind::Sent,
        ArchiveKind::Seen,
        ArchiveKind::Expired,
        ArchiveKind::Rejected,
    ];

    /// The name of the kind, and the beginning of its packs' names.
    pub fn as_str(self) -> &'static str {
        match self {
            ArchiveKind::Sent => "sent",
            ArchiveKind::Seen => "seen",
            ArchiveKind::Expired => "expired",
            ArchiveKind::Rejected => "rejected",
        }
    }

    /// The directory of an agent's files of this kind.
    pub fn directory(self, agent: &str) -> PathBuf {
        match self {
            ArchiveKind::Sent => layout::sent(agent),
            ArchiveKind::Seen => layout::seen(agent),
            ArchiveKind::Expired => layout::expired(agent),
            ArchiveKind::Rejected => layout::rejected(agent),
        }
    }

    /// The kind of the files in a directory. `None` if files in it are never archived.
    pub(super) fn of(directory: &Path) -> Option<ArchiveKind> {
        let names: Vec<&str> = directory
            .iter()
            .map(|name| name.to_str())
            .collect::<Option<_>>()?;
        ArchiveKind::ALL.into_iter().find(|kind| {
            names
                .get(1)
                .is_some_and(|agent| kind.directory(agent) == directory)
        })
    }

    /// The parent directory of the agents' directories of this kind.
    fn parent(self) -> &'static str {
        match self {
            ArchiveKind::Sent => layout::SENT,
            ArchiveKind::Seen | ArchiveKind::Expired => layout::INBOXES,
            ArchiveKind::Rejected => layout::REJECTED,
        }
    }

    /// The age of a file: for mail from the accept time in its name, for other files from their modification time. A file
    /// cannot be younger than its entry in the directory.
    fn age(self, name: &std::ffi::OsStr, meta: &Meta) -> Stamp {
        let accepted = match self {
            ArchiveKind::Seen | ArchiveKind::Expired => layout::read_delivered(name),
            ArchiveKind::Sent | ArchiveKind::Rejected => None,
        };
        let age = accepted
            .unwrap_or(stamp(meta.modified))
            .min(stamp(meta.changed));
        age.max(Stamp::default())
    }
}

/// A file that may be archived.
#[derive(Debug)]
pub struct PackSource {
    /// The agent that owns it.
    pub agent: Arc<str>,
    /// The file name in the agent's directory.
    pub name: OsString,
    /// The month of its age, which selects the directory in the archive.
    pub month: String,
}

/// A skipped file.
#[derive(Debug, serde::Serialize)]
pub struct SkippedFile {
    /// Its path in the room.
    #[serde(serialize_with = "write_path")]
    pub path: PathBuf,
    /// Why it was skipped.
    pub reason: String,
}

/// Converts nanoseconds since 1970.
pub(super) fn stamp(nanos: i128) -> Stamp {
    Stamp::from_micros(i64::try_from(nanos / 1000).unwrap_or(i64::MAX))
}

/// Passes every file of a kind that is at least as old as `bound` to `take`, agent by agent. Directories are read in
/// parts, so memory does not depend on the number of files.
pub fn each(
    room: &Dir,
    kind: ArchiveKind,
    bound: Stamp,
    take: &mut dyn FnMut(Result<PackSource, SkippedFile>) -> Result<()>,
) -> Result<()> {
    let Some(parent) = room.sub_if_exists(kind.parent())? else {
        return Ok(());
    };
    let mut agents = parent.names()?;
    agents.sort_unstable();
    for agent in agents {
        let path = kind.directory(&agent);
        let dir = match room.sub(&path) {
            Ok(dir) => dir,
            // The directory is missing, or a file is in its place.
            Err(e) if matches!(e.errno(), Some(libc::ENOENT | libc::ENOTDIR)) => continue,
            Err(e) => {
                take(Err(SkippedFile {
                    path,
                    reason: e.to_string(),
                }))?;
                continue;
            }
        };
        if let Some(why) = machine::write_obstacle(&dir) {
            // If the source could not be removed, every run would pack it again.
            take(Err(SkippedFile {
                path,
                reason: format!("its files cannot be removed: {why}"),
            }))?;
            continue;
        }
        let owners = if kind == ArchiveKind::Rejected {
            Some(owners(room, &agent)?)
        } else {
            None
        };
        let agent: Arc<str> = agent.into();
        for entry in dir.list()? {
            let name = entry?.name;
            if !layout::is_message_file(&name) {
                continue;
            }
            let Some(meta) = dir.stat(&name)? else {
                continue;
            };
            let age = kind.age(&name, &meta);
            if age > bound {
                continue;
            }
            take(match meta.kind {
                // If the rejected file is a hard link to another user's file, it is not packed.
                FileType::RegularFile
                    if owners
                        .as_ref()
                        .is_some_and(|owners| !owners.contains(&meta.uid)) =>
                {
                    Err(SkippedFile {
                        path: layout::below(&path, &name),
                        reason: "it belongs to another user".into(),
                    })
                }
                FileType::RegularFile => Ok(PackSource {
                    agent: agent.clone(),
                    name,
                    month: age.month(),
                }),
                _ => Err(SkippedFile {
                    path: layout::below(&path, &name),
                    reason: "it is not a regular file".into(),
                }),
            })?;
        }
    }
    Ok(())
}

/// The users who may own an agent's rejected files: the owners of the room and of the agent's directory, and the
/// current user.
fn owners(room: &Dir, agent: &str) -> Result<Vec<u32>> {
    let agent = room.stat(layout::outbox(agent))?.map(|outbox| outbox.uid);
    let own = [room.meta()?.uid, rustix::process::geteuid().as_raw()];
    Ok(own.into_iter().chain(agent).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_packed_may_be_removed_by_the_word_of_a_pack() {
        assert_eq!(
            ArchiveKind::of(Path::new("sent/alice")),
            Some(ArchiveKind::Sent)
        );
        assert_eq!(
            ArchiveKind::of(Path::new("inbox/alice/seen")),
            Some(ArchiveKind::Seen)
        );
        for path in [
            "inbox/alice",
            "outbox/alice",
            "log",
            "",
            "sent",
            "sent/a/b",
            "inbox/alice/taken",
            "/sent/alice",
        ] {
            assert_eq!(ArchiveKind::of(Path::new(path)), None, "{path}");
        }
    }
}
