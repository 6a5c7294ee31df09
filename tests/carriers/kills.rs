//! Two rooms that write to each other while routers, carriers and connections are killed: every message arrives once,
//! in order.
//!
//! - `cargo test --all-features carriers::kills`: a few messages.
//! - `MAILBAG_SWEEP=full cargo test --release --all-features carriers::kills -- --nocapture`: 5,000 each way.

use super::{Pair, Running};
use crate::world::{World, wait};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::time::{Duration, Instant};

const SENDERS: [(&str, &str); 2] = [("alice", "sintra"), ("anna", "bob")];

/// A repeatable sequence of numbers.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// What may be killed: the carrier, and the routers. With the far end of the connection, whatever serves there dies.
struct Town {
    pair: Pair,
    carriers: Option<Running>,
    routers: [Option<Running>; 2],
    killed: [u32; 4],
}

impl Town {
    fn revive(&mut self, dice: &mut Dice) {
        if self.carriers.is_none() {
            self.carriers = Some(self.pair.carriers());
        }
        for (n, router) in self.routers.iter_mut().enumerate() {
            let ended = router.as_mut().is_some_and(|router| matches!(router.child.try_wait(), Ok(Some(_))));
            if ended {
                *router = None;
            }
            // Sometimes nobody but the carriers delivers.
            if router.is_none() && dice.roll(3) > 0 {
                let world = [&self.pair.fit, &self.pair.po][n];
                *router = Some(Running::start(world.bare(&["run"]), world.path()));
            }
        }
    }

    fn kill(&mut self, dice: &mut Dice) {
        let what = dice.roll(4) as usize;
        match what {
            0 => drop(self.carriers.take()),
            1 | 2 => drop(self.routers[what - 1].take()),
            _ => {
                let pid = fs::read_to_string(self.pair.bin("serving")).ok().and_then(|pid| pid.trim().parse().ok());
                if let Some(pid) = pid.and_then(Pid::from_raw) {
                    let _ = kill_process(pid, Signal::KILL);
                }
            }
        }
        self.killed[what] += 1;
    }
}

fn got(world: &World, agent: &str) -> usize {
    world.names(&format!("inbox/{agent}")).len()
}

#[test]
fn whatever_is_killed_every_message_crosses_once_and_in_the_order_of_its_sender() {
    // P222 P224 P225
    let is_full = std::env::var("MAILBAG_SWEEP").is_ok_and(|size| size == "full");
    let each: usize = if is_full { 2500 } else { 40 };
    let seed = std::env::var("MAILBAG_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| uuid::Uuid::new_v4().as_u128() as u64);
    println!("MAILBAG_SEED={seed}");
    let mut dice = Dice(seed);
    let mut town = Town { pair: Pair::new(), carriers: None, routers: [None, None], killed: [0; 4] };
    let mut sent = 0;
    let deadline = Instant::now() + Duration::from_secs(if is_full { 3600 } else { 120 });
    let mut next_kill = Instant::now() + Duration::from_millis(300);
    loop {
        town.revive(&mut dice);
        for _ in 0..(each / 20).min(each - sent) {
            for (ours, theirs) in SENDERS {
                Pair::drop_mail(&town.pair.fit, ours, &format!("po:{theirs}"), &sent.to_string());
                Pair::drop_mail(&town.pair.po, theirs, &format!("fit:{ours}"), &sent.to_string());
            }
            sent += 1;
        }
        let all = |world: &World, agents: [&str; 2]| agents.iter().all(|agent| got(world, agent) >= each);
        if sent == each && all(&town.pair.po, ["sintra", "bob"]) && all(&town.pair.fit, ["alice", "anna"]) {
            break;
        }
        assert!(Instant::now() < deadline, "it takes too long: {:?}", town.carriers.as_ref().map(Running::log));
        if Instant::now() >= next_kill {
            town.kill(&mut dice);
            next_kill = Instant::now() + Duration::from_millis(100 + dice.roll(1500));
        }
        let next = Instant::now() + Duration::from_millis(50);
        wait("the next turn", || Instant::now() >= next);
    }
    println!("killed carrier, two routers, far end: {:?}", town.killed);
    let Town { pair, carriers, routers, .. } = town;
    drop((carriers, routers));
    // Whatever is still on its way would arrive a second time now.
    pair.once().ok(&["link run"]);
    let expected: Vec<String> = (0..each).map(|n| n.to_string()).collect();
    for (ours, theirs) in SENDERS {
        assert_eq!(pair.po.bodies(theirs), expected, "{ours} to {theirs}");
        assert_eq!(pair.fit.bodies(ours), expected, "{theirs} to {ours}");
    }
    for world in [&pair.fit, &pair.po] {
        world.ok(&["log", "verify"]);
    }
}
