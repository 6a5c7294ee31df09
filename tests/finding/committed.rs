//! The end of the log: readers show complete batches, and a message counts as accepted when its batch is synced.

use crate::beside::Beside;
use crate::files;
use crate::mcp::Client;
use crate::sim::CallName;
use crate::world::{World, parse_json};
use mailbag::base::error::Error;
use mailbag::commands::ask::ask;
use mailbag::commands::post::{SendResult, delivery_after, post};
use mailbag::commands::send::{MessageDraft, OutboxMessage};
use mailbag::log::START;
use mailbag::query::identity::{AgentIdentity, IdentitySource};
use mailbag::query::reach::{AnnouncementTime, ExpectedReception};
use mailbag::room::{LockAttempt, Room};
use mailbag::router::daemon::{PassResult, pass, pass_by};
use rustix::io::Errno;
use serde_json::{Value, json};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

/// The commands that read the log, each asked for the message `late` in the thread `talk`, with a word of its body.
const READERS: [&str; 5] = [
    "list",
    "search unsynced",
    "thread talk",
    "trace late",
    "trace alice/late",
];

/// Alice wrote to bob once.
fn world() -> World {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "before");
    world
}

fn late(world: &World) {
    let message = json!({"id": "late", "to": "bob", "thread_id": "talk", "body": "unsynced"});
    world.mail("alice", "late.json", &message);
}

/// The readers that show the message.
fn shown(world: &World) -> Vec<&'static str> {
    let shows = |reader: &&str| {
        let ran = world.run(&format!("{reader} --as alice --json"));
        assert!(ran.code == 0 || ran.code == 3, "{reader}: {ran:?}");
        ran.out.contains("unsynced") || ran.out.contains("\"late\"")
    };
    READERS.into_iter().filter(shows).collect()
}

/// Returns true for each sync of a segment, also of a new file for it.
fn syncs_the_log(call: CallName, paths: &[PathBuf]) -> bool {
    matches!(call, CallName::SyncData | CallName::SyncFile)
        && paths[0].to_string_lossy().contains("/log/")
}

#[test]
fn a_reader_can_show_a_message_before_its_sync_and_it_is_delivered_once() {
    // P94
    let (world, during) = with_a_failed_sync(shown);
    assert_eq!(during, READERS, "while the sync was under way");
    assert_eq!(world.bodies("bob"), ["before"], "nothing is delivered");
    world.pass();
    assert_eq!(shown(&world), READERS);
    assert_eq!(world.bodies("bob"), ["before", "unsynced"]);
}

/// The notice for the sender of the message `late`.
fn posted(world: &World) -> SendResult {
    let room = Room::open(&world.room("")).expect("a room");
    let file = "outbox/alice/late.json".into();
    let sent = OutboxMessage {
        id: "late".into(),
        file,
        recipients: Vec::new(),
        unreached: Vec::new(),
        since: START,
        announcement: AnnouncementTime::Next,
        copied: Vec::new(),
    };
    let passed = Ok(PassResult::Routed(Default::default()));
    delivery_after(&room, sent, passed, Duration::ZERO).expect("it can be read")
}

#[test]
fn a_sender_learns_that_a_recipient_has_taken_the_message_already() {
    // P443
    let world = world();
    late(&world);
    world.pass();
    let reach = || posted(&world).recipients[0].reach.clone();
    assert_eq!(reach(), Some(ExpectedReception::NotRunning));
    world.ok("read --all --as bob");
    assert_eq!(reach(), Some(ExpectedReception::Seen));
}

/// Whether the sender learns that the message is accepted, and the number of accepted messages that `mailbag status` counts.
fn told(world: &World) -> (bool, Value) {
    (
        posted(world).seq.is_some(),
        world.json("status")["counts"]["accepted"].clone(),
    )
}

/// A room where the sync of the log failed, and the answer of `look` while the sync was under way.
fn with_a_failed_sync<T: Send + 'static>(look: fn(&World) -> T) -> (Arc<World>, T) {
    let world = Arc::new(world());
    late(&world);
    let (shown, (tell, told)) = (Arc::clone(&world), channel());
    let hook = move |call, paths: &[PathBuf]| {
        if syncs_the_log(call, paths) {
            tell.send(look(&shown)).expect("the test listens");
            return Err(Errno::IO.into());
        }
        Ok(())
    };
    let routed = world.watched(hook, |room| {
        // As a router that stays, because readers would wait for a pass.
        match room.lock_to_run()? {
            LockAttempt::Ours(lock) => pass_by(room, lock, || Ok(())),
            LockAttempt::Theirs(_) => panic!("the room is free"),
        }
    });
    assert!(matches!(routed, Err(Error::Sync { .. })), "{routed:?}");
    let during = told.try_recv().expect("the log was synced");
    (world, during)
}

#[test]
fn no_command_reports_a_message_as_accepted_before_its_sync_succeeded() {
    // P94
    let (world, during) = with_a_failed_sync(told);
    assert_eq!(during, (false, json!(2)), "while the sync was under way");
    assert_eq!(told(&world), (false, json!(2)), "after it failed");
    world.pass();
    assert_eq!(told(&world), (true, json!(2)));
}

/// Appends the first record of a batch of two to the log, like a router with an interrupted write.
fn torn(world: &World) {
    let log = world.text("log/00000001.ndjson");
    let last = parse_json(log.lines().last().expect("a record"));
    let accepted = world.log("accepted");
    let mut record = parse_json(accepted.lines().next().expect("a message"));
    let next = |field: &str| json!(last[field].as_u64().map(|number| number + 1));
    (record["seq"], record["batch"]) = (next("seq"), next("batch"));
    let event = &mut record["event"]["accepted"];
    (event["name"]["id"], event["message"]["id"]) = (json!("late"), json!("late"));
    (event["message"]["thread_id"], event["message"]["body"]) = (json!("talk"), json!("unsynced"));
    // The log's own order of keys: readers look for numbers and times at the beginning of a line.
    let head = format!("{{\"seq\":{},\"at\":{},", record["seq"], last["at"]);
    let rest = record.as_object_mut().expect("an object");
    rest.retain(|key, _| !["seq", "at", "count"].contains(&key.as_str()));
    let rest = record.to_string();
    let line = head + rest.trim_start_matches('{') + "\n";
    world.write("log/00000001.ndjson", log + &line);
}

#[test]
fn a_batch_that_is_not_whole_is_shown_by_no_reader() {
    // P94
    for has_tip in [true, false] {
        let world = world();
        // It holds the lock, so that no reader fixes the log, and it has no mail to route.
        let router = world.router("");
        torn(&world);
        if !has_tip {
            files::remove_file(world.room("spool/tip"));
        }
        assert_eq!(shown(&world), [""; 0], "with the tip: {has_tip}");
        assert_contains!(world.ok("list --as bob"), "before");
        drop(router);
    }
}

#[test]
fn a_room_without_a_valid_tip_shows_all_that_it_has_and_gets_a_tip() {
    let world = world();
    late(&world);
    world.pass();
    let tip = world.text("spool/tip");
    for damaged in [None, Some(""), Some(&tip[..40])] {
        files::remove_file(world.room("spool/tip"));
        if let Some(text) = damaged {
            world.write("spool/tip", text);
        }
        let router = world.router("");
        assert_eq!(shown(&world), READERS, "{damaged:?}");
        drop(router);
        assert_eq!(world.text("spool/tip").lines().next(), tip.lines().next());
    }
}

#[test]
fn a_committed_but_undelivered_message_is_shown_as_accepted() {
    let world = world();
    files::remove_dir(world.room("inbox/bob"));
    world.write("inbox/bob", "no directory");
    late(&world);
    let _router = world.router("");
    world.wait("it is accepted", || shown(&world) == READERS);
    let trace = world.json("trace late --as alice");
    let steps = &trace["recipients"][0]["statuses"];
    assert_fields!(steps, 0.status: "accepted", 1: Value::Null);
}

/// The output of the views and the tools while they read the log.
fn shown_live(world: &World) -> Vec<&'static str> {
    let client = Client::of(world, "alice");
    let mut shown = Vec::new();
    for (tool, arguments) in [
        ("search_messages", json!({"query": "unsynced"})),
        ("get_thread", json!({"id": "talk"})),
    ] {
        let answer = client.request("tools/call", json!({"name": tool, "arguments": arguments}));
        let found = answer["result"]["structuredContent"]
            .to_string()
            .contains("unsynced");
        shown.extend(found.then_some(tool));
    }
    drop(client);
    let watch = Beside::start(world, "watch --json");
    world.wait("the view shows what is committed", || {
        watch.out().contains("before")
    });
    shown.extend(watch.out().contains("unsynced").then_some("watch"));
    let report = world.run("doctor --json").out;
    shown.extend(report.contains("conversation_behind").then_some("doctor"));
    shown
}

#[test]
fn a_batch_that_is_being_synced_is_in_tools_and_views_and_doctor_does_not_miss_it() {
    // P94
    let live = ["search_messages", "get_thread", "watch"];
    let (world, during) = with_a_failed_sync(shown_live);
    assert_eq!(during, live, "while the sync was under way");
    world.pass();
    let router = world.router("");
    assert_eq!(shown_live(&world), live);
    drop(router);
}

/// Fails each sync of the log.
fn fail_at_the_log(call: CallName, paths: &[PathBuf]) -> io::Result<()> {
    if syncs_the_log(call, paths) {
        return Err(Errno::IO.into());
    }
    Ok(())
}

/// A message of alice to bob.
fn unsynced() -> (AgentIdentity, MessageDraft) {
    let alice = AgentIdentity {
        name: "alice".into(),
        source: IdentitySource::Claimed("--as"),
    };
    let draft = MessageDraft {
        to: vec!["bob".into()],
        body: Some("unsynced".into()),
        ..MessageDraft::default()
    };
    (alice, draft)
}

#[test]
fn ask_sends_a_question_once_if_its_sync_failed() {
    // P94
    let world = world();
    let (alice, draft) = unsynced();
    let question = world.watched(fail_at_the_log, |room| {
        let mut question = ask(room, &alice, "alice", draft).expect("it is in the outbox");
        for _ in 0..2 {
            let routed = pass(room);
            assert!(matches!(routed, Err(Error::Sync { .. })), "{routed:?}");
            question.read_record(room).expect("the log can be read");
        }
        question
    });
    assert_eq!(question.message.seq, None);
    assert_eq!(
        world.bodies("bob"),
        ["before"],
        "nothing is delivered of it"
    );
    world.pass();
    assert_eq!(world.bodies("bob"), ["before", "unsynced"]);
}

#[test]
fn a_message_is_not_reported_as_sent_if_its_sync_failed() {
    // P94
    let world = world();
    let (alice, draft) = unsynced();
    let sent = world.watched(fail_at_the_log, |room| {
        post(room, &alice, draft, Duration::ZERO, |_| Ok(()))
    });
    // The result of `send --json` and of the tool.
    let result = serde_json::to_value(sent.expect("it is in the outbox")).expect("JSON");
    assert!(
        result["seq"].is_null() && result["pending"].is_string(),
        "{result}"
    );
    world.pass();
    assert_eq!(world.bodies("bob"), ["before", "unsynced"]);
}
