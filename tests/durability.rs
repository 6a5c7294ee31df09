//! The order of a commit and of a recovery, on the simulated computer.

use crate::sim::{Call, CallName, Fate, Machine, Node, Random};
use mailbag::base::set_test_variable;
use mailbag::router::daemon::pass;
use mailbag::{Room, agent};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const ROOM: &str = "/home/room";

/// A computer where alice has dropped a message to bob.
fn computer() -> Machine {
    set_test_variable("MAILBAG_TEST_HOME", "/home");
    set_test_variable("MAILBAG_TEST_CREATED", "all");
    let machine = Machine::new();
    let made = machine.run(|| {
        let (room, _) = Room::init(Path::new(ROOM))?;
        let agents = ["alice".to_owned(), "bob".to_owned()];
        agent::add(&room, &agents, &agent::AgentFields::default())
    });
    made.expect("a room");
    let message = json!({"to": "bob", "body": "hello"});
    machine.write(format!("{ROOM}/outbox/alice/a.json"), message.to_string());
    machine.settle();
    machine
}

/// The calls of one pass.
fn calls_of_pass(machine: &Machine) -> Vec<Call> {
    machine.watch();
    let routed = machine.run(|| pass(&Room::open(Path::new(ROOM))?));
    routed.expect("a pass");
    machine.calls()
}

fn is_in(call: &Call, directory: &str) -> bool {
    let directory = Path::new(ROOM).join(directory);
    call.paths.iter().any(|path| path.starts_with(&directory))
}

fn writes_log(call: &Call) -> bool {
    call.name == CallName::Write && is_in(call, "log")
}

/// The computer after a kill at this step.
fn killed(machine: &Machine, steps: usize) -> Machine {
    let crashes = machine.crashes(steps, &[Fate::Kill], &mut Random::new(1));
    crashes.into_iter().next().expect("a kill").machine
}

/// The files that a record of a batch needs.
fn spool(machine: &Machine) -> BTreeMap<PathBuf, Node> {
    let mut files = machine.tree(&Path::new(ROOM).join("spool/stage"));
    files.extend(machine.tree(&Path::new(ROOM).join("spool/claim")));
    files.extend(machine.tree(&Path::new(ROOM).join("outbox")));
    files
}

#[test]
fn staged_files_and_moves_are_durable_before_the_batch_is_appended() {
    // P560
    let machine = computer();
    let calls = calls_of_pass(&machine);
    let append = calls.iter().find(|call| writes_log(call));
    let step = append.expect("the pass commits").step;
    let wanted = spool(&killed(&machine, step));
    let files = wanted.values().filter(|node| matches!(node, Node::File(_)));
    assert_eq!(files.count(), 2, "a staged and a claimed file");
    for crash in machine.crashes(step, &Fate::ALL, &mut Random::new(1)) {
        assert_eq!(spool(&crash.machine), wanted, "{}", crash.fate);
    }
}

#[test]
fn a_segment_gets_a_new_synced_file_before_its_last_batch_has_effects() {
    // P88
    let machine = computer();
    let calls = calls_of_pass(&machine);
    let append = calls.iter().find(|call| writes_log(call));
    let step = append.expect("the pass commits").step;
    let next = killed(&machine, step + 1);
    let calls = calls_of_pass(&next);
    let moved = calls.iter().position(|call| {
        call.name == CallName::Rename && (is_in(call, "spool/stage") || is_in(call, "spool/claim"))
    });
    let before = &calls[..moved.expect("the message is delivered")];
    let of_log = before.iter().filter(|call| is_in(call, "log"));
    let changes: Vec<CallName> = of_log
        .map(|call| call.name)
        .filter(|name| name.is_change() || name.is_sync())
        .collect();
    let wanted = [
        CallName::Make,
        CallName::Write,
        CallName::SyncFile,
        CallName::Rename,
        CallName::SyncDirectory,
    ];
    assert!(changes.ends_with(&wanted), "{changes:?}");
    // A pass after a clean end writes nothing.
    let last = killed(&next, next.steps());
    assert!(!calls_of_pass(&last).iter().any(writes_log));
}
