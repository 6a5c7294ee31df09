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
use std::ops::Range;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

const SENDERS: [(&str, &str); 2] = [("alice", "sintra"), ("anna", "bob")];

/// A repeatable sequence of numbers.
pub(super) struct Dice(u64);

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

/// Two rooms. Their processes are killed.
pub(super) trait Town {
    /// The rooms `fit` and `po`.
    fn worlds(&self) -> [&World; 2];
    /// Starts the killed processes again, and after half of the mail cuts the link for a while.
    fn revive(&mut self, dice: &mut Dice, half_is_sent: bool);
    fn kill(&mut self, dice: &mut Dice);
    /// The output of the carriers.
    fn log(&self) -> String;
    /// Delivers the mail on its way, without kills.
    fn settle(&mut self);
}

/// Restarts routers that ended, but not always: sometimes only the carriers deliver.
pub(super) fn revive_routers(
    routers: &mut [Option<Running>; 2],
    worlds: [&World; 2],
    dice: &mut Dice,
) {
    for (router, world) in routers.iter_mut().zip(worlds) {
        router.take_if(|router| !matches!(router.child.try_wait(), Ok(None)));
        if router.is_none() && dice.roll(3) > 0 {
            *router = Some(Running::start(world.bare("run"), world.path()));
        }
    }
}

/// The processes to kill: the carrier and the routers. The serving end dies with its connection.
/// The routers run the carrier `dir`: there a single pass or both routers are killed.
struct Machines {
    pair: Pair,
    carrier: Carrier,
    carriers: Option<Running>,
    routers: [Option<Running>; 2],
    down_for: Duration,
    up_again: Option<Instant>,
    is_down: bool,
}

impl Machines {
    fn new(carrier: Carrier, down_for: Duration) -> Machines {
        let town = Machines {
            pair: Pair::new(),
            carrier,
            carriers: None,
            routers: [None, None],
            down_for,
            up_again: None,
            is_down: false,
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
            if there {
                symlink(world.path(), self.pair.bin(name)).expect("a path");
            } else {
                files::remove_file(self.pair.bin(name));
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

    fn kill_far_end(&self) {
        let pid = fs::read_to_string(self.pair.bin("serving"))
            .ok()
            .and_then(|pid| pid.trim().parse().ok());
        if let Some(pid) = pid.and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

impl Town for Machines {
    fn worlds(&self) -> [&World; 2] {
        [&self.pair.fit, &self.pair.po]
    }

    fn revive(&mut self, dice: &mut Dice, half_is_sent: bool) {
        if self.carriers.is_none() && self.carrier == Carrier::Ssh {
            self.carriers = Some(self.pair.carriers());
        } else if self.carriers.is_none() && dice.roll(3) == 0 {
            let world = self.worlds()[dice.roll(2) as usize];
            self.carriers = Some(Running::start(world.bare("run --once"), world.path()));
        }
        let worlds = [&self.pair.fit, &self.pair.po];
        revive_routers(&mut self.routers, worlds, dice);
        if self.up_again.is_none() && half_is_sent {
            self.set_down(true);
            self.up_again = Some(Instant::now() + self.down_for);
        }
        if self.is_down && self.up_again.is_some_and(|at| Instant::now() >= at) {
            self.set_down(false);
        }
    }

    fn kill(&mut self, dice: &mut Dice) {
        match dice.roll(4) as usize {
            0 => self.carriers = None,
            what @ (1 | 2) => self.routers[what - 1] = None,
            _ if self.carrier == Carrier::Dir => self.routers = [None, None],
            _ => self.kill_far_end(),
        }
    }

    fn log(&self) -> String {
        self.carriers.as_ref().map(Running::log).unwrap_or_default()
    }

    fn settle(&mut self) {
        (self.carriers, self.routers) = (None, [None, None]);
        if self.is_down {
            self.set_down(false);
        }
        if self.carrier == Carrier::Ssh {
            self.pair.once().ok();
            return;
        }
        for world in self.worlds().repeat(3) {
            world.pass();
        }
    }
}

/// The time of the next kill. On a busy machine, a router can need longer to start than the pause
/// between two kills: half of the kills wait until a message has arrived since the last kill, so
/// that the test makes progress.
struct NextKill {
    at: Instant,
    behind: Option<usize>,
}

impl NextKill {
    fn after(dice: &mut Dice, came: usize, millis: &Range<u64>) -> NextKill {
        let pause = millis.start + dice.roll(millis.end - millis.start);
        NextKill {
            at: Instant::now() + Duration::from_millis(pause),
            behind: (dice.roll(2) == 0).then_some(came),
        }
    }

    fn is_due(&self, came: usize) -> bool {
        let patience = self.at + Duration::from_secs(30);
        let has_come = self.behind.is_none_or(|behind| came > behind);
        let now = Instant::now();
        now >= self.at && (has_come || now >= patience)
    }
}

pub(super) fn got(world: &World, agent: &str) -> usize {
    world.names(&format!("inbox/{agent}")).len()
}

/// Writes this many messages of each sender in both rooms while everything may be killed, until all have arrived.
pub(super) fn survive(
    town: Option<Box<dyn Town>>,
    each: usize,
    patience: Duration,
    pauses: Range<u64>,
) {
    let Some(mut town) = town else { return };
    let seed = std::env::var("MAILBAG_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| uuid::Uuid::new_v4().as_u128() as u64);
    println!("MAILBAG_SEED={seed}");
    let mut dice = Dice(seed);
    let (mut sent, mut kills, began) = (0, 0, Instant::now());
    let mut next_kill = NextKill::after(&mut dice, 0, &(300..301));
    loop {
        town.revive(&mut dice, sent >= each / 2);
        let [fit, po] = town.worlds();
        for _ in 0..(each / 20).min(each - sent) {
            for (ours, theirs) in SENDERS {
                Pair::drop_mail(fit, ours, &format!("po:{theirs}"), &sent.to_string());
                Pair::drop_mail(po, theirs, &format!("fit:{ours}"), &sent.to_string());
            }
            sent += 1;
        }
        let came = SENDERS
            .iter()
            .map(|(ours, theirs)| got(fit, ours) + got(po, theirs))
            .sum();
        if came >= 4 * each {
            break;
        }
        assert!(began.elapsed() < patience, "too long: {}", town.log());
        if next_kill.is_due(came) {
            town.kill(&mut dice);
            kills += 1;
            next_kill = NextKill::after(&mut dice, came, &pauses);
        }
        let next = Instant::now() + Duration::from_millis(50);
        wait("the next turn", || Instant::now() >= next);
    }
    println!(
        "{} each way in {:?}, {kills} kills",
        2 * each,
        began.elapsed()
    );
    // Whatever is still on its way would arrive a second time now.
    town.settle();
    let [fit, po] = town.worlds();
    let expected: Vec<String> = (0..each).map(|n| n.to_string()).collect();
    for (ours, theirs) in SENDERS {
        each_once_in_order(
            &po.bodies(theirs),
            &expected,
            &format!("{ours} to {theirs}"),
        );
        each_once_in_order(&fit.bodies(ours), &expected, &format!("{theirs} to {ours}"));
    }
    for world in [fit, po] {
        world.verify();
        let told = world.inbox("human");
        assert!(
            told.is_empty(),
            "a link stopped, but both rooms are as they were: {told:?}"
        );
    }
}

fn whatever_is_killed(carrier: Carrier) {
    if Rooms::full_size() {
        let town = Machines::new(carrier, Duration::from_secs(60));
        survive(
            Some(Box::new(town)),
            2500,
            Duration::from_secs(3600),
            1000..6000,
        );
    } else {
        let town = Machines::new(carrier, Duration::from_millis(500));
        survive(
            Some(Box::new(town)),
            40,
            Duration::from_secs(120),
            100..1600,
        );
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
