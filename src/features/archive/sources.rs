//! The files that may be archived: the kinds, and the age of a file.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::written_path::write_path;
use crate::disk::{Dir, Meta, layout, mounts};
use rustix::fs::FileType;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The kinds of files that are archived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArchiveKind {
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
    const ALL: [ArchiveKind; 4] = [
        ArchiveKind::Sent,
        ArchiveKind::Seen,
        ArchiveKind::Expired,
        ArchiveKind::Rejected,
    ];

    /// The directory of an agent's files of this kind.
    fn directory(self, agent: &str) -> PathBuf {
        match self {
            ArchiveKind::Sent => layout::sent(agent),
            ArchiveKind::Seen => layout::seen(agent),
            ArchiveKind::Expired => layout::expired(agent),
            ArchiveKind::Rejected => layout::rejected(agent),
        }
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
    /// Its directory in the room.
    pub(super) directory: Arc<Path>,
    /// The file name.
    pub(super) name: OsString,
    /// Its size.
    pub bytes: u64,
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

/// Passes every file that is at least as old as `bound` to `take`, directory by directory. Directories are read in parts, so
/// memory does not depend on the number of files.
pub fn each(
    room: &Dir,
    bound: Stamp,
    take: &mut dyn FnMut(Result<PackSource, SkippedFile>) -> Result<()>,
) -> Result<()> {
    ArchiveKind::ALL
        .into_iter()
        .try_for_each(|kind| each_of(room, kind, bound, take))
}

fn each_of(
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
        if let Some(why) = mounts::write_obstacle(&dir) {
            // If the source could not be removed, every run would pack it again.
            take(Err(SkippedFile {
                path,
                reason: format!("its files cannot be removed: {why}"),
            }))?;
            continue;
        }
        let directory: Arc<Path> = path.clone().into();
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
                FileType::RegularFile => Ok(PackSource {
                    directory: directory.clone(),
                    name,
                    bytes: meta.size,
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
