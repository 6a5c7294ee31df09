//! `mailbag rejected`

use crate::files;
use crate::world::World;
use serde_json::{Value, json};

/// Two rejected files of alice, and one of bob.
fn world() -> World {
    let world = World::alice_and_bob();
    world.route("alice", "one.json", r#"{"to": "bbo", "body": "one"}"#);
    world.route(
        "alice",
        "two.json",
        "{\"to\": \"carol\", \"body\": \"two\u{202e}\", \"priority\": \"P9\"}",
    );
    world.route("bob", "three.json", r#"{"to": "alcie", "body": "three"}"#);
    world
}

/// The rejected files, as agent/name.
fn listed(world: &World) -> Vec<String> {
    let list = world.items("rejected list");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let files = list.as_array().into_iter().flatten();
    files
        .map(|one| text(&one["agent"]) + "/" + &text(&one["name"]))
        .collect()
}

fn pending_count(world: &World) -> usize {
    let pending = world.json("pending --as alice");
    pending["items"].as_array().map_or(0, Vec::len)
}

fn seq(world: &World, name: &str) -> String {
    world.json(&format!("rejected show {name}"))["seq"].to_string()
}

#[test]
fn rejected_files_are_listed_in_their_order_and_shown_with_all_problems() {
    let world = world();
    let files = ["alice/one.json", "alice/two.json", "bob/three.json"];
    assert_eq!(listed(&world), files);
    let of_bob = world.items("rejected list --agent bob");
    assert_fields!(of_bob, 0.name: "three.json", 1: Value::Null);
    let text = world.ok("rejected list");
    assert_contains!(text, "unknown_recipient", "one.json");
    let shown = world.json("rejected show two.json");
    assert!(shown["problems"][0]["code"].is_string(), "{shown}");
    assert_contains!(shown["text"].to_string(), "P9");
    let text = world.ok(&format!("rejected show {}", seq(&world, "two.json")));
    assert_contains!(text, "low, normal, high, urgent", "\"priority\": \"P9\"");
    assert!(
        text.contains("\\u{202e}") && !text.contains('\u{202e}'),
        "{text}"
    );
    assert_contains!(
        world.fails(3, "rejected show nine.json"),
        "mailbag rejected list"
    );
}

#[test]
fn unusual_files_in_rejected_are_listed_correctly() {
    let world = World::alice_and_bob();
    // A file named like an explanation, a directory, and an explanation without its rejected file.
    world.drop_file("alice", "x.error.json", "[]");
    files::make_dir(world.room("outbox/alice/d.json"));
    world.route("alice", "taken.json", "[]");
    let mut names = world.names("rejected/alice");
    names.retain(|name| name.ends_with("~taken.json"));
    files::remove_file(world.room("rejected/alice").join(&names[0]));
    world.write("rejected/alice/notes.txt", "mine");
    world.write("rejected/alice/900~alone.json", "{}");
    let mut listed = listed(&world);
    listed.sort();
    let names = ["alone", "d", "taken", "x.error"];
    assert_eq!(listed, names.map(|name| format!("alice/{name}.json")));
    assert!(world.json("rejected show x.error.json")["text"] == "[]");
    assert_contains!(world.ok("rejected show d.json"), "cannot show the file");
    assert_contains!(world.ok("rejected show taken.json"), "the file was removed");
    assert_contains!(world.ok("rejected show 900"), "cannot read its explanation");
}

#[test]
fn status_names_the_command_that_fixes_each_problem() {
    let world = world();
    world.drop_file("stranger", "x.json", r#"{"to": "bob", "body": "x"}"#);
    world.drop_file("alice", "waits.json", r#"{"to": "bob", "body": "x"}"#);
    let text = world.ok("status");
    assert_contains!(
        text,
        "undelivered 1 in outboxes, 1 in unregistered outboxes\n",
        "rejected    2 files of alice, newest first:",
        "-> mailbag agent add stranger",
        &format!("-> mailbag rejected show {}", seq(&world, "two.json"))
    );
    let calm = World::with("alice");
    assert_contains!(calm.ok("status"), "undelivered none");
}

/// Alice dropped a file of three lines; these have an unregistered recipient.
fn lines(refused: &[usize]) -> World {
    let world = World::alice_and_bob();
    let line = |n: usize| {
        let to = if refused.contains(&n) { "bbo" } else { "bob" };
        format!("{}\n", json!({"to": to, "body": format!("line {n}")}))
    };
    let lines: String = (1..=3).map(line).collect();
    world.route("alice", "turn.ndjson", lines);
    world
}

#[test]
fn a_rejected_line_is_shown_and_listed_with_its_number() {
    let world = lines(&[2]);
    let list = world.items("rejected list");
    assert_fields!(list, 0.line: 2, 0.file: Value::Null, 1: Value::Null);
    let shown = world.ok(&format!("rejected show {}", list[0]["seq"]));
    assert_contains!(shown, "turn.ndjson, line 2", "\"line 2\"");
    // The name of a file with several rejected lines is ambiguous.
    let said = lines(&[2, 3]).fails(2, "rejected show turn.ndjson");
    assert_contains!(said, "(line 2)", "(line 3)");
}

#[test]
fn a_rejection_leaves_pending_when_a_corrected_file_is_accepted_or_it_is_dismissed() {
    let world = World::alice_and_bob();
    let open = || pending_count(&world);
    let drop = |name: &str, message: Value| world.route("alice", name, message);
    drop("one.json", json!({"id": "m", "to": "bbo", "body": "x"}));
    drop("one.json", json!({"to": "bbo", "body": "x"}));
    drop("two.json", json!({"to": "bbo", "body": "x"}));
    assert_eq!(open(), 3);
    drop("other.json", json!({"to": "bob", "body": "x"}));
    assert_eq!(open(), 3, "another file corrects nothing");
    world.route("bob", "two.json", json!({"to": "alice", "body": "x"}));
    assert_eq!(open(), 3, "nor does a file of another sender");
    drop("fixed.json", json!({"id": "m", "to": "bob", "body": "x"}));
    assert_eq!(open(), 2, "the same id");
    drop("one.ndjson", json!({"to": "bob", "body": "x"}));
    assert_eq!(open(), 1, "the same name");
    let item = world.json("pending --as alice")["items"][0]["seq"].to_string();
    world.ok(&format!("dismiss {item} --as alice"));
    assert_eq!(open(), 0);
    assert_eq!(listed(&world).len(), 3, "the rejected files stay");
}

#[test]
fn other_lines_of_a_file_do_not_close_the_rejection_of_a_line() {
    let world = lines(&[2]);
    let open = || pending_count(&world);
    assert_eq!(open(), 1);
    let fixed = json!({"to": "bob", "body": "line 2"});
    world.route("alice", "turn.ndjson", format!("{fixed}\n"));
    assert_eq!(open(), 0);
    assert_eq!(world.bodies("bob").len(), 3);
}
