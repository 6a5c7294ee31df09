//! Two rooms that write to each other while routers, carriers and connections are killed, and while the link is down: every
//! message arrives once, in order.
//!
//! - `cargo test --all-features carriers::kills`: a few messages.
//! - `MAILBAG_SWEEP=full cargo test --release --all-features carriers::kills -- --nocapture`: 5,000 each way, and the link down for
//!   a minute.

use super::{Pair, Running};
use crate::files;
use crate::town::Town as Rooms;
use crate::world::{World, wait};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

pub(super) const SENDERS: [(&str, &str); 2] = [("alice", "sintra"), ("anna", "bob")];

/// A repeatable sequence of numbers.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// The carrier of a link.
#[derive(Clone, Copy, PartialEq)]
enum Carrier {
    Dir,
    Ssh,
}

/// The processes to kill: the carrier and the routers. The serving end dies with its connection.
/// The routers run the carrier `dir`: there a single pass or both routers are killed.
struct Town {
    pair: Pair,
    carrier: Carrier,
    carriers: Option<Running>,
    routers: [Option<Running>; 2],
    is_down: bool,
    killed: [u32; 4],
}

impl Town {
    fn new(carrier: Carrier) -> Town {
        let town = Town {
            pair: Pair::new(),
            carrier,
            carriers: None,
            routers: [None, None],
            is_down: false,
            killed: [0; 4],
        };
        if carrier == Carrier::Dir {
            for (world, own, other) in [(&town.pair.fit, "fit", "po"), (&town.pair.po, "po", "fit")]
            {
                let address = town.pair.bin(&format!("to-{other}")).join(".mailbag");
                world.write(
                    "settings.toml",
                    format!("tag = \"{own}\"\n[links.{other}]\naddress = {address:?}\n"),
                );
            }
            town.lead(true);
        }
        town
    }

    /// Makes the paths between rooms of one machine, or takes them away.
    fn lead(&self, there: bool) {
        for (name, world) in [("to-fit", &self.pair.fit), ("to-po", &self.pair.po)] {
            match there {
                true => symlink(world.path(), self.pair.bin(name)).expect("a path"),
                false => files::remove_file(self.pair.bin(name)),
            }
        }
    }

    /// Cuts or restores the link.
    fn set_down(&mut self, is_down: bool) {
        self.is_down = is_down;
        match self.carrier {
            Carrier::Dir => self.lead(!is_down),
            Carrier::Ssh if is_down => {
                files::write(self.pair.bin("down"), "");
                self.kill_far_end();
            }
            Carrier::Ssh => files::remove_file(self.pair.bin("down")),
        }
    }

    fn revive(&mut self, dice: &mut Dice) {
        if self.carriers.is_none() {
            self.carriers = match self.carrier {
                Carrier::Ssh => Some(self.pair.carriers()),
                Carrier::Dir if dice.roll(3) == 0 => {
                    let world = [&self.pair.fit, &self.pair.po][dice.roll(2) as usize];
                    Some(Running::start(world.bare("run --once"), world.path()))
                }
                Carrier::Dir => None,
            };
        }
        for (n, router) in self.routers.iter_mut().enumerate() {
            let ended = router
                .as_mut()
                .is_some_and(|router| matches!(router.child.try_wait(), Ok(Some(_))));
            if ended {
                *router = None;
            }
            // Sometimes only the carriers deliver.
            if router.is_none() && dice.roll(3) > 0 {
                let world = [&self.pair.fit, &self.pair.po][n];
                *router = Some(Running::start(world.bare("run"), world.path()));
            }
        }
    }

    fn kill(&mut self, dice: &mut Dice) {
        let what = dice.roll(4) as usize;
        match what {
            0 => drop(self.carriers.take()),
            1 | 2 => drop(self.routers[what - 1].take()),
            _ if self.carrier == Carrier::Dir => self.routers = [None, None],
            _ => self.kill_far_end(),
        }
        self.killed[what] += 1;
    }

    fn kill_far_end(&self) {
        let pid = fs::read_to_string(self.pair.bin("serving"))
            .ok()
            .and_then(|pid| pid.trim().parse().ok());
        if let Some(pid) = pid.and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }

    /// Delivers the mail on its way, without kills.
    fn settle(self) -> Pair {
        let Town {
            pair,
            carrier,
            carriers,
            routers,
            ..
        } = self;
        drop((carriers, routers));
        match carrier {
            Carrier::Ssh => drop(pair.once().ok()),
            Carrier::Dir => [&pair.fit, &pair.po]
                .repeat(3)
                .into_iter()
                .for_each(|world| drop(world.pass())),
        }
        pair
    }
}

/// The time of the next kill. On a busy machine, a router can need longer to start than the pause
/// between two kills: half of the kills wait until a message has arrived since the last kill, so
/// that the test makes progress.
pub(super) struct NextKill {
    at: Instant,
    behind: Option<usize>,
    patience: Instant,
}

impl NextKill {
    pub(super) fn within(millis: u64) -> NextKill {
        let at = Instant::now() + Duration::from_millis(millis);
        NextKill {
            at,
            behind: None,
            patience: at + Duration::from_secs(30),
        }
    }

    pub(super) fn after(dice: &mut Dice, came: usize, millis: std::ops::Range<u64>) -> NextKill {
        let behind = (dice.roll(2) == 0).then_some(came);
        NextKill {
            behind,
            ..NextKill::within(millis.start + dice.roll(millis.end - millis.start))
        }
    }

    pub(super) fn is_due(&self, came: usize) -> bool {
        let now = Instant::now();
        now >= self.at && (self.behind.is_none_or(|behind| came > behind) || now >= self.patience)
    }
}

/// The number of messages that have arrived in both rooms.
pub(super) fn arrived(fit: &World, po: &World) -> usize {
    SENDERS
        .iter()
        .map(|(ours, theirs)| got(fit, ours) + got(po, theirs))
        .sum()
}

pub(super) fn got(world: &World, agent: &str) -> usize {
    world.names(&format!("inbox/{agent}")).len()
}

fn whatever_is_killed(carrier: Carrier) {
    let is_full = Rooms::full_size();
    let (each, down) = if is_full {
        (2500, Duration::from_secs(60))
    } else {
        (40, Duration::from_millis(500))
    };
    let seed = std::env::var("MAILBAG_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| uuid::Uuid::new_v4().as_u128() as u64);
    println!("MAILBAG_SEED={seed}");
    let (mut dice, mut town) = (Dice(seed), Town::new(carrier));
    let (mut sent, mut up_again, began) = (0, None, Instant::now());
    let deadline = Instant::now() + Duration::from_secs(if is_full { 3600 } else { 120 });
    let mut next_kill = NextKill::within(300);
    loop {
        town.revive(&mut dice);
        for _ in 0..(each / 20).min(each - sent) {
            for (ours, theirs) in SENDERS {
                Pair::drop_mail(
                    &town.pair.fit,
                    ours,
                    &format!("po:{theirs}"),
                    &sent.to_string(),
                );
                Pair::drop_mail(
                    &town.pair.po,
                    theirs,
                    &format!("fit:{ours}"),
                    &sent.to_string(),
                );
            }
            sent += 1;
        }
        if up_again.is_none() && sent >= each / 2 {
            town.set_down(true);
            up_again = Some(Instant::now() + down);
        }
        if town.is_down && up_again.is_some_and(|at| Instant::now() >= at) {
            town.set_down(false);
        }
        let came = arrived(&town.pair.fit, &town.pair.po);
        if came >= 4 * each {
            break;
        }
        assert!(
            Instant::now() < deadline,
            "it takes too long: {:?}",
            town.carriers.as_ref().map(Running::log)
        );
        if next_kill.is_due(came) {
            town.kill(&mut dice);
            next_kill = NextKill::after(
                &mut dice,
                came,
                if is_full { 1000..6000 } else { 100..1600 },
            );
        }
        let next = Instant::now() + Duration::from_millis(50);
        wait("the next turn", || Instant::now() >= next);
    }
    println!(
        "{} each way in {:?}, killed carrier or pass, two routers, far end or both: {:?}",
        2 * each,
        began.elapsed(),
        town.killed
    );
    if town.is_down {
        town.set_down(false);
    }
    // Whatever is still on its way would arrive a second time now.
    let pair = town.settle();
    let expected: Vec<String> = (0..each).map(|n| n.to_string()).collect();
    for (ours, theirs) in SENDERS {
        each_once_in_order(
            &pair.po.bodies(theirs),
            &expected,
            &format!("{ours} to {theirs}"),
        );
        each_once_in_order(
            &pair.fit.bodies(ours),
            &expected,
            &format!("{theirs} to {ours}"),
        );
    }
    for world in [&pair.fit, &pair.po] {
        world.verify();
    }
}

/// Fails with the first place that differs, because the whole has thousands.
#[track_caller]
fn each_once_in_order(came: &[String], expected: &[String], what: &str) {
    if let Some(at) =
        (0..came.len().max(expected.len())).find(|&at| came.get(at) != expected.get(at))
    {
        let near = |all: &[String]| {
            all[at.saturating_sub(3).min(all.len())..(at + 5).min(all.len())].join(" ")
        };
        panic!(
            "{what}: {} of {} came; at {at}: {}, expected {}",
            came.len(),
            expected.len(),
            near(came),
            near(expected)
        );
    }
}

#[test]
fn whatever_is_killed_every_message_crosses_once_and_in_the_order_of_its_sender() {
    // P222 P224 P225
    whatever_is_killed(Carrier::Ssh);
}

#[test]
fn whatever_is_killed_between_rooms_of_one_machine_every_message_crosses_once_and_in_order() {
    // P202 P203 P204
    whatever_is_killed(Carrier::Dir);
}
