//! `mailbag rejected`

use crate::files;
use crate::world::{World, parse_json};
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
fn a_retried_file_is_accepted_once_its_recipient_exists() {
    let world = world();
    let number = seq(&world, "one.json");
    let ran = world.run(&["rejected", "retry", &number]);
    assert!(
        ran.code == 65
            && ran.out.contains("rejected again")
            && ran.out.contains("did you mean bob"),
        "{ran:?}"
    );
    assert_eq!(listed(&world)[2], ("alice".into(), "one.json".into()));
    world.ok("agent add bbo");
    let retried = world.items("rejected retry one.json");
    assert_fields!(retried[0], event: "accepted", recipients: ["bbo"]);
    assert_eq!(world.bodies("bbo"), ["one"]);
    assert_eq!(world.inbox("bbo")[0]["from"], "alice");
    assert!(
        !listed(&world)
            .iter()
            .any(|(_, name)| name.contains("one.json")),
        "nothing of it is left"
    );
    assert!(
        world
            .names("rejected/alice")
            .iter()
            .all(|name| name.contains("two"))
    );
}

#[test]
fn files_that_are_sent_again_together_arrive_in_their_first_order() {
    // P290
    let world = World::alice_and_bob();
    let bodies: Vec<String> = (1..=12).map(|n| format!("step {n:02}")).collect();
    for body in &bodies {
        world.mail(
            "alice",
            &format!("{body}.json"),
            json!({"to": "carol", "body": body}),
        );
    }
    world.pass();
    world.ok("agent add carol");
    world.ok("rejected retry --all");
    assert_eq!(world.bodies("carol"), bodies);
}

#[test]
fn a_corrected_file_replaces_the_rejected_one() {
    let world = world();
    let mended = world.path().join("mended.json");
    files::write(&mended, r#"{"to": "bob", "body": "mended"}"#);
    let path = mended.to_string_lossy();
    let _router = world.router("");
    assert_contains!(
        world.ok(&["rejected", "retry", "one.json", &path]),
        "of alice: accepted as #",
        "for bob"
    );
    world.wait("bob has it", || {
        world.bodies("bob").contains(&"mended".to_owned())
    });
    assert!(mended.exists() && !listed(&world).iter().any(|(_, name)| name == "one.json"));
    assert_contains!(
        world.fails(2, &["rejected", "retry", "--agent", "alice", &path]),
        "--agent"
    );
    let said = world.fails(3, "rejected retry two.json nowhere.json");
    assert!(
        said.contains("nowhere.json") && listed(&world).len() == 2,
        "{said}"
    );
}

#[test]
fn retry_all_rejects_files_of_a_retired_agent_and_otherwise_retries_each() {
    let world = world();
    world.ok("agent add bbo");
    world.ok("agent set bob --status retired");
    let said = world.fails(2, "rejected retry --all");
    assert!(
        said.contains("mailbag agent set bob --status offline") && listed(&world).len() == 3,
        "{said}"
    );
    let ran = world.run("rejected retry --agent alice --json");
    let retried = parse_json(&ran.out);
    let retried = &retried["retried"];
    assert_eq!(
        (ran.code, &retried[0]["event"], &retried[1]["event"]),
        (65, &json!("accepted"), &json!("rejected"))
    );
    assert!(retried[1]["problems"][0]["code"].is_string(), "{retried}");
    assert_eq!(world.names("outbox/alice"), Vec::<String>::new());
}

#[test]
fn drop_deletes_only_the_named_rejected_files() {
    let world = world();
    let before = world.everything();
    assert_contains!(world.fails(2, "rejected drop --all"), "--yes");
    assert_contains!(world.fails(2, "rejected drop"), "SEQ|NAME");
    assert_eq!(world.everything(), before);
    assert_eq!(
        world.ok("rejected drop one.json one.json --yes").trim(),
        "removed 1 rejected file"
    );
    assert_eq!(listed(&world).len(), 2);
    assert_eq!(
        world
            .items("rejected drop --all --yes")
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    assert_eq!(
        (listed(&world).len(), world.names("rejected/alice")),
        (0, Vec::new())
    );
    assert_eq!(world.json("status")["rejected"], json!([]));
}

#[test]
fn a_rejection_of_the_person_leaves_pending_when_its_file_is_dropped() {
    let world = world();
    world.drop_file("human", "own.json", r#"{"to": "nobody", "body": "x"}"#);
    let items = || world.json("pending")["items"].clone();
    assert_eq!(items()[0]["kind"], "rejection");
    world.ok("rejected drop own.json --yes");
    assert_eq!(items(), json!([]));
    let agents: Vec<Value> = world.inbox("alice");
    world.ok("rejected drop --all --yes");
    assert_eq!(
        world.inbox("alice"),
        agents,
        "an agent still reads its bounce"
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
    assert_contains!(world.fails(3, "rejected retry taken.json"), "was removed");
    assert_contains!(world.ok("rejected show 900"), "cannot read its explanation");
    assert_eq!(
        world.ok("rejected drop --all --yes").trim(),
        "removed 4 rejected files"
    );
    assert_eq!(
        (
            world.names("rejected/alice"),
            world.room("rejected/alice/notes.txt").exists()
        ),
        (Vec::new(), true)
    );
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
fn a_rejected_line_is_shown_and_retried_as_its_own_file() {
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
    world.ok("agent add bbo");
    assert_contains!(world.ok("rejected retry --all"), "for bbo");
    assert_eq!(
        (world.bodies("bbo"), world.bodies("bob")),
        (vec!["two".to_owned()], vec!["one".to_owned()])
    );
    assert_eq!(world.items("rejected list"), json!([]));
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
fn retry_sends_a_fully_rejected_file_of_lines_once_under_every_name() {
    let world = lines(&[1, 2, 3]);
    let listed = world.items("rejected list");
    assert_eq!(
        (listed.as_array().map(Vec::len), &listed[0]["line"]),
        (Some(3), &json!(1)),
        "{listed}"
    );
    world.ok("agent add bbo");
    let retried = world.items("rejected retry turn.ndjson");
    assert_eq!(retried.as_array().map(Vec::len), Some(3), "{retried}");
    assert_eq!(world.bodies("bbo").len(), 3);
    // No entry or explanation of this number remains.
    for one in listed.as_array().expect("a list") {
        world.fails(3, &["rejected", "retry", &one["seq"].to_string()]);
    }
    assert_eq!(world.bodies("bbo").len(), 3);
    assert_eq!(
        std::fs::read_dir(world.room("rejected/alice"))
            .map(Iterator::count)
            .unwrap_or_default(),
        0
    );
    assert_eq!(
        (
            world.items("rejected list"),
            world.json("status")["rejected"].clone()
        ),
        (json!([]), json!([]))
    );
}

#[test]
fn a_file_of_lines_is_removed_after_each_line_was_retried() {
    let world = lines(&[1, 2, 3]);
    world.ok("agent add bbo");
    let seqs: Vec<String> = world
        .items("rejected list")
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["seq"].to_string())
        .collect();
    for (n, seq) in seqs.iter().enumerate() {
        world.ok(&["rejected", "retry", &format!("#{seq}")]);
        assert_eq!(world.bodies("bbo").len(), n + 1);
    }
    assert_eq!(
        std::fs::read_dir(world.room("rejected/alice"))
            .map(Iterator::count)
            .unwrap_or_default(),
        0
    );
}

#[test]
fn the_name_of_a_file_means_all_its_refused_lines_and_of_two_files_neither() {
    let world = lines(&[2, 3]);
    assert_contains!(
        world.fails(2, "rejected show turn.ndjson"),
        "(line 2)",
        "(line 3)"
    );
    world.ok("agent add bbo");
    world.route(
        "alice",
        "turn.ndjson",
        "{\"to\": \"nobody\", \"body\": \"another file\"}\n",
    );
    assert_contains!(
        world.fails(2, "rejected retry turn.ndjson"),
        "(line 1)",
        "(line 2)"
    );
    assert_eq!(
        world
            .items(&[
                "rejected",
                "drop",
                &world.items("rejected list")[2]["seq"].to_string(),
                "--yes"
            ])
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    world.ok("rejected retry turn.ndjson");
    let mut bodies = world.bodies("bbo");
    bodies.sort();
    assert_eq!(
        (bodies, world.bodies("bob")),
        (
            vec!["line 2".to_owned(), "line 3".to_owned()],
            vec!["line 1".to_owned()]
        )
    );
}
