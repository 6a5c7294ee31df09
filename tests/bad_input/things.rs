//! Files that are not regular, not readable, or have an impossible name.

use super::{is_refused, nothing_else_happened};
use crate::files;
use crate::town::{Town, copy_program, exchange, is_root, tool};
use serde_json::json;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

#[test]
fn a_symlink_is_refused_and_what_it_points_to_is_never_read() {
    // P8
    let town = Town::alice_and_bob().run();
    let secret = town.path().join("secret");
    files::write(&secret, r#"{"to": "bob", "body": "the secret"}"#);
    symlink(&secret, town.room("outbox/alice/x.json")).expect("an outbox");
    symlink("nowhere", town.room("outbox/alice/y.json")).expect("an outbox");
    is_refused(&town, "alice", "x.json", "symlink");
    is_refused(&town, "alice", "y.json", "symlink");
    nothing_else_happened(&town, "alice", "bob");
    assert!(secret.is_file());
}

#[test]
fn a_fifo_a_socket_and_a_directory_hang_nothing() {
    // P8
    let town = Town::alice_and_bob().run();
    tool("mkfifo", [town.room("outbox/alice/fifo.json").as_os_str()]);
    let _listening = UnixListener::bind(town.room("outbox/alice/socket.json")).expect("an outbox");
    files::make_dir(town.path().join("directory"));
    files::write(
        town.path().join("directory/inside.json"),
        r#"{"to": "bob", "body": "x"}"#,
    );
    files::rename(
        town.path().join("directory"),
        town.room("outbox/alice/directory.json"),
    );
    for name in ["fifo.json", "socket.json", "directory.json"] {
        is_refused(&town, "alice", name, "not_a_file");
    }
    nothing_else_happened(&town, "alice", "bob");
}

#[test]
fn devices_are_refused_without_being_read() {
    if !is_root("devices in an outbox") {
        return;
    }
    let town = Town::alice_and_bob().run();
    for (name, numbers) in [
        ("zero.json", ["c", "1", "5"]),
        ("loop.json", ["b", "7", "0"]),
    ] {
        let path = town.room("outbox/alice").join(name);
        tool(
            "mknod",
            std::iter::once(path.as_os_str()).chain(numbers.map(OsStr::new)),
        );
        is_refused(&town, "alice", name, "not_a_file");
    }
    nothing_else_happened(&town, "alice", "bob");
}

#[test]
fn an_outbox_replaced_by_a_symlink_is_blocked_and_its_target_is_not_touched() {
    let town = Town::alice_and_bob().run();
    let elsewhere = town.path().join("elsewhere");
    files::make_dir(&elsewhere);
    files::write(
        elsewhere.join("x.json"),
        r#"{"to": "bob", "body": "not mine"}"#,
    );
    symlink(&elsewhere, town.path().join("link")).expect("the world");
    exchange(&town.path().join("link"), &town.room("outbox/alice"));
    town.wait_for_reason("outbox/alice");
    town.is_alive("bob", "bob");
    files::write(
        elsewhere.join("y.json"),
        r#"{"to": "bob", "body": "nor this"}"#,
    );
    town.is_alive("bob", "bob");
    assert_eq!(town.count("bob"), 0);
    assert_eq!(fs::read_dir(&elsewhere).expect("it stays").count(), 2);
    files::remove_file(town.room("outbox/alice"));
    // The router may already have made it again.
    files::make_dir(town.room("outbox/alice"));
    town.is_alive("alice", "bob");
}

#[test]
fn a_file_that_the_router_may_not_read_is_refused_after_a_while_unless_it_becomes_readable() {
    if !is_root("a file that the router may not read") {
        return;
    }
    let mut town = Town::alice_and_bob();
    tool(
        "chown",
        [
            OsStr::new("-R"),
            OsStr::new("65534:65534"),
            town.path().as_os_str(),
        ],
    );
    fs::set_permissions(town.path(), fs::Permissions::from_mode(0o755)).expect("its own directory");
    town.start_by(as_nobody(&town));
    for name in ["never.json", "later.json"] {
        let draft = town.mail(
            "alice",
            &format!(".{name}"),
            json!({"to": "bob", "body": name}),
        );
        fs::set_permissions(&draft, fs::Permissions::from_mode(0o000)).expect("its own file");
        files::rename(&draft, draft.with_file_name(name));
    }
    town.is_alive("bob", "bob");
    fs::set_permissions(
        town.room("outbox/alice/later.json"),
        fs::Permissions::from_mode(0o644),
    )
    .expect("it waits");
    is_refused(&town, "alice", "never.json", "unreadable");
    town.wait_for_bodies("bob", &["later.json"]);
}

/// Runs the router as a user without other files. This user may not be able to read the program's
/// directory.
fn as_nobody(town: &Town) -> std::process::Command {
    let run = town.bare("run");
    let program = town.path().join("mailbag");
    copy_program(run.get_program(), &program);
    let mut command = std::process::Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(program)
        .args(run.get_args());
    command
        .current_dir(town.path())
        .env("NO_COLOR", "1")
        .env("HOME", town.path());
    command
}

#[test]
fn bad_content_under_bad_names_is_refused_as_under_any_other() {
    let town = Town::alice_and_bob().run();
    let longest = "x".repeat(250) + ".json";
    let names = [
        OsStr::new(&longest),
        OsStr::new("a\nb.json"),
        OsStr::from_bytes(b"\xff\xfe.json"),
    ];
    for name in names {
        files::write(town.room("outbox/alice").join(name), "{\"to\": \"bob\"");
    }
    for name in names {
        is_refused(&town, "alice", &name.to_string_lossy(), "truncated");
    }
    nothing_else_happened(&town, "alice", "bob");
}
