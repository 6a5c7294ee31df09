//! The session of each agent: joining, commands that find their agent, and the rejection of a
//! second session.

use crate::files;
use crate::town::so_within;
use crate::world::{Ran, Words, World, lossy, parse_json};
use serde_json::json;
use std::process::Stdio;
use std::time::Duration;

/// A room with alice and bob.
fn room() -> World {
    World::alice_and_bob()
}

/// Runs the program in a session of Claude Code.
fn in_session(world: &World, session: &str, args: &(impl Words + ?Sized)) -> Ran {
    at(world, session, "10:00", args)
}

/// The same at that time of one day.
fn at(world: &World, session: &str, time: &str, args: &(impl Words + ?Sized)) -> Ran {
    world.run_with(args, |command| {
        command
            .env("CLAUDE_CODE_SESSION_ID", session)
            .env("MAILBAG_TEST_NOW", format!("2026-01-05T{time}:00Z"));
    })
}

fn who_am_i(world: &World, session: &str) -> String {
    let sent = parse_json(in_session(world, session, "send human 'who am i' --json").ok());
    let file = sent["file"].as_str().unwrap_or_default().to_owned();
    file.split('/').nth(1).unwrap_or_default().to_owned()
}

#[test]
fn a_session_that_joined_needs_no_as() {
    let world = room();
    let joined = in_session(&world, "s1", "join alice").ok();
    assert_eq!(joined, "this session is alice; 0 unread messages\n");
    assert_eq!(who_am_i(&world, "s1"), "alice");
    let nobody = in_session(&world, "s2", "send human 'who am i'");
    assert_contains!(nobody.fails(2), "mailbag join");
}

#[test]
fn join_without_a_session_id_explains_how_to_give_one() {
    assert_contains!(
        room().fails(2, &["join", "alice"]),
        "CLAUDE_CODE_SESSION_ID",
        "--session"
    );
    let world = room();
    world.ok("join alice --session 0199-a --client codex");
    let lease = world.read("sessions/alice.json");
    assert_fields!(lease, client: "codex", session: "0199-a");
    assert_contains!(
        world.fails(2, "join alice --session ../x"),
        "not a valid session id"
    );
}

/// The person gives alice to the session s2.
fn take_over(world: &World) {
    let args = [
        "join",
        "alice",
        "--session",
        "s2",
        "--client",
        "claude",
        "--take-over",
    ];
    let ran = world.run_env(&args, "MAILBAG_TEST_NOW", "2026-01-05T10:00:00Z");
    ran.ok();
}

#[test]
fn a_second_session_is_refused_with_who_holds_the_agent() {
    // P82
    let world = room();
    in_session(&world, "s1", "join alice");
    assert_contains!(
        in_session(&world, "s2", "join alice").fails(75),
        "alice is held by claude session s1",
        "--take-over --session s2`"
    );
    assert_contains!(
        in_session(&world, "s2", "join alice --take-over").fails(2),
        "only a person can take over the name of a live session"
    );
    take_over(&world);
    assert_eq!(who_am_i(&world, "s2"), "alice");
    assert_eq!(
        in_session(&world, "s1", "send human 'still me?'").code,
        75,
        "the first is nobody any more"
    );
}

#[test]
fn a_lease_lapses_when_no_call_renews_it() {
    // P80
    let world = room().settings("session_lease = \"10m\"\n");
    at(&world, "s1", "10:00", "join alice");
    at(&world, "s1", "10:08", "inbox");
    assert_eq!(
        at(&world, "s2", "10:17", "join alice").code,
        75,
        "renewed nine minutes ago"
    );
    assert_eq!(at(&world, "s2", "10:18", "join alice").code, 0);
}

#[test]
fn the_session_of_a_process_that_has_ended_holds_nothing() {
    // P80
    let world = room();
    in_session(&world, "s1", "join alice");
    let mut lease = world.read("sessions/alice.json");
    // No process was started before the machine was.
    lease["process"]["started"] = json!(0);
    world.write("sessions/alice.json", lease.to_string());
    assert_eq!(in_session(&world, "s2", "join alice").code, 0);
}

#[test]
fn a_session_has_one_agent_at_a_time() {
    // P82
    let world = room();
    in_session(&world, "s1", "join alice");
    in_session(&world, "s1", "join bob");
    assert_eq!(who_am_i(&world, "s1"), "bob");
    assert_eq!(
        in_session(&world, "s2", "join alice").code,
        0,
        "alice is free again"
    );
}

#[test]
fn a_new_agent_is_registered_only_with_its_role() {
    let world = room();
    let typo = in_session(&world, "s1", "join alicia");
    assert_contains!(typo.fails(3), "alice");
    assert_eq!(
        in_session(&world, "s1", "join carol --role tester").ok(),
        "this session is carol, newly registered; 0 unread messages\n"
    );
    assert_eq!(world.json("agent show carol")["role"], "tester");
    assert_eq!(
        in_session(&world, "s2", "join carol --role baker").code,
        2,
        "carol is no baker"
    );
}

#[test]
fn a_joined_name_takes_precedence_over_the_variable_but_not_over_as() {
    // P99
    let world = room();
    let said = |args: &[&str]| {
        let mut program = world.program(args);
        program
            .env("MAILBAG_AGENT", "bob")
            .env("CLAUDE_CODE_SESSION_ID", "s1")
            .output()
            .expect("the program runs")
    };
    assert!(
        said(&["send", "human", "as the variable says"])
            .status
            .success()
    );
    let join = said(&["join", "alice"]);
    let err = lossy(&join.stderr);
    assert!(
        join.status.success() && err.contains("MAILBAG_AGENT names bob"),
        "{err}"
    );
    assert!(said(&["send", "human", "as it joined"]).status.success());
    assert!(
        said(&["send", "human", "as it says now", "--as", "bob"])
            .status
            .success()
    );
    let from: Vec<String> = world
        .inbox("human")
        .iter()
        .map(|mail| mail["from"].to_string())
        .collect();
    assert_eq!(from, ["\"bob\"", "\"alice\"", "\"bob\""]);
}

#[test]
fn a_command_that_runs_as_an_agent_inside_of_a_session_is_that_agent() {
    let world = World::with("alice bob carol");
    in_session(&world, "s1", "join alice");
    let program = world.bare("").get_program().to_string_lossy().into_owned();
    let args = [
        "exec", "--id", "bob", "--", &program, "send", "carol", "who am i",
    ];
    in_session(&world, "s1", &args).ok();
    assert_eq!(world.inbox("carol")[0]["from"], "bob");
}

#[test]
fn an_agent_is_not_free_while_something_of_its_session_lives() {
    // P99
    let world = room().settings("session_lease = \"1s\"\n");
    at(&world, "s1", "10:00", "join alice");
    let mut wait = world.bare("wait --timeout 1h");
    wait.env("CLAUDE_CODE_SESSION_ID", "s1")
        .env("MAILBAG_TEST_NOW", "2026-01-05T10:00:00Z");
    let mut wait = wait
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    let holds = world.room("sessions/holds");
    world.wait("it waits", || {
        std::fs::read_dir(&holds).is_ok_and(|holds| holds.count() == 1)
    });
    assert_contains!(
        at(&world, "s2", "11:00", "join alice").fails(75),
        "alice is held by claude session s1"
    );
    wait.kill().and_then(|()| wait.wait()).expect("it ends");
    // A killed process holds nothing.
    at(&world, "s2", "11:00", "join alice").ok();
    assert_eq!(
        std::fs::read_dir(&holds).expect("a directory").count(),
        0,
        "and it was cleared away"
    );
}

#[test]
fn a_session_learns_that_its_agent_was_taken_over() {
    // P99
    let world = room();
    in_session(&world, "s1", "join alice");
    take_over(&world);
    assert_contains!(
        in_session(&world, "s1", "inbox").fails(75),
        "no longer alice: claude session s2"
    );
    // A session that reads its inbox without a lease gets mail.
    world.pass();
    let told = world.inbox("alice");
    assert_eq!((told.len(), told[0]["from"].as_str()), (1, Some("human")));
    let body = told[0]["body"].as_str().unwrap_or_default();
    assert!(
        body.starts_with("claude session s1") && body.contains("is no longer alice"),
        "{body}"
    );
    in_session(&world, "s1", "join bob");
    assert_eq!(who_am_i(&world, "s1"), "bob");
}

#[test]
fn torn_and_foreign_leases_are_ignored() {
    // P81
    let world = room();
    world.write("sessions/alice.json", "{\"agent\":\"ali");
    world.write(
        "sessions/bob.json",
        r#"{"agent":"alice","client":"x","session":"s1","since":"","last":""}"#,
    );
    world.write("sessions/notes.txt", "mine");
    assert_eq!(in_session(&world, "s1", "join alice").code, 0);
    assert_eq!(who_am_i(&world, "s1"), "alice");
    assert_eq!(world.text("sessions/notes.txt"), "mine");
}

#[test]
fn leases_can_be_deleted_at_any_time_and_no_mail_depends_on_them() {
    // P81
    let world = room();
    let hook = |event: &str| {
        let input =
            json!({"hook_event_name": event, "session_id": "s1", "source": "startup"}).to_string();
        world.pipe("hook claude --as alice", input).ok()
    };
    hook("SessionStart");
    files::remove_dir(world.room("sessions"));
    world.send("bob", "alice", "meanwhile");
    assert_eq!(world.bodies("alice"), ["meanwhile"]);
    assert_contains!(hook("UserPromptSubmit"), "meanwhile");
    assert_eq!(world.read("sessions/alice.json")["session"], "s1");
    in_session(&world, "s2", "join bob");
    files::remove_file(world.room("sessions/bob.json"));
    assert_eq!(
        in_session(&world, "s2", "inbox").code,
        2,
        "who joined has to join again"
    );
    assert_eq!(in_session(&world, "s2", "join bob").code, 0);
}

#[test]
fn a_lease_is_changed_by_one_at_a_time() {
    // P80
    let world = room();
    let lock = world.write("sessions/.lock", "");
    let held = std::fs::File::open(lock).expect("a file");
    held.lock().expect("nobody else has it");
    let mut join = world.bare("join alice --session s1");
    let mut join = join
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    let ended = so_within(Duration::from_millis(500), || {
        join.try_wait().expect("a child").is_some()
    });
    assert!(
        !ended && !world.room("sessions/alice.json").exists(),
        "it waits for the lock"
    );
    held.unlock().expect("it is ours");
    assert!(join.wait().expect("it ends").success());
    assert_eq!(world.read("sessions/alice.json")["session"], "s1");
}

#[test]
fn a_call_of_its_session_is_a_sign_of_life() {
    let world = room();
    let seen = |world: &World| {
        let roster = world.json("who");
        let agents = roster["agents"].as_array().cloned().unwrap_or_default();
        agents
            .into_iter()
            .find(|one| one["id"] == "alice")
            .unwrap_or_default()
    };
    assert_eq!(seen(&world)["presence"], "offline");
    world.ok("join alice --session s1");
    assert_eq!(seen(&world)["presence"], "online");
    assert!(seen(&world)["last_seen"].is_string());
}

#[test]
fn sessions_take_their_names_from_the_names_of_the_room() {
    // P404
    let world = World::with("alice").agent("bob", "--name Douro");
    let world = world.settings("names = [\"Sintra\", \"Douro\", \"Tejo\"]\n");
    let named = |session: &str| in_session(&world, session, "join").ok();
    assert!(
        named("s1").starts_with("this session is Sintra;"),
        "the first name of the room"
    );
    assert!(
        named("s2").starts_with("this session is Tejo;"),
        "bob is called Douro"
    );
    assert!(
        named("s3").starts_with("this session is Sintra2;"),
        "no name is left"
    );
    assert_eq!(who_am_i(&world, "s1"), "Sintra", "a session keeps its name");
    world.ok("send @Sintra hi --as alice");
    assert_eq!(world.bodies("Sintra"), ["hi"]);
}
