//! The official client in Python: it calls every tool, and two of them talk while the router is killed.

use crate::files;
use crate::town::{PATIENCE, Town, so_within};
use crate::venv::{self, VenvProgram};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The version of the client; another one may behave otherwise.
const CLIENT: &str = "mcp==2.3.0";

/// A Python that has the client.
fn python() -> Option<PathBuf> {
    static PYTHON: VenvProgram = VenvProgram::new();
    venv::program(&PYTHON, CLIENT, "bin/python")
}

/// Alice and Bob, with clients that a script controls.
fn drive(python: &Path, town: &Town, words: &[&str]) -> Child {
    let script = town.path().join("clients.py");
    files::write(&script, include_str!("clients.py"));
    let mut command = Command::new(python);
    command
        .arg(script)
        .arg(words[0])
        .arg(env!("CARGO_BIN_EXE_mailbag"))
        .arg(town.room(""))
        .args(&words[1..]);
    let errors = std::fs::File::create(town.path().join("errors")).expect("a file");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(errors)
        .spawn()
        .expect("it starts")
}

fn errors(town: &Town) -> String {
    std::fs::read_to_string(town.path().join("errors")).unwrap_or_default()
}

#[test]
fn the_official_client_lists_and_calls_every_tool() {
    let Some(python) = python() else { return };
    for (mode, version) in [("auto", "2026-07-28"), ("legacy", "2025-11-25")] {
        let town = Town::alice_and_bob();
        let output = drive(&python, &town, &["every", mode])
            .wait_with_output()
            .expect("it ends");
        assert!(output.status.success(), "{mode}: {}", errors(&town));
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines: Vec<Value> = lines
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        let (first, calls) = lines.split_first().expect("a line");
        assert_eq!(first["version"], version);
        assert_eq!(
            first["server"],
            json!(["mailbag", env!("CARGO_PKG_VERSION")])
        );
        let (bad, good) = calls.split_last().expect("calls");
        for tool in first["tools"].as_array().expect("a list") {
            assert!(
                good.iter().any(|call| call["tool"] == *tool),
                "{mode}: {tool} was not called"
            );
        }
        for call in good {
            assert_eq!(call["error"], false, "{mode}: {call}");
            assert!(
                call["data"].is_object()
                    && call["text"].as_str().is_some_and(|text| !text.is_empty()),
                "{call}"
            );
        }
        let text = |tool: &str| {
            good.iter()
                .find(|call| call["tool"] == tool)
                .expect("it was called")["text"]
                .to_string()
        };
        assert_contains!(text("wait_for_message"), "a note to myself");
        assert_contains!(text("search_messages"), "a note to myself");
        assert_contains!(text("get_thread"), "noted");
        assert_eq!(bad["error"], true, "{bad}");
        assert_contains!(bad["text"].to_string(), "nobody");
    }
}

#[test]
fn two_official_clients_talk_while_the_router_is_killed_and_started_again() {
    const TURNS: usize = 60;
    let Some(python) = python() else { return };
    let mut town = Town::alice_and_bob().run();
    let mut talk = drive(&python, &town, &["talk", &TURNS.to_string()]);
    let done = Arc::new(AtomicUsize::new(0));
    let (lines, count) = (
        BufReader::new(talk.stdout.take().expect("a pipe")),
        done.clone(),
    );
    std::thread::spawn(move || {
        lines.lines().map_while(Result::ok).for_each(|_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
    });
    let reached = |town: &Town, turns: usize| {
        let is_so = so_within(PATIENCE, || done.load(Ordering::Relaxed) >= turns);
        assert!(
            is_so,
            "stuck after {} turns: {}",
            done.load(Ordering::Relaxed),
            errors(town)
        );
    };
    let rest = TURNS / 3;
    for round in 0..3 {
        // Each is killed in the middle of the talk, and started again while the clients' own servers route.
        reached(&town, round * rest + rest / 4);
        town.router().signal(rustix::process::Signal::KILL);
        assert_eq!(town.ended().0, -1);
        reached(&town, round * rest + rest / 2);
        town.start(&[]);
    }
    reached(&town, TURNS);
    let ended = so_within(PATIENCE, || talk.try_wait().expect("a child").is_some());
    assert!(
        ended && talk.wait().expect("it ended").success(),
        "{}",
        errors(&town)
    );
    town.stop();
    for agent in ["alice", "bob"] {
        assert_eq!(
            (
                town.count(agent),
                town.names(&format!("inbox/{agent}/seen")).len()
            ),
            (0, TURNS),
            "{agent}"
        );
    }
    let log = town.text("log/00000001.ndjson");
    assert_eq!(
        log.lines()
            .filter(|line| line.contains(r#""event":{"accepted":"#))
            .count(),
        2 * TURNS
    );
    town.verify();
}
