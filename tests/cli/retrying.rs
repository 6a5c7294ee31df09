//! `mailbag rejected retry`: of a rejection and all its retries, one is delivered.

use crate::files;
use crate::world::World;
use serde_json::{Value, json};
use std::process::Stdio;

/// Alice dropped a file of lines. The second line names an agent that is now registered.
fn line() -> (World, String) {
    let world = World::alice_and_bob();
    let lines = "{\"to\": \"bob\", \"body\": \"one\"}\n{\"to\": \"bbo\", \"body\": \"two\"}\n";
    world.drop_file("alice", "turn.ndjson", lines);
    registered(world)
}

/// Alice dropped a file that names an agent that is now registered.
fn file() -> (World, String) {
    let world = World::alice_and_bob();
    world.drop_file("alice", "one.json", r#"{"to": "bbo", "body": "two"}"#);
    registered(world)
}

fn registered(world: World) -> (World, String) {
    world.pass();
    let number = world.items("rejected list")[0]["seq"].to_string();
    world.ok("agent add bbo");
    (world, number)
}

/// A replacement file with this text.
fn replacement(world: &World, name: &str, text: &str) -> String {
    let path = world.path().join(name);
    files::write(&path, text);
    path.to_string_lossy().into_owned()
}

/// Runs these commands at the same time.
fn at_once(world: &World, commands: &[Vec<&str>]) {
    let mut running: Vec<_> = commands
        .iter()
        .map(|args| {
            world
                .bare(args)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("it starts")
        })
        .collect();
    running.iter_mut().for_each(|one| drop(one.wait()));
    world.pass();
}

/// The explanation and the file of a killed retry are there again.
fn restored(world: &World, retry: impl Fn(&World)) {
    let kept = world.path().join("kept");
    let copy = |from: &std::path::Path, to: &std::path::Path| {
        files::make_dir(to);
        for entry in std::fs::read_dir(from).expect("a directory").flatten() {
            files::copy(entry.path(), to.join(entry.file_name()));
        }
    };
    copy(&world.room("rejected/alice"), &kept);
    retry(world);
    copy(&kept, &world.room("rejected/alice"));
}

#[test]
fn retries_at_the_same_time_deliver_once() {
    for (world, number) in [line(), file()] {
        let other = replacement(&world, "other.json", r#"{"to": "bbo", "body": "other"}"#);
        let retry = |more: &[&'static str]| [&["rejected", "retry", "--quiet"], more].concat();
        let mut commands = vec![retry(&[]); 4];
        commands
            .iter_mut()
            .take(3)
            .for_each(|one| one.push(&number));
        commands[3].extend([number.as_str(), other.as_str()]);
        commands.push(retry(&["--all"]));
        at_once(&world, &commands);
        assert_eq!(world.inbox("bbo").len(), 1, "{:?}", world.bodies("bbo"));
        assert_eq!(world.names("rejected/alice"), Vec::<String>::new());
        assert_contains!(
            world.fails(3, &["rejected", "retry", &number]),
            "sent again, removed or archived"
        );
    }
}

#[test]
fn a_retry_and_a_drop_at_the_same_time_do_one_of_both() {
    for (world, number) in [line(), file()] {
        at_once(
            &world,
            &[
                vec!["rejected", "retry", &number],
                vec!["rejected", "drop", &number, "--yes", "--json"],
            ],
        );
        assert!(world.inbox("bbo").len() <= 1);
        assert_eq!(world.items("rejected list"), json!([]));
    }
}

#[test]
fn the_retry_after_a_retry_that_was_killed_is_a_duplicate() {
    // P290
    for (world, number) in [line(), file()] {
        restored(&world, |world| {
            drop(world.ok(&["rejected", "retry", &number]))
        });
        assert_contains!(world.ok(&["rejected", "retry", &number]), "duplicate");
        assert_eq!(
            (world.bodies("bbo"), world.items("rejected list")),
            (vec!["two".to_owned()], json!([]))
        );
    }
}

#[test]
fn the_file_of_a_killed_retry_is_still_in_the_outbox_at_the_next_retry() {
    let (world, number) = line();
    world.drop_file(
        "alice",
        &format!("retry~{number}~turn.json"),
        r#"{"to": "bbo", "body": "two"}"#,
    );
    let retried = world.items(&["rejected", "retry", &number]);
    assert_eq!(retried.as_array().map(Vec::len), Some(1));
    world.pass();
    assert_eq!(world.bodies("bbo"), ["two"]);
    world.verify();
}

#[test]
fn another_content_after_a_killed_retry_is_rejected_and_kept() {
    for (world, number) in [line(), file()] {
        restored(&world, |world| {
            drop(world.ok(&["rejected", "retry", &number]))
        });
        let other = replacement(
            &world,
            "other.json",
            r#"{"to": "bbo", "body": "other", "id": "own-id"}"#,
        );
        let ran = world.run(&["rejected", "retry", &number, &other]);
        assert!(
            ran.code == 65 && ran.out.contains("was sent again before"),
            "{ran:?}"
        );
        assert_eq!(world.bodies("bbo"), ["two"]);
        // Its own retry also belongs to the first rejection.
        let listed = world.items("rejected list");
        assert_eq!(
            (listed.as_array().map(Vec::len), &listed[0]["code"]),
            (Some(1), &json!("retried")),
            "{listed}"
        );
        world.fails(65, "rejected retry --all");
        assert_eq!(world.bodies("bbo"), ["two"]);
    }
}

#[test]
fn a_retry_that_was_rejected_again_twice_is_delivered_once() {
    let world = World::alice_and_bob();
    world.route("alice", "one.json", r#"{"to": "bbo", "body": "two"}"#);
    let number = world.items("rejected list")[0]["seq"].to_string();
    restored(&world, |world| {
        drop(world.fails(65, &["rejected", "retry", &number]))
    });
    world.fails(65, &["rejected", "retry", &number]);
    assert_eq!(
        world.items("rejected list").as_array().map(Vec::len),
        Some(2)
    );
    world.ok("agent add bbo");
    let retried = world.items("rejected retry --all");
    let became: Vec<&Value> = retried
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["event"])
        .collect();
    assert!(
        became.contains(&&json!("accepted")) && became.contains(&&json!("duplicate")),
        "{retried}"
    );
    assert_eq!(world.bodies("bbo"), ["two"]);
}

#[test]
fn a_file_that_only_looks_like_a_retry_is_an_ordinary_message() {
    let (world, number) = file();
    for (n, name) in [
        "retry~1~a.json",
        "retry~1~b.json",
        "retry~x~c.json",
        "retry~99~d.json",
    ]
    .iter()
    .enumerate()
    {
        world.drop_file("alice", name, format!(r#"{{"to": "bob", "body": "{n}"}}"#));
    }
    // The rejection of another sender.
    for n in 4..6 {
        world.drop_file(
            "bob",
            &format!("retry~{number}~{n}.json"),
            format!(r#"{{"to": "bob", "body": "{n}"}}"#),
        );
    }
    world.pass();
    assert_eq!(world.bodies("bob").len(), 6, "{:?}", world.bodies("bob"));
}

#[test]
fn a_file_of_lines_that_is_retried_as_a_whole_has_each_line_delivered_once() {
    let world = World::alice_and_bob().settings("message_bytes = 1024\n");
    let lines: String = (0..30)
        .map(|n| {
            format!(
                "{{\"to\": \"bob\", \"body\": \"line {n} {}\"}}\n",
                "x".repeat(40)
            )
        })
        .collect();
    world.route("alice", "big.ndjson", &lines);
    let listed = world.items("rejected list");
    assert_eq!(
        (listed.as_array().map(Vec::len), &listed[0]["code"]),
        (Some(1), &json!("too_large")),
        "{listed}"
    );
    world.write("settings.toml", "");
    restored(&world, |world| drop(world.ok("rejected retry big.ndjson")));
    assert_eq!(world.bodies("bob").len(), 30);
    world.run("rejected retry big.ndjson");
    assert_eq!(world.bodies("bob").len(), 30);
}

#[test]
fn each_line_that_is_rejected_again_can_be_retried_by_itself() {
    // P290
    let world = World::alice_and_bob().settings("message_bytes = 1024\n");
    let long = format!("{{\"to\": \"bob\", \"body\": \"{}\"}}\n", "x".repeat(2000));
    world.route("alice", "m.ndjson", &long);
    let lines = ["one", "two"].map(|body| format!("{{\"to\": \"carl\", \"body\": \"{body}\"}}\n"));
    files::write(world.path().join("fixed.ndjson"), lines.concat());
    world.run("rejected retry m.ndjson fixed.ndjson");
    world.ok("agent add carl");
    world.ok("rejected retry --all");
    let mut bodies = world.bodies("carl");
    bodies.sort();
    assert_eq!(bodies, ["one", "two"]);
}

#[test]
fn a_retry_in_another_form_of_file_is_a_duplicate() {
    // P290
    let world = World::with("alice");
    let text = r#"{"to": "carl", "body": "one"}"#;
    world.route("alice", "m.json", text);
    world.ok("agent add carl");
    let number = world.items("rejected list")[0]["seq"].clone();
    for form in ["json", "ndjson", "json"] {
        world.route("alice", &format!("retry~{number}~m.{form}"), text);
    }
    assert_eq!(world.bodies("carl"), ["one"]);
}

#[test]
fn a_line_that_was_rejected_in_a_retry_of_its_file_is_delivered_once() {
    // P290
    let lines = [("bob", "one"), ("carl", "two")]
        .map(|(to, body)| format!("{{\"to\": \"{to}\", \"body\": \"{body}\"}}\n"))
        .concat();
    for whole_file_first in [true, false] {
        let world = World::alice_and_bob().settings("message_bytes = 1024\n");
        world.route("alice", "m.ndjson", "x".repeat(2000));
        let whole = world.items("rejected list")[0]["seq"].to_string();
        let fixed = replacement(&world, "fixed.ndjson", &lines);
        restored(&world, |world| {
            drop(world.fails(65, &["rejected", "retry", &whole, &fixed]))
        });
        let line = world.items("rejected list")[1]["seq"].to_string();
        world.ok("agent add carl");
        let retry = |number: &str| match number == whole {
            true => world.items(&["rejected", "retry", number, &fixed]),
            false => world.items(&["rejected", "retry", number]),
        };
        let order = if whole_file_first {
            [&whole, &line]
        } else {
            [&line, &whole]
        };
        let retried = order.map(|number| retry(number));
        world.pass();
        assert_eq!(
            (world.bodies("bob"), world.bodies("carl")),
            (vec!["one".to_owned()], vec!["two".to_owned()]),
            "{retried:?}"
        );
        assert_eq!(world.items("rejected list"), json!([]));
    }
}

#[test]
fn a_retry_is_listed_by_the_name_of_the_first_file() {
    let world = World::with("alice");
    for (name, lines) in [("m.ndjson", 2), ("one.json", 1)] {
        world.drop_file("alice", name, "{\"to\": \"bbo\"}\n".repeat(lines));
    }
    world.pass();
    for _ in 0..2 {
        world.fails(65, "rejected retry --all");
    }
    let listed = world.items("rejected list");
    let mut names: Vec<&Value> = listed
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| &one["name"])
        .collect();
    names.sort_by_key(ToString::to_string);
    assert_eq!(names, ["m.json", "m.json", "one.json"]);
}

#[test]
fn a_rejection_leaves_the_pending_list_when_a_retry_is_accepted() {
    // P137
    for (world, number) in [line(), file()] {
        let pending = || {
            let items = world.json("pending --as alice")["items"].clone();
            items.as_array().map(Vec::len)
        };
        assert_eq!(pending(), Some(1));
        // A retry that is rejected again has an item of its own.
        let wrong = replacement(&world, "wrong.json", r#"{"to": "bbx", "body": "two"}"#);
        world.fails(65, &["rejected", "retry", &number, &wrong]);
        assert_eq!(pending(), Some(2));
        let again = world.items("rejected list")[0]["seq"].to_string();
        let right = replacement(&world, "right.json", r#"{"to": "bbo", "body": "two"}"#);
        world.ok(&["rejected", "retry", &again, &right]);
        assert_eq!(pending(), Some(0));
        assert!(world.room("pending.json").exists());
        assert_eq!(world.read("pending.json")["pending"], json!({}));
    }
}
