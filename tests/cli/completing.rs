//! Completions in a shell.

use crate::world::{Words, World};

/// The candidates of bash for the last of these words.
fn offered(world: &World, words: &(impl Words + ?Sized)) -> Vec<String> {
    let words = words.words();
    let line = [&["--", "mailbag"], &words[..]].concat();
    let mut program = world.program(&line);
    program
        .env("MAILBAG_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_COMP_TYPE", "9")
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
fn agents_are_offered() {
    let world = World::alice_and_bob().agent("betty", "--role builder --topic release");
    assert_eq!(offered(&world, "read --as b"), ["bob", "betty"]);
    for words in ["agent show b", "agent set b", "join b", "inbox b"] {
        assert_eq!(offered(&world, words), ["bob", "betty"], "{words}");
    }
    assert!(offered(&world, "tra").contains(&"trace".to_owned()));
}

#[test]
fn messages_are_offered_by_number() {
    let world = World::alice_and_bob();
    world.ok("send bob one --as alice");
    world.run("ask bob 'Deploy now?' --options yes,later --timeout 10ms --as alice");
    for command in ["read", "reply", "decide", "dismiss", "trace"] {
        let numbers = offered(&world, &[command, "--as", "bob", ""]);
        assert_eq!(numbers[..2], ["3", "2"], "{command}");
    }
}

#[test]
fn completion_without_a_room_is_empty_and_silent() {
    let world = World::empty();
    assert_eq!(offered(&world, "read --as b"), [""; 0]);
    // An invalid request gets no offers instead of wrong ones.
    let ran = world.run_env("status", "MAILBAG_COMPLETE", "no-such-shell");
    assert_eq!(ran.out, "");
}

#[test]
fn the_script_for_each_shell_asks_the_program() {
    let world = World::empty();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert_contains!(world.ok(&format!("generate completions {shell}")), "MAILBAG_COMPLETE"; "{shell}");
    }
}
