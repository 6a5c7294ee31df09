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

fn listed(world: &World) -> Vec<(String, String)> {
    let list = world.items("rejected list");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    list.as_array()
        .expect("a list")
        .iter()
        .map(|one| (text(&one["agent"]), text(&one["name"])))
        .collect()
}

fn seq(world: &World, name: &str) -> String {
    world.json(&["rejected", "show", name])["seq"].to_string()
}

#[test]
fn rejected_files_are_listed_in_their_order_and_shown_with_all_problems() {
    let world = world();
    let pair = |agent: &str, name: &str| (agent.to_owned(), name.to_owned());
    assert_eq!(
        listed(&world),
        [
            pair("alice", "one.json"),
            pair("alice", "two.json"),
            pair("bob", "three.json")
        ]
    );
    assert_eq!(
        world
            .items("rejected list --agent bob")
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    let text = world.ok("rejected list");
    assert_contains!(text, "unknown_recipient", "one.json");
    let shown = world.json("rejected show two.json");
    let codes: Vec<&Value> = shown["problems"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["code"])
        .collect();
    assert!(
        !codes.is_empty()
            && shown["text"]
                .as_str()
                .is_some_and(|text| text.contains("P9")),
        "{shown}"
    );
    let text = world.ok(&["rejected", "show", &seq(&world, "two.json")]);
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
    let names = world.names("rejected/alice");
    let taken = names
        .iter()
        .find(|name| name.ends_with("~taken.json"))
        .expect("the file");
    files::remove_file(world.room(&format!("rejected/alice/{taken}")));
    world.write("rejected/alice/notes.txt", "mine");
    world.write("rejected/alice/900~alone.json", "{}");
    let names: Vec<String> = listed(&world).into_iter().map(|(_, name)| name).collect();
    for name in ["alone.json", "x.error.json", "d.json", "taken.json"] {
        assert_eq!(
            names.iter().filter(|other| *other == name).count(),
            1,
            "{names:?}"
        );
    }
    assert_eq!(names.len(), 4);
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
    for said in [
        "undelivered 1 in outboxes, 1 in unregistered outboxes\n",
        "rejected    2 files of alice, newest first:",
        "-> mailbag agent add stranger",
        &format!("-> mailbag rejected show {}", seq(&world, "two.json")),
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let calm = World::with("alice");
    assert_contains!(calm.ok("status"), "undelivered none");
}

#[test]
fn a_rejected_line_is_shown_and_listed_with_its_number() {
    let world = World::alice_and_bob();
    world.route(
        "alice",
        "turn.ndjson",
        "{\"to\": \"bob\", \"body\": \"one\"}\n{\"to\": \"bbo\", \"body\": \"two\"}\n",
    );
    let list = world.items("rejected list");
    assert_eq!(
        (
            list.as_array().map(Vec::len),
            &list[0]["line"],
            &list[0]["file"]
        ),
        (Some(1), &json!(2), &Value::Null)
    );
    assert_contains!(
        world.ok(&["rejected", "show", &list[0]["seq"].to_string()]),
        "turn.ndjson, line 2",
        "\"two\""
    );
}

/// Alice dropped a file of three lines; these have an unregistered recipient.
fn lines(refused: &[usize]) -> World {
    let world = World::alice_and_bob();
    let to = |n: &usize| if refused.contains(n) { "bbo" } else { "bob" };
    world.route(
        "alice",
        "turn.ndjson",
        (1..=3)
            .map(|n| format!("{{\"to\": \"{}\", \"body\": \"line {n}\"}}\n", to(&n)))
            .collect::<String>(),
    );
    world
}

#[test]
fn the_name_of_a_file_with_several_rejected_lines_is_ambiguous() {
    let world = lines(&[2, 3]);
    assert_contains!(
        world.fails(2, "rejected show turn.ndjson"),
        "(line 2)",
        "(line 3)"
    );
}

#[test]
fn a_rejection_leaves_pending_when_a_corrected_file_is_accepted_or_it_is_dismissed() {
    let world = World::alice_and_bob();
    let open = || {
        let items = world.json("pending --as alice")["items"].clone();
        items.as_array().map(Vec::len)
    };
    let drop = |name: &str, message: Value| world.route("alice", name, message);
    drop("one.json", json!({"id": "m", "to": "bbo", "body": "x"}));
    drop("one.json", json!({"to": "bbo", "body": "x"}));
    drop("two.json", json!({"to": "bbo", "body": "x"}));
    assert_eq!(open(), Some(3));
    drop("other.json", json!({"to": "bob", "body": "x"}));
    assert_eq!(open(), Some(3), "another file corrects nothing");
    world.route("bob", "two.json", json!({"to": "alice", "body": "x"}));
    assert_eq!(open(), Some(3), "nor does a file of another sender");
    drop("fixed.json", json!({"id": "m", "to": "bob", "body": "x"}));
    assert_eq!(open(), Some(2), "the same id");
    drop("one.ndjson", json!({"to": "bob", "body": "x"}));
    assert_eq!(open(), Some(1), "the same name");
    let item = world.json("pending --as alice")["items"][0]["seq"].to_string();
    world.ok(&["dismiss", &item, "--as", "alice"]);
    assert_eq!(open(), Some(0));
    assert_eq!(listed(&world).len(), 3, "the rejected files stay");
}

#[test]
fn other_lines_of_a_file_do_not_close_the_rejection_of_a_line() {
    let world = lines(&[2]);
    let open = || {
        let items = world.json("pending --as alice")["items"].clone();
        items.as_array().map(Vec::len)
    };
    assert_eq!(open(), Some(1));
    let fixed = json!({"to": "bob", "body": "line 2"});
    world.route("alice", "turn.ndjson", format!("{fixed}\n"));
    assert_eq!(open(), Some(0));
    assert_eq!(world.bodies("bob").len(), 3);
}
