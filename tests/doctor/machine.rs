//! The machine's limits: watches, open files, space, and file systems without events.

use super::{finding, report, says};
use crate::files;
use crate::world::{World, skip};
use std::process::Command;

#[test]
fn a_file_system_that_tells_of_no_changes_is_a_note() {
    let world = World::with("alice");
    let mut command = world.program("doctor --json");
    command.env("MAILBAG_TEST_SILENT", "1");
    says(
        &finding(&report(command), "silent_file_system"),
        "note",
        &["every two seconds", "mailbag run --poll"],
    );
}

/// Runs the program in a room on a new file system, and returns the report of `doctor`; `None`
/// without the right to mount.
#[cfg(target_os = "linux")]
fn mounted(world: &World, script: &str) -> Option<serde_json::Value> {
    mounted_by(world, "-rm", script)
}

/// The same with these rights: `-rm` for a file system in memory, which every user may mount; `-m`
/// for the tester's own.
#[cfg(target_os = "linux")]
fn mounted_by(world: &World, rights: &str, script: &str) -> Option<serde_json::Value> {
    let may = Command::new("unshare")
        .args([rights, "true"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !may {
        skip("this user can make no namespaces with `unshare`");
        return None;
    }
    let program = assert_cmd::cargo::cargo_bin!("mailbag")
        .display()
        .to_string();
    let mut command = Command::new("unshare");
    command
        .args([rights, "sh", "-c", script])
        .current_dir(world.path())
        .env("mailbag", program);
    command
        .env_remove("MAILBAG_ROOM")
        .env_remove("MAILBAG_AGENT");
    Some(report(assert_cmd::Command::from_std(command)))
}

#[cfg(target_os = "linux")]
#[test]
fn doctor_reports_a_nearly_full_disk() {
    let world = World::empty();
    let script = "mkdir small && mount -t tmpfs -o size=1m,nr_inodes=200 none small && cd small && \
                  \"$mailbag\" -q init > /dev/null && exec \"$mailbag\" doctor --json";
    let Some(report) = mounted(&world, script) else {
        return;
    };
    says(
        &finding(&report, "disk_full"),
        "problem",
        &["0 MiB", "mailbag archive"],
    );
    says(
        &finding(&report, "no_inodes"),
        "problem",
        &["inodes", "mailbag archive"],
    );
}

#[cfg(target_os = "linux")]
#[test]
fn doctor_reports_an_inbox_on_another_file_system() {
    let world = World::with("bob");
    files::make_dir(world.room("inbox/bob"));
    let script = "mount -t tmpfs none .mailbag/inbox/bob && exec \"$mailbag\" doctor --json";
    let Some(report) = mounted(&world, script) else {
        return;
    };
    says(
        &finding(&report, "other_file_system"),
        "problem",
        &["inbox/bob", "df "],
    );
}

#[cfg(target_os = "linux")]
#[test]
fn doctor_reports_a_read_only_mount_and_not_the_permissions() {
    let world = World::with("bob");
    files::make_dir(world.room("inbox/bob"));
    let room = "mkdir read-only && mount -t tmpfs none read-only && cd read-only && \
                \"$mailbag\" -q init > /dev/null && \
                mount -o remount,ro . && exec \"$mailbag\" doctor --json";
    let inbox = "mount --bind .mailbag/inbox .mailbag/inbox && mount -o remount,bind,ro .mailbag/inbox && \
                 exec \"$mailbag\" doctor --json";
    for (script, mount_point, directory) in [
        (room, "read-only", "outbox"),
        (inbox, ".mailbag/inbox", "inbox/bob"),
    ] {
        let Some(report) = mounted(&world, script) else {
            return;
        };
        let top = world.path().canonicalize().expect("a directory");
        let mount_point = top.join(mount_point);
        let fix = format!("sudo mount -o remount,rw {}", mount_point.display());
        says(
            &finding(&report, "read_only_mount"),
            "problem",
            &["is mounted read-only", directory, &fix],
        );
        assert!(!report.to_string().contains("chmod"), "{report:#}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_directory_of_the_room_on_another_mount_of_its_disk_is_named_as_the_cause() {
    let world = World::alice_and_bob();
    for directory in ["outbox", "sent"] {
        world.drop_file("alice", "x.json", r#"{"to": "bob", "body": "waits"}"#);
        let script = format!(
            "mount --bind .mailbag/{directory} .mailbag/{directory} && {{ \"$mailbag\" run --once > /dev/null 2>&1; \
             exec \"$mailbag\" status --json; }}"
        );
        let Some(report) = mounted(&world, &script) else {
            return;
        };
        assert_contains!(report.to_string(), "is on another mount", "unmount it"; "{directory}");
        world.pass();
    }
    assert_eq!(world.bodies("bob").len(), 2);
}

#[cfg(target_os = "linux")]
#[test]
fn archive_names_a_read_only_mount_and_not_the_permissions() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "kept");
    let script = "mount --bind .mailbag/sent .mailbag/sent && mount -o remount,bind,ro .mailbag/sent && \
                  exec \"$mailbag\" archive --older-than 0s --json";
    let Some(report) = mounted(&world, script) else {
        return;
    };
    let reason = report["skipped"].to_string();
    assert_contains!(reason, "sent/alice", "is mounted read-only"; "{report}");
}

#[cfg(target_os = "linux")]
#[test]
fn doctor_reports_that_a_room_in_memory_is_not_durable() {
    let world = World::empty();
    let script = "mkdir memory && mount -t tmpfs none memory && cd memory && \"$mailbag\" -q init > /dev/null && \
                  exec \"$mailbag\" doctor --json";
    let Some(report) = mounted(&world, script) else {
        return;
    };
    says(
        &finding(&report, "not_durable"),
        "note",
        &["in-memory", "df -T "],
    );
}

#[test]
fn a_file_system_that_does_not_tell_is_a_note() {
    let world = World::new();
    let mut command = world.program("doctor --json");
    command.env("MAILBAG_TEST_KEEPS", "unknown");
    says(
        &finding(&report(command), "durability_unknown"),
        "note",
        &["unknown whether", "df -T "],
    );
}
