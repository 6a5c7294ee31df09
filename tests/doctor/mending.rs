//! `--fix` fixes and reports only problems that it can fix without losing data.

use super::{codes, examined, finding, says};
use crate::files;
use crate::world::World;
use serde_json::{Value, json};

/// Runs `--fix` and returns the codes of the fixed findings.
fn fixed(world: &World) -> Vec<Value> {
    let report = examined(world, "--fix");
    assert_eq!(
        (&report["healthy"], codes(&report)),
        (&json!(true), vec![]),
        "{report:#}"
    );
    report["fixed"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|fixed| fixed["code"].clone())
        .collect()
}

#[test]
fn a_conversation_that_lacks_messages_is_made_again() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "one");
    world.send("alice", "bob", "two");
    let path = world.room("channels/main/messages.ndjson");
    let whole = files::read(&path);
    files::remove_file(&path);
    says(
        &finding(&examined(&world, ""), "conversation_behind"),
        "warning",
        &["channels/main", "ends at message 0"],
    );
    let cut = whole
        .iter()
        .position(|&byte| byte == b'\n')
        .expect("two lines")
        + 1;
    files::write(&path, &whole[..cut]);
    let found = finding(&examined(&world, ""), "conversation_behind");
    says(&found, "warning", &["mailbag run --once"]);
    assert_eq!(fixed(&world), ["conversation_behind"]);
    assert_eq!(files::read(&path), whole);
}

#[test]
fn a_last_batch_that_is_not_whole_is_cut_off() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "one");
    let path = world.room("log/00000001.ndjson");
    let mut text = files::read_text(&path);
    text.push_str("{\"seq\":99,");
    files::write(&path, &text);
    says(
        &finding(&examined(&world, ""), "log_unfinished"),
        "warning",
        &["incomplete"],
    );
    let report = examined(&world, "--fix");
    assert_eq!(report["fixed"][0]["code"], "log_unfinished");
    assert_eq!(codes(&report), [""; 0]);
    world.verify();
}

#[test]
fn fix_removes_the_lock_file_of_a_killed_router() {
    let world = World::with("alice");
    world.write(
        "spool/lock",
        "{\"pid\":4194303,\"mode\":\"run\",\"since\":\"2026-01-01T00:00:00Z\"}\n",
    );
    says(
        &finding(&examined(&world, ""), "killed_router"),
        "note",
        &["4194303"],
    );
    assert_eq!(fixed(&world), ["killed_router"]);
}

#[test]
fn a_missing_directory_is_made_and_waiting_mail_routed() {
    let world = World::alice_and_bob();
    files::remove_dir(world.room("spool/stage"));
    files::remove_dir(world.room("context"));
    world.drop_file("alice", "x.json", r#"{"to": "bob", "body": "x"}"#);
    let report = examined(&world, "");
    assert_eq!(
        codes(&report),
        ["missing_directory", "missing_directory", "waiting"],
        "{report:#}"
    );
    assert_eq!(
        fixed(&world),
        ["missing_directory", "missing_directory", "waiting"]
    );
    assert!(world.room("spool/stage").is_dir() && world.bodies("bob") == ["x"]);
}

#[test]
fn fix_reports_its_changes_in_words() {
    let world = World::alice_and_bob();
    world.drop_file("alice", "x.json", r#"{"to": "bob", "body": "x"}"#);
    assert_contains!(
        world.ok("doctor --fix"),
        "fixed: 1 file pending in outboxes",
        "no problems with"
    );
}

#[test]
fn fix_does_not_change_an_invalid_registry() {
    let world = World::with("alice");
    world.write("registry.json", "{");
    let before = files::read(world.room("registry.json"));
    let report = examined(&world, "--fix");
    assert_eq!(
        (codes(&report), &report["fixed"]),
        (vec!["registry".to_owned()], &json!([])),
        "{report:#}"
    );
    assert_eq!(files::read(world.room("registry.json")), before);
}
