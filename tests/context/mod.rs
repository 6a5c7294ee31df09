//! The context that an agent needs to continue its work, within a budget.

mod starting;

use crate::approvals::{pass, run_at, say, time};
use crate::files;
use crate::town::Town;
use crate::world::{World, parse_json};
use serde_json::{Value, json};
use std::os::unix::fs::symlink;

const CHARTER: &str = "## Goals\n- Sign in with a passkey\n## Lanes\n- web: alice (src/web/**)\n- docs: bob\n\
    ## Acceptance criteria\n- All tests pass\n## Settings\n- branch: main\n";

/// A room with a charter, an open thread, a decision, claims and shared files.
fn room() -> Town {
    let town = Town::of("alice bob carol").quick();
    town.write("charter.md", CHARTER);
    town.write(
        "context/research/passkeys.md",
        "\n# What a passkey is\nmore\n",
    );
    town.write("context/logo.png", b"\x89PNG\0\0");
    for (n, (from, message)) in [
        (
            "bob",
            json!({"id": "q-1", "to": "alice", "type": "question", "requires_response": true, "subject": "Which port?",
            "body": "For the log-in.\nIt must be free."}),
        ),
        ("alice", json!({"id": "t-1", "to": "carol", "type": "task", "body": "Please test the form"})),
        ("carol", json!({"id": "t-2", "to": "alice", "in_reply_to": "t-1", "body": "It loses its input"})),
        ("bob", json!({"to": "all", "type": "announcement", "body": "Lunch"})),
        ("bob", json!({"id": "c-1", "to": "alice", "type": "task", "body": "Rename the crate"})),
        ("alice", json!({"type": "ack", "refs": ["c-1"], "status": "resolved"})),
        ("carol", json!({"to": "alice", "type": "decision", "subject": "We keep tokio", "body": "For the server."})),
        ("alice", json!({"type": "claim", "claims": ["src/web"], "subject": "The form"})),
        ("bob", json!({"to": "carol", "type": "question", "body": "Not for alice"})),
    ]
    .into_iter()
    .enumerate()
    {
        town.mail(from, &format!("{n}.json"), message);
        town.pass_here();
    }
    town
}

#[test]
fn an_agent_gets_its_open_threads_goals_decisions_claims_and_the_files() {
    // P174
    let town = room();
    let context = town.json("context --as alice");
    let threads = context["conversation"].as_array().expect("threads");
    assert_eq!(threads.len(), 2, "closed and announced ones are not open");
    assert_fields!(threads[0], messages.0.about: "Which port?", awaits_answer: true);
    assert_fields!(threads[1], messages.0.about: "It loses its input", total: 2);
    let session = &context["session"];
    assert_fields!(session, goals: ["Sign in with a passkey"], claims: ["src/web"]);
    assert_fields!(session, lanes.0.name: "web", decisions.0.about: "We keep tokio");
    assert_eq!(session["lanes"].as_array().map(Vec::len), Some(1));
    let files = context["project"]["files"].as_array().expect("files");
    let of = |path: &str| files.iter().find(|file| file["path"] == path).expect("it");
    assert_fields!(of("research/passkeys.md"), first_line: "# What a passkey is");
    assert_fields!(of("logo.png"), first_line: Value::Null, size: 6);
    let text = town.ok("context --as alice");
    assert_contains!(
        text,
        "- “Sign in with a passkey”",
        "- web (src/web/**)",
        "- src/web",
        "“Which port?”: “For the log-in. It must be free.”",
        "1 message, your answer is expected:",
        "- research/passkeys.md, 26 B: “# What a passkey is”"
    );
    assert!(
        !text.contains("Not for alice") && !text.contains("Rename the crate"),
        "{text}"
    );
}

#[test]
fn the_context_stays_within_its_budget_and_drops_the_least_valuable_entries_first() {
    // P174
    let town = room();
    for n in 0..60 {
        town.write(
            &format!("context/notes/{n:02}.md"),
            format!("# Note {n} {}\n", "long ".repeat(30)),
        );
        town.mail(
            "bob",
            &format!("m{n}.json"),
            json!({"to": "alice", "thread_id": format!("t{}", n % 8),
            "subject": format!("Thread {} on the new log-in page of the web", n % 8), "body": format!("Step {n} {}", "and so on ".repeat(20))}),
        );
    }
    town.ok("run --once -q");
    let text = town.ok("context --as alice");
    let data = town.json("context --as alice");
    let tokens = text.trim_end_matches('\n').len().div_ceil(4);
    assert!((900..=1000).contains(&tokens), "{tokens}: {text}");
    assert_eq!(data["tokens"], json!(tokens));
    assert_contains!(text, "left out: ", "Sign in with a passkey", "- src/web");
    assert!(
        text.matches("# Note").count() <= 3,
        "files go first: {text}"
    );
    assert_eq!(text.matches("“Thread").count(), 8, "no thread goes: {text}");
}

#[test]
fn an_empty_room_an_unidentified_session_and_a_stranger() {
    let world = World::with("alice");
    let text = world.ok("context --as alice");
    assert_eq!(text.lines().count(), 1, "{text}");
    let unnamed = world.run_env("context", "MAILBAG_TEST_ANCESTRY", "unknown");
    assert_contains!(unnamed.fails(2), "unidentified session");
    assert_contains!(world.fails(3, "context --as nobody"), "no agent is called");
    World::empty().fails(3, "context --as alice");
}

#[test]
fn links_fifos_and_drafts_among_the_shared_files_are_not_followed_and_nothing_hangs() {
    let world = World::with("alice");
    world.write("context/a/real.md", "real");
    world.write("context/a/.tmp-draft", "draft");
    world.write("secret", "secret");
    symlink(world.room("secret"), world.room("context/a/link.md")).expect("a link");
    symlink(world.room("spool"), world.room("context/spool")).expect("a link");
    files::make_fifo(world.room("context/a/fifo.md"));
    let context = world.json("context --as alice");
    let files = context["project"]["files"].as_array().expect("files");
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(files[0]["path"], "a/real.md");
    files::remove_dir(world.room("context"));
    assert_fields!(world.json("context --as alice"), project.total: 0);
}

#[test]
fn a_read_only_room_is_read() {
    let town = room();
    let before = town.everything();
    assert_contains!(town.ok("context --as alice"), "Which port?");
    assert_eq!(town.everything(), before, "a look changes nothing");
}

#[test]
fn a_question_that_expired_unread_is_no_open_thread() {
    // P174
    let world = World::alice_and_bob();
    let question =
        json!({"to": "bob", "type": "question", "body": "lunch?", "expires_at": time(5)});
    say(&world, 0, "alice", question);
    let open = |agent: &str, minute: u64| {
        let shown = run_at(&world, minute, &["context", "--as", agent, "--json"]);
        let shown = parse_json(&shown);
        shown["conversation"].as_array().map_or(0, Vec::len)
    };
    assert_eq!((open("alice", 1), open("bob", 1)), (1, 1));
    pass(&world, 6);
    assert_eq!((open("alice", 7), open("bob", 7)), (0, 0));
}

#[test]
fn an_open_approval_awaits_its_decider_and_a_decided_one_is_a_decision() {
    let town = Town::alice_and_bob().quick();
    let said = |from: &str, message: Value| {
        town.mail(from, "x.json", message);
        town.pass_here();
        town.json("context --as alice")
    };
    let context = said(
        "bob",
        json!({"id": "deploy", "to": "alice", "type": "approval", "subject": "Deploy?", "body": "It is ready."}),
    );
    let thread = &context["conversation"][0];
    assert_fields!(thread, awaits_answer: true, messages.0.about: "Deploy?");
    assert_eq!(context["session"]["decisions"], json!([]));
    let context = said(
        "alice",
        json!({"type": "decision", "in_reply_to": "deploy", "option": "no"}),
    );
    assert_eq!(context["conversation"], json!([]));
    let decision = &context["session"]["decisions"][0];
    assert_fields!(decision, about: "Deploy?", text: "no", from: "alice");
    assert_contains!(
        town.ok("context --as bob"),
        "approval.decided from alice, “Deploy?”: “no”"
    );
}
