//! The charter in rooms as they are: read-only, moved, archived, without a name, and made by a stranger.

use super::TEXT;
use crate::files;
use crate::town::Town;
use crate::world::lossy;
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn an_unreadable_charter_is_pending_and_mail_continues_until_it_is_readable() {
    // P173
    let mut town = Town::alice_and_bob();
    town.write("charter.md", TEXT);
    town.leave_root();
    town.start_by(town.by_owner("run"));
    town.wait_for_mail("human", 1);
    let set = |mode| {
        fs::set_permissions(town.room("charter.md"), fs::Permissions::from_mode(mode))
            .expect("ours")
    };
    set(0o000);
    let is_denied = || {
        let output = town.by_owner("status").output().expect("it runs");
        lossy(&output.stdout).contains("ermission denied")
    };
    town.wait("the charter is pending", is_denied);
    town.is_alive("alice", "bob");
    set(0o644);
    town.wait("nothing is pending", || !is_denied());
    assert_eq!(town.count("human"), 1, "it is the same charter");
}

#[test]
fn a_moved_and_an_archived_room_know_their_charter() {
    let mut town = Town::of("alice bob carol").run();
    town.write("charter.md", TEXT);
    town.wait_for_mail("human", 1);
    town.stop();
    town.ok("archive --older-than 0s");
    fs::remove_file(town.room("spool/snapshot")).ok();
    let elsewhere = town.path().join("elsewhere");
    files::rename(town.room(""), &elsewhere);
    let room = elsewhere.display().to_string();
    for _ in 0..2 {
        town.ok(&["--room", &room, "run", "--once", "-q"]);
    }
    let told = fs::read_dir(elsewhere.join("inbox/human"))
        .expect("the inbox")
        .filter_map(Result::ok);
    assert_eq!(
        told.filter(|entry| entry.path().extension().is_some_and(|end| end == "json"))
            .count(),
        1
    );
    assert_contains!(
        town.ok(&["--room", &room, "context", "--as", "alice"]),
        "Sign in with a passkey"
    );
}
