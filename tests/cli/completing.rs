//! Completions in a shell.

use crate::files;
use crate::world::{Words, World};

/// The candidates that bash inserts for the last of these words.
fn offered(world: &World, words: &(impl Words + ?Sized)) -> Vec<String> {
    candidates(world, "bash", "9", &words.words())
}

/// The candidates of a shell for the last of these words.
fn candidates(world: &World, shell: &str, comp_type: &str, words: &[&str]) -> Vec<String> {
    let line = [&["--", "mailbag"], words].concat();
    let mut program = world.program(&line);
    program
        .env("MAILBAG_COMPLETE", shell)
        .env("_CLAP_COMPLETE_COMP_TYPE", comp_type)
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
    let world = World::alice_and_bob().agent("betty", "--role builder --topic release");
    assert_eq!(offered(&world, "read --as b"), ["bob", "betty"]);
    for words in [
        &["agent", "show", "b"][..],
        &["agent", "set", "b"],
        &["agent", "retire", "b"],
        &["join", "b"],
        &["inbox", "b"],
    ] {
        assert_eq!(offered(&world, words), ["bob", "betty"], "{words:?}");
    }
    assert_eq!(offered(&world, "send all_"), ["all_builder"]);
    assert_eq!(offered(&world, "send #"), ["#release"]);
    let id = world.send("alice", "bob", "hello");
    assert_eq!(offered(&world, &["read", "--as", "bob", &id[..8]]), [id]);
    assert_eq!(offered(&world, "channel show m"), ["main"]);
    assert!(offered(&world, "tra").contains(&"trace".to_owned()));
}

#[test]
fn claims_and_open_offers_of_the_caller_are_offered() {
    let world = World::alice_and_bob();
    world.ok("claim src/auth task:login --as alice");
    world.ok("claim docs --as bob");
    assert_eq!(offered(&world, "release --as alice s"), ["src/auth"]);
    assert_eq!(offered(&world, "handoff bob --as alice t"), ["task:login"]);
    let offer = world.json("handoff bob src/auth --as alice")["seq"].to_string();
    assert_eq!(
        offered(&world, &["handoff", "--as", "bob", "--accept", &offer[..1]]),
        [&*offer]
    );
}

#[test]
fn open_items_and_messages_are_offered_by_number_with_their_subjects() {
    let world = World::alice_and_bob();
    world.ok("send bob '$(touch hit) *' --as alice --subject 'Which port?'");
    world.ok("send bob '`touch hit`; \"ls\" > x' --as alice");
    world.run("ask bob 'Deploy now?' --options yes,later --timeout 10ms --as alice");
    world.ok("send bob 'Which host?' --type question --as alice");
    world.route("alice", "bad.json", r#"{"to": "bbo", "body": "x"}"#);
    let number = |words: &[&str]| offered(&world, words);
    assert_eq!(
        number(&["read", "--as", "bob", ""])[..4],
        ["5", "4", "3", "2"]
    );
    assert_eq!(number(&["decide", "--as", "bob", ""])[0], "4");
    assert_eq!(number(&["decide", "--as", "bob", "4", "y"]), ["yes"]);
    assert_eq!(number(&["reply", "--as", "bob", ""])[0], "5");
    assert_eq!(number(&["dismiss", "--as", "bob", ""])[..2], ["4", "5"]);
    assert_eq!(number(&["rejected", "retry", ""])[0], "6");
    let listed = candidates(&world, "bash", "63", &["read", "--as", "bob", ""]);
    assert_eq!(listed[2], "3  (alice: touch hit ; ls x)");
    assert_eq!(listed[3], "2  (alice: Which port)");
    // A candidate that is alone gets inserted.
    assert_eq!(
        candidates(&world, "bash", "63", &["decide", "--as", "bob", "4"]),
        ["4"]
    );
    let zsh = candidates(&world, "zsh", "", &["decide", "--as", "bob", ""]);
    assert_eq!(zsh[..1], ["4:approval from alice: Deploy now"]);
    let fish = candidates(&world, "fish", "", &["decide", "--as", "bob", ""]);
    assert_eq!(fish[..1], ["4\tapproval from alice: Deploy now"]);
}

#[test]
fn completion_offers_no_text_that_a_shell_could_run() {
    let world = World::alice_and_bob();
    files::make_dir(world.room("channels/$(touch hit)"));
    assert_eq!(offered(&world, "channel show $"), [""; 0]);
}

#[test]
fn completion_without_a_room_is_empty_and_silent() {
    let world = World::empty();
    assert_eq!(offered(&world, "read --as b"), [""; 0]);
    // An invalid request gets no offers instead of wrong ones.
    let ran = world
        .program("status")
        .env("MAILBAG_COMPLETE", "no-such-shell")
        .output()
        .expect("the program runs");
    assert!(ran.stdout.is_empty());
}

#[test]
fn the_script_for_each_shell_asks_the_program() {
    let world = World::empty();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert_contains!(world.ok(&["generate", "completions", shell]), "MAILBAG_COMPLETE"; "{shell}");
    }
}
