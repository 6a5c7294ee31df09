//! Commands that run as agents: real ones, by `mailbag exec`, with a router and without one.

#[path = "exec/life.rs"]
mod life;
#[path = "exec/lines.rs"]
mod lines;
#[path = "exec/output.rs"]
mod output;
#[path = "exec/signals.rs"]
mod signals;
#[path = "exec/terminal.rs"]
mod terminal;
#[path = "exec/waits.rs"]
mod waits;

use crate::world::World;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};

/// A command under `mailbag exec` beside the test, killed when dropped.
struct Command {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Command {
    /// Starts `mailbag exec` with these words.
    fn start(world: &World, words: &[&str]) -> Command {
        Command::by(world, world.bare(&[&["exec"], words].concat()))
    }

    /// Starts the program that runs it.
    fn by(world: &World, mut command: std::process::Command) -> Command {
        let file = |kind: &str| {
            world
                .path()
                .join(format!("{}.{kind}", uuid::Uuid::now_v7()))
        };
        let (out, err) = (file("out"), file("err"));
        let open = |path| File::create(path).expect("a file for its words");
        command
            .stdin(Stdio::piped())
            .stdout(open(&out))
            .stderr(open(&err));
        Command {
            child: command.spawn().expect("it starts"),
            out,
            err,
        }
    }

    fn out(&self) -> String {
        std::fs::read_to_string(&self.out).unwrap_or_default()
    }

    fn err(&self) -> String {
        std::fs::read_to_string(&self.err).unwrap_or_default()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it can be signalled");
    }

    /// Waits until its output has this in it.
    #[track_caller]
    fn says(&mut self, world: &World, text: &str) {
        world.wait(text, || {
            let ended = self.child.try_wait().expect("a child");
            let says = self.out().contains(text);
            assert!(
                says || ended.is_none(),
                "it ended with {ended:?}: {}{}",
                self.out(),
                self.err()
            );
            says
        });
    }

    /// Waits until it has said that it waits.
    #[track_caller]
    fn waits(&mut self, world: &World, agent: &str) -> Value {
        world.wait("it waits", || {
            let ended = self.child.try_wait().expect("a child");
            assert!(
                ended.is_none(),
                "it ended with {ended:?}: {}{}",
                self.out(),
                self.err()
            );
            !doing(world, agent)["waiting_for"].is_null()
        });
        said(world, agent).pop().expect("it said so")
    }

    #[track_caller]
    fn ended(&mut self, world: &World) -> ExitStatus {
        let mut status = None;
        world.wait("it ends", || {
            status = self.child.try_wait().expect("a child");
            status.is_some()
        });
        status.expect("it has ended")
    }

    /// Waits until it ends with this status, as a shell counts it, and returns its output.
    #[track_caller]
    fn ends(mut self, world: &World, code: i32) -> String {
        let status = self.ended(world);
        let has = status.code().or(status.signal().map(|signal| 128 + signal));
        assert_eq!(has, Some(code), "{}{}", self.out(), self.err());
        self.out()
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The messages that an agent sent, as the log has them.
fn said(world: &World, agent: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(world.room("log/00000001.ndjson")).unwrap_or_default();
    let records = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    records
        .filter(|record| record["event"] == "accepted" && record["from"] == agent)
        .map(|record| {
            let mut message = record["message"].clone();
            message["got_by"] = record["to"].clone();
            message["seq"] = record["seq"].clone();
            message
        })
        .collect()
}

/// The messages of an agent, as `type: subject`.
fn words(world: &World, agent: &str) -> Vec<String> {
    let word =
        |message: &Value, field: &str| message[field].as_str().unwrap_or_default().to_owned();
    said(world, agent)
        .iter()
        .map(|message| format!("{}: {}", word(message, "type"), word(message, "subject")))
        .collect()
}

/// The current work of an agent in `mailbag who`.
fn doing(world: &World, agent: &str) -> Value {
    present(world, agent)["doing"].clone()
}

/// The entry of an agent in `mailbag who`.
fn present(world: &World, agent: &str) -> Value {
    let agents = world.json(&["who"])["agents"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    agents
        .into_iter()
        .find(|present| present["id"] == agent)
        .unwrap_or_default()
}
