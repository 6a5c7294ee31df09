//! A room of a stranger in a directory: hooks read a bounded part of it, and the guard reports an unknown owner.

use crate::files;
use crate::guard::{file, git, git_as, program, project};
use crate::hooks::recorded;
use crate::world::{World, lossy};
use std::fs::{self, File};
use std::time::{Duration, Instant};

/// Far longer than a hook needs, and far shorter than reading such a room takes.
const PATIENCE: Duration = Duration::from_secs(15);

/// Runs a hook of a client as alice, and returns its output.
#[track_caller]
fn fire(world: &World, event: &str) -> String {
    let at = world.path().to_str().expect("plain");
    let input = recorded("claude", event).replace("/home/dev/project", at);
    let begun = Instant::now();
    let mut hook = world.program("hook claude");
    let output = hook
        .env("MAILBAG_AGENT", "alice")
        .write_stdin(input)
        .output()
        .expect("it runs");
    assert!(
        output.status.success() && begun.elapsed() < PATIENCE,
        "{event}: {:?} {output:?}",
        begun.elapsed()
    );
    lossy(&output.stdout)
}

/// A repository with git's hooks, and a room. Bob owns src.
fn place() -> World {
    let world = project("alice bob");
    world.ok(&["install", "git", "--command", &program()]);
    world.ok("claim src --as bob");
    files::remove_file(world.room("claims.json"));
    world
}

/// Makes a file of this size that takes no space.
fn make_sparse(world: &World, name: &str, bytes: u64) {
    let path = world.room(name);
    files::make_dir(path.parent().expect("a directory"));
    File::options()
        .create(true)
        .append(true)
        .open(path)
        .and_then(|file| file.set_len(bytes))
        .expect("a sparse file");
}

#[test]
fn a_sparse_log_of_many_gigabytes_delays_no_hook_and_the_guard_says_that_it_does_not_know() {
    let world = place();
    make_sparse(&world, "log/00000001.ndjson", 16 << 30);
    for event in ["SessionStart-startup", "UserPromptSubmit"] {
        fire(&world, event);
    }
    assert_contains!(
        fire(&world, "PreToolUse-Edit"),
        "cannot check who owns the files",
        "may belong to other agents"
    );
    let begun = Instant::now();
    file(world.path(), "src/a.rs", "x");
    git(world.path(), "add -A");
    let output = git_as(&world, world.path(), "alice", "commit -q -m x");
    let said = lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("its files may belong to other agents"),
        "{said}"
    );
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
}

#[test]
fn other_files_of_any_size_delay_no_hook() {
    for name in [
        "log/00000002.ndjson",
        "spool/snapshot",
        "spool/tip",
        "spool/waiting.json",
        "spool/place",
        "spool/room",
        "claims.json",
        "registry.json",
        "settings.toml",
        "charter.md",
        "sessions/alice.json",
        "inbox/alice/20261121T103000.123456Z-x-y.json",
        "outbox/alice/x.json",
        "log/00000001.ndjson",
    ] {
        let world = place();
        make_sparse(&world, name, 16 << 30);
        for event in ["SessionStart-startup", "PreToolUse-Edit"] {
            fire(&world, event);
        }
    }
}

#[test]
fn directories_with_very_many_names_delay_no_hook() {
    let world = place();
    for directory in ["inbox/alice", "outbox", "sessions", "links"] {
        for n in 0..20_000 {
            let path = world.room(directory).join(format!("name-{n}.json"));
            files::make_dir(path.parent().expect("a directory"));
            if directory == "inbox/alice" {
                fs::write(path, "{}")
            } else {
                fs::create_dir(path)
            }
            .expect("a name");
        }
    }
    for event in ["SessionStart-startup", "PreToolUse-Edit"] {
        fire(&world, event);
    }
}
