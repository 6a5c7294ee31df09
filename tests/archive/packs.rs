//! Reads an archive without the program.

use crate::files;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Every file below a room's archive, drafts included.
pub(crate) fn all(room: &Path) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(room.join("archive"))
        .sort_by_file_name()
        .into_iter()
        .flatten();
    entries
        .filter(|entry| entry.file_type().is_file())
        .map(walkdir::DirEntry::into_path)
        .collect()
}

/// The content of a packed file. A damaged pack returns less, and the caller's comparison fails.
pub(crate) fn unpacked(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let file = File::open(path).expect("it stands there");
    if let Err(e) = zstd::Decoder::new(file).and_then(|mut decoder| decoder.read_to_end(&mut bytes))
    {
        println!("{}: {e}", path.display());
    }
    bytes
}

/// The kind of a packed file, by its path: `sent`, `rejected`, `seen` or `expired`.
fn kind_of(path: &[u8]) -> String {
    let path = String::from_utf8_lossy(path);
    let mut parts = path.split('/');
    match parts.next() {
        Some("inbox") => parts.nth(1).unwrap_or_default().to_owned(),
        first => first.unwrap_or_default().to_owned(),
    }
}

/// The files of one kind in the archive, each with all the contents that were packed under its path.
pub(crate) fn files(room: &Path, kind: &str) -> BTreeMap<Vec<u8>, Vec<Vec<u8>>> {
    let is_tar = |path: &&PathBuf| {
        path.file_name().is_some_and(|name| {
            let name = name.to_string_lossy();
            name.ends_with(".tar.zst") && !name.starts_with('.')
        })
    };
    let mut files: BTreeMap<Vec<u8>, Vec<Vec<u8>>> = BTreeMap::new();
    for pack in all(room).iter().filter(is_tar) {
        let bytes = unpacked(pack);
        let mut pack = tar::Archive::new(&bytes[..]);
        for entry in pack.entries().expect("its beginning") {
            let Ok(mut entry) = entry else {
                break;
            };
            let mut content = Vec::new();
            entry.read_to_end(&mut content).expect("bytes in memory");
            let path = entry.path_bytes().into_owned();
            if kind_of(&path) == kind {
                files.entry(path).or_default().push(content);
            }
        }
    }
    files
}

/// The log's bytes, in order of the segments; if a segment exists twice, the copy in `log/`.
pub(crate) fn log(room: &Path) -> Vec<u8> {
    let mut segments: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for entry in fs::read_dir(room.join("log"))
        .into_iter()
        .flatten()
        .flatten()
    {
        segments.insert(
            entry.file_name().to_string_lossy().into_owned(),
            files::read(entry.path()),
        );
    }
    for path in all(room) {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let Some(name) = name
            .strip_prefix("log-")
            .and_then(|name| name.strip_suffix(".zst"))
        else {
            continue;
        };
        segments
            .entry(name.to_owned())
            .or_insert_with(|| unpacked(&path));
    }
    segments.into_values().flatten().collect()
}
