//! The charter in rooms as they are: read-only, of another user, moved, archived, without a name, and made by a stranger.

use super::TEXT;
use crate::town::Town;
use crate::world::{World, skip};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

#[test]
fn a_charter_that_may_not_be_read_is_pending_and_mail_goes_on_until_it_may() {
    // P173
    if rustix::process::geteuid().is_root() {
        return skip("root may read everything");
    }
    let town = Town::of(&["alice", "bob"]).run();
    town.write("charter.md", TEXT);
    town.wait_for_mail("human", 1);
    let set = |mode| fs::set_permissions(town.room("charter.md"), fs::Permissions::from_mode(mode)).expect("ours");
    set(0o000);
    town.wait_for_reason("ermission denied");
    town.is_alive("alice", "bob");
    assert!(town.fails(75, &["charter"]).contains("ermission denied"));
    set(0o644);
    town.wait_until_nothing_waits();
    assert_eq!(town.count("human"), 1, "it is the same charter");
}

#[test]
fn a_moved_and_an_archived_room_know_their_charter() {
    let mut town = Town::of(&["alice", "bob", "carol"]).run();
    town.write("charter.md", TEXT);
    town.wait_for_mail("human", 1);
    town.stop();
    town.ok(&["archive", "--older-than", "0s"]);
    fs::remove_file(town.room("spool/checkpoint")).ok();
    let elsewhere = town.path().join("elsewhere");
    fs::rename(town.room(""), &elsewhere).expect("the same file system");
    let room = elsewhere.display().to_string();
    for _ in 0..2 {
        town.ok(&["--room", &room, "run", "--once", "-q"]);
    }
    let told = fs::read_dir(elsewhere.join("inbox/human")).expect("the inbox").filter_map(Result::ok);
    assert_eq!(told.filter(|entry| entry.path().extension().is_some_and(|end| end == "json")).count(), 1);
    assert!(town.ok(&["--room", &room, "charter"]).contains("Sign in with a passkey"));
}

#[test]
fn an_unidentified_session_and_a_person_with_a_strict_umask_write_and_read_it() {
    let world = World::with(&["alice"]);
    let program = assert_cmd::cargo::cargo_bin!("mailbag").display().to_string();
    let script = format!("umask 077; {program} --room {} charter init", world.room("").display());
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).env("MAILBAG_TRUST_DIR", world.trust());
    assert!(shell.status().expect("a shell").success());
    assert_eq!(world.json(&["charter"])["problems"], json!([]));
    assert!(world.names("").iter().all(|name| !name.contains(".tmp")));
}
