//! Two rooms that write to each other over servers while routers, carriers and servers are killed: every message arrives once,
//! in order.
//!
//! - `cargo test --all-features carriers::nats::kills`: a few messages, and one server.
//! - `MAILBAG_SWEEP=full cargo test --release --all-features carriers::nats::kills -- --nocapture`: 5,000 messages
//!   in each direction over three servers. The leader of a stream is killed, or enough servers to stop the others.
//! - `MAILBAG_SWEEP=servers`: the same with 400 each way.

use super::super::kills::{Dice, Town, got, revive_routers, survive};
use super::servers::Cluster;
use super::{Rooms, drop_mail, run};
use crate::carriers::Running;
use crate::world::{World, wait};
use std::time::{Duration, Instant};

/// The processes to kill.
struct Servers {
    rooms: Rooms,
    cluster: Cluster,
    nodes: usize,
    carriers: [Option<Running>; 2],
    routers: [Option<Running>; 2],
    /// Servers that are down, until then.
    down: Option<(Vec<usize>, Instant)>,
}

impl Servers {
    fn start(nodes: usize) -> Option<Box<dyn Town>> {
        let cluster = Cluster::start(nodes, "")?;
        Some(Box::new(Servers {
            rooms: Rooms::new(&cluster),
            cluster,
            nodes,
            carriers: [None, None],
            routers: [None, None],
            down: None,
        }))
    }

    fn fall(&mut self, down: Vec<usize>, millis: u64) {
        for n in &down {
            self.cluster.kill(*n);
        }
        self.down = Some((down, Instant::now() + Duration::from_millis(millis)));
    }
}

impl Town for Servers {
    fn worlds(&self) -> [&World; 2] {
        [&self.rooms.fit, &self.rooms.po]
    }

    fn revive(&mut self, dice: &mut Dice, _: bool) {
        let worlds = [&self.rooms.fit, &self.rooms.po];
        for (carrier, world) in self.carriers.iter_mut().zip(worlds) {
            carrier.get_or_insert_with(|| run(world));
        }
        revive_routers(&mut self.routers, worlds, dice);
        let is_over = |down: &mut (_, Instant)| down.1 <= Instant::now();
        for n in self
            .down
            .take_if(is_over)
            .into_iter()
            .flat_map(|down| down.0)
        {
            self.cluster.revive(n);
        }
    }

    fn kill(&mut self, dice: &mut Dice) {
        match dice.roll(6) as usize {
            what @ (0 | 1) => self.carriers[what] = None,
            what @ (2 | 3) => self.routers[what - 2] = None,
            _ if self.down.is_some() => {}
            4 => {
                let stream = ["mailbag_fit", "mailbag_po"][dice.roll(2) as usize];
                let leader = self.cluster.leader(stream).unwrap_or_default();
                self.fall(vec![leader], dice.roll(1000));
            }
            _ => {
                let most = (1..self.nodes.max(2)).map(|n| n % self.nodes);
                self.fall(most.collect(), 500 + dice.roll(3000));
            }
        }
    }

    fn log(&self) -> String {
        self.carriers.iter().flatten().map(Running::log).collect()
    }

    fn settle(&mut self) {
        (self.carriers, self.routers) = ([None, None], [None, None]);
        for n in 0..self.nodes {
            self.cluster.revive(n);
        }
        let carriers = self.rooms.run();
        for carrier in &carriers {
            carrier.says("connected");
        }
        self.rooms.settled();
    }
}

#[test]
fn whatever_is_killed_every_message_crosses_once_and_in_the_order_of_its_sender() {
    // P212 P213
    match std::env::var("MAILBAG_SWEEP").as_deref() {
        Ok("full") => survive(Servers::start(3), 2500, Duration::from_secs(3600), 50..2550),
        Ok("servers") => survive(Servers::start(3), 200, Duration::from_secs(600), 50..2550),
        _ => survive(Servers::start(1), 40, Duration::from_secs(120), 50..450),
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
