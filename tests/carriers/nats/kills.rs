//! Two rooms that write to each other over servers while routers, carriers and servers are killed: every message arrives once,
//! in order.
//!
//! - `cargo test --all-features carriers::nats::kills`: a few messages, and one server.
//! - `MAILBAG_SWEEP=full cargo test --release --all-features carriers::nats::kills -- --nocapture`: 5,000 messages
//!   in each direction over three servers. The leader of a stream is killed, or enough servers to stop the others.
//! - `MAILBAG_SWEEP=servers`: the same with 400 each way.

use super::super::kills::{Dice, NextKill, SENDERS, arrived, got};
use super::servers::Cluster;
use super::{Rooms, drop_mail, run};
use crate::carriers::Running;
use crate::world::{World, wait};
use std::time::{Duration, Instant};

/// The processes to kill.
struct Town {
    rooms: Rooms,
    cluster: Cluster,
    nodes: usize,
    carriers: [Option<Running>; 2],
    routers: [Option<Running>; 2],
    /// Servers that are down, until then.
    down: Option<(Vec<usize>, Instant)>,
    killed: [u32; 6],
}

impl Town {
    fn worlds(&self) -> [&World; 2] {
        [&self.rooms.fit, &self.rooms.po]
    }

    fn revive(&mut self, dice: &mut Dice) {
        for n in 0..2 {
            if self.carriers[n].is_none() {
                self.carriers[n] = Some(run(self.worlds()[n]));
            }
            let ended = self.routers[n]
                .as_mut()
                .is_some_and(|router| !matches!(router.child.try_wait(), Ok(None)));
            if ended {
                self.routers[n] = None;
            }
            // Sometimes only the carriers deliver.
            if self.routers[n].is_none() && dice.roll(3) > 0 {
                let world = self.worlds()[n];
                self.routers[n] = Some(Running::start(world.bare("run"), world.path()));
            }
        }
        if self
            .down
            .as_ref()
            .is_some_and(|(_, until)| *until <= Instant::now())
        {
            self.down
                .take()
                .into_iter()
                .flat_map(|(down, _)| down)
                .for_each(|n| self.cluster.revive(n));
        }
    }

    fn kill(&mut self, dice: &mut Dice) {
        let what = dice.roll(6) as usize;
        match what {
            0 | 1 => drop(self.carriers[what].take()),
            2 | 3 => drop(self.routers[what - 2].take()),
            _ if self.down.is_some() => return,
            4 => {
                let stream = ["mailbag_fit", "mailbag_po"][dice.roll(2) as usize];
                let leader = self.cluster.leader(stream).unwrap_or_default();
                self.fall(vec![leader], dice.roll(1000));
            }
            _ => self.fall(
                (1..self.nodes.max(2)).map(|n| n % self.nodes).collect(),
                500 + dice.roll(3000),
            ),
        }
        self.killed[what] += 1;
    }

    fn fall(&mut self, down: Vec<usize>, millis: u64) {
        down.iter().for_each(|n| self.cluster.kill(*n));
        self.down = Some((down, Instant::now() + Duration::from_millis(millis)));
    }
}

/// Writes in both rooms while everything may be killed, until all has arrived.
fn survive(nodes: usize, each: usize, patience: Duration) {
    let pause = if nodes == 1 { 400 } else { 2500 };
    let Some(cluster) = Cluster::start(nodes, "") else {
        return;
    };
    let seed = std::env::var("MAILBAG_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| uuid::Uuid::new_v4().as_u128() as u64);
    println!("MAILBAG_SEED={seed}");
    let (mut dice, rooms) = (Dice(seed), Rooms::new(&cluster));
    let none = || [None, None];
    let mut town = Town {
        rooms,
        cluster,
        nodes,
        carriers: none(),
        routers: none(),
        down: None,
        killed: [0; 6],
    };
    let (mut sent, begun) = (0, Instant::now());
    let mut next_kill = NextKill::within(300);
    loop {
        town.revive(&mut dice);
        for _ in 0..(each / 40).min(each - sent) {
            for (ours, theirs) in SENDERS {
                drop_mail(
                    &town.rooms.fit,
                    ours,
                    &format!("po:{theirs}"),
                    &sent.to_string(),
                );
                drop_mail(
                    &town.rooms.po,
                    theirs,
                    &format!("fit:{ours}"),
                    &sent.to_string(),
                );
            }
            sent += 1;
        }
        let came = arrived(&town.rooms.fit, &town.rooms.po);
        if came >= 4 * each {
            break;
        }
        let logs = || {
            town.carriers
                .iter()
                .flatten()
                .map(Running::log)
                .collect::<Vec<_>>()
                .join("\n")
        };
        assert!(begun.elapsed() < patience, "it takes too long: {}", logs());
        if next_kill.is_due(came) {
            town.kill(&mut dice);
            next_kill = NextKill::after(&mut dice, came, 50..50 + pause);
        }
        let next = Instant::now() + Duration::from_millis(50);
        wait("the next turn", || Instant::now() >= next);
    }
    println!(
        "killed carriers, routers, leaders, most servers: {:?} in {:?}",
        town.killed,
        begun.elapsed()
    );
    let Town {
        rooms,
        mut cluster,
        carriers,
        routers,
        ..
    } = town;
    drop((carriers, routers));
    (0..nodes).for_each(|n| cluster.revive(n));
    finish(&rooms);
    let expected: Vec<String> = (0..each).map(|n| n.to_string()).collect();
    for (ours, theirs) in SENDERS {
        assert_eq!(rooms.po.bodies(theirs), expected, "{ours} to {theirs}");
        assert_eq!(rooms.fit.bodies(ours), expected, "{theirs} to {ours}");
    }
    for world in [&rooms.fit, &rooms.po] {
        world.verify();
        assert!(
            world.inbox("human").is_empty(),
            "a link that stopped, though both rooms are as they were"
        );
    }
}

/// Whatever is still on its way would arrive a second time now.
fn finish(rooms: &Rooms) {
    let carriers = rooms.run();
    carriers
        .iter()
        .for_each(|carrier| carrier.says("connected"));
    rooms.settled();
}

#[test]
fn whatever_is_killed_every_message_crosses_once_and_in_the_order_of_its_sender() {
    // P212 P213
    match std::env::var("MAILBAG_SWEEP").as_deref() {
        Ok("full") => survive(3, 2500, Duration::from_secs(3600)),
        Ok("servers") => survive(3, 200, Duration::from_secs(600)),
        _ => survive(1, 40, Duration::from_secs(120)),
    }
}

#[test]
fn mail_crosses_although_the_leader_of_a_stream_is_killed() {
    // P212
    let Some(mut cluster) = Cluster::start(3, "") else {
        return;
    };
    let rooms = Rooms::new(&cluster);
    let carriers = rooms.run();
    carriers
        .iter()
        .for_each(|carrier| carrier.says("connected"));
    let (mut sent, mut leader) = (0, None);
    let mut send = |count: usize| {
        for _ in 0..count {
            drop_mail(&rooms.fit, "alice", "po:sintra", &sent.to_string());
            drop_mail(&rooms.po, "sintra", "fit:alice", &sent.to_string());
            sent += 1;
        }
        sent
    };
    send(5);
    wait("a stream has a leader", || {
        leader = cluster.leader("mailbag_po");
        leader.is_some()
    });
    cluster.kill(leader.unwrap_or_default());
    let all: Vec<String> = (0..send(5)).map(|n| n.to_string()).collect();
    wait("all arrives over the others", || {
        got(&rooms.po, "sintra") == all.len() && got(&rooms.fit, "alice") == all.len()
    });
    assert_eq!(
        (rooms.po.bodies("sintra"), rooms.fit.bodies("alice")),
        (all.clone(), all)
    );
    rooms.settled();
}
