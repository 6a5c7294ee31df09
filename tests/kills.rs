//! The built program, ended by SIGKILL at random moments: each message still reaches each recipient once.
//!
//! A failure prints the seed; `MAILBAG_SEED` repeats its moments, as far as the machine is as fast as before.
//! `MAILBAG_SWEEP=full` kills ten times as often.

use crate::files;
use crate::sim::Random;
use crate::town::{Town, listing};
use crate::world::World;
use serde_json::json;
use std::collections::BTreeMap;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

const AGENTS: [&str; 3] = ["alice", "bob", "carol"];

/// A room, the messages that were dropped in it, and the copies that must arrive.
struct Prey {
    world: World,
    random: Random,
    dropped: usize,
    /// Recipient and message.
    expected: Vec<(String, String)>,
}

impl Prey {
    fn new() -> Prey {
        let given = std::env::var("MAILBAG_SEED").ok();
        let clock = || SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let seed = given.and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or_else(|| clock().as_nanos() as u64);
        println!("MAILBAG_SEED={seed}");
        Prey {
            world: World::with(&AGENTS).settings("budget.messages = 0\nbudget.copies = 0\n"),
            random: Random::new(seed),
            dropped: 0,
            expected: Vec::new(),
        }
    }

    /// Agents write messages into their outboxes, as any editor does.
    fn drop_mail(&mut self) {
        self.dropped += 1;
        let n = self.dropped;
        let letter = json!({"id": format!("letter-{n}"), "to": ["bob", "carol"], "body": "one"});
        let file = self.world.room(&format!("outbox/alice/{n}.json"));
        files::write(file, letter.to_string());
        let lines: String = ["first", "second"]
            .iter()
            .map(|part| {
                json!({"id": format!("{part}-{n}"), "to": "alice", "body": "two"}).to_string()
                    + "\n"
            })
            .collect();
        files::write(self.world.room(&format!("outbox/carol/{n}.ndjson")), lines);
        let copies = [
            ("bob", "letter"),
            ("carol", "letter"),
            ("alice", "first"),
            ("alice", "second"),
        ];
        let copies = copies.map(|(to, id)| (to.to_owned(), format!("{id}-{n}")));
        self.expected.extend(copies);
    }

    fn start(&self, arguments: &str) -> Child {
        let mut command = self.world.bare(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let started = command.stderr(Stdio::null()).spawn();
        started.expect("the program starts")
    }

    /// Kills the program at a random moment of this time. Returns true if it still ran.
    fn kill(&mut self, mut program: Child, time: Duration) -> bool {
        let moment = time.mul_f64(self.random.below(1000) as f64 / 1000.0);
        sleep(moment);
        let has_ended = program.try_wait().expect("a child").is_some();
        program
            .kill()
            .and_then(|()| program.wait())
            .expect("a child");
        !has_ended
    }

    /// The copies in the inboxes.
    fn arrived(&self) -> Vec<(String, String)> {
        let copies = AGENTS.iter().flat_map(|agent| {
            let mail = self.world.inbox(agent).into_iter();
            mail.map(|copy| {
                let id = copy["id"].as_str().expect("an id").to_owned();
                ((*agent).to_owned(), id)
            })
        });
        copies.collect()
    }

    /// Checks that after one run without a kill every message has arrived once, and that nothing is left.
    fn end(mut self) {
        self.world.pass();
        let mut differing: BTreeMap<_, isize> = BTreeMap::new();
        for copy in self.arrived() {
            *differing.entry(copy).or_default() += 1;
        }
        for copy in std::mem::take(&mut self.expected) {
            *differing.entry(copy).or_default() -= 1;
        }
        differing.retain(|_, surplus| *surplus != 0);
        assert!(differing.is_empty(), "surplus of copies: {differing:?}");
        self.world.verify();
        let outboxes = AGENTS.map(|agent| format!("outbox/{agent}"));
        for directory in outboxes.iter().map(String::as_str) {
            assert!(self.world.names(directory).is_empty(), "{directory}");
        }
        for directory in ["spool/claim", "spool/stage"] {
            let left = listing(&self.world.room(directory));
            assert!(left.is_empty(), "{directory}: {left:?}");
        }
    }
}

/// The number of kills: this, or more in the full size.
fn kills(few: usize) -> usize {
    few * if Town::full_size() { 10 } else { 1 }
}

#[test]
fn a_pass_killed_at_any_moment_delivers_each_message_once() {
    // P44, P46
    let mut prey = Prey::new();
    let mut usual = Duration::MAX;
    for _ in 0..3 {
        prey.drop_mail();
        let begun = Instant::now();
        prey.world.pass();
        usual = usual.min(begun.elapsed());
    }
    let mut killed = 0;
    for _ in 0..kills(200) {
        prey.drop_mail();
        let pass = prey.start("run --once");
        killed += usize::from(prey.kill(pass, usual));
    }
    println!("{killed} passes were killed within {usual:?}");
    assert!(killed > kills(200) / 2, "{killed} passes were killed");
    prey.end();
}

#[test]
fn a_router_killed_at_any_moment_delivers_each_message_once() {
    // P44, P46
    let mut prey = Prey::new();
    let begun = Instant::now();
    prey.drop_mail();
    let first = prey.start("run");
    prey.world.wait("the mail arrives", || {
        prey.arrived().len() == prey.expected.len()
    });
    let usual = begun.elapsed();
    prey.kill(first, Duration::ZERO);
    for _ in 0..kills(40) {
        prey.drop_mail();
        let router = prey.start("run");
        prey.drop_mail();
        assert!(prey.kill(router, usual * 2), "a router stays");
    }
    prey.end();
}
