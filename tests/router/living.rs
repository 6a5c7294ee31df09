//! The router's life: reloading, its end, and other routers.

use crate::files;
use crate::town::{Town, tool};
use crate::world::World;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;

fn ids(agents: &[&str]) -> Vec<Value> {
    agents.iter().map(|id| json!({"id": id})).collect()
}

#[test]
fn a_registry_edited_by_hand_takes_effect_and_an_invalid_one_leaves_the_last_good_one() {
    let town = Town::alice_and_bob().run();
    town.register(&ids(&["alice", "bob", "carol"]));
    town.wait("carol has an outbox and an inbox", || {
        town.room("outbox/carol").is_dir() && town.room("inbox/carol").is_dir()
    });
    town.mail(
        "carol",
        "x.json",
        json!({"to": "alice", "body": "I am new"}),
    );
    town.wait_for_bodies("alice", &["I am new"]);
    for bad in [
        r#"{"agents": [{"id": "alice"}, {"id": "#,
        r#"{"agents": [{"id": ".."}]}"#,
    ] {
        let alerts = town.count("human");
        town.place("registry.json", bad.as_bytes());
        town.wait_for_reason("registry.json");
        town.is_alive("alice", "carol");
        town.wait("the human hears of it", || town.count("human") > alerts);
        assert_eq!(
            files::read(town.room("registry.json")),
            bad.as_bytes(),
            "it is not replaced"
        );
    }
    assert!(
        town.inbox("human")
            .iter()
            .all(|mail| mail["type"] == "alert" && mail["from"] == "mailbag")
    );
    town.register(&ids(&["alice", "bob", "carol", "dave"]));
    town.wait("dave has an inbox", || town.room("inbox/dave").is_dir());
    town.is_alive("alice", "dave");
    town.wait_until_nothing_waits();
}

#[test]
fn a_registry_that_is_removed_leaves_the_last_good_one() {
    let town = Town::alice_and_bob().run();
    files::remove_file(town.room("registry.json"));
    town.wait_for_reason("is missing");
    town.is_alive("alice", "bob");
    assert!(!town.room("registry.json").exists());
    town.register(&ids(&["alice", "bob"]));
    town.wait_until_nothing_waits();
}

#[test]
fn a_hangup_reads_the_settings_again() {
    let town = Town::alice_and_bob().run();
    town.write("settings.toml", "message_bytes = 2000\n");
    town.router().signal(Signal::HUP);
    let mut n = 0;
    town.wait("long messages are refused", || {
        n += 1;
        town.mail(
            "alice",
            &format!("{n}.json"),
            json!({"to": "bob", "body": "x".repeat(3000)}),
        );
        town.wait("it was routed", || town.names("outbox/alice").is_empty());
        town.is_alive("alice", "bob");
        town.refusals("alice")
            .iter()
            .any(|refusal| refusal["code"] == "too_large")
    });
}

#[test]
fn signals_end_the_router_cleanly_and_nothing_is_left_half_done() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut town = Town::alice_and_bob().run();
        for n in 0..50 {
            town.mail(
                "alice",
                &format!("{n}.json"),
                json!({"to": "bob", "body": n.to_string()}),
            );
        }
        town.router().signal(signal);
        let (status, words) = town.ended();
        assert_eq!(status, 0, "{words}");
        assert!(town.names("spool/stage").is_empty());
        town.start(&[]);
        town.wait_for_mail("bob", 50);
        town.stop();
        town.verify();
    }
}

#[test]
fn a_second_router_is_refused_and_a_command_leaves_the_work_to_the_first() {
    let mut town = Town::alice_and_bob().run();
    let complaint = town.fails(75, "run");
    assert!(
        complaint.contains(&town.router().pid().to_string()),
        "{complaint}"
    );
    let passed = town.json("run --once");
    assert_fields!(passed, router: town.router().pid(), accepted: 0);
    town.send("alice", "bob", "by a command");
    town.wait_for_bodies("bob", &["by a command"]);
    town.stop();
    town.start(&[]);
    town.is_alive("alice", "bob");
}

#[test]
fn a_killed_router_s_lock_blocks_no_router() {
    let mut town = Town::alice_and_bob().run();
    town.router().signal(Signal::KILL);
    town.ended();
    town.route(
        "alice",
        "x.json",
        json!({"to": "bob", "body": "after the kill"}),
    );
    assert_eq!(town.bodies("bob"), ["after the kill"]);
}

#[test]
fn polling_needs_no_file_events() {
    let mut town = Town::alice_and_bob();
    town.start(&["--poll", "--log-format", "json"]);
    let words = town.words();
    assert_contains!(words, "every two seconds");
    let is_json = |line: &str| serde_json::from_str::<Value>(line).is_ok();
    assert!(words.lines().all(is_json), "{words}");
    town.mail("alice", "1.json", json!({"to": "bob", "body": "one"}));
    town.wait_for_bodies("bob", &["one"]);
    town.mail("alice", "2.json", json!({"to": "bob", "body": "two"}));
    town.wait_for_bodies("bob", &["one", "two"]);
    town.register(&ids(&["alice", "bob", "carol"]));
    town.wait("carol has an inbox", || town.room("inbox/carol").is_dir());
    town.is_alive("carol", "bob");
}

#[test]
fn an_open_room_registers_whoever_makes_an_outbox() {
    // P10
    let town = Town::of("alice").settings("admission = \"open\"\n").run();
    files::make_dir(town.room("outbox/agent_engineer_7_xyz"));
    town.mail(
        "agent_engineer_7_xyz",
        "x.json",
        json!({"to": "alice", "body": "let me in"}),
    );
    town.wait_for_bodies("alice", &["let me in"]);
    town.mail(
        "alice",
        "x.json",
        json!({"to": "all_engineers", "body": "welcome"}),
    );
    town.wait_for_bodies("agent_engineer_7_xyz", &["welcome"]);
    assert_eq!(town.read("registry.json")["agents"][1]["role"], "engineer");
}

#[test]
fn an_open_room_registers_only_directories() {
    // P10
    let world = World::with("alice");
    files::write(world.room("settings.toml"), "admission = \"open\"\n");
    symlink("/etc", world.room("outbox/link")).expect("a link");
    tool("mkfifo", [world.room("outbox/pipe").as_os_str()]);
    files::make_dir(world.room("outbox/guest"));
    world.pass();
    let agents = world.json("agent list")["agents"].clone();
    let ids = agents
        .as_array()
        .expect("a list")
        .iter()
        .map(|agent| &agent["id"]);
    assert_eq!(Vec::from_iter(ids), ["human", "alice", "guest"]);
    let blocked = world.json("status")["blocked"].clone();
    for place in ["outbox/link", "outbox/pipe"] {
        let mut lines = blocked.as_array().expect("a list").iter();
        let line = lines.find(|line| line["path"] == place).expect(place);
        assert_eq!(line["reason"], "it is not a directory");
        let path = world.room(place);
        assert_eq!(line["fix"], format!("mv -n {0} {0}.aside", path.display()));
    }
}

#[test]
fn an_unregistered_outbox_is_heard_of_once_and_routed_once_it_is_registered() {
    // P10
    let mut town = Town::of("alice").run();
    files::make_dir(town.room("outbox/stranger"));
    for n in 0..3 {
        town.mail(
            "stranger",
            &format!("{n}.json"),
            json!({"to": "alice", "body": n.to_string()}),
        );
        town.is_alive("alice", "alice");
    }
    town.wait_for_reason("no agent with that id is registered");
    town.stop();
    town.start(&[]);
    town.is_alive("alice", "alice");
    let alerts = town.wait_for_mail("human", 1);
    assert_contains!(alerts[0]["body"].to_string(), "mailbag agent add stranger");
    assert_eq!(town.names("outbox/stranger").len(), 3, "its files stay");
    town.ok("agent add stranger");
    town.wait_for_bodies("alice", &["0", "1", "2"]);
    town.wait_until_nothing_waits();
}

#[test]
fn mail_dropped_beside_the_outboxes_is_reported() {
    let mut town = Town::of("alice").run();
    town.write(
        "outbox/lost.json",
        r#"{"from": "alice", "to": "alice", "body": "where am I?"}"#,
    );
    town.wait_for_reason("beside the outboxes");
    town.is_alive("alice", "alice");
    town.stop();
    town.write("outbox/lost2.json", "{}");
    for _ in 0..2 {
        let reports = |command: &mut assert_cmd::Command| {
            command.env("MAILBAG_TEST_STRAY_MS", "0");
        };
        town.run_with("run --once", reports).ok();
    }
    let alerts = town.wait_for_mail("human", 1);
    assert_eq!(alerts[0]["subject"], "outbox/lost.json is not sent");
    let at = |place: &str| town.room(place).display().to_string();
    assert_contains!(
        alerts[0]["body"].to_string(),
        &format!("mv -n {} {}", at("outbox/lost.json"), at("outbox/alice/"))
    );
}

#[test]
fn mail_in_a_directory_that_no_agent_can_have_is_reported_once() {
    // P10
    let world = World::with("alice");
    world.write("settings.toml", "admission = \"open\"\n");
    for name in ["a b", "po:", "all", "empty!"] {
        files::make_dir(world.room("outbox").join(name));
    }
    for name in ["a b", "po:", "all"] {
        world.mail(name, "1.json", json!({"to": "alice", "body": "hello"}));
    }
    world.pass();
    world.pass();
    let alerts = world.inbox("human");
    let subjects = alerts.iter().filter_map(|mail| mail["subject"].as_str());
    let mut subjects = Vec::from_iter(subjects);
    subjects.sort_unstable();
    let expected = ["a b", "all", "po:"].map(|name| {
        format!("outbox/{name} has mail, but the directory name is not a valid agent id")
    });
    assert_eq!(subjects, expected);
    assert_contains!(
        alerts[0]["body"].to_string(),
        "rename the directory to an agent's id"
    );
    files::rename(world.room("outbox/a b"), world.room("outbox/bob"));
    world.pass();
    assert_eq!(world.inbox("alice").len(), 1);
}

#[test]
fn a_router_watches_outboxes_again_after_all_were_moved_away() {
    let town = Town::alice_and_bob().run();
    files::rename(town.room("outbox"), town.path().join("moved"));
    town.wait("they are made anew", || town.room("outbox/alice").is_dir());
    town.is_alive("alice", "bob");
    town.is_alive("bob", "alice");
}

#[test]
fn a_router_ends_when_its_room_is_moved_and_the_room_can_be_used_there() {
    let mut town = Town::alice_and_bob().run();
    let moved = town.path().join("moved");
    files::rename(town.room(""), &moved);
    let message = json!({"to": "bob", "body": "known"}).to_string();
    files::write(moved.join("outbox/alice/x.json"), message);
    let (status, words) = town.ended();
    assert_eq!(status, 1, "{words}");
    assert_contains!(words, "was removed or moved");
    let room = moved.to_str().expect("UTF-8");
    let read = town.pipe(&["read", "--as", "bob", "--room", room], "");
    assert_contains!(read.out, "known");
}

#[test]
fn run_makes_no_room() {
    let world = World::empty();
    let directory = world.path().join("volume");
    files::make_dir(&directory);
    for args in ["run", "run --once", "--room volume run", "--room wrong run"] {
        assert_contains!(world.fails(3, args), "no room", "mailbag init");
    }
    assert!(
        fs::read_dir(&directory)
            .expect("it is there")
            .next()
            .is_none()
    );
    assert!(!world.path().join("wrong").exists() && !world.room("").exists());
}

#[test]
#[cfg(target_os = "linux")]
fn more_events_than_the_system_keeps_lose_no_mail() {
    let most: usize = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events")
        .ok()
        .and_then(|most| most.trim().parse().ok())
        .expect("a limit of events");
    let town = Town::alice_and_bob().run();
    town.is_alive("alice", "bob");
    let pause = |signal| town.router().signal(signal);
    pause(Signal::STOP);
    // Making, closing and removing a file are three events.
    let draft = town.room("outbox/alice/.draft");
    for _ in 0..=most / 3 {
        files::write(&draft, "");
        files::remove_file(&draft);
    }
    town.drop_file(
        "alice",
        "x.json",
        r#"{"to": "bob", "body": "after the events"}"#,
    );
    pause(Signal::CONT);
    town.wait("the mail", || {
        town.bodies("bob").contains(&"after the events".to_owned())
    });
}

#[test]
fn a_router_stops_when_its_lock_file_is_removed() {
    let mut town = Town::alice_and_bob().run();
    town.is_alive("alice", "bob");
    files::remove_file(town.room("spool/lock"));
    town.mail(
        "alice",
        "x.json",
        json!({"to": "bob", "body": "after the cleaning"}),
    );
    let (status, words) = town.ended();
    assert_eq!(status, 1, "{words}");
    assert_contains!(words, "spool/lock");
    town.start(&[]);
    town.wait_for_bodies("bob", &["after the cleaning"]);
    town.verify();
}
