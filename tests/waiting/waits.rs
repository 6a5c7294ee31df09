//! `mailbag wait`

use super::{Beside, is_free, routes};
use crate::files;
use crate::town::Town;
use crate::world::{World, parse_json, skip};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

#[test]
fn mail_that_is_there_already_counts_and_stays_unread() {
    // P63
    let world = World::alice_and_bob();
    world.send("alice", "bob", "the first");
    world.send("alice", "bob", "the second");
    let shown = world.ok("wait --as bob --timeout 0");
    assert!(
        shown.contains("from: alice") && shown.ends_with("the first\n"),
        "{shown}"
    );
    let names = world.names("inbox/bob");
    assert_eq!(names.len(), 2);
    assert_eq!(world.names("inbox/bob/.announced"), names[..1]);
    // A new request shows it again, with or without a marker.
    let all = world.items("wait --as bob --timeout 0 --all --read");
    assert_fields!(all, 0.body: "the first", 1.body: "the second");
    assert!(world.names("inbox/bob").is_empty());
    assert_eq!(world.names("inbox/bob/seen"), names);
}

#[test]
fn a_filter_takes_the_former_name_of_an_agent() {
    let world = World::with("alice kiwi bob");
    world.send("kiwi", "bob", "before");
    super::rename(&world, "kiwi", "alice");
    world.send("alice", "bob", "after");
    world.send("bob", "alice", "answer");
    for (args, bodies) in [
        (
            "wait --from kiwi --as bob --timeout 0 --all",
            "before after",
        ),
        ("list --from kiwi --as bob", "before after"),
        ("search --from kiwi --as bob --regex .", "before after"),
        ("list --to kiwi --as bob", "answer"),
        ("list --to kiwi --unread", "answer"),
    ] {
        let items = world.items(args);
        let found = items.as_array().expect("a list").iter();
        let found: Vec<&str> = found
            .filter_map(|mail| mail["body"].as_str().or(mail["preview"].as_str()))
            .collect();
        assert_eq!(found.join(" "), bodies, "{args}");
    }
    assert_contains!(
        world.fails(3, "inbox kiwi"),
        "is an alias",
        "use one of: alice"
    );
}

#[test]
fn wait_ends_with_its_own_status_at_the_timeout() {
    let world = World::with("bob");
    for timeout in ["0", "50ms"] {
        let said = world.fails(4, &format!("wait --as bob --timeout {timeout}"));
        assert!(said.contains("bob") && said.lines().count() == 1, "{said}");
    }
    let error = world.fails(4, "wait --as bob --timeout 50ms --json");
    let error = parse_json(&error);
    assert_fields!(error["error"], code: "timeout", exit: 4);
    assert_contains!(world.fails(2, "wait --as bob --timeout soon"), "30s");
}

#[test]
fn only_mail_that_fits_ends_the_wait() {
    let world = World::with("alice bob carol");
    world.send("carol", "bob", "from somebody else");
    world.ok("send bob 'of another type' --as alice --thread t-1");
    world.write("inbox/bob/0.json", "garbage");
    let wanted = "wait --as bob --from @alice --thread t-1 --type answer --timeout";
    world.fails(4, &format!("{wanted} 0"));
    let waiting = Beside::start(&world, &format!("{wanted} 1m --json"));
    world.ok("send bob 'of another thread' --as alice --type answer");
    world.ok("send bob 'this one' --as alice --type answer --thread t-1");
    let told = parse_json(waiting.ends(&world, 0));
    assert_fields!(told["messages"], 0.body: "this one", 1: Value::Null);
}

#[test]
fn wait_shows_a_handwritten_file_when_it_is_a_complete_message() {
    let world = World::alice_and_bob();
    world.write("inbox/bob/x.json", r#"{"from": "alice", "body": "#);
    let waiting = Beside::start(&world, "wait --as bob --timeout 1m");
    world.fails(4, "wait --as bob --timeout 0");
    world.write(
        "inbox/bob/x.json",
        r#"{"from": "alice", "body": "by hand"}"#,
    );
    assert_contains!(waiting.ends(&world, 0), "by hand", "sender unknown");
    let garbage = world.write("inbox/bob/a.json", "{");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    let file = std::fs::File::options()
        .write(true)
        .open(garbage)
        .expect("a file");
    file.set_modified(long_ago).expect("its time can be set");
    assert_contains!(world.ok("wait --as bob --timeout 0"), "not a message");
}

#[test]
fn wait_rejects_an_impossible_filter_immediately() {
    let world = World::alice_and_bob();
    assert_contains!(world.fails(3, "wait --as bob --from alcie"), "alice");
    assert_contains!(world.fails(2, "wait --as bob --type anwser"), "answer");
    world.fails(4, "wait --as bob --from mailbag --type x-mine --timeout 0");
}

#[test]
fn mail_that_a_router_delivers_ends_the_wait() {
    let town = Town::alice_and_bob().run();
    let waiting = Beside::start(&town, "wait --as bob --timeout 1m");
    town.mail("alice", "x.json", json!({"to": "bob", "body": "by file"}));
    assert!(waiting.ends(&town, 0).ends_with("by file\n"));
    assert_eq!(town.count("bob"), 1);
}

#[test]
fn an_inbox_that_is_replaced_is_watched_again() {
    let town = Town::alice_and_bob().run();
    let mut waiting = Beside::start(&town, "list --follow --as bob");
    town.mail("alice", "1.json", json!({"to": "bob", "body": "before"}));
    town.wait("it follows", || waiting.out().contains("before"));
    files::rename(town.room("inbox/bob"), town.room("inbox/.old"));
    town.mail("alice", "2.json", json!({"to": "bob", "body": "after"}));
    town.wait("it follows the new one", || waiting.out().contains("after"));
    waiting.signal(Signal::TERM);
    assert_eq!(waiting.ended(&town).code(), Some(0));
}

#[test]
fn wait_does_not_announce_a_message_that_it_could_not_print() {
    // P63
    let world = World::alice_and_bob();
    world.send("alice", "bob", &"x".repeat(1000));
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let status = world.bare("wait --as bob --read").stdout(writer).status();
    assert!(status.expect("it runs").success());
    let is_new = || {
        assert_eq!(world.names("inbox/bob").len(), 1);
        assert!(world.names("inbox/bob/.announced").is_empty());
    };
    is_new();
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else {
        return skip("no /dev/full");
    };
    let status = world
        .bare("wait --as bob --read")
        .stdout(full)
        .stderr(Stdio::null())
        .status();
    assert!(!status.expect("it runs").success());
    is_new();
}

#[test]
fn wait_keeps_a_marker_that_another_program_made() {
    // P63
    let world = World::alice_and_bob();
    world.send("alice", "bob", "hello");
    let name = world.names("inbox/bob")[0].clone();
    world.write(&format!("inbox/bob/.announced/{name}"), "");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    world
        .bare("wait --as bob")
        .stdout(writer)
        .status()
        .expect("it runs");
    assert_eq!(world.names("inbox/bob/.announced"), [name]);
}

#[test]
fn a_signal_ends_a_wait_and_leaves_nothing_half_done() {
    let world = World::alice_and_bob();
    for signal in [Signal::TERM, Signal::INT] {
        let mut waiting = Beside::start(&world, "wait --as bob --timeout 1h");
        routes(&mut waiting, &world);
        waiting.signal(signal);
        assert_eq!(waiting.ended(&world).signal(), Some(signal.as_raw()));
        assert!(is_free(&world));
    }
    world.send("alice", "bob", "and then");
    world.verify();
}
