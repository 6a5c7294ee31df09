//! Completions in a shell.

use crate::world::World;

/// The offers of bash for the last of these words.
fn offered(world: &World, words: &[&str]) -> Vec<String> {
    let line = [&["--", "mailbag"], words].concat();
    let mut program = world.program(&line);
    program
        .env("MAILBAG_COMPLETE", "bash")
        .env("_CLAP_IFS", "\n")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    let output = program.output().expect("the program runs");
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines()
        .map(|line| line.trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect()
}

#[test]
fn agents_addresses_and_unread_messages_are_offered() {
    let world =
        World::with(&["alice", "bob"]).agent("betty", &["--role", "builder", "--topic", "release"]);
    assert_eq!(offered(&world, &["read", "--as", "b"]), ["bob", "betty"]);
    for words in [
        &["agent", "show", "b"][..],
        &["agent", "set", "b"],
        &["agent", "retire", "b"],
        &["join", "b"],
        &["inbox", "b"],
    ] {
        assert_eq!(offered(&world, words), ["bob", "betty"], "{words:?}");
    }
    assert_eq!(offered(&world, &["send", "all_"]), ["all_builder"]);
    assert_eq!(offered(&world, &["send", "#"]), ["#release"]);
    let id = world.send("alice", "bob", "hello");
    assert_eq!(offered(&world, &["read", "--as", "bob", &id[..8]]), [id]);
    assert_eq!(offered(&world, &["channel", "show", "m"]), ["main"]);
    assert!(offered(&world, &["tra"]).contains(&"trace".to_owned()));
}

#[test]
fn claims_and_open_offers_of_the_caller_are_offered() {
    let world = World::with(&["alice", "bob"]);
    world.ok(&["claim", "src/auth", "task:login", "--as", "alice"]);
    world.ok(&["claim", "docs", "--as", "bob"]);
    assert_eq!(
        offered(&world, &["release", "--as", "alice", "s"]),
        ["src/auth"]
    );
    assert_eq!(
        offered(&world, &["handoff", "bob", "--as", "alice", "t"]),
        ["task:login"]
    );
    let offer = world.json(&["handoff", "bob", "src/auth", "--as", "alice"])["seq"].to_string();
    assert_eq!(
        offered(&world, &["handoff", "--as", "bob", "--accept", &offer[..1]]),
        [&*offer]
    );
}

#[test]
fn completion_offers_no_text_that_a_shell_could_run() {
    let world = World::with(&["alice", "bob"]);
    std::fs::create_dir_all(world.room("channels/$(touch hit)")).expect("a hostile name");
    assert_eq!(offered(&world, &["channel", "show", "$"]), [""; 0]);
}

#[test]
fn completion_without_a_room_is_empty_and_silent() {
    let world = World::empty();
    assert_eq!(offered(&world, &["read", "--as", "b"]), [""; 0]);
    // An invalid request gets no offers instead of wrong ones.
    let ran = world
        .program(&["status"])
        .env("MAILBAG_COMPLETE", "no-such-shell")
        .output()
        .expect("the program runs");
    assert!(ran.stdout.is_empty());
}

#[test]
fn the_script_for_each_shell_asks_the_program() {
    let world = World::empty();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(
            world
                .ok(&["generate", "completions", shell])
                .contains("MAILBAG_COMPLETE"),
            "{shell}"
        );
    }
}
