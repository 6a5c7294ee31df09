//! Replaced directories, and names that lead elsewhere.

use crate::files;
use crate::town::{Town, exchange};
use crate::world::World;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn a_symlink_in_place_of_sent_or_rejected_does_not_touch_its_target() {
    for (directory, message) in [
        ("sent/alice", json!({"to": "bob", "body": "x"})),
        ("rejected/alice", json!({"to": "?"})),
    ] {
        let town = Town::alice_and_bob().run();
        let (elsewhere, parent) = (town.path().join("elsewhere"), town.room(directory));
        files::make_dir(&elsewhere);
        files::make_dir(parent.parent().expect("a directory"));
        symlink(&elsewhere, &parent).expect("the room");
        town.mail("alice", "x.json", message);
        town.wait_for_reason(directory.split('/').next().expect("a word"));
        town.is_alive("bob", "bob");
        assert_eq!(fs::read_dir(&elsewhere).expect("it stays").count(), 0);
        files::remove_file(&parent);
        town.wait("it is kept where it belongs", || {
            !town.names(directory).is_empty()
        });
        town.wait_until_nothing_waits();
        assert_eq!(town.count("bob"), usize::from(directory == "sent/alice"));
    }
}

#[test]
fn a_message_already_there_under_the_name_of_a_claim_is_never_overwritten() {
    let town = Town::alice_and_bob();
    for n in 1..5 {
        town.write(
            &format!("spool/claim/{n}~alice~x.json"),
            json!({"to": "bob", "body": n.to_string()}).to_string(),
        );
    }
    town.route("alice", "x.json", json!({"to": "bob", "body": "mine"}));
    town.wait_for_bodies("bob", &["1", "2", "3", "4", "mine"]);
}

#[test]
fn a_claim_with_the_largest_number_there_is_stops_nobody() {
    let town = Town::alice_and_bob();
    let largest = format!("spool/claim/{}~alice~x.json", u64::MAX);
    town.write(&largest, r#"{"to": "bob", "body": "by hand"}"#);
    town.route("alice", "x.json", json!({"to": "bob", "body": "in order"}));
    assert_eq!(town.bodies("bob"), ["in order"]);
    assert!(
        town.room(&largest).exists(),
        "what is no claim is left alone"
    );
}

#[test]
fn no_name_in_a_message_writes_outside_the_room() {
    let town = Town::of("mallory bob").run();
    let before = outside(&town);
    let tricks: Vec<Value> = [
        "../../etc",
        "..",
        "/etc/passwd",
        "bob/../../x",
        "po:../x",
        "#../../x",
        "cap:../x",
        "bob\0",
        "bob\n",
        "~root",
        "@..",
        "all_..",
        "any_../x",
    ]
    .iter()
    .map(|to| json!({"to": to, "body": "x"}))
    .chain([
        json!({"to": "bob", "body": "x", "id": "../../x"}),
        json!({"to": "bob", "body": "x", "channel": "../../x"}),
        json!({"type": "subscribe", "topic": "../../x"}),
        json!({"to": "bob", "body": "x", "from": "../bob"}),
        json!({"to": "bob", "body": "x", "attachments": [{"path": "../registry.json"}]}),
        json!({"to": "bob", "body": "x", "attachments": [{"path": "/etc/passwd"}]}),
    ])
    .collect();
    for (n, trick) in tricks.iter().enumerate() {
        town.mail("mallory", &format!("{n}.json"), trick.clone());
    }
    town.wait_for_refusals("mallory", tricks.len());
    town.is_alive("mallory", "bob");
    assert_eq!((town.count("bob"), outside(&town)), (0, before));
}

/// The names around the room, but for the routers' words.
fn outside(town: &Town) -> Vec<String> {
    crate::town::listing(town.path())
        .into_iter()
        .filter(|name| !name.starts_with("router-"))
        .collect()
}

#[test]
fn an_outbox_swapped_repeatedly_for_a_symlink_delivers_no_file_of_its_target() {
    let town = Town::of("mallory bob").run();
    let (elsewhere, link) = (town.path().join("elsewhere"), town.path().join("link"));
    files::make_dir(&elsewhere);
    files::write(
        elsewhere.join("x.json"),
        r#"{"to": "bob", "body": "from behind"}"#,
    );
    symlink(&elsewhere, &link).expect("the world");
    for _ in 0..200 {
        exchange(&link, &town.room("outbox/mallory"));
    }
    town.is_alive("bob", "bob");
    town.is_alive("mallory", "bob");
    assert_eq!(town.count("bob"), 0);
    assert!(elsewhere.join("x.json").is_file());
}

// The limit of the protection: file permissions distinguish users, not agents.
#[test]
fn a_process_of_the_same_user_can_send_as_another_agent_and_a_changed_log_shows() {
    let mut town = Town::of("mallory alice bob").run();
    // The file has no trace of its real writer.
    files::write(
        town.room("outbox/alice/x.json"),
        r#"{"to": "bob", "body": "forged by mallory"}"#,
    );
    assert_eq!(town.wait_for_mail("bob", 1)[0]["from"], "alice");
    town.stop();
    town.verify();
    let log = town.room("log/00000001.ndjson");
    let text = files::read_text(&log);
    files::write(&log, text.replace("forged by mallory", "forged by nobody"));
    let found = World::run(&town, &["log", "verify"]);
    assert_ne!(found.code, 0, "{found:?}");
}
