//! Obstacles for the archiver: it keeps or reports them, and loses no mail.

use super::archive;
use super::packs::{all, files};
use crate::files;
use crate::town::{copy_program, is_root};
use crate::world::{World, lossy};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;

/// The kept files and the reasons.
fn left(report: &Value) -> String {
    report["skipped"].to_string()
}

#[test]
fn links_directories_and_fifos_are_left_alone() {
    // P68
    let world = World::alice_and_bob();
    world.send("alice", "bob", "a good one");
    let secret = world.path().join("secret.json");
    files::write(&secret, "{}");
    symlink(&secret, world.room("sent/alice/1~link.json")).expect("a link");
    files::make_dir(world.room("sent/alice/2~directory.json"));
    let fifo = world.room("sent/alice/3~fifo.json");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .expect("mkfifo")
            .success()
    );
    // An agent's whole directory that leads elsewhere.
    files::make_dir(world.path().join("elsewhere"));
    files::write(world.path().join("elsewhere/4~x.json"), "{}");
    symlink(world.path().join("elsewhere"), world.room("sent/bob")).expect("a link");
    world.write("rejected/file.json", "no agent's directory");
    let report = archive(&world);
    for name in ["1~link.json", "2~directory.json", "3~fifo.json", "sent/bob"] {
        assert!(left(&report).contains(name), "{name}: {report}");
    }
    assert_eq!(report["packed"][0]["files"], 1);
    assert!(secret.exists() && fifo.exists() && world.room("sent/alice/2~directory.json").is_dir());
    assert_eq!(
        fs::read_dir(world.path().join("elsewhere"))
            .expect("it stands")
            .count(),
        1
    );
    assert!(world.room("rejected/file.json").exists());
}

#[test]
fn a_file_that_is_open_for_writing_waits_for_the_next_archiver() {
    let world = World::with("bob");
    let path = world.write("inbox/bob/seen/notes.json", "{");
    let mut writer = fs::File::options()
        .append(true)
        .open(&path)
        .expect("it is there");
    let report = archive(&world);
    assert_contains!(left(&report), "a program is writing it"; "{report}");
    writer.write_all(b"}").expect("written");
    drop(writer);
    archive(&world);
    let packed = files(&world.room(""), "seen");
    assert_eq!(
        packed.get(&b"inbox/bob/seen/notes.json"[..]),
        Some(&vec![b"{}".to_vec()])
    );
    assert!(!path.exists());
}

#[test]
fn a_file_or_link_in_place_of_the_archive_is_reported_and_no_mail_is_lost() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "kept");
    world.write("archive", "mine");
    assert_contains!(world.fails(1, "archive --older-than 0s"), "/archive");
    files::remove_file(world.room("archive"));
    files::make_dir(world.path().join("elsewhere"));
    symlink(world.path().join("elsewhere"), world.room("archive")).expect("a link");
    assert_contains!(world.fails(1, "archive --older-than 0s"), "/archive");
    assert_eq!(world.names("sent/alice").len(), 1);
    assert_eq!(
        fs::read_dir(world.path().join("elsewhere"))
            .expect("a directory")
            .count(),
        0
    );
    // The router doesn't need the archive.
    world.send("alice", "bob", "goes on");
    assert_eq!(world.inbox("bob").len(), 2);
}

#[test]
fn an_unwritable_archive_is_reported_and_no_mail_is_lost() {
    if !is_root("an archive that can't be written") {
        return;
    }
    let world = World::alice_and_bob();
    world.send("alice", "bob", "kept");
    files::make_dir(world.room("archive"));
    let nobody = 65_534;
    for entry in walkdir::WalkDir::new(world.path()) {
        chown(entry.expect("an entry").path(), Some(nobody), Some(nobody)).expect("root may");
    }
    fs::set_permissions(world.room("archive"), fs::Permissions::from_mode(0o555))
        .expect("root may");
    let program = std::env::temp_dir().join(format!("mailbag-{}", uuid::Uuid::now_v7()));
    copy_program(assert_cmd::cargo::cargo_bin!("mailbag"), &program);
    let run = |args: &[&str]| {
        let mut command = std::process::Command::new(&program);
        command
            .args(args)
            .arg("--room")
            .arg(world.room(""))
            .uid(nobody)
            .gid(nobody)
            .output()
            .expect("it runs")
    };
    let ran = run(&["archive", "--older-than", "0s"]);
    let complaint = lossy(&ran.stderr);
    assert!(
        ran.status.code() == Some(1) && complaint.contains("archive"),
        "{ran:?}"
    );
    assert_contains!(complaint, "Permission denied");
    assert_eq!(
        (world.names("sent/alice").len(), all(&world.room("")).len()),
        (1, 0)
    );
    fs::set_permissions(world.room("archive"), fs::Permissions::from_mode(0o755))
        .expect("root may");
    // Another user's directory: the archiver never packs a file that it cannot remove.
    world.write("inbox/bob/seen/20260301T000000.000000Z-alice-m.json", "{}");
    chown(world.room("inbox/bob/seen"), Some(0), Some(0)).expect("root may");
    fs::set_permissions(
        world.room("inbox/bob/seen"),
        fs::Permissions::from_mode(0o755),
    )
    .expect("root may");
    let ran = run(&["archive", "--older-than", "0s"]);
    files::remove_file(program);
    assert!(ran.status.success(), "{ran:?}");
    assert_contains!(lossy(&ran.stderr), "inbox/bob/seen: its files cannot be removed: you have no write permission"; "{ran:?}");
    assert_eq!(
        (
            world.names("inbox/bob/seen").len(),
            files(&world.room(""), "seen").len()
        ),
        (1, 0)
    );
    assert_eq!(files(&world.room(""), "sent").len(), 1);
}

#[test]
fn an_archiver_removes_only_the_drafts_of_a_killed_archiver_and_packs_its_sources_again() {
    // P72
    let world = World::alice_and_bob();
    world.send("alice", "bob", "one");
    let sent = format!("sent/alice/{}", world.names("sent/alice")[0]);
    let content = files::read(world.room(&sent));
    archive(&world);
    // Killed before it removed the source.
    world.write(&sent, &content);
    world.write("archive/.tmp-20260101T000000.000000Z.tar.zst", "half of it");
    world.write("archive/.mine", "kept");
    archive(&world);
    assert!(!world.room(&sent).exists());
    let packed = files(&world.room(""), "sent");
    assert_eq!(
        packed.get(sent.as_bytes()),
        Some(&vec![content.clone(), content])
    );
    let names: Vec<_> = all(&world.room(""))
        .iter()
        .map(|path| path.file_name().map(OsStr::to_owned))
        .collect();
    assert!(
        names.contains(&Some(".mine".into())) && names.len() == 3,
        "{names:?}"
    );
}
