//! `mailbag list`

use super::{EVIL, each, is_tame, say};
use crate::world::{Words, World};
use serde_json::json;

fn room() -> World {
    let world = World::with("alice bob carol");
    say(
        &world,
        "alice",
        json!({"id": "m1", "to": "bob", "body": "Grüße\nund mehr", "type": "question"}),
    );
    say(
        &world,
        "bob",
        json!({"id": "m2", "to": "alice", "subject": "Порт 8080", "body": "x", "channel": "ops"}),
    );
    say(
        &world,
        "carol",
        json!({"id": "m3", "to": "all", "body": "all of you", "requires_response": true}),
    );
    say(
        &world,
        "carol",
        json!({"id": "m4", "to": "bob", "body": "just you"}),
    );
    say(
        &world,
        "alice",
        json!({"id": "m5", "type": "status", "body": "for the channel alone"}),
    );
    say(
        &world,
        "alice",
        json!({"id": "m6", "to": "nobody", "body": "bounces"}),
    );
    world
}

fn ids(world: &World, args: &(impl Words + ?Sized)) -> Vec<String> {
    let list = world.items(&[vec!["list"], args.words()].concat());
    each(&list, "id")
        .into_iter()
        .map(|id| {
            if id.len() > 2 {
                "bounce".into()
            } else {
                id.to_owned()
            }
        })
        .collect()
}

#[test]
fn an_agent_sees_its_own_mail_and_the_human_everything() {
    let world = room();
    assert_eq!(ids(&world, "--as bob"), ["m1", "m2", "m3", "m4"]);
    assert_eq!(
        ids(&world, "--as alice"),
        ["m1", "m2", "m3", "m5", "bounce"]
    );
    let all = ["m1", "m2", "m3", "m4", "m5", "bounce"];
    assert_eq!(ids(&world, "--as human"), all);
    assert_eq!(ids(&world, ""), all);
    assert_contains!(world.fails(3, "list --as bbo"), "did you mean bob?");
}

#[test]
fn filters_narrow_what_is_listed() {
    let world = room();
    assert_eq!(ids(&world, "--from carol"), ["m3", "m4"]);
    assert_eq!(ids(&world, "--from mailbag"), ["bounce"]);
    assert_eq!(ids(&world, "--to alice"), ["m2", "m3", "bounce"]);
    assert_eq!(ids(&world, "--to bob --from carol --as bob"), ["m3", "m4"]);
    assert_eq!(ids(&world, "--to bob --as alice"), ["m1", "m3"]);
    assert_eq!(ids(&world, "--type question"), ["m1"]);
    assert_eq!(ids(&world, "--channel ops"), ["m2"]);
    assert_eq!(ids(&world, "--requires-response"), ["m1", "m3"]);
    assert_eq!(ids(&world, "--last 2"), ["m5", "bounce"]);
    assert_eq!(ids(&world, "--last 1 --from bob"), ["m2"]);
    assert_eq!(ids(&world, "--since 1h").len(), 6);
    assert_eq!(ids(&world, "--until 1h"), [""; 0]);
    assert_eq!(ids(&world, "--since yesterday").len(), 6);
    assert_eq!(ids(&world, "--until 2020-01-31"), [""; 0]);
    let third = world.items("list --from carol")[0]["accepted_at"]
        .as_str()
        .expect("a time")
        .to_owned();
    assert_eq!(
        ids(&world, &["--since", &third]),
        ["m3", "m4", "m5", "bounce"]
    );
    assert_eq!(ids(&world, &["--until", &third, "--last", "1"]), ["m2"]);
    assert_contains!(world.fails(2, "list --since whenever"), "1h");
    assert_contains!(world.fails(2, "list --type qestion"), "question");
    assert_contains!(world.fails(3, "list --to bbo"), "did you mean bob?");
    for command in ["list", "search x"] {
        let said = world.fails(3, &*format!("{command} --channel opps"));
        assert_contains!(said, "no channel \"opps\"", "did you mean ops?"; "{command}");
    }
}

#[test]
fn the_default_channel_exists_before_its_first_message() {
    let world = World::new();
    assert_eq!(ids(&world, "--channel main"), [""; 0]);
}

#[test]
fn list_unread_shows_the_messages_that_are_still_in_the_inbox() {
    let world = room();
    assert_eq!(ids(&world, "--unread --as bob"), ["m1", "m3", "m4"]);
    world.ok("read m3 --as bob");
    assert_eq!(ids(&world, "--unread --to bob"), ["m1", "m4"]);
    assert_eq!(ids(&world, "--unread --as bob --from carol"), ["m4"]);
    assert_eq!(ids(&world, "--unread --to bob --as carol"), ["m4"]);
    let unknown = world.run_env("list --unread", "MAILBAG_TEST_ANCESTRY", "unknown");
    assert_contains!(unknown.fails(2), "--to");
    world.ok("read --all --as bob");
    assert_eq!(ids(&world, "--unread --to bob"), [""; 0]);
}

#[test]
fn a_listing_is_a_line_a_message_whatever_it_says() {
    let world = room();
    say(
        &world,
        "alice",
        json!({"id": "m7", "to": "bob", "subject": EVIL, "body": EVIL, "type": "x-mine"}),
    );
    let shown = world.ok("list");
    assert!(is_tame(&shown) && shown.lines().count() == 7, "{shown:?}");
    assert_contains!(shown, "alice → bob  question  m1  Grüße\n", "Порт 8080");
    assert_contains!(
        shown,
        "carol → alice, bob  message?  m3",
        "alice → channel main"
    );
    let none = world.run("list --from carol --type question");
    assert!(
        none.code == 0 && none.out.is_empty() && none.err.contains("no matching messages"),
        "{none:?}"
    );
}

#[test]
fn reading_commands_route_pending_files_first_and_otherwise_change_nothing() {
    // P50
    let world = World::alice_and_bob();
    world.drop_file(
        "alice",
        "x.json",
        r#"{"id": "m1", "to": "bob", "body": "hi"}"#,
    );
    assert_eq!(ids(&world, "--unread --to bob"), ["m1"]);
    world.pass();
    let before = world.everything();
    ids(&world, "");
    world.ok("search hi");
    world.ok("thread m1");
    assert_eq!(world.everything(), before, "looking changes nothing");
}
