//! Every way to write a file is fine: by hand, in slow pieces, by rename, by link, under any name.

use crate::town::{Town, python};
use mailbag::disk::failpoint;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

fn alice_and_bob() -> Town {
    Town::alice_and_bob()
}

#[test]
fn a_file_written_by_hand_arrives_with_all_that_was_left_out_filled_in() {
    let town = alice_and_bob().run();
    town.drop_file("alice", "x.json", r#"{"to": "bob", "body": "hi"}"#);
    let mail = town.wait_for_mail("bob", 1).remove(0);
    assert_eq!(mail["body"], "hi");
    assert_eq!(
        (&mail["from"], &mail["to"], &mail["type"]),
        (&json!("alice"), &json!("bob"), &json!("message"))
    );
    assert!(
        mail["id"].is_string() && mail["timestamp"].is_string() && mail["delivery"]["seq"].is_u64(),
        "{mail:#}"
    );
    town.wait("the original is kept", || {
        town.names("sent/alice")
            .iter()
            .any(|name| name.ends_with("~x.json"))
    });
    assert!(town.names("outbox/alice").is_empty());
}

#[test]
fn a_shell_s_echo_arrives_once() {
    let town = alice_and_bob().run();
    let script = r#"echo '{"to": "bob", "body": "from a shell"}' > x.json"#;
    let mut shell = Command::new("sh");
    let status = shell
        .args(["-c", script])
        .current_dir(town.room("outbox/alice"))
        .status()
        .expect("a shell");
    assert!(status.success());
    town.is_alive("alice", "bob");
    town.wait_for_bodies("bob", &["from a shell"]);
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
    if !failpoint::linux_calls() {
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
    if !failpoint::linux_calls() {
        return; // Other systems cannot tell.
    }
    let town = alice_and_bob().run();
    let draft = town.room("draft");
    let mut held = fs::File::create(&draft).expect("room");
    held.write_all(br#"{"to": "bob", "body": "by another name"}"#)
        .expect("room");
    fs::hard_link(&draft, town.room("outbox/alice/linked.json")).expect("one file system");
    fs::remove_file(&draft).expect("a draft");
    town.wait_for_reason("still has it open");
    // It was opened under a name outside the outbox.
    drop(held);
    town.wait_for_bodies("bob", &["by another name"]);
    town.wait_until_nothing_waits();
}

#[test]
fn a_file_made_first_and_filled_later_is_not_refused_for_being_unfinished() {
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
    fs::rename(&draft, draft.with_file_name("x.json")).expect("the same directory");
    town.wait_for_bodies("bob", &["renamed"]);
}

#[test]
fn a_hard_link_into_the_outbox_arrives_once_whether_its_other_name_stays_or_goes() {
    let town = alice_and_bob().run();
    for (name, goes) in [("goes", true), ("stays", false)] {
        let draft = town.path().join(name);
        fs::write(&draft, json!({"to": "bob", "body": name}).to_string()).expect("room");
        fs::hard_link(&draft, town.room(&format!("outbox/alice/{name}.json")))
            .expect("the same file system");
        if goes {
            fs::remove_file(&draft).expect("it was just written");
        }
    }
    town.wait_for_bodies("bob", &["goes", "stays"]);
    // Writing through the other name does not change the delivered copy.
    fs::write(town.path().join("stays"), "changed").expect("room");
    town.wait_for_bodies("bob", &["goes", "stays"]);
}

#[test]
fn any_file_name_is_fine_and_comes_to_nothing_but_its_message() {
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
        fs::write(town.room("outbox/alice").join(name), text)
            .expect("the file system takes such names");
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
    let town = alice_and_bob().run();
    for name in ["notes.txt", "x.json.tmp", ".x.json", "json", "x.JSON~"] {
        town.drop_file("alice", name, r#"{"to": "bob", "body": "never"}"#);
    }
    fs::create_dir(town.room("outbox/alice/drafts")).expect("an outbox");
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
    assert_eq!(mail["id"], "msg_1763721000.123456");
    assert_eq!(mail["timestamp"], "2026-11-21T10:30:00.123456");
    assert_eq!(mail["mood"], json!({"curious": true}));
    let name = &town.names("inbox/bob")[0];
    assert!(
        name.ends_with("-alice-msg_1763721000.123456.json"),
        "{name}"
    );
    let raw = fs::read_to_string(town.room("inbox/bob").join(name)).expect("it is there");
    assert!(
        raw.contains("12345678901234567890123"),
        "numbers are kept as written: {raw}"
    );
}

#[test]
fn mail_dropped_before_the_router_started_and_in_a_new_directory_is_found() {
    let town = alice_and_bob();
    town.mail("alice", "early.json", json!({"to": "bob", "body": "early"}));
    let town = town.run();
    town.wait_for_bodies("bob", &["early"]);
    fs::remove_dir_all(town.room("outbox/alice")).expect("it is empty");
    // The router may have been first to make it again.
    fs::create_dir_all(town.room("outbox/alice")).expect("its parent is there");
    town.mail("alice", "late.json", json!({"to": "bob", "body": "late"}));
    town.wait_for_bodies("bob", &["early", "late"]);
}

#[test]
fn the_listing_of_an_inbox_is_the_order_of_acceptance_whatever_senders_say_of_the_time() {
    let town = alice_and_bob().run();
    let times = [
        "2099-01-01T00:00:00Z",
        "1970-01-01T00:00:00Z",
        "2026-11-21T10:30:00+14:00",
    ];
    for (n, time) in times.iter().enumerate() {
        town.mail(
            "alice",
            &format!("{n}.json"),
            json!({"to": "bob", "body": n.to_string(), "timestamp": time}),
        );
        town.wait_for_mail("bob", n + 1);
    }
    assert_eq!(town.bodies("bob"), ["0", "1", "2"]);
    let seqs: Vec<Option<u64>> = town
        .inbox("bob")
        .iter()
        .map(|mail: &Value| mail["delivery"]["seq"].as_u64())
        .collect();
    assert!(seqs.is_sorted(), "{seqs:?}");
}

#[test]
fn a_new_file_under_the_name_of_a_taken_file_is_a_new_message() {
    let town = alice_and_bob().run();
    let path = town.drop_file(
        "alice",
        "x.json",
        r#"{"to": "bob", "body": "as it was read"}"#,
    );
    town.wait_for_mail("bob", 1);
    assert!(!Path::new(&path).exists());
    town.drop_file(
        "alice",
        "x.json",
        r#"{"to": "bob", "body": "another, under the same name"}"#,
    );
    town.wait_for_bodies("bob", &["another, under the same name", "as it was read"]);
}
