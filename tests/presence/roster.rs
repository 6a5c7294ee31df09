//! `roster.json`, as a router keeps it.

use super::{alerts, in_roster};
use crate::files;
use crate::town::Town;
use crate::world::World;
use serde_json::{Value, json};
use std::fs;

fn roster(town: &Town) -> Value {
    // It is replaced in one step, so every reader sees a complete file.
    fs::read(town.room("roster.json")).map_or(Value::Null, |bytes| {
        serde_json::from_slice(&bytes).expect("whole")
    })
}

/// P76: the router updates it while mail arrives and is read.
#[test]
fn the_roster_shows_unread_mail_and_presence() {
    let town = Town::alice_and_bob().run();
    town.wait("a roster of all", || {
        roster(&town)["agents"]
            .as_array()
            .is_some_and(|agents| agents.len() == 3)
    });
    assert_eq!(in_roster(&roster(&town), "alice")["presence"], "offline");
    town.mail(
        "alice",
        "1.json",
        json!({"type": "status", "to": "bob", "subject": "on it"}),
    );
    town.wait("alice is online, and bob has mail", || {
        let roster = roster(&town);
        let (alice, bob) = (in_roster(&roster, "alice"), in_roster(&roster, "bob"));
        alice["presence"] == "online" && alice["report"]["text"] == "on it" && bob["unread"] == 1
    });
    let mail = town.names("inbox/bob").remove(0);
    files::remove_file(town.room(&format!("inbox/bob/{mail}")));
    town.wait("bob is online, and has read it", || {
        let bob = in_roster(&roster(&town), "bob");
        bob["presence"] == "online" && bob["unread"] == 0
    });
    town.register(&[
        json!({"id": "alice", "role": "lead"}),
        json!({"id": "carol"}),
    ]);
    town.wait("the registry counts", || {
        let roster = roster(&town);
        in_roster(&roster, "alice")["role"] == "lead" && in_roster(&roster, "bob").is_null()
    });
}

/// P76: it follows from the log and the registry, so it can be deleted, and foreign changes do not
/// stay.
#[test]
fn a_deleted_or_overwritten_roster_is_made_again() {
    let mut town = Town::alice_and_bob();
    town.start(&["--poll"]);
    town.mail("alice", "1.json", json!({"to": "bob", "body": "hi"}));
    let is_right = || in_roster(&roster(&town), "bob")["unread"] == 1;
    town.wait("it stands there", is_right);
    files::remove_file(town.room("roster.json"));
    town.wait("it stands there again", is_right);
    files::write(town.room("roster.json"), "{}");
    town.wait("it says again what is so", is_right);
    town.stop();
    files::remove_file(town.room("roster.json"));
    town.pass();
    assert_eq!(in_roster(&roster(&town), "bob")["unread"], 1);
}

#[test]
fn without_a_router_whoever_sends_or_reads_writes_it() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "hi");
    assert_eq!(in_roster(&world.read("roster.json"), "bob")["unread"], 1);
    world.ok("read --as bob");
    world.ok("inbox bob");
    let bob = in_roster(&world.read("roster.json"), "bob");
    assert_fields!(bob, unread: 0, presence: "online");
}

/// P76: each conversation has a link to it.
#[test]
fn each_conversation_has_a_link_to_the_roster() {
    let mut town = Town::alice_and_bob();
    town.start(&["--poll"]);
    town.mail("alice", "1.json", json!({"to": "bob", "body": "hi"}));
    town.mail(
        "alice",
        "2.json",
        json!({"to": "bob", "body": "hi", "channel": "design"}),
    );
    let beside = |channel: &str| {
        fs::read(town.room(&format!("channels/{channel}/roster.json"))).unwrap_or_default()
    };
    let is_same = |channel: &str| {
        let (here, there) = (
            beside(channel),
            fs::read(town.room("roster.json")).unwrap_or_default(),
        );
        !here.is_empty() && here == there
    };
    town.wait("it stands beside both", || {
        is_same("main") && is_same("design")
    });
    files::remove_file(town.room("channels/main/roster.json"));
    town.place("channels/design/roster.json", b"not a link");
    town.mail("bob", "1.json", json!({"to": "alice", "body": "hi"}));
    town.wait("it stands beside both again", || {
        is_same("main") && is_same("design")
    });
}

#[test]
fn a_directory_in_place_of_the_roster_delays_no_mail() {
    let mut town = Town::alice_and_bob();
    files::make_dir(town.room("roster.json/x"));
    files::make_dir(town.room("channels/main/roster.json/x"));
    town.start(&[]);
    town.is_alive("alice", "bob");
    assert_eq!(town.json("who")["agents"].as_array().map(Vec::len), Some(3));
    town.stop();
    town.verify();
}

/// P79: time that passes is enough; nothing has to happen.
#[test]
fn a_router_tells_the_human_of_who_becomes_stale_while_nothing_happens() {
    let town = Town::alice_and_bob()
        .settings("stale_after = \"2s\"\n")
        .run();
    town.mail("alice", "1.json", json!({"to": "bob", "body": "hi"}));
    town.wait("the human is told", || !alerts(&town).is_empty());
    town.wait("the roster says so", || {
        in_roster(&roster(&town), "bob")["presence"] == "stale"
    });
    assert_eq!(alerts(&town).len(), 1);
    assert!(
        alerts(&town)[0]["body"]
            .as_str()
            .is_some_and(|body| body.starts_with("bob has 1 unread message"))
    );
}

/// P76: without other events, it shows the start and the end of a wait.
#[test]
fn the_roster_shows_a_waiting_agent_as_online_until_the_wait_ends() {
    let mut town = Town::alice_and_bob();
    town.start(&["--poll"]);
    let presence = || in_roster(&roster(&town), "human")["presence"].clone();
    town.wait("a roster", || presence() == "offline");
    let mut command = town.bare("list --follow --as human --idle 0");
    let mut following = command
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("the program starts");
    town.wait("the human is there", || presence() == "online");
    following.kill().expect("it runs");
    following.wait().expect("it ended");
    town.wait("the human is not there", || presence() == "offline");
}
