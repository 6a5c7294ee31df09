//! Committed messages: no reader sees a message that the log may still lose.

use crate::files;
use crate::mcp::Client;
use crate::sweep::calls::Call;
use crate::sweep::tracer::{End, Plan, Tracer};
use crate::world::World;
use mailbag::commands::post::{SendResult, delivery_after};
use mailbag::commands::send::OutboxMessage;
use mailbag::log::START;
use mailbag::query::reach::{AnnouncementTime, ExpectedReception};
use mailbag::room::Room;
use mailbag::router::daemon::PassResult;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

/// The commands that read the log, each asked for the message `late` in the thread `talk`, with a word of its body.
const READERS: [&[&str]; 5] = [
    &["list", "--as", "alice"],
    &["search", "unsynced", "--as", "alice"],
    &["thread", "talk", "--as", "alice"],
    &["trace", "late", "--as", "alice"],
    &["trace", "alice/late", "--as", "alice"],
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
fn shown_by(world: &World, readers: &[&[&str]]) -> Vec<String> {
    let shows = |reader: &&&[&str]| {
        let ran = world.run(&[**reader, &["--json"]].concat());
        assert!(ran.code == 0 || ran.code == 3, "{reader:?}: {ran:?}");
        ran.out.contains("unsynced") || ran.out.contains("\"late\"")
    };
    readers
        .iter()
        .filter(shows)
        .map(|reader| reader.join(" "))
        .collect()
}

fn syncs_the_log(call: &Call) -> bool {
    call.name == "fdatasync"
        && call
            .paths
            .iter()
            .any(|path| path.to_string_lossy().contains("/log/"))
}

/// The number of the pass's `fdatasync` call that is the commit.
fn commit() -> usize {
    let (world, calls, commit) = (world(), Cell::new(0), Cell::new(0));
    late(&world);
    let mut tracer = Tracer::new(&world.room(""))
        .expect("the room is there")
        .at_call(|call| {
            calls.set(calls.get() + usize::from(call.name == "fdatasync"));
            if syncs_the_log(call) && commit.get() == 0 {
                commit.set(calls.get());
            }
        });
    tracer
        .run(world.bare("run --once"), Plan::Count)
        .expect("it can be traced");
    assert!(commit.get() > 0, "the pass commits");
    commit.get()
}

#[test]
fn no_reader_shows_a_message_before_its_sync_succeeded() {
    // P94
    // A router runs instead of a pass, because readers would wait for a pass.
    let (world, during) = with_a_failed_sync(|world| shown_by(world, &READERS));
    assert_eq!(during, Vec::<String>::new(), "while the sync was under way");
    // It makes no pass by itself.
    assert!(!world.log("").contains("unsynced"), "after it failed");
    world.pass();
    assert_eq!(shown_by(&world, &READERS).len(), READERS.len());
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
fn with_a_failed_sync<T>(look: impl Fn(&World) -> T) -> (World, T) {
    let (nth, world) = (commit(), world());
    late(&world);
    let during = RefCell::new(None);
    let plan = Plan::Fail {
        name: "fdatasync",
        nth,
        errno: libc::EIO,
        lasting: false,
    };
    let ran = Tracer::new(&world.room(""))
        .expect("the room is there")
        .at_call(|call| {
            if syncs_the_log(call) && during.borrow().is_none() {
                during.replace(Some(look(&world)));
            }
        })
        .run(world.bare("run"), plan)
        .expect("it can be traced");
    assert_eq!((ran.end, ran.failed), (End::Exited(1), 1), "{}", ran.stderr);
    let during = during.take().expect("the log was synced");
    (world, during)
}

#[test]
fn no_command_reports_a_message_as_accepted_before_its_sync_succeeded() {
    // P94
    let (world, during) = with_a_failed_sync(told);
    assert_eq!(during, (false, json!(1)), "while the sync was under way");
    assert_eq!(told(&world), (false, json!(1)), "after it failed");
    world.pass();
    assert_eq!(told(&world), (true, json!(2)));
}

/// Appends the first record of a batch of two to the log, like a router with an interrupted write.
fn torn(world: &World) {
    let path = world.room("log/00000001.ndjson");
    let log = files::read_text(&path);
    let records: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let last = records.last().expect("a record");
    let mut record = records
        .iter()
        .find(|one| one["event"] == "accepted")
        .expect("a message")
        .clone();
    let next = |field: &str| json!(last[field].as_u64().map(|number| number + 1));
    (record["seq"], record["batch"], record["count"]) = (next("seq"), next("batch"), json!(2));
    (record["id"], record["message"]["id"]) = (json!("late"), json!("late"));
    (record["message"]["thread_id"], record["message"]["body"]) =
        (json!("talk"), json!("unsynced"));
    // The log's own order of keys: readers look for numbers and times at the beginning of a line.
    let head = format!("{{\"seq\":{},\"at\":{},", record["seq"], last["at"]);
    let rest = record.as_object_mut().expect("an object");
    ["seq", "at"].iter().for_each(|key| drop(rest.remove(*key)));
    let line = head
        + serde_json::to_string(&rest)
            .expect("JSON")
            .trim_start_matches('{')
        + "\n";
    let mut log = fs::OpenOptions::new()
        .append(true)
        .open(path)
        .expect("a log");
    log.write_all(line.as_bytes()).expect("it is written");
}

#[test]
fn a_batch_that_is_not_whole_is_shown_by_no_reader() {
    // P94
    for noted in [true, false] {
        let world = world();
        // It holds the lock, so that no reader fixes the log, and it has no mail to route.
        let router = world.router("");
        torn(&world);
        if !noted {
            files::remove_file(world.room("spool/committed"));
        }
        assert_eq!(
            shown_by(&world, &READERS),
            Vec::<String>::new(),
            "with the note: {noted}"
        );
        assert_contains!(world.ok("list --as bob"), "before");
        drop(router);
    }
}

#[test]
fn a_room_of_a_version_that_made_no_notes_shows_all_that_it_has() {
    let world = world();
    late(&world);
    world.pass();
    for note in [
        None,
        Some(""),
        Some("0000000001 00000000000000000007 0000000001 00000000000000000007\n"),
    ] {
        match note {
            None => files::remove_file(world.room("spool/committed")),
            Some(text) => drop(world.write("spool/committed", text)),
        }
        assert_eq!(shown_by(&world, &READERS).len(), READERS.len(), "{note:?}");
    }
}

#[test]
fn a_committed_but_undelivered_message_is_shown_as_accepted() {
    let world = world();
    files::remove_dir(world.room("inbox/bob"));
    world.write("inbox/bob", "no directory");
    late(&world);
    let _router = world.router("");
    world.wait("it is accepted", || {
        shown_by(&world, &READERS).len() == READERS.len()
    });
    let steps = world.json("trace late --as alice")["recipients"][0]["statuses"].clone();
    assert_eq!(steps.as_array().map(Vec::len), Some(1), "{steps}");
}

/// The output of the views and the tools while they read the log.
fn shown_live(world: &World) -> Vec<String> {
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
        shown.extend(found.then(|| tool.to_owned()));
    }
    drop(client);
    let out = world.path().join("watched");
    let mut watch = world.bare("watch --json");
    watch
        .stdin(Stdio::null())
        .stdout(fs::File::create(&out).expect("a file"))
        .stderr(Stdio::null());
    let mut watch = watch.spawn().expect("the program starts");
    let text = || fs::read_to_string(&out).unwrap_or_default();
    world.wait("the view shows what is committed", || {
        text().contains("before")
    });
    watch.kill().and_then(|()| watch.wait()).expect("it runs");
    shown.extend(text().contains("unsynced").then(|| "watch".to_owned()));
    let report = world.run("doctor --json").out;
    shown.extend(
        report
            .contains("conversation_behind")
            .then(|| "doctor".to_owned()),
    );
    shown
}

#[test]
fn no_tool_view_or_doctor_shows_a_message_before_its_sync_succeeded() {
    // P94
    let (world, during) = with_a_failed_sync(shown_live);
    assert_eq!(during, Vec::<String>::new(), "while the sync was under way");
    // Tools and views would make a pass now.
    let report = world.run("doctor --json").out;
    assert!(
        !report.contains("conversation_behind") && report.contains("findings"),
        "after it failed: {report}"
    );
    world.pass();
    let router = world.router("");
    assert_eq!(
        shown_live(&world),
        ["search_messages", "get_thread", "watch"]
    );
    drop(router);
}

#[test]
fn ask_sends_a_question_once_if_its_sync_failed() {
    // P94
    let (nth, world) = (commit(), world());
    let plan = Plan::Fail {
        name: "fdatasync",
        nth,
        errno: libc::EIO,
        lasting: true,
    };
    let ask = [
        "ask",
        "bob",
        "unsynced",
        "--as",
        "alice",
        "--timeout",
        "1s",
        "--json",
    ];
    let tracer = Tracer::new(&world.room("")).expect("the room is there");
    let ran = tracer
        .deadline(Duration::from_secs(120))
        .run(world.bare(&ask), plan)
        .expect("it can be traced");
    assert!(
        ran.failed > 0 && matches!(ran.end, End::Exited(1..)),
        "{ran:?}"
    );
    assert!(
        !ran.stdout.contains("seq") && !ran.stderr.contains("accepted"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    assert_eq!(
        world.bodies("bob"),
        ["before"],
        "nothing is delivered of it"
    );
    world.pass();
    assert_eq!(world.bodies("bob"), ["before", "unsynced"]);
}

#[test]
fn a_tool_does_not_report_a_message_as_sent_if_its_sync_failed() {
    // P94
    let (nth, world) = (commit(), world());
    let request = |id: u64, method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string() + "\n"
    };
    let about = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let initialized =
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string() + "\n";
    let call = json!({"name": "send_message", "arguments": {"to": "bob", "body": "unsynced"}});
    let input = request(1, "initialize", about) + &initialized + &request(2, "tools/call", call);
    let input = world.write("../input", input);
    let server = world.bare("mcp");
    let mut shell = std::process::Command::new("sh");
    // The server answers before its input ends.
    shell
        .args(["-c", "(cat \"$0\"; sleep 3) | \"$@\""])
        .arg(input)
        .arg(server.get_program())
        .args(server.get_args());
    shell
        .current_dir(world.path())
        .env("MAILBAG_AGENT", "alice");
    let plan = Plan::Fail {
        name: "fdatasync",
        nth,
        errno: libc::EIO,
        lasting: true,
    };
    let tracer = Tracer::new(&world.room("")).expect("the room is there");
    let ran = tracer
        .deadline(Duration::from_secs(120))
        .run(shell, plan)
        .expect("it can be traced");
    let answer = ran
        .stdout
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let answer = answer
        .into_iter()
        .find(|answer| answer["id"] == 2)
        .unwrap_or_else(|| panic!("{ran:?}"));
    let data = &answer["result"]["structuredContent"];
    assert!(
        ran.failed > 0 && data["seq"].is_null() && data["pending"].is_string(),
        "{answer}"
    );
    world.pass();
    assert_eq!(world.bodies("bob"), ["before", "unsynced"]);
}
