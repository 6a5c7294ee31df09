//! The index of the room's shared files.

use super::SharedFileIndex;
use crate::base::clock::Stamp;
use crate::base::limits;
use crate::disk::{Dir, layout};
use crate::message::title;
use crate::room::Room;
use crate::room::settings::Settings;
use rustix::fs::FileType;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The most shared files.
const CONTEXT_FILES: usize = 50;
/// The number of names below the context that are read.
const CONTEXT_LOOKS: usize = 2000;
/// The size of a shared file that is read for its first line.
const CONTEXT_HEAD: u64 = 1 << 10;

/// A shared file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SharedFile {
    /// Its path below the context.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last changed.
    pub modified: String,
    /// Its first line, if it is a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_line: Option<String>,
}

/// A file that was found.
struct SharedFileCandidate {
    dir: Dir,
    path: PathBuf,
    size: u64,
    modified: i128,
}

/// The newest files below the context. Files that cannot be looked at are left out.
pub(super) fn of(room: &Room, settings: &Settings) -> SharedFileIndex {
    let path = layout::below(room.dir.path(), settings.context.as_ref());
    let mut found = Vec::new();
    let mut looks = CONTEXT_LOOKS;
    let mut directories = Dir::open(&path)
        .map(|dir| vec![(dir, PathBuf::new())])
        .unwrap_or_default();
    while let Some((dir, below)) = directories.pop() {
        let Ok(listing) = dir.list() else { continue };
        for entry in listing.flatten() {
            // A hidden file is a draft.
            let Some(name) = entry.name.to_str().filter(|name| !name.starts_with('.')) else {
                continue;
            };
            looks = looks.saturating_sub(1);
            if looks == 0 {
                break;
            }
            let Ok(Some(meta)) = dir.stat(name) else {
                continue;
            };
            let path = layout::below(&below, name.as_ref());
            match meta.kind {
                FileType::Directory => {
                    directories.extend(dir.sub(name).ok().map(|dir| (dir, path)))
                }
                FileType::RegularFile => {
                    found.push(SharedFileCandidate {
                        dir: dir.clone(),
                        path,
                        size: meta.size,
                        modified: meta.modified,
                    });
                }
                _ => {}
            }
        }
    }
    found.sort_by(|one, two| (two.modified, &one.path).cmp(&(one.modified, &two.path)));
    let total = (looks > 0).then_some(found.len());
    let files = found
        .into_iter()
        .take(CONTEXT_FILES)
        .map(SharedFileCandidate::shown)
        .collect();
    SharedFileIndex { path, files, total }
}

impl SharedFileCandidate {
    fn shown(self) -> SharedFile {
        let name = self.path.file_name().unwrap_or_default();
        let head = self
            .dir
            .read_head(name, CONTEXT_HEAD)
            .ok()
            .flatten()
            .map(|(bytes, _)| bytes);
        SharedFile {
            path: text(&self.path),
            size: self.size,
            modified: Stamp::from_micros((self.modified / 1000) as i64).to_string(),
            first_line: head.and_then(|bytes| first_line(&bytes)),
        }
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The first line that is not empty. A text has no zero bytes.
fn first_line(bytes: &[u8]) -> Option<String> {
    if bytes.contains(&0) {
        return None;
    }
    let text = String::from_utf8_lossy(bytes);
    let line = title::first_line(&text)?;
    Some(line.chars().take(limits::CONTEXT_TEXT).collect())
}
