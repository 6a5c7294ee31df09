//! `seen`: the router observes it, whatever the recipient does with its file, and even while no
//! router runs.

use super::{statuses, wait_for_status};
use crate::files;
use crate::town::Town;
use crate::world::{World, parse_json};
use serde_json::{Value, json};
use std::fs;

fn file(world: &World, agent: &str) -> std::path::PathBuf {
    let name = world
        .names(&format!("inbox/{agent}"))
        .first()
        .cloned()
        .expect("unread mail");
    world.room(&format!("inbox/{agent}/{name}"))
}

#[test]
fn an_agent_that_only_globs_and_deletes_gives_its_senders_a_receipt() {
    // P58
    let town = Town::alice_and_bob().run();
    let id = town.send("alice", "bob", "hello");
    town.wait_for_mail("bob", 1);
    assert!(
        !statuses(&town, &id, "bob").contains(&"seen".to_owned()),
        "nobody has read it yet"
    );
    let script = r#"for file in .mailbag/inbox/bob/*.json; do rm "$file"; done"#;
    let shell = std::process::Command::new("sh")
        .args(["-c", script])
        .current_dir(town.path())
        .status();
    assert!(shell.expect("a shell").success());
    wait_for_status(&town, &id, "bob", "seen");
}

#[test]
fn a_file_with_another_name_was_seen_with_and_without_a_router() {
    // P58, P350
    for ending in [".json.done", ".done.json", "~2.json"] {
        let rename = |world: &World| {
            let mail = file(world, "bob");
            let name = mail.file_stem().unwrap_or_default().to_string_lossy();
            files::rename(&mail, mail.with_file_name(format!("{name}{ending}")));
        };
        let mut town = Town::alice_and_bob().run();
        let id = town.send("alice", "bob", "hello");
        town.wait_for_mail("bob", 1);
        rename(&town);
        wait_for_status(&town, &id, "bob", "seen");
        town.stop();
        let world = World::alice_and_bob();
        let id = world.send("alice", "bob", "hello");
        world.pass();
        rename(&world);
        assert_eq!(world.json("status")["unread"], json!({}), "{ending}");
        world.pass();
        assert_contains!(statuses(&world, &id, "bob").join(" "), "seen"; "{ending}");
    }
}

#[test]
fn a_copy_that_left_after_the_clock_was_set_back_was_seen() {
    // P58
    let world = World::alice_and_bob();
    let ahead = world.run_with("send -q bob ahead --as alice", |command| {
        command.env("MAILBAG_TEST_NOW", "2099-03-01T00:00:00Z");
    });
    fs::remove_file(file(&world, "bob")).expect("his own");
    world.pass();
    assert_contains!(statuses(&world, ahead.ok().trim(), "bob").join(" "), "seen");
    let right = world.ok("send -q bob right --as alice");
    fs::remove_file(file(&world, "bob")).expect("his own");
    world.pass();
    assert_contains!(statuses(&world, right.trim(), "bob").join(" "), "seen");
}

#[test]
fn a_file_that_was_moved_anywhere_was_seen() {
    let mut town = Town::of("alice bob carol").run();
    let id = town
        .ok("send -q bob carol hello --as alice")
        .trim()
        .to_owned();
    town.wait_for_mail("bob", 1);
    town.wait_for_mail("carol", 1);
    files::make_dir(town.room("inbox/bob/seen"));
    let mail = file(&town, "bob");
    files::rename(
        &mail,
        town.room("inbox/bob/seen")
            .join(mail.file_name().expect("a name")),
    );
    files::rename(file(&town, "carol"), town.path().join("mine.json"));
    wait_for_status(&town, &id, "bob", "seen");
    wait_for_status(&town, &id, "carol", "seen");
    town.stop();
    town.verify();
}

#[test]
fn a_starting_router_records_mail_read_while_it_was_dead() {
    let mut town = Town::alice_and_bob().run();
    let id = town.send("alice", "bob", "hello");
    town.wait_for_mail("bob", 1);
    town.stop();
    files::remove_file(file(&town, "bob"));
    let town = town.run();
    wait_for_status(&town, &id, "bob", "seen");
}

#[test]
fn a_taken_message_is_seen_only_after_it_is_done() {
    let town = Town::alice_and_bob().run();
    let id = town.send("alice", "bob", "a task");
    town.wait_for_mail("bob", 1);
    let mail = file(&town, "bob");
    let taken = town.room("inbox/bob/taken");
    files::make_dir(&taken);
    let taken = taken.join(mail.file_name().expect("a name"));
    files::rename(&mail, &taken);
    // Another message's receipt shows that the router has also observed the first move.
    let other = town.send("alice", "bob", "another");
    town.wait_for_mail("bob", 1);
    files::remove_file(file(&town, "bob"));
    wait_for_status(&town, &other, "bob", "seen");
    assert_eq!(statuses(&town, &id, "bob"), ["accepted", "delivered"]);
    files::remove_file(taken);
    wait_for_status(&town, &id, "bob", "seen");
}

#[test]
fn a_copy_that_was_put_back_is_not_seen() {
    let town = Town::alice_and_bob();
    let id = town.send("alice", "bob", "hello");
    let mail = file(&town, "bob");
    let elsewhere = town.path().join("elsewhere.json");
    files::rename(&mail, &elsewhere);
    files::rename(&elsewhere, &mail);
    assert_eq!(statuses(&town, &id, "bob"), ["accepted", "delivered"]);
}

#[test]
fn a_copy_that_could_not_be_delivered_yet_was_not_seen() {
    let town = Town::alice_and_bob();
    fs::remove_dir(town.room("inbox/bob")).expect("an empty inbox");
    files::write(town.room("inbox/bob"), "in the way");
    let id = town.send("alice", "bob", "hello");
    assert_eq!(statuses(&town, &id, "bob"), ["accepted"]);
    files::remove_file(town.room("inbox/bob"));
    assert_eq!(statuses(&town, &id, "bob"), ["accepted", "delivered"]);
    assert_eq!(town.bodies("bob"), ["hello"]);
}

#[test]
fn an_announcement_marker_is_a_status_and_is_removed_with_the_copy() {
    // P32, P58
    let world = World::alice_and_bob();
    let id = world.send("alice", "bob", "hello");
    let mail = file(&world, "bob");
    let name = mail
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    world.write(&format!("inbox/bob/.announced/{name}"), "");
    assert_eq!(
        statuses(&world, &id, "bob"),
        ["accepted", "delivered", "announced"]
    );
    let announced_at = || world.json(&["trace", &id])["recipients"][0]["statuses"][2]["at"].clone();
    let before = announced_at();
    files::remove_file(mail);
    assert_eq!(
        statuses(&world, &id, "bob"),
        ["accepted", "delivered", "announced", "seen"]
    );
    assert_eq!(announced_at(), before);
    assert_eq!(world.bodies("bob"), [""; 0]);
    assert!(!world.room(&format!("inbox/bob/.announced/{name}")).exists());
}

#[test]
fn receipts_of_a_thousand_copies_are_one_record() {
    let town = Town::alice_and_bob().quick();
    for n in 0..1000 {
        town.drop_file(
            "alice",
            &format!("{n}.json"),
            r#"{"to": "bob", "body": "hi"}"#,
        );
    }
    town.pass();
    assert_eq!(town.count("bob"), 1000);
    files::remove_dir(town.room("inbox/bob"));
    files::make_dir(town.room("inbox/bob"));
    town.pass();
    let told = town.log("receipts");
    let records: Vec<serde_json::Value> = told.lines().map(parse_json).collect();
    assert_eq!(records.len(), 1, "{told}");
    assert_eq!(
        records[0]["receipts"][0]["seqs"].as_array().map(Vec::len),
        Some(1000)
    );
    town.verify();
}

#[test]
fn trace_gives_no_time_of_delivery_after_the_copy_left() {
    let world = World::with("alice bob");
    world.ok("send bob hi --as alice");
    let delivered = || world.json("trace 2")["recipients"][0]["statuses"][1].clone();
    assert!(delivered()["at"].is_string());
    world.ok("read --as bob");
    world.pass();
    assert_eq!(
        (&delivered()["status"], &delivered()["at"]),
        (&json!("delivered"), &json!(null))
    );
}

/// The number of bob's unread messages in the inbox, the list, `who` and the status.
fn unread_of_bob(world: &World) -> [usize; 4] {
    let length = |value: Value| value.as_array().map_or(0, Vec::len);
    let number = |value: &Value| value.as_u64().unwrap_or_default() as usize;
    let who = world.json("who");
    let mut agents = who["agents"].as_array().into_iter().flatten();
    let bob = agents.find(|one| one["id"] == "bob").expect("bob");
    [
        length(world.items("inbox bob")),
        length(world.items("list --unread --to bob")),
        number(&bob["unread"]),
        number(&world.json("status")["unread"]["bob"]),
    ]
}

#[test]
fn a_copy_that_was_moved_back_is_unread_everywhere_with_and_without_a_router() {
    // P58
    for place in ["seen", "taken", "expired"] {
        let world = World::alice_and_bob();
        let id = world.send("alice", "bob", "hello");
        world.pass();
        let mail = file(&world, "bob");
        let away = world.room(&format!("inbox/bob/{place}"));
        fs::create_dir_all(&away).expect("a directory");
        let away = away.join(mail.file_name().expect("a name"));
        files::rename(&mail, &away);
        world.pass();
        files::rename(&away, &mail);
        assert_eq!(unread_of_bob(&world), [1; 4], "back from {place}");
        world.ok("read --as bob");
        world.pass();
        assert_eq!(unread_of_bob(&world), [0; 4], "read after {place}");
        assert_contains!(statuses(&world, &id, "bob").join(" "), "seen"; "{place}");
        world.verify();
    }
    let town = Town::alice_and_bob().run();
    let id = town.send("alice", "bob", "hello");
    town.wait_for_mail("bob", 1);
    town.ok("read --as bob");
    wait_for_status(&town, &id, "bob", "seen");
    let name = town.names("inbox/bob/seen").remove(0);
    let [seen, inbox] = ["inbox/bob/seen", "inbox/bob"].map(|place| town.room(place).join(&name));
    files::rename(&seen, &inbox);
    town.wait("a running router sees it", || {
        unread_of_bob(&town) == [1; 4]
    });
}
