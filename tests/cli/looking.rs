//! `mailbag status`, `mailbag log` and `mailbag run`

use crate::beside::Beside;
use crate::files;
use crate::world::{World, lossy, parse_json, sha256};
use serde_json::{Value, json};

#[test]
fn status_names_what_is_unread_refused_and_unregistered() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "hi");
    world.drop_file("alice", "bad.json", r#"{"to": "bbo", "body": "x"}"#);
    world.drop_file("stranger", "x.json", r#"{"to": "bob", "body": "x"}"#);
    world.ok("inbox bob");
    world.drop_file("bob", "waits.json", r#"{"to": "alice", "body": "x"}"#);
    let before = world.everything();
    let status = world.json("status");
    assert_eq!(status["router"], Value::Null);
    assert_fields!(status["unread"], bob: 1, alice: 1);
    assert_eq!(
        status["waiting"],
        json!([{"agent": "bob", "files": 1, "first": "waits.json"}])
    );
    assert_fields!(status, rejected.0.newest.0.code: "unknown_recipient");
    assert_fields!(status, unregistered.0.fix: "mailbag agent add stranger");
    assert_fields!(status, counts.rejected: 1, undelivered: json!([]));
    assert_contains!(
        world.ok("status"),
        "not running",
        "mailbag agent add stranger"
    );
    assert_eq!(world.everything(), before, "looking changes nothing");
}

#[test]
fn status_and_who_count_the_same_unread_messages() {
    let world = World::alice_and_bob();
    for body in ["taken", "unread", "moved away"] {
        world.send("alice", "bob", body);
    }
    world.take("bob");
    let last = world.names("inbox/bob").pop().expect("a message");
    // As a reader without mailbag does.
    world.move_mail("bob", &last, "", "seen");
    for name in ["inbox/bob/1.json", "inbox/bob/2.json"] {
        world.write(name, r#"{"from": "alice", "body": "placed by hand"}"#);
    }
    let status = world.json("status");
    let who = world.json("who");
    let mut agents = who["agents"].as_array().expect("agents").iter();
    let bob = agents.find(|agent| agent["id"] == "bob").expect("bob");
    assert_fields!(bob, unread: 2);
    assert_fields!(status, unread.bob: 2);
}

#[test]
fn status_shows_blocked_items_even_with_a_broken_registry() {
    let world = World::with("alice");
    let reason = "cannot deliver to inbox/alice: No space left on device";
    let lines = json!([{"path": "inbox/alice", "reason": reason, "since": "2026-11-21T10:30:00.000000Z"}, {"other": 1}, 7]);
    world.write("spool/waiting.json", lines.to_string());
    assert_eq!(world.json("status")["blocked"][0]["reason"], reason);
    world.write("registry.json", "{");
    let status = world.run("status --json");
    assert_eq!(status.code, 65);
    let status = parse_json(&status.out);
    assert_contains!(status["problems"][0].to_string(), "registry.json");
}

#[test]
fn the_log_is_verified_and_a_changed_byte_is_found() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "one");
    world.send("bob", "alice", "two");
    world.drop_file("alice", "bad.json", "[]");
    world.ok("inbox bob");
    let verified = world.json("log verify");
    assert_fields!(verified, events.accepted: 2, messages: 3);
    // The check of the protocol: `sed -n 1p | sha256sum` is the second line's prev.
    let text = world.text("log/00000001.ndjson");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    assert_eq!(parse_json(lines[1])["prev"], sha256(lines[0]));
    let before = text.split("\"one\"").next().expect("the message");
    let place = format!("log/00000001.ndjson line {}", before.lines().count());
    world.write("log/00000001.ndjson", text.replace("\"one\"", "\"eno\""));
    assert_contains!(
        world.fails(65, "log verify"),
        &format!("{place}: wrong digest")
    );
}

#[test]
fn a_cut_or_reordered_log_does_not_verify() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "one");
    world.send("alice", "bob", "two");
    let path = world.room("log/00000001.ndjson");
    let text = files::read_text(&path);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (before, last) = text
        .rsplit_once("\"count\":")
        .expect("the count of the last batch");
    let damaged = [
        (text[..text.len() - 5].to_owned(), "incomplete"),
        (lines[1..].concat(), "chain is broken"),
        ([lines[0], lines[2]].concat(), "chain is broken"),
        (
            format!("{before}\"county\":{last}"),
            "the last batch is incomplete",
        ),
    ];
    for (text, why) in damaged {
        files::write(&path, text);
        let said = world.fails(65, "log verify");
        if why == "chain is broken" {
            let status = world.run("status");
            assert_eq!(status.code, 1, "{status:?}");
            assert_contains!(status.out, "mailbag log verify");
        }
        assert!(said.contains(why), "{why}: {said}");
    }
}

#[test]
fn a_cut_end_that_was_committed_is_reported_as_a_loss() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "one");
    let path = world.room("log/00000001.ndjson");
    let text = files::read_text(&path);
    files::write(&path, &text[..text.len() - 5]);
    let said = world.fails(65, "log verify");
    assert_contains!(said, "mailbag log accept-gap");
    let status = world.run("status");
    assert_eq!(status.code, 1, "{status:?}");
    assert_contains!(status.out, "mailbag log verify");
    for said in [said, status.out] {
        assert_contains!(said, "shows record");
        assert!(!said.contains("cuts it off"), "{said}");
    }
}

#[test]
fn run_once_routes_what_is_there_and_ends() {
    let world = World::alice_and_bob();
    world.drop_file("alice", "x.json", r#"{"to": "bob", "body": "hi"}"#);
    let tally = world.json("run --once");
    assert_fields!(tally, accepted: 1, copies: 1, waiting: 0);
    assert_eq!(world.bodies("bob"), ["hi"]);
}

#[test]
fn a_router_prints_its_room_delivers_mail_and_ends_cleanly() {
    let world = World::alice_and_bob();
    let router = world.router("");
    assert_contains!(router.log(), ".mailbag", "3 agents");
    assert!(world.json("status")["router"]["pid"].is_u64());
    world.drop_file("alice", "x.json", r#"{"to": "bob", "body": "dropped"}"#);
    world.wait("the dropped file arrives", || {
        world.bodies("bob") == ["dropped"]
    });
    world.send("alice", "bob", "sent");
    world.wait("the sent message arrives", || {
        world.bodies("bob") == ["dropped", "sent"]
    });
    // A second one is not needed.
    assert_contains!(world.fails(75, "run"), "already");
    assert_eq!(router.end(), 0);
    assert_eq!(world.json("status")["router"], Value::Null);
}

#[test]
fn the_router_notifies_the_service_manager_when_it_watches() {
    let world = World::with("alice");
    let socket = world.path().join("notify.sock");
    let listener = std::os::unix::net::UnixDatagram::bind(&socket).expect("a socket");
    listener
        .set_read_timeout(Some(std::time::Duration::from_secs(20)))
        .expect("a timeout");
    let mut router = world.bare("run -q");
    router.env("NOTIFY_SOCKET", &socket);
    let _router = Beside::by(&world, router);
    let mut buffer = [0; 256];
    listener
        .recv(&mut buffer)
        .expect("a word to the service manager");
    assert_contains!(lossy(buffer), "READY=1");
}

#[test]
fn status_shows_a_pending_file_with_a_non_utf_8_name() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::with("alice");
    let name = std::ffi::OsStr::from_bytes(b"unfinish\xe9d.json");
    files::write(world.room("outbox/alice").join(name), "{\"to\":");
    world.pass();
    let blocked = &world.json("status")["blocked"][0];
    assert_fields!(
        blocked,
        path: "outbox/alice/unfinish\u{fffd}d.json",
        reason: "it is empty or incomplete",
    );
}

#[test]
fn long_lists_of_agents_are_cut_to_the_first_names_and_the_others_are_counted() {
    let world = World::with("alice");
    world.ok("agent add w1 w2 w3 w4 w5 w6 w7 w8 --role worker");
    let ran = world.run("ask all_worker hello --all --timeout 1ms --as alice");
    assert_contains!(
        ran.err,
        "asked w1, w2, w3, w4, w5 and 3 more: ",
        " from w1, w2, w3, w4, w5 and 3 more"
    );
    assert_eq!(ran.code, 4);
    assert_contains!(
        world.ok("status"),
        "8: w1 1, w2 1, w3 1, w4 1, w5 1 and 3 more"
    );
    let status = world.json("status");
    let unread = status["unread"].as_object().map(serde_json::Map::len);
    assert_eq!(unread, Some(8), "the JSON output is complete");
}
