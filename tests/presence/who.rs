//! `mailbag who`: the observed activity, with the clock at a fixed time.

use super::{alerts, in_roster, run_at, seen_at};
use crate::files;
use crate::world::World;
use serde_json::{Value, json};
use std::process::Stdio;

/// P77: who sends something is online for five minutes, idle for an hour, and offline then.
#[test]
fn an_agent_that_sends_is_online_then_idle_then_offline() {
    let world = World::alice_and_bob();
    run_at(&world, "10:00", "send bob hi --as alice");
    let presence = |time| seen_at(&world, time, "alice")["presence"].clone();
    assert_eq!(
        ["10:00", "10:04", "10:06", "10:59", "11:01"].map(presence),
        ["online", "online", "idle", "idle", "offline"]
    );
    let alice = seen_at(&world, "11:01", "alice");
    assert!(
        alice["last_seen"]
            .as_str()
            .is_some_and(|at| at.starts_with("2026-01-05T10:00:00")),
        "{alice}"
    );
    let bob = seen_at(&world, "11:01", "bob");
    assert_eq!(
        (&bob["presence"], &bob["unread"], bob.get("last_seen")),
        (&json!("offline"), &json!(1), None)
    );
    assert!(
        bob["oldest_unread"]
            .as_str()
            .is_some_and(|at| at.starts_with("2026-01-05T10:00:00")),
        "{bob}"
    );
}

/// P405: who can do what, and when each was active last.
#[test]
fn who_and_the_roster_show_capabilities_and_the_last_activity() {
    let world = World::new().agent("alice", "--capability has-telegram --capability rust");
    run_at(&world, "10:00", "send human hi --as alice");
    let can = json!(["has-telegram", "rust"]);
    let roster = in_roster(&world.read("roster.json"), "alice");
    assert_eq!(
        (
            &seen_at(&world, "10:30", "alice")["capabilities"],
            &roster["capabilities"]
        ),
        (&can, &can)
    );
    assert!(
        roster["last_seen"]
            .as_str()
            .is_some_and(|at| at.starts_with("2026-01-05T10:00:00")),
        "{roster}"
    );
    let text = world.ok("who");
    let line = text
        .lines()
        .find(|line| line.contains("alice"))
        .unwrap_or_default();
    assert_contains!(line, "can has-telegram, rust", "seen "; "{text}");
}

/// P424: a session with a killed client is offline, even if it has just called.
#[test]
fn a_killed_session_is_offline_immediately() {
    let world = World::alice_and_bob();
    let start = json!({"hook_event_name": "SessionStart", "session_id": "s1", "source": "startup"});
    world.pipe("hook claude --as alice", start.to_string());
    world.pipe(
        "hook claude --as alice",
        start
            .to_string()
            .replace("SessionStart", "UserPromptSubmit"),
    );
    world.send("alice", "bob", "on it");
    let presence = || in_roster(&world.json("who"), "alice")["presence"].clone();
    assert_eq!(presence(), "online");
    let mut lease = world.read("sessions/alice.json");
    // No process was started before the machine was.
    lease["process"]["started"] = json!(0);
    world.write("sessions/alice.json", lease.to_string());
    assert_eq!(presence(), "offline");
}

/// P77: taking mail out of the inbox counts as activity, by any means; an agent need not report its
/// presence.
#[test]
fn an_agent_that_takes_mail_out_of_its_inbox_is_active() {
    let world = World::with("alice bob carol");
    run_at(&world, "10:00", "send bob carol hi --as alice");
    let mail = world.names("inbox/bob").remove(0);
    files::remove_file(world.room(&format!("inbox/bob/{mail}")));
    let bob = seen_at(&world, "12:00", "bob");
    assert_eq!(
        (&bob["presence"], &bob["unread"], bob.get("oldest_unread")),
        (&json!("online"), &json!(0), None)
    );
    assert_eq!(seen_at(&world, "12:00", "carol")["presence"], "offline");
    run_at(&world, "13:00", "read --as carol");
    assert_eq!(seen_at(&world, "13:01", "carol")["presence"], "online");
}

/// P77: an agent that only waits or watches is online until this ends in any way.
#[test]
fn an_agent_is_online_while_it_waits_or_follows() {
    let world = World::alice_and_bob();
    let presence = |agent: &str| in_roster(&world.json("who"), agent)["presence"].clone();
    for (agent, args) in [
        (
            "human",
            &["list", "--follow", "--as", "human", "--idle", "0"][..],
        ),
        ("human", &["wait", "--as", "human", "--timeout", "1h"]),
        ("bob", &["wait", "--as", "bob", "--timeout", "1h"]),
    ] {
        assert_eq!(presence(agent), "offline", "{args:?}");
        let mut command = world.bare(args);
        let mut waiting = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("the program starts");
        world.wait("it is seen", || presence(agent) == "online");
        assert!(in_roster(&world.json("who"), agent)["last_seen"].is_string());
        assert_eq!(presence("alice"), "offline");
        // Killed, it removes nothing: that its lock is free is enough.
        waiting.kill().expect("it runs");
        waiting.wait().expect("it ended");
        assert_eq!(presence(agent), "offline", "{args:?}");
    }
}

/// P79: the human gets one alert about an agent that has left mail unread for six hours, and
/// another only after new activity.
#[test]
fn an_agent_with_mail_unread_for_six_hours_is_stale_and_the_human_gets_one_alert() {
    let world = World::alice_and_bob();
    run_at(&world, "01:00", "send alice 'anybody there?' --as bob");
    run_at(&world, "10:00", "send bob one --as alice");
    run_at(&world, "11:00", "send bob two --as alice");
    assert_eq!(
        seen_at(&world, "15:59", "bob")["presence"],
        "offline",
        "its mail has not waited for six hours"
    );
    assert!(
        alerts(&world).is_empty(),
        "alice was seen since her mail came"
    );
    for time in ["16:01", "16:02", "16:30"] {
        assert_eq!(seen_at(&world, time, "bob")["presence"], "stale");
    }
    run_at(&world, "16:40", "run --once");
    let told = alerts(&world);
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_contains!(
        run_at(&world, "16:40", "status"),
        "bob has 2 unread, seen 2026-01-05T01:00:00Z"
    );
    let body = told[0]["body"].as_str().unwrap_or_default();
    assert_contains!(
        body,
        "2 unread messages, the oldest since 2026-01-05T10:00:00"
    );
    assert!(
        told[0]["subject"]
            .as_str()
            .is_some_and(|subject| subject.starts_with("bob is stale"))
    );

    run_at(&world, "16:50", "read --as bob");
    assert_eq!(
        seen_at(&world, "16:51", "bob")["presence"],
        "online",
        "with one message left"
    );
    assert_eq!(seen_at(&world, "22:30", "bob")["presence"], "offline");
    assert_eq!(seen_at(&world, "22:51", "bob")["presence"], "stale");
    let of_bob = alerts(&world)
        .iter()
        .filter(|mail| mail["body"].as_str().unwrap_or_default().starts_with("bob"))
        .count();
    assert_eq!(of_bob, 2, "seen in between");
}

#[test]
fn a_router_records_earlier_reading_before_it_calls_an_agent_stale() {
    let world = World::alice_and_bob();
    run_at(&world, "10:00", "send bob one --as alice");
    let mail = world.names("inbox/bob").remove(0);
    files::remove_file(world.room(&format!("inbox/bob/{mail}")));
    run_at(&world, "18:00", "send alice 'back again' --as alice");
    run_at(&world, "18:00", "run --once");
    assert_eq!(alerts(&world), Vec::<Value>::new());
}

#[test]
fn who_shows_the_registry_s_status_beside_the_observed_activity() {
    let world = World::with("alice bob carol dave");
    for (agent, status) in [
        ("alice", "busy"),
        ("bob", "offline"),
        ("carol", "idle"),
        ("dave", "online"),
    ] {
        world.ok(&["agent", "set", agent, "--status", status]);
        run_at(&world, "10:00", &["send", "human", "hi", "--as", agent]);
        run_at(&world, "10:00", &["send", agent, "hi", "--as", agent]);
    }
    let stand = |time, agent| {
        let seen = seen_at(&world, time, agent);
        format!(
            "{} {}",
            seen["presence"].as_str().unwrap_or_default(),
            seen["declared"].as_str().unwrap_or_default()
        )
    };
    assert_eq!(
        ["alice", "bob", "carol", "dave"].map(|agent| stand("10:01", agent)),
        [
            "online busy",
            "offline offline",
            "idle idle",
            "online online"
        ]
    );
    ["bob", "dave"]
        .iter()
        .for_each(|agent| drop(run_at(&world, "10:02", &["read", "--as", agent])));
    run_at(&world, "10:02", "send bob 'are you away?' --as alice");
    assert_eq!(
        ["alice", "bob", "carol", "dave"].map(|agent| stand("17:00", agent)),
        [
            "stale busy",
            "offline offline",
            "stale idle",
            "stale online"
        ]
    );
    let told = alerts(&world)
        .iter()
        .map(|mail| mail["body"].to_string())
        .collect::<String>();
    assert_contains!(
        told,
        "dave has no unread mail, and the registry says that it is online"
    );
    assert!(
        !told.contains("bob has"),
        "who is said to be away is not missed: {told}"
    );
    assert_contains!(run_at(&world, "17:00", "who"), "stale (busy)");
}

#[test]
fn stale_after_sets_the_time_until_an_agent_is_stale() {
    let world = World::alice_and_bob().settings("stale_after = \"30m\"\n");
    run_at(&world, "10:00", "send bob hi --as alice");
    assert_eq!(seen_at(&world, "10:29", "bob")["presence"], "offline");
    assert_eq!(seen_at(&world, "10:31", "bob")["presence"], "stale");
    let world = world.settings("stale_after = \"0\"\n");
    assert_eq!(seen_at(&world, "23:00", "bob")["presence"], "offline");
    let world = world.settings("stale_after = 6\n");
    assert_contains!(world.fails(65, "settings"), "6h");
}

/// P78: the work of an agent comes from its last message of such a type.
#[test]
fn an_agent_s_work_comes_from_its_last_status_message() {
    let world = World::alice_and_bob();
    let report = |message: Value| {
        world.mail("alice", "x.json", &message);
        seen_at(&world, "10:00", "alice")["report"].clone()
    };
    let told = report(json!({"type": "status", "body": "\n  reading the code  \nand more"}));
    assert_fields!(told, type: "status", text: "reading the code");
    assert!(
        told["at"]
            .as_str()
            .is_some_and(|at| at.starts_with("2026-01-05T10:00:00")),
        "{told}"
    );
    let told = report(
        json!({"type": "progress", "subject": "parser", "body": "x", "metadata": {"progress": 0.4}}),
    );
    assert_eq!(
        (&told["text"], &told["progress"].to_string()),
        (&json!("parser"), &"0.4".to_owned())
    );
    assert_eq!(
        report(json!({"to": "bob", "body": "hi"}))["text"],
        "parser",
        "a letter says nothing of it"
    );
    assert_eq!(
        report(
            json!({"type": "progress", "metadata": {"progress": "most"}, "body": "é".repeat(300)})
        ),
        {
            json!({"type": "progress", "text": "é".repeat(200), "at": seen_at(&world, "10:00", "alice")["report"]["at"]})
        }
    );
    for kind in ["blocked", "completed", "agent_complete"] {
        assert_eq!(report(json!({"type": kind, "body": kind}))["text"], kind);
    }
}

#[test]
fn who_neutralises_escapes_in_an_agent_s_status() {
    let world = World::with("alice");
    world.mail(
        "alice",
        "x.json",
        json!({"type": "status", "body": "\u{1b}[2Jgone"}),
    );
    let shown = run_at(&world, "10:00", "who");
    assert!(
        shown.contains("gone") && !shown.contains('\u{1b}'),
        "{shown:?}"
    );
}

#[test]
fn the_human_is_in_it_and_the_retired_are_not() {
    let world = World::alice_and_bob();
    world.ok("agent set bob --status retired");
    let roster = world.json("who");
    let ids: Vec<&str> = roster["agents"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|a| a["id"].as_str())
        .collect();
    assert_eq!(ids, ["human", "alice"]);
    run_at(&world, "10:00", "send human hi --as alice");
    assert_eq!(seen_at(&world, "17:00", "human")["presence"], "stale");
    assert_eq!(alerts(&world).len(), 0, "nobody is told of itself");
    assert_eq!(in_roster(&world.read("roster.json"), "human")["unread"], 1);
}
