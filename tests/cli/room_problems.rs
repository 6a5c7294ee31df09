//! A missing room, and files of the room that cannot be read: each command reports them in the same way.

use crate::files;
use crate::world::World;

/// Commands that send, with an agent.
const SENDING: &[&str] = &[
    "send bob x --as alice",
    "ask bob x --timeout 10ms --as alice",
    "reply 2 x --as bob",
    "claim src/b --as alice",
    "release src/a --as alice",
    "handoff bob --as alice",
    "ack 2 --as bob",
    "dismiss 2 --as bob",
    "decide 3 yes --digest 00 --as bob",
];

/// Other commands that need a room.
const OTHERS: &[&str] = &[
    "inbox",
    "inbox bob --since nonsense",
    "read",
    "list --since nonsense",
    "list --follow",
    "search --regex (",
    "thread 1",
    "trace 1",
    "who",
    "pending",
    "decide",
    "reply",
    "handoff --accept",
    "claims",
    "wait",
    "share x --category y",
    "agent list",
    "agent show",
    "settings",
    "context",
    "who --channel",
    "who --topic",
    "log verify",
    "list --events --since nonsense",
    "link list",
    "archive --older-than 1d",
    "exec --id alice -- true",
    "watch",
    "web",
    "status",
];

#[test]
fn a_missing_room_is_reported_before_any_other_problem() {
    let world = World::empty();
    for words in SENDING.iter().chain(OTHERS) {
        let words = words.split(" --as").next().expect("a command");
        let ran = world.run_env(words, "MAILBAG_TEST_ANCESTRY", "unknown");
        assert_eq!(ran.code, 3, "{words}: {ran:?}");
        assert_contains!(ran.err, "no room found"; "{words}: {ran:?}");
    }
}

#[test]
fn an_invalid_file_of_the_room_is_reported_with_its_line_and_status_65() {
    let world = World::alice_and_bob();
    world.ok("send bob which? --type question --as alice");
    world.run("ask bob deploy? --options yes,no --timeout 10ms --as alice");
    world.ok("claim src/a --as alice");
    let registry = world.text("registry.json");
    for (file, content) in [
        (
            "settings.toml",
            "admission = \"registered\"\nanswer_within = nonsense\n",
        ),
        ("registry.json", "{\"agents\": [\n  {\"id\": bob}]}\n"),
    ] {
        world.write(file, content);
        let place = format!("{file} line 2: ");
        for words in SENDING {
            let ran = world.run(*words);
            // A decision of an agent does not read the settings.
            if words.starts_with("decide") && file == "settings.toml" {
                assert!(ran.code != 0 && !ran.err.contains("line 2"), "{ran:?}");
                continue;
            }
            assert_eq!(ran.code, 65, "{words}: {ran:?}");
            assert_contains!(ran.err, &place; "{words}");
            assert_eq!(ran.err.matches("line 2").count(), 1, "{words}: {ran:?}");
        }
        let status = world.run("status");
        assert_eq!(status.code, 65, "{status:?}");
        assert!(status.out.contains(&place), "{status:?}");
        files::remove_file(world.room(file));
        world.write("registry.json", &registry);
    }
    world.ok("status");
}

#[test]
fn a_directory_in_place_of_a_file_that_people_edit_is_moved_and_not_edited() {
    let world = World::alice_and_bob();
    for name in ["settings.toml", "charter.md"] {
        let path = world.room(name);
        files::make_dir(&path);
        world.run("run --once");
        let moved = format!("mv -n {0} {0}.aside", path.display());
        assert_contains!(world.run("doctor").out, &moved; "{name}");
        if name == "charter.md" {
            assert_contains!(world.run("status").out, &moved);
        }
        files::remove_dir(&path);
    }
}
