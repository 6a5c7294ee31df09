//! Mounted file systems: free space, where a path is in its file system, and why a directory cannot be written.
//!
//! A function returns `None` if the system does not report the value. Callers do not treat that as a failure.

use super::fs::Volume;
use super::{Dir, layout, paths};
use crate::disk::paths::PathQuestions;
use std::path::{Path, PathBuf};

/// The file system of a directory.
pub fn free(dir: &Dir) -> Option<Volume> {
    dir.fs.volume()
}

/// The path below `top` of a file that a bind mount shows elsewhere. `None` if it has no such path, or without a table
/// of mounts.
pub fn same_file_below(file: &Path, top: &Path) -> Option<PathBuf> {
    if file.starts_with(top) {
        return None;
    }
    let mounts = mounts()?;
    let found = in_file_system(&mounts, file)?;
    let above = in_file_system(&mounts, top)?;
    if found.device != above.device {
        return None;
    }
    let rest = found.place.strip_prefix(above.place).ok()?;
    Some(layout::below(top, rest.as_os_str()))
}

/// The mount point of a directory's file system if it is mounted read-only. Without a table of mounts, the directory
/// itself.
pub fn read_only_mount(dir: &Dir) -> Option<PathBuf> {
    if !dir.fs.volume()?.is_read_only {
        return None;
    }
    let path = dir
        .path()
        .real_path()
        .unwrap_or_else(|_| dir.path().to_path_buf());
    let mounted = mounts().and_then(|mounts| Some(in_file_system(&mounts, &path)?.mount_point));
    Some(mounted.unwrap_or(path))
}

/// Why this process cannot create or remove names in a directory. `None` if it can.
pub fn write_obstacle(dir: &Dir) -> Option<String> {
    if dir.is_writable() {
        return None;
    }
    Some(match read_only_mount(dir) {
        Some(mount_point) => format!("{} is mounted read-only", mount_point.display()),
        None => format!("you have no write permission in {}", dir.path().display()),
    })
}

/// The table of mounts, as in proc_pid_mountinfo(5).
fn mounts() -> Option<String> {
    paths::read_text(Path::new("/proc/self/mountinfo")).ok()
}

/// A path in a mounted file system.
#[derive(Debug, PartialEq)]
struct MountedPath<'m> {
    device: &'m str,
    /// The path below the root of its file system.
    place: PathBuf,
    mount_point: PathBuf,
}

/// Finds the mount of a path in a table of mounts.
fn in_file_system<'m>(mounts: &'m str, path: &Path) -> Option<MountedPath<'m>> {
    let mut found: Option<MountedPath> = None;
    for line in mounts.lines() {
        let mut fields = line.split(' ').skip(2);
        let (Some(device), Some(root), Some(at)) = (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let mount_point = PathBuf::from(unescaped(at));
        // A later mount covers an earlier one at the same place.
        if found
            .as_ref()
            .is_none_or(|found| mount_point.starts_with(&found.mount_point))
            && let Ok(rest) = path.strip_prefix(&mount_point)
        {
            found = Some(MountedPath {
                device,
                place: layout::below(Path::new(&unescaped(root)), rest.as_os_str()),
                mount_point,
            });
        }
    }
    found
}

fn unescaped(field: &str) -> String {
    [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ]
    .iter()
    .fold(field.to_owned(), |text, (code, letter)| {
        text.replace(code, letter)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                          30 22 8:1 /home/dev/project/src /mnt/my\\040src rw - ext4 /dev/sda1 rw\n\
                          31 22 0:5 / /tmp rw - tmpfs tmpfs rw\n";

    fn mounted(path: &str) -> MountedPath<'static> {
        in_file_system(MOUNTS, Path::new(path)).expect("a mount")
    }

    fn place(path: &str) -> (&'static str, PathBuf) {
        let MountedPath { device, place, .. } = mounted(path);
        (device, place)
    }

    #[test]
    fn a_bind_mount_shows_the_place_that_it_was_made_from() {
        assert_eq!(
            place("/mnt/my src/a.rs"),
            ("8:1", "/home/dev/project/src/a.rs".into())
        );
        assert_eq!(
            place("/home/dev/project/src/a.rs"),
            ("8:1", "/home/dev/project/src/a.rs".into())
        );
        assert_eq!(
            place("/tmp/home/dev/project"),
            ("0:5", "/home/dev/project".into())
        );
        assert_eq!(place("/mnt/my srcs/x").1, PathBuf::from("/mnt/my srcs/x"));
    }

    #[test]
    fn the_mount_point_is_the_innermost_one() {
        for (path, mount_point) in [
            ("/mnt/my src/a.rs", "/mnt/my src"),
            ("/tmp", "/tmp"),
            ("/tmpfs/x", "/"),
        ] {
            assert_eq!(mounted(path).mount_point, Path::new(mount_point), "{path}");
        }
    }
}
