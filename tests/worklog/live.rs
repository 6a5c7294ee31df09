//! The worklog of a router that keeps running equals a worklog that is made again from the log, after random traffic.

use super::{kept, room, worklog};
use crate::files;
use crate::world::World;
use mailbag::commands::follow::ask_router;
use mailbag::log::state;
use mailbag::room::Room;
use mailbag::router::daemon::alongside;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use std::time::Duration;

/// Messages with an entry, messages without one, and messages that cause an entry of the router.
fn messages() -> Vec<(&'static str, Value)> {
    let urgent = json!({"to": "bob", "body": "fire", "priority": "urgent"});
    let mut expiring = urgent.clone();
    expiring["expires_at"] =
        json!((chrono::Utc::now() + chrono::Duration::milliseconds(200)).to_rfc3339());
    vec![
        ("alice", urgent),
        ("alice", expiring),
        (
            "alice",
            json!({"to": "bob", "type": "question", "body": "which port?"}),
        ),
        ("alice", json!({"type": "milestone", "body": "done"})),
        (
            "alice",
            json!({"type": "decision.recorded", "body": "we take 8080"}),
        ),
        (
            "bob",
            json!({"to": "alice", "type": "decision", "body": "we take 8081"}),
        ),
        ("bob", json!({"type": "status", "body": "at work"})),
        ("bob", json!({"to": "alice", "body": "prose"})),
        ("bob", json!({"to": "nobody", "body": "rejected"})),
        ("bob", json!({"type": "claim", "claims": ["src"]})),
        (
            "human",
            json!({"type": "release", "of": "bob", "claims": ["src"]}),
        ),
        (
            "carol",
            json!({"type": "proposal", "to": "alice", "thread_id": "t", "body": "sqlite"}),
        ),
        (
            "alice",
            json!({"type": "objection", "to": "carol", "thread_id": "t", "body": "too slow"}),
        ),
        (
            "carol",
            json!({"type": "approval", "to": "human", "body": "Deploy?", "deadline": "1m"}),
        ),
        (
            "carol",
            json!({"type": "approval", "id": "q", "to": "human", "body": "Merge?"}),
        ),
        (
            "human",
            json!({"type": "decision", "in_reply_to": "carol/q", "option": "yes"}),
        ),
    ]
}

/// Drops these messages, each when the router has processed those before, and waits until no deadline is open.
fn live(world: &World, acts: &[usize]) {
    let room = Room::open(&world.room("")).expect("the room");
    let router = alongside(&room).expect("a router").expect("no other one");
    for (n, act) in acts.iter().enumerate() {
        let all = messages();
        let (agent, message) = &all[act % all.len()];
        world.mail(agent, &format!("{n:03}.json"), message);
        assert!(
            ask_router(&room, Duration::from_secs(60)),
            "the router answers"
        );
    }
    world.wait("all deadlines have passed", || {
        state::committed(&room.dir).is_ok_and(|state| {
            let has_missing = mailbag::features::answers::of(&state).has_missing();
            state.expiries.times().next().is_none() && !has_missing
        })
    });
    drop(router);
}

#[test]
fn the_worklog_of_a_running_router_is_the_one_that_is_made_again_from_the_log() {
    // P362
    let acts = proptest::collection::vec(0..messages().len(), 4..24);
    let config = Config {
        cases: 8,
        failure_persistence: None,
        max_shrink_iters: 20,
        ..Config::default()
    };
    let ran = TestRunner::new(config).run(&acts, |acts| {
        let settings = "worklog = true\nanswer_within = \"150ms\"\n[escalation]\nattempts = 1\n";
        let world = World::with("alice bob carol").settings(settings);
        live(&world, &acts);
        let before = worklog(&world);
        files::remove_file(world.path().join("WORKLOG.md"));
        files::remove_file(world.room("spool/worklog.json"));
        world.pass();
        prop_assert_eq!(before, worklog(&world));
        prop_assert!(kept(&world).is_empty());
        Ok(())
    });
    ran.unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn an_escalation_that_a_running_router_writes_between_other_mail_is_an_entry() {
    // P362
    let world = room("alice bob").settings("worklog = true\nanswer_within = \"300ms\"\n");
    live(&world, &[3, 0]);
    assert_contains!(worklog(&world), "mailbag · escalation · unacknowledged");
}
