//! The carrier over NATS: two rooms, each with its own carrier, and real servers between them.

mod bringing;
mod consent;
mod hostile;
mod keys;
mod kills;
pub(super) mod servers;

use super::{Pair, Running};
use crate::links::state;
use crate::world::{Ran, World, wait};
use servers::Cluster;

/// Two rooms that reach each other only over servers.
pub(super) struct Rooms {
    pub(super) fit: World,
    pub(super) po: World,
}

impl Rooms {
    /// Both persons have agreed to the link.
    pub(super) fn new(cluster: &Cluster) -> Rooms {
        let rooms = Rooms::untrusted(&cluster.address(), "");
        rooms.trust();
        rooms
    }

    pub(super) fn untrusted(address: &str, more: &str) -> Rooms {
        let fit = World::new().agent("alice", "").agent("anna", "");
        let po = World::new().agent("sintra", "").agent("bob", "");
        for (room, own, other) in [(&fit, "fit", "po"), (&po, "po", "fit")] {
            let replicas = if address.contains(',') { 3 } else { 1 };
            room.write(
                "settings.toml",
                format!(
                    "tag = \"{own}\"\nmessage_bytes = 8000000\n[links.{other}]\ncarrier = \"nats\"\naddress = \"{address}\"\n\
                     replicas = {replicas}\n{more}"
                ),
            );
        }
        Rooms { fit, po }
    }

    pub(super) fn trust(&self) {
        self.fit.ok("trust --yes");
        self.po.ok("trust --yes");
    }

    pub(super) fn run(&self) -> [Running; 2] {
        [run(&self.fit), run(&self.po)]
    }

    /// All mail of both sides is confirmed.
    #[track_caller]
    pub(super) fn settled(&self) {
        for (world, link) in [(&self.fit, "po"), (&self.po, "fit")] {
            wait("everything is confirmed", || {
                let out = &state(world, link)["out"];
                out["n"] == out["acked"]
            });
        }
    }
}

/// One server and two rooms. The carrier of one of them is connected.
pub(super) fn with_one_connected(
    which: impl Fn(&Rooms) -> &World,
) -> Option<(Cluster, Rooms, Running)> {
    let cluster = Cluster::start(1, "")?;
    let rooms = Rooms::new(&cluster);
    let carrier = run(which(&rooms));
    carrier.says("connected");
    Some((cluster, rooms, carrier))
}

/// Starts the carrier of a room.
pub(super) fn run(world: &World) -> Running {
    Running::start(world.bare("link run"), world.path())
}

fn drop_mail(from: &World, agent: &str, to: &str, body: &str) {
    Pair::drop_mail(from, agent, to, body);
}

fn once(world: &World) -> Ran {
    world.run("link run --once")
}
