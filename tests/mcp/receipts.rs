//! Mail is read when its client has shown that it has it, and not before.

use super::{Client, came};
use crate::files;
use crate::world::World;
use serde_json::json;

/// A room with mail from alice to bob.
fn room() -> World {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "the port is 8080");
    world
}

/// The marks of announced messages.
fn markers(world: &World) -> usize {
    let marks = std::fs::read_dir(world.room("inbox/bob/.announced"));
    marks.expect("marks").count()
}

fn seen(world: &World) -> usize {
    world.names("inbox/bob/seen").len()
}

#[test]
fn mail_stays_unread_until_the_next_fetch_but_counts_as_announced() {
    let world = room();
    let client = Client::of(&world, "bob");
    assert_contains!(client.text("fetch_inbox", json!({})), "the port is 8080");
    client.text("list_agents", json!({}));
    client.text("search_messages", json!({"query": "port"}));
    assert_eq!(
        (world.inbox("bob").len(), seen(&world)),
        (1, 0),
        "other calls don't count"
    );
    assert_eq!(markers(&world), 1);
    world.send("alice", "bob", "or 8081");
    came(&world, "bob", 2);
    let next = client.text("fetch_inbox", json!({}));
    assert!(next.contains("or 8081") && !next.contains("8080"), "{next}");
    assert_eq!(
        (world.bodies("bob"), seen(&world)),
        (vec!["or 8081".to_owned()], 1)
    );
    assert_contains!(
        client.text("wait_for_message", json!({"timeout_s": 0})),
        "no matching message"
    );
    assert_eq!((world.inbox("bob").len(), seen(&world)), (0, 2));
    let status = || world.json("trace 2 --as alice")["recipients"][0]["status"].clone();
    world.wait("its sender sees that it was seen", || status() == "seen");
}

#[test]
fn a_reply_or_an_acknowledgement_confirms_the_received_mail() {
    let world = room();
    let ids = [
        world.send("alice", "bob", "second"),
        world.send("alice", "bob", "third"),
    ];
    let client = Client::of(&world, "bob");
    client.text("fetch_inbox", json!({}));
    client.text("reply_message", json!({"id": "#2", "body": "thanks"}));
    assert_eq!(world.bodies("bob"), ["second", "third"]);
    client.text(
        "acknowledge_message",
        json!({"id": ids[1], "status": "actioned"}),
    );
    assert_eq!(world.bodies("bob"), ["second"]);
    let status =
        || world.json(&["trace", &ids[1], "--as", "alice"])["recipients"][0]["status"].clone();
    world.wait("its sender sees the ack", || status() == "actioned");
    client.text("fetch_inbox", json!({}));
    assert_eq!((world.inbox("bob").len(), seen(&world)), (0, 3));
}

#[test]
fn an_answer_marks_the_question_as_read_wherever_it_was_read() {
    let world = room();
    world.send("alice", "bob", "and the host?");
    let client = Client::of(&world, "bob");
    client.text(
        "reply_message",
        json!({"id": "2", "body": "I was told of it elsewhere"}),
    );
    assert_eq!(world.bodies("bob"), ["and the host?"]);
}

#[test]
fn a_client_that_dies_before_its_next_call_leaves_its_mail_unread() {
    let world = room();
    let client = Client::of(&world, "bob");
    client.text("fetch_inbox", json!({}));
    client.kill();
    assert_eq!(
        (world.inbox("bob").len(), seen(&world)),
        (1, 0),
        "after a kill"
    );
    let client = Client::of(&world, "bob");
    assert_contains!(client.text("wait_for_message", json!({})), "8080");
    assert_eq!(client.end(), Some(0));
    assert_eq!(
        (world.inbox("bob").len(), seen(&world)),
        (1, 0),
        "after its input ended"
    );
    let client = Client::of(&world, "bob");
    assert_contains!(client.text("fetch_inbox", json!({})), "8080");
}

#[test]
fn a_client_that_gave_up_on_a_request_is_given_the_mail_again() {
    let world = room();
    let client = Client::of(&world, "bob");
    let late = client.ask_tool("fetch_inbox", json!({}));
    client.answer(late);
    client.cancel(late);
    client.text("list_agents", json!({}));
    assert_eq!(markers(&world), 0, "hooks may tell of it");
    let again = client.ask_tool("fetch_inbox", json!({}));
    assert_contains!(super::done(client.answer(again)).0, "8080"; "it was not marked as read");
    assert_eq!((world.inbox("bob").len(), seen(&world)), (1, 0));
    client.text("fetch_inbox", json!({}));
    assert_eq!(
        (world.inbox("bob").len(), seen(&world)),
        (0, 1),
        "this time it had it"
    );
}

#[test]
fn a_copy_that_its_reader_removed_causes_no_error() {
    let world = room();
    let client = Client::of(&world, "bob");
    client.text("fetch_inbox", json!({}));
    let name = world.names("inbox/bob").remove(0);
    files::remove_file(world.room(&format!("inbox/bob/{name}")));
    assert_contains!(client.text("fetch_inbox", json!({})), "no unread messages");
}
