//! Commands that begin after others: until those have completed.

use super::{exec, report, said, says, waits, words};
use crate::beside::Beside;
use crate::town::Town;
use crate::world::{Words, World};
use rustix::process::Signal;
use serde_json::json;

/// A command that prints `begun` when it starts, after these agents.
fn after(world: &World, id: &str, others: &(impl Words + ?Sized)) -> Beside {
    exec(
        world,
        &[
            vec!["--id", id, "--after"],
            others.words(),
            vec!["--", "echo", "begun"],
        ]
        .concat(),
    )
}

#[test]
fn exec_after_starts_when_the_other_agents_have_completed() {
    // P78
    for with_router in [false, true] {
        let mut town = Town::of("alice bob carol");
        if with_router {
            town.start(&[]);
        }
        let mut waiting = after(&town, "carol", "alice bob");
        waits(&mut waiting, &town, "carol");
        assert_eq!(
            report(&town, "carol")["waiting_for"],
            json!(["alice", "bob"])
        );
        town.ok("exec --id alice -- true");
        // An agent without the program reports it with a file.
        town.mail(
            "bob",
            "x.json",
            json!({"type": "completed", "metadata": {"result": "done"}}),
        );
        let told = |waiting: &Beside| waiting.err();
        town.wait("it was told of both", || {
            told(&waiting).contains("bob has completed")
        });
        assert_contains!(waiting.err(), "alice has completed");
        assert_eq!(waiting.ends(&town, 0), "begun\n");
        town.verify();
    }
}

#[test]
fn an_earlier_completion_counts_unless_the_agent_started_again() {
    let world = World::new();
    world.ok("exec --id alice -- true");
    assert_eq!(
        world.ok("exec --id bob --after alice -- echo begun"),
        "begun\n"
    );
    assert!(
        !words(&world, "bob")
            .iter()
            .any(|word| word.contains("waits"))
    );
    let mut alice = exec(&world, "--id alice -- sh -c 'echo up; cat'");
    says(&mut alice, &world, "up");
    let mut bob = after(&world, "bob", "alice");
    waits(&mut bob, &world, "bob");
    drop(alice.child.stdin.take());
    alice.ends(&world, 0);
    assert_eq!(bob.ends(&world, 0), "begun\n");
}

#[test]
fn a_restarted_agent_has_not_completed_even_before_its_first_record() {
    let world = World::new();
    world.ok("exec --id alice -- true");
    let now = chrono::Utc::now().to_rfc3339();
    let lease =
        json!({"agent": "alice", "client": "exec", "session": "s1", "since": now, "last": now});
    world.write("sessions/alice.json", lease.to_string());
    // The lock shows that it runs.
    let session = json!({"client": "exec", "session": "s1"}).to_string();
    let hold = std::fs::File::open(world.write("sessions/holds/alice~1", session)).expect("a file");
    hold.lock().expect("nobody else has it");
    let mut bob = after(&world, "bob", "alice");
    waits(&mut bob, &world, "bob");
    world.mail(
        "alice",
        "x.json",
        json!({"type": "completed", "body": "done"}),
    );
    assert_eq!(bob.ends(&world, 0), "begun\n");
}

#[test]
fn exec_after_waits_for_a_failed_agent_until_it_succeeds() {
    let world = World::with("alice");
    let mut bob = after(&world, "bob", "alice");
    waits(&mut bob, &world, "bob");
    world.fails(1, "exec --id alice -- false");
    world.wait("it is told", || {
        bob.err()
            .contains("alice is blocked: ended with exit status 1")
    });
    world.ok("exec --id alice -- true");
    assert_eq!(bob.ends(&world, 0), "begun\n");
}

#[test]
fn a_killed_waiting_agent_no_longer_waits() {
    let world = World::alice_and_bob();
    let mut bob = after(&world, "bob", "alice");
    waits(&mut bob, &world, "bob");
    bob.signal(Signal::KILL);
    bob.ended(&world);
    let mut alice = after(&world, "alice", "bob");
    waits(&mut alice, &world, "alice");
    world.ok("exec --id bob -- true");
    assert_eq!(alice.ends(&world, 0), "begun\n");
}

#[test]
fn agents_that_wait_for_each_other_end_by_their_timeouts() {
    let world = World::alice_and_bob();
    let wait = |id: &str, other: &str| {
        exec(
            &world,
            &[
                "--id",
                id,
                "--after",
                other,
                "--timeout",
                "1s",
                "--",
                "echo",
                "begun",
            ],
        )
    };
    for waiting in [wait("alice", "bob"), wait("bob", "alice")] {
        let told = waiting.err();
        assert_eq!(waiting.ends(&world, 4), "", "{told}");
    }
}

#[test]
fn an_answer_or_a_decision_that_refers_to_the_wait_ends_it() {
    for (kind, by_seq) in [("answer", false), ("decision", true)] {
        let world = World::with("alice carol");
        let mut bob = after(&world, "bob", "alice");
        let wait = waits(&mut bob, &world, "bob");
        let id = wait["id"].as_str().expect("an id");
        // A message without a reference, of another type, or for another agent has no effect.
        world.mail(
            "carol",
            "1.json",
            json!({"to": "bob", "type": kind, "body": "go on"}),
        );
        world.mail(
            "carol",
            "2.json",
            json!({"to": "bob", "body": "go on", "refs": [id]}),
        );
        world.mail(
            "bob",
            "3.json",
            json!({"to": "bob", "type": kind, "body": "me", "refs": [id]}),
        );
        world.mail(
            "carol",
            "4.json",
            json!({"to": "alice", "type": kind, "body": "x", "refs": [id]}),
        );
        world.wait("all came", || {
            world.inbox("bob").len() == 3 && world.inbox("alice").len() == 1
        });
        assert!(bob.child.try_wait().expect("a child").is_none());
        let name = if by_seq {
            wait["seq"].to_string()
        } else {
            id.to_owned()
        };
        world.ok(&[
            "reply",
            &name,
            "go on without her",
            "--type",
            kind,
            "--as",
            "human",
        ]);
        world.wait("it goes on", || {
            bob.err().contains("human ended the wait for alice")
        });
        assert_eq!(bob.ends(&world, 0), "begun\n");
    }
}

#[test]
fn a_supervisor_can_answer_since_it_was_told() {
    let world = World::with("alice boss").agent("bob", "--supervisor boss");
    let mut bob = after(&world, "bob", "alice");
    waits(&mut bob, &world, "bob");
    let told = world.inbox("boss").pop().expect("it was told");
    assert_fields!(told, type: "blocked", priority: "low");
    let id = told["id"].as_str().expect("an id");
    world.ok(&["reply", id, "go on", "--type", "decision", "--as", "boss"]);
    assert_eq!(bob.ends(&world, 0), "begun\n");
}

#[test]
fn a_wait_ends_in_time_and_by_a_signal_and_nothing_begins() {
    let world = World::with("alice");
    let complaint = world.fails(
        4,
        "exec --id bob --after alice --timeout 300ms -- echo begun",
    );
    assert_contains!(complaint, "not completed within 300ms: alice");
    world.fails(4, "exec --id bob --after alice --timeout 0 -- echo begun");
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut bob = after(&world, "bob", "alice");
        waits(&mut bob, &world, "bob");
        bob.signal(signal);
        assert_eq!(bob.ends(&world, 128 + signal.as_raw()), "");
        let last = words(&world, "bob").pop().unwrap_or_default();
        assert!(
            last.starts_with("blocked: ended by SIG") && last.ends_with("before it started"),
            "{last}"
        );
        assert!(report(&world, "bob")["waiting_for"].is_null());
        assert_eq!(world.json("agent show bob")["status"], "offline");
    }
    assert!(
        said(&world, "bob")
            .iter()
            .all(|message| message["subject"] != "started echo")
    );
}

#[test]
fn exec_after_rejects_unknown_and_retired_agents() {
    let world = World::with("alice carol");
    world.ok("agent set carol --status retired");
    assert_contains!(
        world.fails(3, "exec --id bob --after alcie -- true"),
        "did you mean alice"
    );
    assert_contains!(
        world.fails(2, "exec --id bob --after carol -- true"),
        "retired"
    );
    assert!(
        world
            .read("registry.json")
            .to_string()
            .find("bob")
            .is_none(),
        "nothing was begun"
    );
}

#[test]
fn who_waits_takes_over_when_the_router_ends() {
    let mut town = Town::alice_and_bob().run();
    let mut bob = after(&town, "bob", "alice");
    waits(&mut bob, &town, "bob");
    town.router().signal(Signal::KILL);
    town.ended();
    town.mail(
        "alice",
        "x.json",
        json!({"type": "agent_complete", "body": "done"}),
    );
    assert_eq!(bob.ends(&town, 0), "begun\n");
    town.verify();
}
