//! Settings that lead out of a room: without a question in a room that its user created, and with consent in any other.

use crate::files;
use crate::links::{Rooms, copy_all};
use crate::world::World;
use serde_json::json;

/// Turns the room into a foreign one: its user did not create it on this machine.
fn arrive(world: &World) {
    files::remove_file(world.trust().join("rooms.json"));
}

fn value(world: &World, key: &str) -> String {
    let listing = world.items("settings");
    let all = listing
        .as_array()
        .or(listing["settings"].as_array())
        .expect("settings");
    all.iter().find(|one| one["key"] == key).expect("the key")["value"]
        .as_str()
        .expect("a text")
        .to_owned()
}

const SETTINGS: [(&str, &str); 4] = [
    ("attach_from", "attach_from = [\"/etc\"]\n"),
    ("context", "context = \"/etc\"\n"),
    ("context", "context = \"../..\"\n"),
    ("worklog", "worklog = \"README.md\"\n"),
];

#[test]
fn a_setting_that_leads_out_of_a_room_from_elsewhere_has_no_effect_before_the_person_agreed() {
    // P301
    for (key, text) in SETTINGS {
        let world = World::alice_and_bob().settings(text);
        let wanted = value(&world, key);
        arrive(&world);
        assert_ne!(value(&world, key), wanted, "{text}");
        assert_eq!(world.json("trust --list"), json!({"rooms": []}));
        assert_contains!(world.pipe("doctor --json", "").out, "setting_not_trusted"; "{text}");
        world.send("alice", "bob", "hello");
        assert_eq!(world.bodies("bob"), ["hello"], "mail within the room");
        let shown = world.json("trust --yes");
        assert_eq!(shown["settings"], json!([]), "{text}");
        assert_eq!(value(&world, key), wanted, "{text}");
        // Consent is for exactly this value.
        let other = text
            .replace("etc", "usr")
            .replace("../..", "../../x")
            .replace("README", "OTHER");
        world.write("settings.toml", other);
        assert_ne!(value(&world, key), wanted, "{text}");
        assert_contains!(world.fails(2, "trust"), "without a terminal"; "{text}");
    }
}

#[test]
fn a_link_of_a_room_from_elsewhere_writes_into_no_other_room_before_the_person_agreed() {
    // P301
    let rooms = Rooms::new();
    arrive(&rooms.fit);
    rooms.alice_says(json!({"to": "po:Sintra", "body": "hello"}));
    assert_eq!(rooms.po.names("inbox/sintra"), [""; 0]);
    assert_eq!(
        rooms.po.names("links/fit/in"),
        [""; 0],
        "nothing is written"
    );
    let withheld = &rooms.fit.json("status")["withheld"];
    assert_eq!(withheld[0]["key"], "links.po", "{withheld}");
    for command in ["status", "doctor", "trust"] {
        assert_contains!(rooms.fit.run(&[command]).out, "links.po"; "{command}");
    }
    assert_contains!(
        rooms.fit.run("link status po").out,
        "you have not agreed to the link po",
        "mailbag trust"
    );
    rooms.fit.ok("trust --yes");
    rooms.settle();
    assert_eq!(rooms.po.bodies("sintra"), ["hello"]);
    // Consent is for exactly this link.
    let other = files::read_text(rooms.fit.room("settings.toml"))
        .replace("accept = ", "as = \"x\"\naccept = ");
    rooms.fit.write("settings.toml", other);
    rooms.alice_says(json!({"to": "po:Sintra", "body": "again"}));
    assert_eq!(rooms.po.bodies("sintra"), ["hello"]);
    let address = rooms.po.room("").display().to_string();
    rooms.fit.ok(&["link", "add", "po", &address]);
    rooms.settle();
    assert_eq!(rooms.po.bodies("sintra"), ["hello", "again"]);
}

#[test]
fn a_room_that_its_user_created_needs_no_question_and_its_copy_does() {
    // P301
    for (key, text) in SETTINGS {
        let world = World::with("alice").settings(text);
        let wanted = value(&world, key);
        assert_eq!(world.json("trust")["settings"], json!([]), "{text}");
        let copy = world.path().join("copy/.mailbag");
        files::make_dir(&copy);
        copy_all(&world.room(""), &copy);
        let copied = world.ok("--room copy/.mailbag settings");
        assert!(
            !copied
                .lines()
                .any(|line| line.starts_with(&format!("{key} ")) && line.contains(&wanted)),
            "{text}: {copied}"
        );
        world.fails(2, "--room copy/.mailbag trust");
    }
}

#[test]
fn init_over_existing_settings_gives_no_consent() {
    // P301
    let world = World::empty();
    files::make_dir(world.room(""));
    world.write("settings.toml", "attach_from = [\"/etc\"]\n");
    world.ok("init");
    assert_eq!(value(&world, "attach_from"), "[]");
}

#[test]
fn a_session_attaches_nothing_by_a_setting_from_elsewhere() {
    // P301
    let outside = tempfile::tempdir().expect("a directory");
    let secret = outside.path().join("secret.txt");
    files::write(&secret, "secret");
    let attach = |world: &World| {
        let args = [
            "send",
            "bob",
            "x",
            "--as",
            "alice",
            "--attach",
            secret.to_str().expect("plain"),
        ];
        world.run_env(&args, "CLAUDE_CODE_SESSION_ID", "s1")
    };
    let world = World::alice_and_bob().settings(&format!("attach_from = [{:?}]\n", outside.path()));
    arrive(&world);
    let said = attach(&world);
    assert!(said.code != 0 && world.inbox("bob").is_empty(), "{said:?}");
    let advice = "trust the room's `attach_from` with `mailbag trust`";
    assert!(said.err.contains(advice), "{said:?}");
}
