//! Huge numbers of unread messages: listing, announcing and taking read only the beginnings of
//! files, and use little memory.

use crate::files;
use crate::hooks::{fire, recorded};
use crate::world::{Ran, Words, World};
use serde_json::{Value, json};

/// The memory limit of a command here, in KiB: far less than the size of the mail that it reads.
const MOST: u32 = 32 << 10;

/// Puts this number of copies of a delivered message into an inbox.
fn multiply(world: &World, agent: &str, times: usize) {
    let name = world.names(&format!("inbox/{agent}")).remove(0);
    let (stamp, rest) = name.split_at(16);
    let bytes = files::read(world.room(&format!("inbox/{agent}/{name}")));
    let own: usize = rest[..6].parse().expect("microseconds");
    for n in 1..=times {
        // Other microseconds than the original's, or the copy would replace it.
        let name = format!("{stamp}{:06}{}", (own + n) % 1_000_000, &rest[6..]);
        files::write(world.room(&format!("inbox/{agent}/{name}")), &bytes);
    }
}

/// Runs the program where it can't have more memory than that.
fn small(world: &World, args: &(impl Words + ?Sized), input: &str) -> Ran {
    let program = world.bare(args);
    let mut shell = assert_cmd::Command::new("sh");
    shell
        .arg("-c")
        .arg(format!("ulimit -d {MOST}; exec \"$0\" \"$@\""))
        .arg(program.get_program())
        .args(program.get_args());
    shell
        .current_dir(world.path())
        .env("MAILBAG_AGENT", "alice")
        .env("NO_COLOR", "1")
        .write_stdin(input);
    Ran::of(&mut shell)
}

#[test]
fn sixty_large_messages_cost_a_listing_a_hook_and_a_wait_no_memory() {
    let world = World::alice_and_bob();
    let body = "the beginning\n".to_owned() + &"x".repeat(1_000_000);
    for n in 0..=60 {
        let mail = json!({"to": "alice", "body": body, "subject": "large"});
        world.mail("bob", &format!("m{n}.json"), &mail);
        // A program without optimisation needs most of a second for each.
        if n % 10 == 0 {
            world.pass();
        }
    }
    let listed = small(&world, "inbox", "").ok();
    assert_eq!(
        listed
            .lines()
            .filter(|line| line.ends_with("large"))
            .count(),
        50,
        "{listed}"
    );
    assert_contains!(
        small(
            &world,
            "hook claude",
            &recorded("claude", "SessionStart-startup"),
        )
        .ok(),
        "61 unread",
        "“large”"
    );
    let waited = small(&world, "wait --type message --json", "").ok();
    assert!(
        waited.len() > 1_000_000,
        "the one that is shown is whole: {}",
        waited.len()
    );
}

#[test]
fn short_fields_precede_the_body_in_each_copy() {
    // P104
    let world = World::alice_and_bob();
    let long = "y".repeat(150_000);
    let mail = json!({
        "mood": &long, "metadata": {"m": &long}, "context": {"c": &long}, "refs": [], "body": format!("begin\n{long}"),
        "to": ["alice", "bob"], "type": "question", "priority": "high", "requires_response": true, "subject": "last",
    });
    world.route("bob", "m.json", &mail);
    let copy =
        files::read_text(world.room(&format!("inbox/alice/{}", world.names("inbox/alice")[0])));
    let fields: serde_json::Map<String, Value> = serde_json::from_str(&copy).expect("JSON");
    let body = copy.find("\"body\"").expect("a body");
    for name in [
        "delivery",
        "type",
        "priority",
        "requires_response",
        "subject",
        "from",
        "id",
    ] {
        assert!(
            copy.find(&format!("\"{name}\""))
                .is_some_and(|at| at < body && at < 4096),
            "{name}"
        );
    }
    assert_eq!(
        (&fields["mood"], &fields["metadata"]["m"]),
        (&json!(long), &json!(long))
    );
    let listed = world.items("inbox alice")[0].clone();
    let facts = [
        "type",
        "priority",
        "subject",
        "preview",
        "requires_response",
    ]
    .map(|name| listed[name].clone());
    assert_eq!(
        facts,
        [
            json!("question"),
            json!("high"),
            json!("last"),
            json!("begin"),
            json!(true)
        ]
    );
    assert_eq!(listed["seq"], fields["delivery"]["seq"]);
}

#[test]
fn a_large_file_placed_into_an_inbox_is_listed_with_fields_in_any_order() {
    let world = World::alice_and_bob();
    let body = "x".repeat(300_000);
    let text = format!(
        r#"{{"body": "{body}", "id": "m-1", "from": "bob", "type": "task", "subject": "behind"}}"#
    );
    world.write("inbox/alice/20260101T000000.000000Z-bob-m-1.json", text);
    world.write(
        "inbox/alice/20260101T000000.000001Z-bob-m-2.json",
        format!("{{\"body\": \"{body}"),
    );
    let listed = world.items("inbox alice");
    assert_eq!(listed[0]["problem"], "placed here directly, sender unknown");
    assert!(listed[1]["problem"].is_string(), "{listed}");
}

#[test]
fn a_hook_announces_each_message_of_a_very_large_inbox_once() {
    let world = World::alice_and_bob();
    world.send("bob", "alice", "the same");
    multiply(&world, "alice", 10_100);
    assert_contains!(fire(&world, "claude", "UserPromptSubmit"), "10101 unread");
    assert_eq!(fire(&world, "claude", "UserPromptSubmit"), "");
    world.send("bob", "alice", "news");
    assert_contains!(
        fire(&world, "claude", "UserPromptSubmit"),
        "10102 unread, 1 new:",
        "“news”"
    );
    assert_eq!(fire(&world, "claude", "UserPromptSubmit"), "");
    // A new session still hears of the unread mail.
    assert_contains!(fire(&world, "claude", "SessionStart-clear"), "10102 unread");
}

#[test]
fn every_list_of_mail_shows_the_newest_fifty_rows_and_notes_that_there_are_more() {
    let world = World::with(&["alice", "bob", "carol"]);
    for n in 0..60 {
        let place = match n {
            0 => "oldest",
            59 => "newest",
            _ => "other",
        };
        let mail = json!({
            "to": "bob", "type": "milestone", "thread_id": "road", "channel": "road",
            "subject": format!("row {place}"), "id": format!("{n:02}-{place}"), "body": "row",
        });
        world.drop_file("alice", &format!("{n:02}.json"), mail.to_string());
        world.drop_file("carol", &format!("{n:02}-{place}.json"), "{}");
    }
    world.pass();
    for list in [
        "inbox bob",
        "list --from alice",
        "search row",
        "thread road",
        "list --channel road",
        "list --events",
        "rejected list",
    ] {
        let run = |options: &str| {
            let ran = world.run(&*format!("{list} {options}"));
            let rows = ["oldest", "newest"].map(|row| ran.out.contains(row));
            (ran.code, rows, ran.err.contains("; --all shows all"))
        };
        assert_eq!(run(""), (0, [false, true], true), "{list}");
        assert_eq!(run("--last 59"), (0, [false, true], true), "{list}");
        assert_eq!(run("--last 60"), (0, [true, true], false), "{list}");
        assert_eq!(run("--all"), (0, [true, true], false), "{list}");
        assert_eq!(run("--json"), (0, [true, true], false), "{list}");
    }
}

#[test]
fn inbox_lists_the_newest_of_many_messages_and_reports_the_rest() {
    let world = World::alice_and_bob();
    world.ok("send alice x --subject many --as bob");
    multiply(&world, "alice", 300);
    let ran = world.run("inbox alice");
    assert_eq!(ran.out.lines().count(), 50);
    assert_contains!(ran.err, "newest 50 of 301 unread messages; --all shows all");
    assert_eq!(world.run("inbox alice -q").err, "");
    let ran = world.run("inbox alice --last 3");
    assert!(
        ran.out.lines().count() == 3 && ran.err.contains("newest 3 of 301"),
        "{ran:?}"
    );
    let ran = world.run("inbox alice --all");
    assert_eq!((ran.out.lines().count(), ran.err.as_str()), (301, ""));
    assert_eq!(
        world.items("inbox alice").as_array().map(Vec::len),
        Some(301),
        "data is whole"
    );
    assert_eq!(
        world.items("inbox alice --last 2").as_array().map(Vec::len),
        Some(2)
    );
}
