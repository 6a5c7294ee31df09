//! Archive, rotation of the log, snapshot and index.

use super::super::explore::holds;
use super::super::story::{Act, ROOM, Story, drops, letter};
use crate::sim::{Machine, Node};
use mailbag::base::clock::Stamp;
use mailbag::base::error::Error;
use mailbag::commands::archive;
use mailbag::disk::Barrier;
use mailbag::router::daemon::pass;
use mailbag::{Result, Room};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::path::Path;

/// Packs everything that there is.
fn archived() -> Act {
    Act::Do(ROOM, |room| {
        let bound = Stamp::parse("2027-01-01T00:00:00Z").expect("a time");
        archive::archive(room, bound, false, &mut |_| {}).1
    })
}

#[test]
fn mail_is_archived() {
    holds(
        &Story::new("mail is archived", &["alice", "bob"])
            .before([
                letter("a1"),
                drops("bob", "wrong", json!({"to": "nobody", "body": "x"})),
                Act::pass(ROOM),
                Act::Move("room/inbox/bob"),
                Act::pass(ROOM),
            ])
            .then([archived(), letter("a2"), Act::pass(ROOM)]),
    );
}

#[test]
fn an_archived_message_is_dropped_again_and_answered() {
    holds(
        &Story::new("an archived message is dropped again", &["alice", "bob"])
            .with("MAILBAG_TEST_SEGMENT_BYTES", "1000")
            .before([letter("a1"), Act::pass(ROOM), Act::Take("room/inbox/bob")])
            .before([letter("a2"), Act::pass(ROOM), archived()])
            .then([
                letter("a1"),
                drops(
                    "bob",
                    "answer",
                    json!({"to": "alice", "body": "x", "in_reply_to": "a1"}),
                ),
                Act::pass(ROOM),
                archived(),
            ]),
    );
}

/// The second and the third message go to new segments, and the archiver takes the first.
#[test]
fn the_log_goes_on_in_a_new_segment() {
    holds(
        &Story::new("a new segment", &["alice", "bob"])
            .with("MAILBAG_TEST_SEGMENT_BYTES", "2000")
            .before(["b1", "b2", "b3"].map(letter))
            .then([
                Act::pass(ROOM),
                letter("a1"),
                Act::pass(ROOM),
                archived(),
                letter("a2"),
                Act::pass(ROOM),
            ]),
    );
}

#[test]
fn a_large_shared_file_is_compressed() {
    let text = "a long line of text\n".repeat(4000);
    let digest: String = Sha256::digest(&text)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let shared = json!([{"path": "long.md", "sha256": digest}]);
    holds(
        &Story::new("a large shared file", &["alice", "bob"])
            .before([
                Act::Write("room/context/long.md".into(), text.into_bytes()),
                drops(
                    "alice",
                    "shared",
                    json!({"to": "bob", "attachments": shared}),
                ),
                Act::pass(ROOM),
            ])
            .then([archived()]),
    );
}

/// Old ids are only in the index on the disk, and the state is read from a snapshot.
#[test]
fn a_duplicate_after_a_snapshot() {
    holds(
        &Story::new("a duplicate after a snapshot", &["alice", "bob"])
            .with("MAILBAG_TEST_RECENT_ENTRIES", "2")
            .with("MAILBAG_TEST_SNAPSHOT_BYTES", "500")
            .before([letter("a1"), Act::pass(ROOM)])
            .then([
                letter("a2"),
                letter("a3"),
                letter("a4"),
                Act::pass(ROOM),
                letter("a1"),
                letter("a5"),
                Act::pass(ROOM),
            ]),
    );
}

/// An old copy of the log comes, and the log is put back. Between them no router routes.
#[test]
fn an_older_log_comes_and_goes() {
    fn swap(machine: &Machine) {
        machine.rename("/home/room/log", "/home/other");
        machine.rename("/home/copy", "/home/room/log");
        machine.rename("/home/other", "/home/copy");
    }
    let copies: fn(&Machine) = |machine| {
        for (path, node) in machine.tree(Path::new("/home/room/log")) {
            if let (Some(name), Node::File(bytes)) = (path.file_name(), node) {
                machine.write(Path::new("/home/copy").join(name), bytes);
            }
        }
    };
    let syncs: fn(&Room) -> Result<()> = |room| {
        pass(room)?;
        let mut all = Barrier::new(room.dir.clone());
        all.everything();
        all.pass()
    };
    let stops: fn(&Room) -> Result<()> = |room| match pass(room) {
        Ok(_) => Err(Error::state(
            room.dir.path(),
            "it was routed with an older log",
            "",
        )),
        Err(_) => Ok(()),
    };
    holds(
        &Story::new("an older log", &["alice", "bob"])
            .before([letter("a1"), Act::pass(ROOM), Act::Outside(copies)])
            .then([
                letter("a2"),
                Act::pass(ROOM),
                // Without it, a power cut leaves no trace of the new records.
                Act::Do(ROOM, syncs),
                Act::Outside(swap),
                letter("a3"),
                Act::Do(ROOM, stops),
                Act::Outside(swap),
                Act::pass(ROOM),
            ]),
    );
}
