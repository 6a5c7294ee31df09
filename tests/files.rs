//! File calls that fail the test with the path and the reason.

use crate::world::wait;
use mailbag::disk::{Dir, ReadLeaseResult};
use std::collections::BTreeMap;
use std::fs;
use std::io::Result;
use std::path::Path;

#[track_caller]
fn done<T>(path: impl AsRef<Path>, result: Result<T>) -> T {
    result.unwrap_or_else(|e| panic!("{}: {e}", path.as_ref().display()))
}

/// Writes a file; its directory exists.
#[track_caller]
pub(crate) fn write(path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
    done(&path, fs::write(&path, content));
}

/// Writes a file, and waits until no process has it open for writing. A child that another thread has just started has it
/// open until it becomes another program, and a router takes an open file after later ones (P234).
#[track_caller]
pub(crate) fn write_closed(path: &Path, content: impl AsRef<[u8]>) {
    write(path, content);
    let (directory, name) = (
        path.parent().expect("a directory"),
        path.file_name().expect("a name"),
    );
    let file = Dir::open(directory).and_then(|directory| directory.look(name));
    let file = file.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    wait("no child has it open", || {
        file.lease() != ReadLeaseResult::Writer
    });
}

/// Reads a file.
#[track_caller]
pub(crate) fn read(path: impl AsRef<Path>) -> Vec<u8> {
    done(&path, fs::read(&path))
}

/// Reads a file of text.
#[track_caller]
pub(crate) fn read_text(path: impl AsRef<Path>) -> String {
    done(&path, fs::read_to_string(&path))
}

/// Creates a directory and its parents.
#[track_caller]
pub(crate) fn make_dir(path: impl AsRef<Path>) {
    done(&path, fs::create_dir_all(&path));
}

/// Creates a FIFO.
#[track_caller]
pub(crate) fn make_fifo(path: impl AsRef<Path>) {
    let path = path.as_ref();
    let (kind, mode) = (
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
    );
    rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0)
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}

/// Removes a file.
#[track_caller]
pub(crate) fn remove_file(path: impl AsRef<Path>) {
    done(&path, fs::remove_file(&path));
}

/// Removes a directory and its content.
#[track_caller]
pub(crate) fn remove_dir(path: impl AsRef<Path>) {
    done(&path, fs::remove_dir_all(&path));
}

/// Renames a file or a directory.
#[track_caller]
pub(crate) fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    done(&to, fs::rename(&from, &to));
}

/// Copies a file.
#[track_caller]
pub(crate) fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    done(&to, fs::copy(&from, &to));
}

/// Checks that these files have this content, and that their folder has no other file except icons. With `MAILBAG_WRITE=1`,
/// writes them and removes the others.
#[track_caller]
pub(crate) fn are_up_to_date(folder: &str, files: &BTreeMap<String, Vec<u8>>) {
    let others = walkdir::WalkDir::new(folder)
        .into_iter()
        .flatten()
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| entry.path().display().to_string())
        .filter(|name| !name.ends_with("/icon.png") && !files.contains_key(name));
    let changed = files
        .iter()
        .filter(|(name, content)| fs::read(name).ok().as_ref() != Some(*content))
        .map(|(name, _)| name.clone());
    let (others, changed): (Vec<_>, Vec<_>) = (others.collect(), changed.collect());
    if std::env::var_os("MAILBAG_WRITE").is_some() {
        for name in &changed {
            make_dir(Path::new(name).parent().expect("a folder"));
            write(name, &files[name]);
        }
        for name in &others {
            remove_file(name);
        }
        return;
    }
    assert!(
        others.is_empty() && changed.is_empty(),
        "changed: {changed:?}; to remove: {others:?}; run this test with MAILBAG_WRITE=1"
    );
}

/// Makes a symbolic link.
pub(crate) fn link(target: impl AsRef<Path>, at: impl AsRef<Path>) {
    let at = at.as_ref();
    std::os::unix::fs::symlink(target, at).unwrap_or_else(|e| panic!("{}: {e}", at.display()));
}

/// Sets the permissions of a file.
pub(crate) fn set_mode(path: impl AsRef<Path>, mode: u32) {
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
    let path = path.as_ref();
    std::fs::set_permissions(path, permissions)
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}
