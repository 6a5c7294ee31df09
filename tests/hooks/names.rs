//! Sessions without a name: each gets one, keeps it, and no two get the same.

use super::{mail, recorded, room, run};
use crate::files;
use crate::world::{Words, World, lossy, parse_json};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The text that a client's hook gives to a session.
#[track_caller]
pub(super) fn told_by(
    world: &World,
    client: &str,
    args: &[&str],
    (session, event): (&str, &str),
) -> String {
    let output = run(
        world,
        &[&[client], args].concat(),
        None,
        &of(client, session, event),
    );
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = lossy(&output.stdout);
    let answer: Value = serde_json::from_str(&text).unwrap_or_default();
    let context = answer["hookSpecificOutput"]["additionalContext"].as_str();
    context
        .or(answer["reason"].as_str())
        .unwrap_or_default()
        .to_owned()
}

#[track_caller]
pub(super) fn told(world: &World, session: &str, event: &str) -> String {
    told_by(world, "claude", &[], (session, event))
}

/// A recorded input of another session.
pub(super) fn of(client: &str, session: &str, event: &str) -> String {
    let mut input = parse_json(recorded(client, event));
    input["session_id"] = session.into();
    input.to_string()
}

/// The agent of a session, by its lease.
pub(super) fn agent_of(world: &World, session: &str) -> Option<String> {
    let leases = world.names("sessions").into_iter();
    let ours = leases
        .map(|name| world.read(&format!("sessions/{name}")))
        .find(|lease| lease["session"] == session && lease["ended"] != true);
    Some(ours?["agent"].as_str()?.to_owned())
}

pub(super) fn registered(world: &World, agent: &str) -> Value {
    let registry = world.read("registry.json");
    let agents = registry["agents"].as_array().cloned().unwrap_or_default();
    agents
        .into_iter()
        .find(|one| one["id"] == agent)
        .unwrap_or_default()
}

/// Sets the time of a session's last call.
fn last_called(world: &World, agent: &str, at: &str) {
    let file = format!("sessions/{agent}.json");
    let mut lease = world.read(&file);
    lease["last"] = json!(at);
    world.write(&file, lease.to_string());
}

/// Runs a command in a session.
pub(super) fn in_session(
    world: &World,
    session: &str,
    args: &(impl Words + ?Sized),
) -> crate::world::Ran {
    world.run_env(args, "CLAUDE_CODE_SESSION_ID", session)
}

#[test]
fn two_sessions_in_one_directory_get_a_name_each_and_their_own_mail() {
    // P190, P429
    let world = room();
    let first = told(&world, "s1", "SessionStart-startup");
    assert_contains!(first, "mailbag: this session is alder in ");
    assert_contains!(
        first,
        "`mailbag join NAME` changes it; `mailbag read` shows mail, "
    );
    assert!(
        first.ends_with("`mailbag reply ID TEXT` answers") && !first.contains("s1"),
        "{first}"
    );
    assert_eq!(first.lines().count(), 1, "{first}");
    assert_contains!(
        told(&world, "s2", "SessionStart-startup"),
        "this session is aspen in "
    );
    assert_eq!(registered(&world, "alder")["session"], "claude:s1");
    world.send("bob", "alder", "for the first");
    world.send("bob", "aspen", "for the second");
    let (first, second) = (
        told(&world, "s1", "UserPromptSubmit"),
        told(&world, "s2", "UserPromptSubmit"),
    );
    assert!(
        first.contains("for the first") && !first.contains("for the second"),
        "{first}"
    );
    assert!(
        second.contains("for the second") && !second.contains("for the first"),
        "{second}"
    );
    let sent = world.run_env("send bob hello", "CLAUDE_CODE_SESSION_ID", "s2");
    sent.ok();
    world.wait("it is there", || {
        world
            .inbox("bob")
            .iter()
            .any(|mail| mail["from"] == "aspen")
    });
}

#[test]
fn three_simultaneous_clients_get_three_names() {
    // P190
    let world = room();
    for client in ["claude", "codex", "gemini"] {
        told_by(&world, client, &[], (client, "SessionStart-startup"));
    }
    for (agent, client) in [("alder", "claude"), ("aspen", "codex"), ("birch", "gemini")] {
        assert_eq!(agent_of(&world, client).as_deref(), Some(agent));
        world.send("bob", agent, &format!("for {client}"));
    }
    for (client, event) in [
        ("claude", "UserPromptSubmit"),
        ("codex", "UserPromptSubmit"),
        ("gemini", "BeforeAgent"),
    ] {
        let text = told_by(&world, client, &[], (client, event));
        assert!(
            text.contains(&format!("for {client}")) && text.matches("for ").count() == 1,
            "{text}"
        );
    }
}

#[test]
fn sessions_that_start_in_the_same_moment_get_different_names() {
    // P190
    let world = room();
    let sessions: Vec<String> = (0..8).map(|n| format!("s{n}")).collect();
    std::thread::scope(|scope| {
        for session in &sessions {
            // A session may have several processes that start at the same time.
            for _ in 0..2 {
                scope.spawn(|| told(&world, session, "SessionStart-startup"));
            }
        }
    });
    let names: BTreeSet<String> = sessions
        .iter()
        .filter_map(|session| agent_of(&world, session))
        .collect();
    assert_eq!(names.len(), 8, "{names:?}");
    let agents = world.read("registry.json")["agents"]
        .as_array()
        .map(Vec::len);
    assert_eq!(
        agents,
        Some(8 + 3),
        "one agent each, beside alice, bob and the human"
    );
}

#[test]
fn a_resumed_session_keeps_its_name_also_without_its_lease_and_a_session_after_a_kill_gets_another()
{
    // P190
    let world = room();
    told(&world, "s1", "SessionStart-startup");
    world.send("bob", "alder", "before the kill");
    // Killed: no event reports it.
    assert_contains!(
        told(&world, "s2", "SessionStart-startup"),
        "this session is aspen"
    );
    assert_contains!(told(&world, "s1", "SessionStart-resume"), "before the kill");
    assert_eq!(agent_of(&world, "s1").as_deref(), Some("alder"));
    assert!(!told(&world, "s2", "UserPromptSubmit").contains("before the kill"));
    files::remove_dir(world.room("sessions"));
    world.send("bob", "alder", "hello");
    assert_contains!(
        told(&world, "s1", "SessionStart-resume"),
        "this session is alder",
        "hello"
    );
}

#[test]
fn a_session_sees_its_name_again_after_its_context_was_compacted() {
    // P190
    let world = room();
    told(&world, "s1", "SessionStart-startup");
    assert_eq!(told(&world, "s1", "UserPromptSubmit"), "");
    assert_eq!(
        told(&world, "s1", "SessionStart-resume"),
        "",
        "it knows its name"
    );
    assert_contains!(
        told(&world, "s1", "SessionStart-compact"),
        "this session is alder"
    );
}

#[test]
fn a_name_is_free_again_a_day_after_its_session_unless_something_belongs_to_it() {
    // P190
    let world = room();
    for (n, agent) in ["alder", "aspen", "birch", "cedar"].into_iter().enumerate() {
        let session = format!("s{n}");
        assert!(told(&world, &session, "SessionStart-startup").contains(agent));
    }
    world.send("bob", "alder", "unread");
    world.ok("claim src --as aspen");
    world.send("birch", "bob", "an open thread");
    world.wait("all are delivered", || {
        world.inbox("bob").len() == 1 && world.inbox("alder").len() == 1
    });
    for agent in ["alder", "aspen", "birch", "cedar"] {
        let session = world.read(&format!("sessions/{agent}.json"))["session"].clone();
        if agent != "aspen" {
            told(
                &world,
                session.as_str().expect("a text"),
                "SessionEnd-other",
            );
        }
    }
    assert_contains!(told(&world, "new", "SessionStart-startup"), "this session is larch"; "all are kept for a day");
    for agent in ["alder", "aspen", "birch", "cedar"] {
        last_called(&world, agent, "2026-01-01T00:00:00Z");
    }
    assert_contains!(
        told(&world, "newer", "SessionStart-startup"),
        "this session is cedar"
    );
    assert_eq!(registered(&world, "cedar")["session"], "claude:newer");
    assert_eq!(registered(&world, "cedar")["status"], Value::Null);
}

#[test]
fn mail_to_all_reaches_the_sessions_that_run_and_mail_to_a_name_waits() {
    // P190
    let world = room();
    told(&world, "s1", "SessionStart-startup");
    told(&world, "s2", "SessionStart-startup");
    told(&world, "s1", "SessionEnd-other");
    // P77
    let who = world.json("who");
    let agents = who["agents"].as_array().expect("a list");
    let alder = agents.iter().find(|one| one["id"] == "alder");
    let alder = alder.expect("alder");
    assert_eq!(alder["presence"], "offline");
    assert!(alder["last_seen"].is_string(), "{alder}");
    world.send("bob", "all", "to everybody");
    world.send("bob", "alder", "to one");
    assert_eq!(
        (world.bodies("alder"), world.bodies("aspen")),
        (vec!["to one".into()], vec!["to everybody".into()])
    );
    assert_contains!(told(&world, "s1", "SessionStart-resume"), "to one");
    world.send("bob", "all", "again");
    assert_eq!(
        world.bodies("alder").last().map(String::as_str),
        Some("again"),
        "it is there again"
    );
}

#[test]
fn a_cleared_session_keeps_its_given_name_and_sees_it() {
    // P82, P190
    let world = room();
    told(&world, "s1", "SessionStart-startup");
    told(&world, "s1", "UserPromptSubmit");
    told(&world, "s1", "SessionEnd-clear");
    let cleared = told(&world, "s2", "SessionStart-clear");
    assert_contains!(
        cleared,
        "this session is alder",
        "`mailbag read` shows mail"
    );
    assert_eq!(registered(&world, "alder")["session"], "claude:s2");
    told(&world, "s2", "SessionEnd-other");
    world.ok("send all hello --as bob");
    assert!(world.bodies("alder").is_empty(), "its session has ended");
}

#[test]
fn a_session_with_a_role_takes_a_free_agent_of_that_role() {
    // P190
    let world = room()
        .agent("e1", "--role engineer")
        .agent("e2", "--role engineer");
    world.send("bob", "e1", "unread");
    let start = |session: &str| {
        told_by(
            &world,
            "claude",
            &["--role", "engineer"],
            (session, "SessionStart-startup"),
        )
    };
    assert_contains!(start("s1"), "this session is e2"; "e1 has mail");
    assert_contains!(start("s2"), "this session is alder"; "no other engineer is free");
    assert_eq!(registered(&world, "alder")["role"], "engineer");
    assert_contains!(told(&world, "s3", "SessionStart-startup"), "this session is aspen"; "no role, no agent of it");
}

#[test]
fn a_sub_agent_gets_no_name_and_a_session_without_a_terminal_gets_one() {
    // P190
    let world = room();
    for event in [
        "PostToolBatch-helper",
        "SubagentStart-helper",
        "SubagentStop-helper",
    ] {
        assert_eq!(told(&world, "s1", event), "", "{event}");
    }
    assert_eq!(agent_of(&world, "s1"), None);
    let mut headless = world.program("hook claude");
    headless
        .env("CLAUDE_CODE_SESSION_ATTENDED", "0")
        .env("CLAUDE_CODE_SESSION_ID", "p1")
        .write_stdin(of("claude", "p1", "SessionStart-startup"));
    let started = headless.output().expect("the program runs");
    assert_contains!(lossy(started.stdout), "this session is alder");
    // A sub-agent of it runs its commands as the session does.
    let sent = world.run_env("send bob x", "CLAUDE_CODE_SESSION_ID", "p1");
    sent.ok();
    world.wait("it is there", || {
        world
            .inbox("bob")
            .iter()
            .any(|mail| mail["from"] == "alder")
    });
}

#[test]
fn a_room_that_cannot_be_changed_and_a_copy_give_no_name() {
    // P190
    let world = room();
    world.send("bob", "human", "x");
    let mut place = world.read("spool/place");
    place["inode"] = json!(1);
    world.write("spool/place", place.to_string());
    assert_contains!(
        told(&world, "s1", "SessionStart-startup"),
        "is unidentified",
        "mailbag join NAME"
    );
}

#[test]
fn the_first_mail_of_a_session_says_how_to_read_it() {
    // P193
    let world = room();
    told(&world, "s1", "SessionStart-startup");
    let seq = |body: &str| {
        let id = world.send("bob", "alder", body);
        let mail = world
            .inbox("alder")
            .into_iter()
            .find(|mail| mail["id"] == id.trim());
        mail.and_then(|mail| mail["delivery"]["seq"].as_u64())
            .expect("it is delivered")
    };
    let first = seq("one");
    let text = told(&world, "s1", "UserPromptSubmit");
    let hint = format!("\n`mailbag read {first}` shows it, `mailbag reply {first} TEXT` answers");
    assert!(text.ends_with(&hint), "{text}");
    seq("two");
    let text = told(&world, "s1", "UserPromptSubmit");
    assert!(
        text.contains("two") && !text.contains("mailbag read"),
        "once a session: {text}"
    );
    assert_contains!(told(&world, "s1", "SessionStart-compact"), "`mailbag read"; "its context was emptied");
}

#[test]
fn the_hook_of_a_client_with_tools_names_the_tool() {
    // P193
    let world = room();
    let server = json!({"mcpServers": {"mailbag": {"command": "mailbag", "args": ["mcp"]}}});
    world.write("../.mcp.json", server.to_string());
    mail(&world, "hello", "");
    let mut input = parse_json(recorded("claude", "SessionStart-startup"));
    input["cwd"] = json!(world.path());
    let output = run(
        &world,
        &["claude", "--as", "alice"],
        None,
        &input.to_string(),
    );
    assert_contains!(
        lossy(&output.stdout),
        "`fetch_inbox` or `mailbag read 2` shows it, `reply_message` or `mailbag reply 2 TEXT`"
    );
}

#[test]
fn a_command_takes_the_next_free_name_and_a_name_of_another_session_can_be_joined() {
    // P190
    let world = room();
    let joined = in_session(&world, "s1", "join").ok();
    assert_eq!(joined, "this session is alder; 0 unread messages\n");
    assert_eq!(in_session(&world, "s1", "join").ok(), joined, "it keeps it");
    told(&world, "s1", "SessionEnd-other");
    in_session(&world, "s2", "join alder").ok();
    assert_eq!(
        (
            &registered(&world, "alder")["session"],
            &registered(&world, "alder")["status"]
        ),
        (&Value::Null, &Value::Null)
    );
    assert_contains!(told(&world, "s1", "SessionStart-resume"), "no longer alder");
}
