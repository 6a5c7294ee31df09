//! The agent of a client: by its environment, its session, or by registering; and the rejected
//! second client.

use super::Client;
use crate::files;
use crate::world::World;
use serde_json::{Value, json};

/// Changes the lease of alice, as another process does.
fn change_lease(world: &World, change: impl FnOnce(&mut Value)) {
    let mut lease = world.read("sessions/alice.json");
    change(&mut lease);
    world.write("sessions/alice.json", lease.to_string());
}

#[test]
fn an_unidentified_client_gets_an_error_that_names_register_agent() {
    let world = World::alice_and_bob();
    let client = Client::with(&world, &[], &[]);
    for tool in ["fetch_inbox", "wait_for_message"] {
        assert_contains!(client.fails(tool, json!({})), "register_agent");
    }
    assert_contains!(
        client.fails("send_message", json!({"to": "bob", "body": "x"})),
        "register_agent"
    );
    drop(client);
    let client = Client::session(&world, "s1");
    assert_contains!(client.text("list_agents", json!({})), "alice"; "looking needs no name");
    assert_eq!(
        client.text("register_agent", json!({"name": "alice"})),
        "you are alice; 0 unread messages"
    );
    assert_contains!(
        client.text("send_message", json!({"to": "bob", "body": "x"})),
        " to bob\n"
    );
    assert_eq!(world.inbox("bob")[0]["from"], "alice");
    let lease = world.read("sessions/alice.json");
    assert_eq!(
        (&lease["session"], &lease["event"]),
        (&json!("s1"), &json!("send_message")),
        "each call renews"
    );
}

#[test]
fn register_agent_registers_a_new_agent_with_a_role_and_suggests_mistyped_names() {
    let world = World::with("planner");
    let client = Client::session(&world, "s1");
    assert_contains!(
        client.fails("register_agent", json!({"name": "planer"})),
        "planner"
    );
    let (text, data) = client.call(
        "register_agent",
        json!({"name": "scout", "role": "researcher"}),
    );
    assert_eq!(text, "you are scout, newly registered; 0 unread messages");
    assert_eq!(data, json!({"you": "scout", "new": true, "unread": 0}));
    assert_eq!(world.json("agent show scout")["role"], "researcher");
    assert_contains!(
        client.fails("register_agent", json!({"name": "all", "role": "x"})),
        "all"
    );
    assert_contains!(
        client.fails("register_agent", json!({"name": "human"})),
        "person"
    );
    assert_contains!(
        client.fails("register_agent", json!({"name": "Human", "role": "x"})),
        "person"
    );
    for name in ["human.", "mailbag.", "system", "hurnan", "mai1bag"] {
        let answer = client.fails("register_agent", json!({"name": name, "role": "x"}));
        assert_contains!(answer, "reserved word");
        for command in [
            format!("agent add {name}"),
            format!("join {name} --role x --session s2"),
            format!("exec --id {name} -- true"),
        ] {
            let ran = world.run(command.as_str());
            assert!(
                ran.code != 0 && ran.err.contains("reserved word"),
                "{command}: {ran:?}"
            );
        }
    }
}

#[test]
fn a_server_that_is_set_up_as_the_human_does_nothing_as_the_person() {
    // P135
    let world = World::with("alice");
    world.ok("agent set human --name Anna");
    for name in ["human", "Human", "anna"] {
        for variables in [
            &[("MAILBAG_AGENT", name)][..],
            &[("MAILBAG_AGENT", name), ("CODEX_SESSION_ID", "c1")],
        ] {
            let client = Client::with(&world, &[], variables);
            for (tool, args) in [
                ("fetch_inbox", json!({})),
                ("send_message", json!({"to": "alice", "body": "hi"})),
                ("claim_work", json!({"action": "claim", "claims": ["a.rs"]})),
            ] {
                assert_contains!(client.fails(tool, args), "person"; "{name} {tool}");
            }
        }
    }
    assert!(world.inbox("alice").is_empty());
}

#[test]
fn the_id_of_another_live_session_takes_no_agent_over() {
    // P82
    let world = World::with("alice bob");
    let first = Client::session(&world, "s1");
    first.text("register_agent", json!({"name": "alice"}));
    change_lease(&world, |lease| {
        lease.as_object_mut().expect("an object").remove("process");
    });
    let second = Client::with(&world, &[], &[("CODEX_SESSION_ID", "c1")]);
    assert_contains!(
        second.fails("register_agent", json!({"name": "alice", "session": "s1"})),
        "alice is held by claude session s1",
        "a person can run `mailbag join alice --take-over"
    );
    let command = world.run_env("join alice --session s1", "CODEX_SESSION_ID", "c1");
    assert_contains!(command.fails(75), "alice is held by claude session s1");
    // A client that another client started inherits its variables.
    world.run_env("join bob", "CODEX_SESSION_ID", "c1").ok();
    let inside = world.run_with("join bob --session c1 --client codex", |command| {
        command
            .env("CLAUDE_CODE_SESSION_ID", "s1")
            .env("CODEX_SESSION_ID", "c1");
    });
    assert_contains!(inside.ok(), "this session is bob");
    assert_contains!(first.text("fetch_inbox", json!({})), "no unread messages");
}

#[test]
fn a_second_session_under_the_same_name_is_refused_with_who_holds_it() {
    // P191
    let world = World::with("alice");
    let first = Client::session(&world, "s1");
    first.text("register_agent", json!({"name": "alice"}));
    change_lease(&world, |lease| {
        lease.as_object_mut().expect("an object").remove("process");
    });
    let second = Client::session(&world, "s2");
    assert_contains!(
        second.fails("register_agent", json!({"name": "alice"})),
        "claude session s1"
    );
    // The name in the environment makes no difference.
    let third = Client::with(
        &world,
        &[],
        &[("MAILBAG_AGENT", "alice"), ("CLAUDE_CODE_SESSION_ID", "s3")],
    );
    let text = third.text("fetch_inbox", json!({}));
    assert_eq!(
        text,
        "you are alder; register_agent changes it\n\nno unread messages"
    );
    assert_eq!(
        third.text("fetch_inbox", json!({})),
        "no unread messages",
        "it is told once"
    );
    assert_contains!(third.text("list_agents", json!({})), "you are alder");
    assert_contains!(first.text("fetch_inbox", json!({})), "no unread messages"; "and the first goes on");
}

#[test]
fn a_server_that_was_started_under_another_id_than_its_session_has_learns_it_from_the_hooks() {
    let world = World::alice_and_bob();
    world.pipe(
        "hook claude --as alice",
        r#"{"hook_event_name": "SessionStart", "session_id": "s1"}"#,
    );
    let named = Client::with(
        &world,
        &[],
        &[("MAILBAG_AGENT", "alice"), ("CLAUDE_CODE_SESSION_ID", "s0")],
    );
    assert_contains!(named.text("fetch_inbox", json!({})), "no unread messages");
    let unnamed = Client::session(&world, "s0");
    assert_contains!(unnamed.text("list_agents", json!({})), "you are alice");
    assert_contains!(unnamed.text("fetch_inbox", json!({})), "no unread messages");
    assert_eq!(world.read("sessions/alice.json")["session"], "s1");
}

/// The metadata that Codex adds to each call.
fn of_codex(session: &str) -> Value {
    json!({"sessionId": session, "threadId": session, "x-codex-turn-metadata": {"session_id": session}})
}

#[test]
fn a_server_reads_the_codex_session_from_each_call() {
    let world = World::alice_and_bob();
    world.ok("join alice --session s1 --client codex");
    world.ok("join bob --session s2 --client codex");
    let client = Client::with(&world, &[], &[]);
    let ask = |session: &str| {
        let params = json!({"name": "list_agents", "arguments": {}, "_meta": of_codex(session)});
        client.request("tools/call", params)["result"]["content"][0]["text"]
            .as_str()
            .expect("a text")
            .to_owned()
    };
    assert_contains!(ask("s1"), "you are alice");
    assert_contains!(ask("s2"), "you are bob"; "two sessions may share a server");
    assert!(!ask("s3").contains("you are"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_client_keeps_its_agent_when_its_conversation_is_cleared() {
    let world = World::with("alice");
    let client = Client::session(&world, "s1");
    client.text("register_agent", json!({"name": "alice"}));
    // The lease as hooks write it when the client continues under another id.
    change_lease(&world, |lease| lease["session"] = json!("s2"));
    assert_contains!(client.text("fetch_inbox", json!({})), "no unread messages");
    assert_eq!(world.read("sessions/alice.json")["session"], "s2");
    // Of another process it is another client.
    let mut other = std::process::Command::new("sleep")
        .arg("60")
        .spawn()
        .expect("it starts");
    change_lease(&world, |lease| {
        (lease["session"], lease["process"]) = (json!("s3"), process_of(other.id()));
    });
    assert_contains!(client.fails("fetch_inbox", json!({})), "session s3");
    other.kill().and_then(|()| other.wait()).expect("it ends");
    assert_contains!(client.text("fetch_inbox", json!({})), "no unread messages"; "it is gone");
}

/// A process as a lease has it: proc_pid_stat(5).
#[cfg(target_os = "linux")]
fn process_of(pid: u32) -> Value {
    let stat = files::read_text(format!("/proc/{pid}/stat"));
    let fields = stat.rsplit_once(')').expect("a name").1.split_whitespace();
    let started = fields
        .clone()
        .nth(19)
        .and_then(|field| field.parse::<u64>().ok());
    let mut process = json!({"pid": pid, "started": started});
    if let Some(namespace) = mailbag::disk::machine::namespace() {
        process["namespace"] = json!(namespace);
    }
    process
}

#[test]
fn the_session_may_be_given_where_the_environment_is_silent() {
    let world = World::with("alice");
    let client = Client::with(&world, &[], &[]);
    client.text(
        "register_agent",
        json!({"name": "alice", "session": "0199-a"}),
    );
    assert_eq!(world.read("sessions/alice.json")["session"], "0199-a");
    assert_contains!(
        client.fails(
            "register_agent",
            json!({"name": "alice", "session": "../x"})
        ),
        "not a valid session id"
    );
}

/// Starts the server below a program of that name, as the client of that name does.
#[cfg(target_os = "linux")]
fn below(world: &World, name: &str, variables: &[(&str, &str)]) -> Client {
    let program = world.path().join(name);
    // A copy could not be started while another test, which is just starting something, holds it open for writing.
    files::link("/bin/sh", &program);
    let client = Client::start_below(world, &program, variables);
    client.handshake("2025-06-18");
    client
}

#[test]
#[cfg(target_os = "linux")]
fn below_claude_the_process_counts_and_not_the_id_it_was_started_with() {
    let world = World::with("alice");
    let client = below(&world, "claude", &[("CLAUDE_CODE_SESSION_ID", "old")]);
    client.text("register_agent", json!({"name": "alice"}));
    assert_eq!(world.read("sessions/alice.json").get("session"), None);
    // Its hook reports today's id.
    change_lease(&world, |lease| {
        (lease["session"], lease["client"]) = (json!("new"), json!("claude"));
    });
    assert_contains!(client.text("fetch_inbox", json!({})), "no unread messages");
    assert_eq!(world.read("sessions/alice.json")["session"], "new");
}

#[test]
#[cfg(target_os = "linux")]
fn below_codex_no_lease_is_taken_that_its_hooks_could_not_have() {
    let world = World::with("alice");
    let client = below(&world, "codex", &[("MAILBAG_AGENT", "alice")]);
    assert_contains!(client.text("fetch_inbox", json!({})), "no unread messages"; "it is alice all the same");
    assert!(!world.room("sessions/alice.json").exists());
    let input = json!({"hook_event_name": "Stop", "session_id": "t1"}).to_string();
    world.pipe("hook codex --as alice", input).ok();
    assert_eq!(world.read("sessions/alice.json")["session"], "t1");
}

#[test]
fn a_name_that_the_client_chooses_counts_before_the_one_it_was_installed_with() {
    // P192
    let world = World::alice_and_bob();
    let client = Client::of(&world, "alice");
    assert_contains!(client.text("list_agents", json!({})), "you are alice");
    assert_eq!(
        client.text("register_agent", json!({"name": "bob"})),
        "you are bob; 0 unread messages"
    );
    client.text("send_message", json!({"to": "human", "body": "who am i"}));
    assert_eq!(world.inbox("human")[0]["from"], "bob");
    assert_eq!(
        client.text("register_agent", json!({"name": "alice"})),
        "you are alice; 0 unread messages"
    );
    drop(client);
    let client = Client::with(
        &world,
        &[],
        &[("MAOS_AGENT_ID", "carol"), ("CLAUDE_CODE_SESSION_ID", "s9")],
    );
    assert_contains!(
        client.fails("fetch_inbox", json!({})),
        "carol",
        "register_agent"
    );
    client.text("register_agent", json!({"name": "carol", "role": "tester"}));
    assert_contains!(client.text("fetch_inbox", json!({})), "no unread messages");
}

#[test]
fn a_joined_agent_takes_precedence_over_the_name_of_the_server() {
    // P99
    let world = World::with("alice bob carol");
    let variables = [("MAILBAG_AGENT", "carol"), ("CLAUDE_CODE_SESSION_ID", "s1")];
    let client = Client::with(&world, &[], &variables);
    assert_contains!(client.text("list_agents", json!({})), "you are carol");
    world.ok("join bob --session s1 --client claude");
    client.text("send_message", json!({"to": "alice", "body": "x"}));
    assert_eq!(world.inbox("alice")[0]["from"], "bob");
    client.text("register_agent", json!({"name": "bob"}));
    world.ok("join alice --session s1 --client claude");
    assert_contains!(client.text("list_agents", json!({})), "you are alice"; "the person chose another");
}

#[test]
fn an_agent_stays_its_session_s_while_the_server_lives() {
    // P99
    let world = World::with("alice").settings("session_lease = \"1s\"\n");
    let client = Client::session(&world, "s1");
    client.text("register_agent", json!({"name": "alice"}));
    change_lease(&world, |lease| {
        lease["last"] = json!("2026-01-01T00:00:00Z")
    });
    assert_contains!(
        world.fails(75, "join alice --session s2 --client claude"),
        "claude session s1"
    );
    drop(client);
    world.ok("join alice --session s2 --client claude");
}

#[test]
fn several_agents_of_one_program_leave_each_other_alone() {
    // Each has its own server, and no session has an id: all have the same parent process.
    let world = World::alice_and_bob();
    let alice = Client::with(&world, &[], &[]);
    let bob = Client::with(&world, &[], &[]);
    alice.text("register_agent", json!({"name": "alice"}));
    bob.text("register_agent", json!({"name": "bob"}));
    for body in ["0", "1", "2"] {
        alice.text("send_message", json!({"to": "bob", "body": body}));
        bob.text("send_message", json!({"to": "alice", "body": body}));
    }
    assert_eq!(world.bodies("alice"), ["0", "1", "2"]);
    assert_eq!(world.bodies("bob"), ["0", "1", "2"]);
    assert!(
        world
            .inbox("bob")
            .iter()
            .all(|mail| mail["from"] == "alice")
    );
}

#[test]
fn a_room_may_come_later() {
    let world = World::empty();
    let client = Client::of(&world, "bob");
    for tool in ["fetch_inbox", "list_agents"] {
        let said = client.fails(tool, json!({}));
        // P430
        assert_contains!(said, "`mailbag init` (for the human)");
    }
    world.ok("init");
    world.ok("agent add bob");
    assert_contains!(client.text("fetch_inbox", json!({})), "no unread messages");
    world.drop_file(
        "bob",
        "x.json",
        r#"{"to": "bob", "body": "a file is enough"}"#,
    );
    assert_contains!(client.text("wait_for_message", json!({})), "a file is enough"; "the server routes by itself");
}

#[test]
fn a_server_does_not_use_another_room_in_the_place_of_its_own() {
    let world = World::alice_and_bob();
    let client = Client::of(&world, "bob");
    assert_contains!(client.text("fetch_inbox", json!({})), "no unread messages");
    files::rename(world.room(""), world.path().join("moved"));
    world.ok("init");
    world.ok("agent add bob");
    let said = client.fails("fetch_inbox", json!({}));
    assert_contains!(
        said,
        "was replaced by another directory",
        "restart the MCP server"
    );
    assert_contains!(
        Client::of(&world, "bob").text("fetch_inbox", json!({})),
        "no unread messages"
    );
}

#[test]
fn a_server_holds_its_agent_again_after_the_sessions_were_deleted() {
    // P81, P99
    let world = World::alice_and_bob();
    let client = Client::session(&world, "s1");
    client.text("register_agent", json!({"name": "alice"}));
    let held = || {
        let entries = std::fs::read_dir(world.room("sessions/holds"))
            .into_iter()
            .flatten()
            .flatten();
        entries
            .map(|entry| entry.path())
            .any(|path| std::fs::File::open(path).is_ok_and(|file| file.try_lock_shared().is_err()))
    };
    assert!(held());
    files::remove_dir(world.room("sessions"));
    world.wait("the server holds it again, though nobody calls", held);
}
