//! `mailbag watch` in a pipe: one line for each entry, printed immediately.

use crate::world::World;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Stdio};

/// A watching program that writes into a file, ended when dropped.
struct Watching {
    child: Child,
    out: PathBuf,
}

impl Watching {
    fn start(world: &World, args: &[&str]) -> Watching {
        let out = world
            .path()
            .join(format!("watched-{}", uuid::Uuid::now_v7()));
        let mut command = world.bare(&[&["watch"], args].concat());
        command
            .stdin(Stdio::null())
            .stdout(File::create(&out).expect("a file"))
            .stderr(Stdio::null());
        Watching {
            child: command.spawn().expect("the program starts"),
            out,
        }
    }

    fn lines(&self) -> Vec<String> {
        fs::read_to_string(&self.out)
            .unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// Asks it to end, which it does well.
    #[track_caller]
    fn end(&mut self, world: &World) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
        world.wait("it ends", || {
            self.child
                .try_wait()
                .expect("it can be waited for")
                .is_some()
        });
        assert_eq!(self.child.wait().expect("it ended").code(), Some(0));
    }

    fn entries(&self) -> Vec<Value> {
        self.lines()
            .iter()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    }

    #[track_caller]
    fn wait(&self, world: &World, what: &str, is_so: impl Fn(&[String]) -> bool) -> Vec<String> {
        world.wait(what, || is_so(&self.lines()));
        self.lines()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn each_message_is_one_line_without_a_control_character_as_soon_as_it_is_accepted() {
    let world = World::with(&["alice", "bob"]);
    world.send("alice", "bob", "before");
    let _router = world.router(&[]);
    let watching = Watching::start(&world, &[]);
    watching.wait(&world, "what was before", |lines| lines.len() == 1);
    world.drop_file(
        "bob",
        "x.json",
        r#"{"to": "alice", "subject": "s", "body": "two\nlines\u001b[31m", "priority": "high"}"#,
    );
    world.drop_file("bob", "y.json", r#"{"to": "alcie", "body": "x"}"#);
    let lines = watching.wait(&world, "all three", |lines| lines.len() == 3);
    assert!(
        lines[0].ends_with("  alice → bob  message  normal  before"),
        "{lines:?}"
    );
    assert!(
        lines[1].ends_with("  bob → alice  message  high  s: two\\nlines\\u{1b}[31m"),
        "{lines:?}"
    );
    assert!(
        lines[2].contains("  bob  rejected  y.json: to: ")
            && lines[2].contains("did you mean alice"),
        "{lines:?}"
    );
    assert!(
        lines.iter().all(|line| !line.contains(char::is_control)),
        "{lines:?}"
    );
}

#[test]
fn json_has_one_object_a_line_and_channels_and_the_beginning_are_chosen() {
    let world = World::with(&["alice", "bob"]);
    for n in 0..5 {
        world.ok(&[
            "send",
            "bob",
            &format!("a{n}"),
            "--as",
            "alice",
            "--channel",
            "auth",
        ]);
        world.ok(&["send", "bob", &format!("m{n}"), "--as", "alice"]);
    }
    let watching = Watching::start(&world, &["auth", "--json", "--last", "2"]);
    watching.wait(&world, "the last two", |lines| lines.len() == 2);
    world.ok(&["send", "bob", "elsewhere", "--as", "alice"]);
    world.ok(&[
        "send",
        "bob",
        "a5",
        "--as",
        "alice",
        "--channel",
        "auth",
        "--type",
        "task",
    ]);
    watching.wait(&world, "one more", |lines| lines.len() == 3);
    let entries = watching.entries();
    let bodies: Vec<&Value> = entries.iter().map(|entry| &entry["body"]).collect();
    assert_eq!(bodies, ["a3", "a4", "a5"]);
    let last = &entries[2];
    let facts = json!([
        last["event"],
        last["from"],
        last["to"],
        last["type"],
        last["priority"],
        last["channel"]
    ]);
    assert_eq!(
        facts,
        json!(["accepted", "alice", ["bob"], "task", "normal", "auth"])
    );
    assert!(
        last["seq"].is_u64() && last["at"].is_string() && last["id"].is_string(),
        "{last}"
    );
    assert!(
        world
            .fails(2, &["watch", "no channel"])
            .contains("not a valid channel name")
    );
}

#[test]
fn while_no_router_runs_it_routes_what_is_dropped() {
    let world = World::with(&["alice", "bob"]);
    let watching = Watching::start(&world, &["--last", "0"]);
    world.drop_file("alice", "x.json", r#"{"to": "bob", "body": "dropped"}"#);
    world.wait("it arrives", || world.bodies("bob") == ["dropped"]);
    watching.wait(&world, "it is shown", |lines| lines.len() == 1);
    world.drop_file("alice", "y.json", r#"{"to": "bob", "body": "again"}"#);
    watching.wait(&world, "the next is shown too", |lines| lines.len() == 2);
}

#[test]
fn a_batch_that_is_not_whole_is_left_until_it_is() {
    let world = World::with(&["alice", "bob"]);
    world.send("alice", "bob", "first");
    for n in 0..3 {
        world.drop_file(
            "alice",
            &format!("{n}.json"),
            format!(r#"{{"to": "bob", "body": "b{n}"}}"#),
        );
    }
    world.ok(&["run", "--once"]);
    // A later batch shows that this one was made durable.
    world.send("alice", "bob", "later");
    let path = world.room("log/00000001.ndjson");
    let log = fs::read_to_string(&path).expect("the log");
    let second = log.find("\"b1\"").expect("the second of the batch");
    // In a copy of the room, so that no router repairs the truncated file.
    let copy = World::with(&["alice", "bob"]);
    let _holder = copy.router(&[]);
    let path = copy.room("log/00000001.ndjson");
    fs::write(&path, &log[..second]).expect("half a batch");
    let watching = Watching::start(&copy, &["--json"]);
    watching.wait(&copy, "the whole batch before it", |lines| lines.len() == 1);
    let mut file = File::options().append(true).open(&path).expect("the log");
    let end = log[second..]
        .find('\n')
        .map(|at| second + at + 1)
        .expect("the line's end");
    file.write_all(&log.as_bytes()[second..end])
        .expect("one line more");
    // One that begins now has read all there is before it heeds the signal.
    let mut other = Watching::start(&copy, &["--json"]);
    other.wait(&copy, "the whole batch before it", |lines| {
        !lines.is_empty()
    });
    other.end(&copy);
    assert_eq!(other.lines().len(), 1, "{:?}", other.lines());
    file.write_all(&log.as_bytes()[end..]).expect("the rest");
    watching.wait(&copy, "the batch", |lines| lines.len() == 4);
    let bodies: Vec<Value> = watching
        .entries()
        .iter()
        .map(|entry| entry["body"].clone())
        .collect();
    assert_eq!(bodies, ["first", "b0", "b1", "b2"]);
}

#[cfg(feature = "failpoints")]
#[test]
fn watch_continues_in_a_new_segment_of_the_log() {
    let world = World::with(&["alice", "bob"]);
    let mut command = world.bare(&["run"]);
    command.env("MAILBAG_TEST_SEGMENT_BYTES", "1000");
    let _router = world.router_by(command);
    for n in 0..6 {
        world.send("alice", "bob", &format!("before {n}"));
        world.wait("it arrives", || world.bodies("bob").len() == n + 1);
    }
    assert!(fs::read_dir(world.room("log")).expect("the log").count() > 2);
    let watching = Watching::start(&world, &["--json", "--last", "5"]);
    watching.wait(&world, "five of before, from several segments", |lines| {
        lines.len() == 5
    });
    for n in 0..6 {
        world.send("alice", "bob", &format!("after {n}"));
    }
    watching.wait(&world, "all of after", |lines| lines.len() == 11);
    let bodies: Vec<Value> = watching
        .entries()
        .iter()
        .map(|entry| entry["body"].clone())
        .collect();
    let before = (1..6).map(|n| format!("before {n}"));
    assert_eq!(
        bodies,
        before
            .chain((0..6).map(|n| format!("after {n}")))
            .collect::<Vec<_>>()
    );
}

#[test]
fn a_closed_pipe_and_a_signal_end_it_without_a_word() {
    let world = World::with(&["alice", "bob"]);
    let mut child = world
        .bare(&["watch"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let child = child.as_mut().expect("the program starts");
    drop(child.stdout.take());
    world.wait("it ends", || {
        child.try_wait().expect("it can be waited for").is_some()
    });
    let mut said = String::new();
    std::io::Read::read_to_string(child.stderr.as_mut().expect("a pipe"), &mut said).expect("text");
    assert_eq!(
        (child.wait().expect("it ended").code(), said.as_str()),
        (Some(0), "")
    );
    world.send("alice", "bob", "somebody reads this");
    let mut watching = Watching::start(&world, &[]);
    watching.wait(&world, "it watches", |lines| lines.len() == 1);
    watching.end(&world);
}
