//! A tar of the archive as the program `tar` reads it.

use super::archive;
use super::packs::all;
use crate::files;
use crate::world::{World, skip};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

/// Runs `tar` on a pack. Without the program `zstd`, `tar` gets the unpacked bytes.
fn tar(pack: &Path, args: &[&str]) -> Option<Output> {
    let has = |tool: &str| Command::new(tool).arg("--version").output().is_ok();
    if !has("tar") {
        skip("tar is not installed");
        return None;
    }
    let mut tar = Command::new("tar");
    if has("zstd") {
        let output = tar.arg("--zstd").args(args).arg("-f").arg(pack).output();
        return Some(output.expect("tar runs"));
    }
    let bytes = zstd::decode_all(File::open(pack).expect("a pack")).expect("zstd");
    tar.args(args).args(["-f", "-"]);
    tar.stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = tar.spawn().expect("tar runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(&bytes).expect("tar reads");
    drop(stdin);
    Some(child.wait_with_output().expect("tar ends"))
}

/// The content, the modification time, the mode and the owner of a file.
fn described(path: &Path) -> (Vec<u8>, i64, u32, u32) {
    let meta = fs::symlink_metadata(path).expect("a file");
    assert!(meta.is_file(), "{}", path.display());
    (files::read(path), meta.mtime(), meta.mode(), meta.uid())
}

/// Writes a file of bob's read mail with its own time and mode.
fn write(world: &World, name: &[u8], content: &[u8], seconds: u64) -> PathBuf {
    let path = world.room("inbox/bob/seen").join(OsStr::from_bytes(name));
    let mut file = File::create_new(&path).expect("a new file");
    file.write_all(content).expect("written");
    file.set_permissions(fs::Permissions::from_mode(
        0o600 | (seconds as u32 % 8) << 3,
    ))
    .expect("a mode");
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    file.set_modified(time).expect("a time");
    path
}

#[test]
fn tar_restores_every_file_with_its_time_and_mode() {
    // P70
    let world = World::with("bob");
    let now = 1_764_000_000;
    let long = [b'x'; 255];
    let names: Vec<Vec<u8>> = [
        &b"plain.json"[..],
        b"-f.json",
        b"new\nline \x1b[31m \xff\"\\.json",
        b"=.json",
        "käse\u{1f9c0}\u{2028}.json".as_bytes(),
        &[&long[..250], b".json"].concat(),
        &["\u{1f9c0}".repeat(62).as_bytes(), b"n.json"].concat(),
        &[b"\xff\xfe", &long[..248], b".json"].concat(),
        &[b"\xff\xfe\n", &long[..247], b".json"].concat(),
        &[b"8 path=y\n", &long[..241], b".json"].concat(),
    ]
    .map(<[u8]>::to_vec)
    .into();
    let mut paths = Vec::new();
    for (n, name) in names.iter().enumerate() {
        let content = b"\x00\xff\r\n".repeat(n * 32);
        paths.push(write(&world, name, &content, now + n as u64));
    }
    // A path of 100 bytes is the longest in a header.
    for length in 97..=103 {
        let name = [&long[..length - "inbox/bob/seen/.json".len()], b".json"].concat();
        paths.push(write(&world, &name, b"{}", now - length as u64));
    }
    paths.push(write(&world, b"empty.json", b"", 0));
    let sparse = write(&world, b"sparse.json", b"", now);
    File::options()
        .write(true)
        .open(&sparse)
        .and_then(|file| file.set_len(3 << 20))
        .expect("a hole");
    paths.push(sparse);
    let before: Vec<_> = paths.iter().map(|path| described(path)).collect();

    let huge = write(&world, b"huge.json", b"", now);
    File::options()
        .write(true)
        .open(huge)
        .and_then(|file| file.set_len(1 << 33))
        .expect("a hole");

    let report = archive(&world);
    assert_eq!(report["packed"][0]["files"], paths.len(), "{report}");
    assert_contains!(report["skipped"].to_string(), "more than a pack allows");
    assert_eq!(world.names("inbox/bob/seen"), ["huge.json"]);
    let target = tempfile::tempdir().expect("a directory");
    let to = target.path().to_str().expect("UTF-8");
    let mut listed = 0;
    for pack in all(&world.room("")) {
        let Some(list) = tar(&pack, &["-tv"]) else {
            return;
        };
        assert!(list.status.success() && list.stderr.is_empty(), "{list:?}");
        listed += list.stdout.split(|byte| *byte == b'\n').count() - 1;
        let restored = tar(&pack, &["-xp", "-C", to]).expect("it ran before");
        assert!(restored.status.success(), "{restored:?}");
    }
    assert_eq!(listed, paths.len());
    for (path, before) in paths.iter().zip(before) {
        let below = path.strip_prefix(world.room("")).expect("in the room");
        assert_eq!(described(&target.path().join(below)), before, "{below:?}");
    }
    let restored = fs::read_dir(target.path().join("inbox/bob/seen")).expect("restored");
    assert_eq!(restored.count(), paths.len());
}

#[test]
fn hard_links_are_packed_as_files() {
    let world = World::with("bob");
    let one = write(&world, b"one.json", b"{}", 1);
    let two = one.with_file_name("two.json");
    fs::hard_link(&one, &two).expect("one file system");
    // The removal of one name changes the other one.
    archive(&world);
    archive(&world);
    assert!(world.names("inbox/bob/seen").is_empty());
    let target = tempfile::tempdir().expect("a directory");
    for pack in all(&world.room("")) {
        let to = target.path().to_str().expect("UTF-8");
        let Some(restored) = tar(&pack, &["-x", "-C", to]) else {
            return;
        };
        assert!(restored.status.success(), "{restored:?}");
    }
    for path in [one, two] {
        let below = path.strip_prefix(world.room("")).expect("in the room");
        let meta = fs::metadata(target.path().join(below)).expect("restored");
        assert_eq!((meta.len(), meta.nlink()), (2, 1));
    }
}
