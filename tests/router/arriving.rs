//! Every way to write a file is fine: by hand, in slow pieces, by rename, by link, under any name.

use crate::files;
use crate::town::{Town, python};
use mailbag::disk::linux_calls;
use serde_json::json;
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

fn alice_and_bob() -> Town {
    Town::alice_and_bob()
}

/// Writes a message of 20 KB as `json.dump` does, 200 bytes at a time, and reports when it is about
/// to close the file.
const SLOWLY: &str = r#"
import json, sys, time
out = open(sys.argv[1], 'w')
text = ''.join(json.JSONEncoder().iterencode({'to': 'bob', 'body': 'x' * 20000}))
for at in range(0, len(text), 200):
    out.write(text[at:at + 200]); out.flush(); time.sleep(0.03)
time.sleep(0.5)
open(sys.argv[2], 'w').close()
out.close()
"#;

#[test]
fn python_s_slow_pieces_arrive_whole_and_never_before_the_file_is_closed() {
    let town = alice_and_bob().run();
    let closing = town.path().join("closing");
    let slow = [&*town.room("outbox/alice/slow.json"), &*closing];
    let Some(mut writer) = python(SLOWLY, &slow) else {
        return;
    };
    town.wait("the slow message", || {
        let came = town.count("bob") > 0;
        assert!(
            !came || closing.exists(),
            "it came before its writer had closed it"
        );
        came
    });
    assert!(writer.wait().expect("its own child").success());
    town.is_alive("alice", "bob");
    let mail = town.wait_for_mail("bob", 1);
    assert_eq!(mail[0]["body"].as_str().map(str::len), Some(20000));
    assert!(town.refusals("alice").is_empty());
}

#[test]
fn a_complete_message_that_is_still_open_waits_and_delays_no_other_mail() {
    // P3
    if !linux_calls() {
        return; // Other systems cannot tell.
    }
    let town = alice_and_bob().run();
    let mut held = fs::File::create(town.room("outbox/alice/held.json")).expect("an outbox");
    held.write_all(br#"{"to": "bob", "body": "held"}"#)
        .expect("room");
    town.is_alive("alice", "bob");
    town.wait_for_reason("still has it open");
    assert_eq!(town.count("bob"), 0);
    drop(held);
    town.wait_for_bodies("bob", &["held"]);
    town.wait_until_nothing_waits();
}

#[test]
fn a_file_is_taken_after_its_writer_has_closed_it_even_if_no_event_tells_of_that() {
    // P3
    if !linux_calls() {
        return; // Other systems cannot tell.
    }
    let town = alice_and_bob().run();
    let draft = town.room("draft");
    let mut held = fs::File::create(&draft).expect("room");
    held.write_all(br#"{"to": "bob", "body": "by another name"}"#)
        .expect("room");
    fs::hard_link(&draft, town.room("outbox/alice/linked.json")).expect("one file system");
    files::remove_file(&draft);
    town.wait_for_reason("still has it open");
    // It was opened under a name outside the outbox.
    drop(held);
    town.wait_for_bodies("bob", &["by another name"]);
    town.wait_until_nothing_waits();
}

#[test]
fn a_file_made_first_and_filled_later_is_not_refused_for_being_unfinished() {
    // P4
    let town = alice_and_bob().run();
    let path = town.room("outbox/alice/appended.json");
    // Each piece is opened and closed, as by `touch` and `>>`; the router has seen each piece
    // before the next one.
    for piece in [
        "",
        "{\"to\": \"bob\",",
        " \"body\": ",
        "\"in pieces\"",
        "}\n",
    ] {
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .expect("an outbox");
        file.write_all(piece.as_bytes()).expect("room");
        drop(file);
        if !piece.ends_with('\n') {
            town.is_alive("alice", "bob");
        }
    }
    town.wait_for_bodies("bob", &["in pieces"]);
    assert!(town.refusals("alice").is_empty());
}

#[test]
fn a_file_renamed_into_the_outbox_arrives() {
    let town = alice_and_bob().run();
    let draft = town.drop_file("alice", ".draft", r#"{"to": "bob", "body": "renamed"}"#);
    town.is_alive("alice", "bob");
    assert_eq!(town.count("bob"), 0, "a name with a dot is left alone");
    files::rename(&draft, draft.with_file_name("x.json"));
    town.wait_for_bodies("bob", &["renamed"]);
}

#[test]
fn a_hard_link_into_the_outbox_arrives_once_whether_its_other_name_stays_or_goes() {
    let town = alice_and_bob().run();
    for (name, goes) in [("goes", true), ("stays", false)] {
        let draft = town.path().join(name);
        files::write(&draft, json!({"to": "bob", "body": name}).to_string());
        fs::hard_link(&draft, town.room(&format!("outbox/alice/{name}.json")))
            .expect("the same file system");
        if goes {
            files::remove_file(&draft);
        }
    }
    town.wait_for_bodies("bob", &["goes", "stays"]);
    // Writing through the other name does not change the delivered copy.
    files::write(town.path().join("stays"), "changed");
    town.wait_for_bodies("bob", &["goes", "stays"]);
}

#[test]
fn any_file_name_is_fine_and_comes_to_nothing_but_its_message() {
    // P1, P2
    let town = alice_and_bob().run();
    let longest = "é".repeat(125) + ".json";
    let names = [
        OsStr::new("2026-11-21T10:30:00.123456-engineer_*-msg_1763.5.json"),
        OsStr::new(&longest),
        OsStr::new("two\nlines.json"),
        OsStr::new("-rf ~ $(reboot) 'quoted' \"twice\" \\ *.json"),
        OsStr::new("\u{202e}nosj.json"),
        OsStr::new("7~bob~x.json"),
        OsStr::from_bytes(b"not \xff\xfe UTF-8.json"),
    ];
    for (n, name) in names.iter().enumerate() {
        let text = json!({"to": "bob", "body": n.to_string()}).to_string();
        files::write(town.room("outbox/alice").join(name), text);
    }
    town.wait_for_bodies("bob", &["0", "1", "2", "3", "4", "5", "6"]);
    town.wait("the originals are kept", || {
        town.names("sent/alice").len() == names.len()
    });
    assert!(
        fs::read_dir(town.room("outbox/alice"))
            .expect("an outbox")
            .next()
            .is_none()
    );
    assert!(town.refusals("alice").is_empty());
}

#[test]
fn files_without_a_json_name_or_with_a_leading_dot_are_ignored() {
    // P1, P2
    let town = alice_and_bob().run();
    for name in ["notes.txt", "x.json.tmp", ".x.json", "json", "x.JSON~"] {
        town.drop_file("alice", name, r#"{"to": "bob", "body": "never"}"#);
    }
    files::make_dir(town.room("outbox/alice/drafts"));
    town.is_alive("alice", "bob");
    assert_eq!(town.count("bob"), 0);
    assert_eq!(
        fs::read_dir(town.room("outbox/alice"))
            .expect("an outbox")
            .count(),
        6
    );
}

#[test]
fn timestamps_without_a_zone_unusual_ids_and_extra_fields_are_kept_unchanged() {
    let town = alice_and_bob().run();
    let text = r#"{"id": "msg_1763721000.123456", "timestamp": "2026-11-21T10:30:00.123456", "to": "bob",
        "body": "odd", "mood": {"curious": true}, "tokens": 12345678901234567890123}"#;
    town.drop_file("alice", "x.json", text);
    let mail = town.wait_for_mail("bob", 1).remove(0);
    assert_fields!(mail, id: "msg_1763721000.123456", timestamp: "2026-11-21T10:30:00.123456");
    assert_eq!(mail["mood"], json!({"curious": true}));
    let name = &town.names("inbox/bob")[0];
    assert!(
        name.ends_with("-alice-msg_1763721000.123456.json"),
        "{name}"
    );
    assert_contains!(files::read_text(town.room("inbox/bob").join(name)), "12345678901234567890123"; "numbers are kept as written");
}

#[test]
fn mail_dropped_before_the_router_started_and_in_a_new_directory_is_found() {
    let town = alice_and_bob();
    town.mail("alice", "early.json", json!({"to": "bob", "body": "early"}));
    let town = town.run();
    town.wait_for_bodies("bob", &["early"]);
    files::remove_dir(town.room("outbox/alice"));
    // The router may have been first to make it again.
    files::make_dir(town.room("outbox/alice"));
    town.mail("alice", "late.json", json!({"to": "bob", "body": "late"}));
    town.wait_for_bodies("bob", &["early", "late"]);
}
