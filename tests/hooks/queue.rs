//! A client with its own command for messages: an idle session of Codex is woken, and a message
//! that Codex holds back does not count as a wake.

use super::{mail, recorded, room};
use crate::files;
use crate::world::{World, lossy, parse_json};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::PathBuf;

/// The hook of the next turn, which a stand-in for `codex` runs after it has recorded its arguments.
const BEGINS: &str = "printf '{\"hook_event_name\":\"UserPromptSubmit\",\"session_id\":\"%s\"}' \"$3\" | \"$PROGRAM\" hook codex --as alice";

/// A room, and Codex with a session of alice in memory.
struct Desk {
    world: World,
    /// Locked as long as Codex has the session in memory.
    lock: File,
}

impl Desk {
    /// With this script as what `codex` does with a message.
    fn new(script: &str) -> Desk {
        let world = room();
        let codex = world.write(
            "../bin/codex",
            format!("#!/bin/sh\nprintf '%s|' \"$@\" >> \"$WOKEN\"\n{script}\n"),
        );
        files::set_mode(&codex, 0o755);
        let session = parse_json(recorded("codex", "Stop"));
        let file = format!(
            "codex/thread-writer-locks/{}.lock",
            session["session_id"].as_str().expect("an id")
        );
        let path = world.path().join(file);
        files::make_dir(path.parent().expect("a directory"));
        let lock = File::create(path).expect("a file");
        lock.lock().expect("nobody else locks it");
        Desk { world, lock }
    }

    fn fire(&self, event: &str) -> String {
        self.fire_with(event, json!({}))
    }

    /// Fires a hook of the session, with these fields in place of the recorded ones.
    fn fire_with(&self, event: &str, fields: Value) -> String {
        let mut input = parse_json(recorded("codex", event));
        input
            .as_object_mut()
            .expect("an object")
            .extend(fields.as_object().cloned().expect("an object"));
        let path = std::env::var("PATH").expect("a PATH");
        let mut hook = self.world.program("hook codex --as alice");
        hook.env(
            "PATH",
            format!("{}:{path}", self.world.path().join("bin").display()),
        );
        hook.env("CODEX_HOME", self.world.path().join("codex"))
            .env("WOKEN", self.woken());
        hook.env("PROGRAM", assert_cmd::cargo::cargo_bin!("mailbag"));
        let output = hook
            .write_stdin(input.to_string())
            .output()
            .expect("the program runs");
        assert_eq!(
            (output.status.code(), output.stderr.len()),
            (Some(0), 0),
            "{event}: {output:?}"
        );
        lossy(&output.stdout)
    }

    fn woken(&self) -> PathBuf {
        self.world.path().join("woken")
    }

    /// The arguments of all calls of `codex`.
    fn calls(&self) -> String {
        fs::read_to_string(self.woken()).unwrap_or_default()
    }

    fn is_waiting(&self) -> bool {
        let holds = std::fs::read_dir(self.world.room("sessions/holds"));
        let mut names = holds.into_iter().flatten().flatten();
        names.any(|hold| hold.file_name().to_string_lossy().starts_with("alice~"))
    }

    fn presence(&self) -> Value {
        let everybody = self.world.json("who");
        let alice = everybody["agents"]
            .as_array()
            .and_then(|all| all.iter().find(|agent| agent["id"] == "alice"));
        alice
            .map(|alice| alice["presence"].clone())
            .unwrap_or_default()
    }
}

#[test]
fn an_idle_session_of_codex_is_woken_without_a_setting_and_without_a_router() {
    // P421, P87
    let desk = Desk::new(BEGINS);
    desk.fire("SessionStart-startup");
    desk.fire("Stop");
    desk.world.wait("its process waits", || desk.is_waiting());
    // Mail with low priority wakes no session.
    desk.world.ok("send alice hi --as bob --priority low");
    let seq = mail(&desk.world, "API shape?", "--type question");
    desk.world
        .wait("codex is called", || desk.calls().contains("API shape?"));
    let session = parse_json(recorded("codex", "Stop"));
    let begin = format!(
        "queue|--thread|{}|--message|mailbag: 2 unread, 1 new: question",
        session["session_id"].as_str().expect("an id")
    );
    assert!(desk.calls().starts_with(&begin), "{}", desk.calls());
    desk.world.wait("it is announced", || {
        desk.world
            .ok(&["trace", &seq.to_string(), "--as", "bob"])
            .contains("announced")
    });
    assert_eq!(
        desk.fire("UserPromptSubmit"),
        "{}\n",
        "it was announced before"
    );
}

#[test]
fn codex_is_given_no_message_for_a_turn_that_the_person_interrupted() {
    // P422
    let desk = Desk::new(BEGINS);
    for event in ["SessionStart-startup", "UserPromptSubmit", "Interrupt"] {
        desk.fire(event);
    }
    assert_contains!(
        desk.world.ok("send alice 'are you there?' --as bob"),
        "alice: idle; sees it at the next prompt"
    );
    assert!(
        !crate::town::so_within(std::time::Duration::from_secs(4), || !desk
            .calls()
            .is_empty()),
        "{}",
        desk.calls()
    );
    assert_contains!(desk.fire("UserPromptSubmit"), "are you there?");
}

#[test]
fn a_turn_that_ended_by_its_transcript_is_over_although_no_hook_says_so() {
    // P423
    let desk = Desk::new(BEGINS);
    let transcript = desk.world.path().join("rollout.jsonl");
    let begun = "{\"type\":\"event_msg\",\"payload\":{\"type\":\"task_started\"}}\n";
    files::write(&transcript, begun);
    let fields = json!({"transcript_path": transcript});
    desk.fire_with("SessionStart-startup", fields.clone());
    desk.fire_with("UserPromptSubmit", fields);
    mail(&desk.world, "try again", "");
    assert!(
        !crate::town::so_within(std::time::Duration::from_secs(3), || !desk
            .calls()
            .is_empty()),
        "it works"
    );
    files::write(
        &transcript,
        format!("{begun}{}", begun.replace("started", "complete")),
    );
    desk.world
        .wait("codex is called", || desk.calls().contains("try again"));
}

#[test]
fn a_session_that_codex_no_longer_has_in_memory_is_offline_and_its_process_ends() {
    // P424
    let desk = Desk::new(BEGINS);
    desk.fire("SessionStart-startup");
    desk.fire("Stop");
    desk.world.wait("its process waits", || desk.is_waiting());
    assert_eq!(desk.presence(), "online");
    desk.lock.unlock().expect("it is locked");
    desk.world
        .wait("its end is seen", || desk.presence() == "offline");
    assert_contains!(
        desk.world.ok("send alice hello --as bob"),
        "alice: away since"
    );
    assert_eq!(desk.calls(), "");
}
