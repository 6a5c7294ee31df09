//! Agents claim and release at random, and agents and the router are killed at random: no subject
//! ever has two owners, and every grant is reported.

use super::ledger::Ledger;
use crate::town::{Town, python, so_within};
use crate::world::World;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// An agent: drops claims, releases, offers and answers as files, without waiting for an answer. On a slow machine it waits
/// until the router has taken most of them.
const AGENT: &str = "
import json, os, random, sys, time
outbox, me, others = sys.argv[1], sys.argv[2], sys.argv[3].split(',')
subjects = ['d%d/%s' % (n % 20, s) for n in range(50) for s in ('a', 'b/c', '**', '*.rs')]
r = random.Random()
while True:
    some = r.sample(subjects, r.randint(1, 3))
    message = r.choice([
        {'type': 'claim', 'claims': some},
        {'type': 'claim', 'claims': some, 'lease': '1m'},
        {'type': 'release', 'claims': 'all'},
        {'type': 'handoff', 'to': r.choice(others), 'claims': [], 'body': 'yours'},
        {'type': 'accept'},
        {'type': 'decline'},
    ])
    with open(os.path.join(outbox, '%d.json' % time.time_ns()), 'w') as file:
        file.write(json.dumps(message))
    time.sleep(r.random() * 0.05)
    while len(os.listdir(outbox)) > 20:
        time.sleep(0.05)
";

fn names(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("agent{n}")).collect()
}

fn start(world: &World, me: &str, all: &str) -> Option<Child> {
    python(
        AGENT,
        &[
            &world.room(&format!("outbox/{me}")),
            me.as_ref(),
            all.as_ref(),
        ],
    )
}

fn router(world: &World) -> Child {
    let mut command: Command = world.bare("run");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts")
}

#[test]
fn no_subject_ever_has_two_owners_while_agents_and_router_are_killed() {
    // P118, P119
    let (count, time) = if Town::full_size() { (20, 60) } else { (6, 6) };
    let agents = names(count);
    let world = World::with(&agents.iter().map(String::as_str).collect::<Vec<_>>());
    world.write("settings.toml", "budget.messages = 0\nbudget.copies = 0\n");
    let all = agents.join(",");
    let Some(mut running) = agents
        .iter()
        .map(|me| start(&world, me, &all))
        .collect::<Option<Vec<Child>>>()
    else {
        return;
    };
    let mut daemon = router(&world);
    let end = Instant::now() + Duration::from_secs(time);
    let (mut strikes, mut size) = (0, 0);
    while Instant::now() < end {
        so_within(Duration::from_millis(150), || false);
        // On a slow machine, a router killed too early would deliver nothing.
        so_within(Duration::from_secs(10), || log_size(&world) > size);
        size = log_size(&world);
        strikes += 1;
        let n = strikes % count;
        kill(&mut running[n]);
        running[n] = start(&world, &agents[n], &all).expect("it started before");
        if strikes % 5 == 0 {
            kill(&mut daemon);
            daemon = router(&world);
        }
    }
    running.iter_mut().for_each(kill);
    kill(&mut daemon);
    world.pass();
    world.verify();
    let ledger = Ledger::of(&world.room(""));
    println!(
        "{} changes, {} grants, {strikes} kills",
        ledger.changes, ledger.grants
    );
    assert!(ledger.grants > 5, "only {} grants", ledger.grants);
}

fn log_size(world: &World) -> u64 {
    let segments = fs::read_dir(world.room("log")).expect("a log").flatten();
    segments
        .filter_map(|segment| Some(segment.metadata().ok()?.len()))
        .sum()
}

fn kill(child: &mut Child) {
    child.kill().expect("it was started here");
    child.wait().expect("it was started here");
}
