//! The record of a person's consent: outside the room, complete, and written only by its owner.

use super::bell;
use crate::files;
use crate::sweep::calls::Call;
use crate::sweep::tracer::{End, Moment, Plan, Tracer};
use crate::world::{World, mode, parse_json};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("one's own file");
}

fn record(world: &World) -> Value {
    serde_json::from_slice(&files::read(world.trust().join("trust.json"))).expect("JSON")
}

/// bob, with a program that was agreed to.
fn agreed() -> World {
    World::with("alice").agent("bob", &["--wake", &bell("mine").to_string()])
}

#[test]
fn the_consent_record_is_private_and_names_path_room_owner_and_program() {
    // P109
    let world = World::with("alice");
    let directory = world.trust().join("new/directory");
    let command = world.bare(&["agent", "add", "bob", "--wake", &bell("mine").to_string()]);
    let line = "umask 000; exec \"$0\" \"$@\"";
    let mut shell = std::process::Command::new("sh");
    shell
        .args(["-c", line])
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(world.path());
    assert!(
        shell
            .env("MAILBAG_TRUST_DIR", &directory)
            .env("MAILBAG_TEST_ANCESTRY", "person")
            .status()
            .expect("sh")
            .success()
    );
    assert_eq!(
        (mode(&directory), mode(&directory.join("trust.json"))),
        (0o700, 0o600)
    );
    let text = files::read(directory.join("trust.json"));
    let record = parse_json(&text);
    let room = &record["rooms"][0];
    assert_eq!(
        room["path"],
        world
            .room("")
            .canonicalize()
            .expect("a room")
            .to_string_lossy()
            .trim_end_matches('/')
    );
    let id = world.text("spool/room");
    assert_eq!(room["room"], id.trim());
    assert_eq!(room["owner"], rustix::process::geteuid().as_raw());
    assert_eq!(room["programs"][0]["program"], bell("mine")["argv"]);
    assert_eq!(
        room["programs"][0]["sha256"].as_str().map(str::len),
        Some(64)
    );
}

#[test]
fn a_consent_file_that_other_users_can_write_is_ignored() {
    // P109
    let world = agreed();
    let file = world.trust().join("trust.json");
    assert_eq!(world.json("agent show bob")["wake_trusted"], true);
    for (path, wrong, right) in [
        (file.as_path(), 0o660, 0o600),
        (world.trust(), 0o777, 0o700),
    ] {
        set_mode(path, wrong);
        let shown = world.run("agent show bob --json");
        assert!(
            shown.out.contains(r#""wake_trusted":false"#)
                && shown.err.contains("can be written by other users"),
            "{shown:?}"
        );
        assert_contains!(world.fails(1, "trust --yes"), "chmod");
        set_mode(path, right);
    }
    assert_eq!(world.json("agent show bob")["wake_trusted"], true);
    files::write(&file, "{\"version\": 1, \"rooms\": [");
    assert_contains!(
        world.fails(1, &["agent", "set", "bob", "--wake", r#"["true"]"#]),
        "trust.json",
        "cannot be read"
    );
    assert_eq!(
        files::read_text(&file),
        "{\"version\": 1, \"rooms\": [",
        "it is never replaced"
    );
    assert_eq!(
        world.items("agent list")[2]["wake"],
        bell("mine"),
        "nor is the program set"
    );
}

#[test]
fn the_consent_record_is_found_by_variables_and_never_relative_to_a_repository() {
    // P109
    let world = World::with("alice");
    let home = world.trust().join("home");
    let set = |variables: &[(&str, &str)]| {
        files::make_dir(&home);
        let ran = world.run_with(
            &["agent", "set", "alice", "--wake", r#"["true"]"#],
            |command| {
                command
                    .env("HOME", &home)
                    .env_remove("MAILBAG_TRUST_DIR")
                    .env_remove("XDG_DATA_HOME");
                for (name, value) in variables {
                    command.env(name, value);
                }
            },
        );
        assert_eq!(ran.code, 0, "{ran:?}");
    };
    let is_there = |below: &str| {
        let there = home.join(below).join("trust.json").exists();
        let _ = fs::remove_dir_all(&home);
        there
    };
    set(&[]);
    assert!(is_there(".local/share/mailbag"));
    set(&[("XDG_DATA_HOME", home.join("data").to_str().expect("UTF-8"))]);
    assert!(is_there("data/mailbag"));
    set(&[(
        "MAILBAG_TRUST_DIR",
        home.join("own").to_str().expect("UTF-8"),
    )]);
    assert!(is_there("own"));
    set(&[("MAILBAG_TRUST_DIR", ".mailbag"), ("XDG_DATA_HOME", "data")]);
    assert!(is_there(".local/share/mailbag") && !world.room("trust.json").exists());
}

#[test]
fn simultaneous_consents_are_all_recorded() {
    let world = World::with("alice");
    let rooms: Vec<String> = (0..8)
        .map(|n| {
            world
                .path()
                .join(format!("room{n}"))
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    let make = |room: &String| {
        world.ok(&["init", room]);
        world
            .bare(&[
                "--room",
                room,
                "agent",
                "add",
                "bob",
                "--wake",
                r#"["true"]"#,
            ])
            .spawn()
            .expect("it starts")
    };
    let children: Vec<_> = rooms.iter().map(make).collect();
    for mut child in children {
        assert!(child.wait().expect("it ends").success());
    }
    assert_eq!(record(&world)["rooms"].as_array().map(Vec::len), Some(8));
}

#[test]
fn killed_at_any_call_while_it_is_recorded_it_is_the_old_record_or_the_new() {
    // P109
    let world = agreed();
    let before = files::read(world.trust().join("trust.json"));
    let args = ["agent", "set", "bob", "--wake", r#"["other"]"#];
    let run = |plan| {
        Tracer::new(world.trust())
            .expect("a directory")
            .run(world.bare(&args), plan)
            .expect("traced")
    };
    let outcome = run(Plan::Count);
    assert_eq!(outcome.end, End::Exited(0), "{}", outcome.stderr);
    let halves = |call: &Call| call.bytes.is_some_and(|bytes| bytes > 1);
    let points: Vec<(usize, Moment)> = outcome
        .changes()
        .flat_map(|call| {
            let moments = [Moment::Before, Moment::Halfway, Moment::After].into_iter();
            moments
                .filter(|moment| *moment != Moment::Halfway || halves(call))
                .map(|moment| (call.number.unwrap_or(1), moment))
        })
        .collect();
    assert!(points.len() > 8, "{points:?}");
    for (call, moment) in points {
        files::write(world.trust().join("trust.json"), &before);
        assert_eq!(run(Plan::Kill { call, moment }).end, End::Killed);
        let programs = record(&world)["rooms"][0]["programs"]
            .as_array()
            .map(Vec::len);
        assert!(
            programs == Some(1) || programs == Some(2),
            "{call} {moment:?}: {programs:?}"
        );
        world.ok(&args);
        assert_eq!(
            record(&world)["rooms"][0]["programs"][1]["program"],
            json!(["other"])
        );
    }
}
