//! The record of a person's consent: outside the room, complete, and written only by its owner.

use super::link;
use crate::files;
use crate::sim::{Fate, Machine, Random};
use crate::world::{World, lossy, mode, parse_json};
use mailbag::Room;
use mailbag::base::set_test_variable;
use mailbag::room::consent::{self, KnownRooms};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("one's own file");
}

/// A room with a link that was agreed to.
fn agreed() -> World {
    let world = World::with("alice").settings(&link("po.example"));
    world.ok("trust --yes");
    world
}

/// Whether the links of the room are trusted.
fn trusted(shown: &Value) -> Vec<bool> {
    let links = shown["links"].as_array().expect("a list");
    links.iter().map(|link| link["trusted"] == true).collect()
}

#[test]
fn the_consent_record_is_private_and_names_path_room_owner_and_link() {
    // P109
    let world = World::with("alice").settings(&link("po.example"));
    let directory = world.trust().join("new/directory");
    let command = world.bare("trust --yes");
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
        (mode(&directory), mode(&directory.join("rooms.json"))),
        (0o700, 0o600)
    );
    let text = files::read(directory.join("rooms.json"));
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
    assert_eq!(room["agreed"].as_str().map(str::len), Some(64));
}

#[test]
fn a_consent_file_that_other_users_can_write_is_ignored() {
    // P109
    let world = agreed();
    let file = world.trust().join("rooms.json");
    assert_eq!(trusted(&world.json("trust")), [true]);
    for (path, wrong, right) in [
        (file.as_path(), 0o660, 0o600),
        (world.trust(), 0o777, 0o700),
    ] {
        set_mode(path, wrong);
        assert_contains!(
            world.fails(1, "trust --yes"),
            "can be written by other users",
            "chmod"
        );
        assert_contains!(
            world.run("link run --once").err,
            "can be written by other users"
        );
        set_mode(path, right);
    }
    assert_eq!(trusted(&world.json("trust")), [true]);
    files::write(&file, "{\"version\": 1, \"rooms\": [");
    assert_contains!(
        world.fails(1, "trust --yes"),
        "rooms.json",
        "cannot be read"
    );
    assert_eq!(
        files::read_text(&file),
        "{\"version\": 1, \"rooms\": [",
        "it is never replaced"
    );
}

#[test]
fn the_consent_record_is_found_by_variables_and_never_relative_to_a_repository() {
    // P109
    let world = World::with("alice").settings(&link("po.example"));
    let home = world.trust().join("home");
    let set = |variables: &[(&str, &str)]| {
        files::make_dir(&home);
        let ran = world.run_with("trust --yes", |command| {
            command
                .env("HOME", &home)
                .env_remove("MAILBAG_TRUST_DIR")
                .env_remove("XDG_DATA_HOME");
            for (name, value) in variables {
                command.env(name, value);
            }
        });
        assert_eq!(ran.code, 0, "{ran:?}");
    };
    let is_there = |below: &str| {
        let there = home.join(below).join("rooms.json").exists();
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
    assert!(is_there(".local/share/mailbag") && !world.room("rooms.json").exists());
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
        files::write(Path::new(room).join("settings.toml"), link("po.example"));
        world
            .bare(&["trust", "--yes", room])
            .spawn()
            .expect("it starts")
    };
    let children: Vec<_> = rooms.iter().map(make).collect();
    for mut child in children {
        assert!(child.wait().expect("it ends").success());
    }
    let listed = world.json("trust --list");
    assert_eq!(listed["rooms"].as_array().map(Vec::len), Some(8));
}

/// The hashes that were agreed to.
fn agreed_hashes() -> Vec<String> {
    let known = KnownRooms::read().expect("the record is complete");
    let rooms = known.rooms.into_iter();
    rooms.filter_map(|room| room.agreed).collect()
}

/// Agrees to all links of the room.
fn agree_to_all() -> mailbag::Result<()> {
    let room = Room::open(Path::new("/home/room"))?;
    let outward = room.settings()?.outward;
    consent::agree(&room.identity()?, &outward.expect("a link"))
}

#[test]
fn killed_at_any_call_while_it_is_recorded_it_is_the_old_record_or_the_new() {
    // P109
    set_test_variable("MAILBAG_TEST_HOME", "/home");
    let machine = Machine::new();
    let made = machine.run(|| Room::init(Path::new("/home/room")));
    made.expect("a room");
    let settings = "/home/room/settings.toml";
    machine.write(settings, link("po.example"));
    machine.run(agree_to_all).expect("the first consent");
    let old = machine.run(agreed_hashes);
    machine.write(settings, link("other.example"));
    machine.settle();
    machine.run(agree_to_all).expect("the other consent");
    let new = machine.run(agreed_hashes);
    assert!(new.len() == 1 && new != old);
    assert!(machine.steps() > 4);
    for at in 0..=machine.steps() {
        for crash in machine.crashes(at, &Fate::ALL, &mut Random::new(1)) {
            let found = crash.machine.run(agreed_hashes);
            assert!(
                found == old || found == new,
                "step {at}, {}: {found:?}",
                crash.fate
            );
            crash.machine.run(agree_to_all).expect("consent again");
            assert_eq!(crash.machine.run(agreed_hashes), new);
        }
    }
}

#[test]
fn an_agent_can_not_agree_in_place_of_the_person() {
    // P108
    let world = World::with("alice").settings(&link("po.example"));
    let refused = world.run_env("trust --yes", "CLAUDE_CODE_SESSION_ID", "s1");
    assert_contains!(refused.fails(2), "only a person can change consent");
    assert_contains!(
        world.fails(2, "trust"),
        "cannot ask for consent without a terminal"
    );
    assert_eq!(world.json("trust --list"), json!({"rooms": []}));
}

#[test]
fn at_a_terminal_it_asks_and_only_a_yes_agrees() {
    // P108
    let world = World::with("alice").settings(&link("po.example"));
    for no in ["n\n", "\n", "yess\n"] {
        let output = world.at_terminal("trust", no);
        let said = lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert_contains!(said, "[y/N]", "not trusted");
        assert_eq!(world.json("trust --list"), json!({"rooms": []}), "{no:?}");
    }
    let output = world.at_terminal("trust", "y\n");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(trusted(&world.json("trust")), [true]);
}

#[test]
fn consent_is_for_one_room_and_no_copy_of_it_or_room_in_its_place_and_can_be_revoked() {
    // P109
    let world = agreed();
    let elsewhere = world.path().join("elsewhere");
    crate::town::tool(
        "cp",
        [
            "-a".as_ref(),
            world.room("").as_os_str(),
            elsewhere.as_os_str(),
        ],
    );
    let copy = elsewhere.to_string_lossy();
    assert_contains!(world.fails(2, &["trust", &copy]), "cannot ask for consent");
    assert_contains!(world.ok("trust --list"), ".mailbag");
    assert_contains!(world.ok("trust --revoke"), "revoked for");
    assert_eq!(trusted(&world.json("trust --yes")), [true]);
    files::write(world.room("spool/room"), "another-room\n");
    assert_contains!(world.fails(1, "link run --once"), "not agreed");
}
