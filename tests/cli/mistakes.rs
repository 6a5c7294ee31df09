//! Typical mistakes on the command line that only the room can answer. `src/cli/mistakes.rs` has others.

use crate::world::{Words, World};

/// A command line, and the essential part of its output.
type Mistake = (&'static str, &'static str);

/// A room with three engineers, a question (#2), an approval (#3) and two offers (#6 and #7) to bob.
fn world() -> World {
    let world = World::new();
    world.ok("agent add alice bob carol --role engineer");
    for words in [
        &["send", "bob", "which?", "--type", "question"][..],
        &[
            "ask",
            "bob",
            "deploy?",
            "--options",
            "yes,no",
            "--timeout",
            "10ms",
        ],
        &["claim", "src/a"],
        &["claim", "src/b"],
        &["handoff", "bob", "src/a"],
        &["handoff", "bob", "src/b"],
    ] {
        world.run(&[words, &["--as", "alice"]].concat());
    }
    world
}

/// Mistakes with an obvious meaning: the command accepts them.
const UNDERSTOOD: &[Mistake] = &[
    ("decide --as bob", "mailbag decide 3"),
    ("reply --as bob", "mailbag reply 2"),
    ("send bob '- hi' --as alice", "to bob"),
    ("send bob,carol hi --as alice", "bob and carol"),
    ("send 'bob, carol' hi --as alice", "bob and carol"),
    ("send bob, carol hi --as alice", "bob and carol"),
    ("send BOB hi --as ALICE", "to bob"),
    ("send @bob hi --as alice", "to bob"),
    (
        "ack 2 --note '- seen it' --as bob",
        "#2 from alice is acknowledged",
    ),
];

/// Mistakes that are answered with the correct form.
const ANSWERED: &[Mistake] = &[
    (
        "ack 99 --as alice",
        "error: alice neither sent nor received a message \"99\"",
    ),
    (
        "dismiss 99 --as alice",
        "error: alice neither sent nor received a message \"99\"",
    ),
    (
        "send bob --as alice",
        "error: the message has no text; write it after the address",
    ),
    (
        "agent add 'a b'",
        "give a name of 1 to 64 letters, digits, . _ -",
    ),
    (
        "send all_enginers x --as alice",
        "error: all_enginers reaches no agent: no agent has the role \"enginers\"; did you mean all_engineer?",
    ),
    ("send bbo x --as alice", "did you mean bob?"),
    (
        "send bob x --priority P9 --as alice",
        "error: --priority: must be one of low, normal, high, urgent (or P0 to P3), not \"P9\"; correct it, or omit priority",
    ),
    (
        "send bob x --type qestion --as alice",
        "error: --type: must be the name of a type, not \"qestion\"; did you mean question?",
    ),
    (
        "agent add bob",
        "error: bob is registered already; change it with `mailbag agent set bob`",
    ),
    ("agent add BOB", "error: BOB is another name of agent bob"),
    (
        "agent show bbo",
        "no agent is called \"bbo\"; did you mean bob?",
    ),
    ("inbox zed", "`mailbag agent add zed` registers it"),
    (
        "handoff --accept --as bob",
        "there are 2 open offers; run `mailbag handoff --accept NUMBER`:\n  #",
    ),
    (
        "decide 3 --as bob",
        "run `mailbag decide 3 OPTION` with one of: yes, no",
    ),
    ("decide 99 yes --as bob", "99"),
    ("reply 99 x --as bob", "99"),
    ("read nothing --as bob", "nothing"),
    ("send bob x --expires soon --as alice", "soon"),
];

#[test]
fn typical_mistakes_are_understood() {
    // P531
    let world = world();
    for (line, expected) in UNDERSTOOD {
        let ran = world.run(*line);
        assert!(
            ran.code == 0 && ran.out.contains(expected),
            "{line}: {ran:?}"
        );
    }
}

#[test]
fn typical_mistakes_are_answered_with_the_correct_form() {
    // P531
    let world = world();
    for (line, expected) in ANSWERED {
        let ran = world.run(*line);
        assert!(
            ran.code != 0 && ran.err.contains(expected),
            "{line}: {ran:?}"
        );
        for odd in ["error: /", "line 1: line 1"] {
            assert!(!ran.err.contains(odd), "{line}: {ran:?}");
        }
        for form in ran.err.split('`').skip(1).step_by(2) {
            if form.starts_with("mailbag ") {
                let parsed = mailbag::cli::command().try_get_matches_from(form.words());
                assert!(parsed.is_ok(), "{line}: {form}: {parsed:?}");
            }
        }
    }
}

#[test]
fn an_error_names_options_that_the_command_has_and_a_room_that_exists() {
    let world = World::alice_and_bob();
    let outcome = "ask human x --deadline 5m --as alice";
    for (options, last, expected) in [
        ("a,b", "a", "--else: cannot be the first option, \"a\""),
        ("a,b", "c", "write one of b, deny, escalate"),
        ("deny,escalate", "deny", "write one of escalate\n"),
        ("yes,deny", "maybe", "write one of deny, escalate\n"),
    ] {
        let line = format!("{outcome} --options {options} --else {last}");
        assert_contains!(world.fails(65, &*line), expected; "{line}");
    }
    let id = world.send("alice", "bob", "hello");
    assert_contains!(
        world.fails(
            3,
            &*format!("ack {id} --status superseded --by 999 --as alice")
        ),
        "--by: "
    );
    let parent = world.path().display().to_string();
    assert_contains!(
        world.fails(3, &["--room", &parent, "status"]),
        &format!("name the room below it: {parent}/.mailbag")
    );
    let none = world.path().join("none").display().to_string();
    assert_contains!(
        world.fails(3, &["--room", &none, "status"]),
        &format!("create one with `mailbag init {none}`")
    );
}
