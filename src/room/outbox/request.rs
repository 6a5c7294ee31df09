//! Requests for a pass: a hidden file in an outbox. The router removes it as soon as everything that was dropped before it is
//! in the log and delivered, or is reported as pending.
//!
//! A watcher reports the events of all outboxes in one order, and the file marks a place in that order. So no program has to
//! list all outboxes. The file is in an outbox, because every agent can write to its own, even in a sandbox.

use crate::disk::{Dir, layout};
use crate::message::id;
use crate::room::Room;

/// A request that a running router has not answered. Dropping it withdraws it.
pub struct PassRequest {
    outbox: Dir,
    name: String,
}

impl PassRequest {
    /// Asks for a pass. `None` if this process can write to no outbox. The first outbox is always the same one, so that a
    /// router without file events finds the request early.
    pub fn place(room: &Room) -> Option<PassRequest> {
        let name = layout::pass_request(&id::mint());
        if let Some(outbox) = ask_in(&room.dir, id::HUMAN, &name) {
            return Some(PassRequest { outbox, name });
        }
        // An agent's user can read the registry, and cannot list the outboxes.
        let registry = room.registry().ok()?;
        let outbox = registry
            .agents()
            .iter()
            .find_map(|agent| ask_in(&room.dir, &agent.id, &name))?;
        Some(PassRequest { outbox, name })
    }

    /// Returns true if the router has removed the request.
    pub fn is_answered(&self) -> bool {
        matches!(self.outbox.stat(&self.name), Ok(None))
    }
}

fn ask_in(room: &Dir, agent: &str, name: &str) -> Option<Dir> {
    let outbox = room.sub(layout::outbox(agent)).ok()?;
    outbox.create(name, b"").ok()?;
    Some(outbox)
}

impl Drop for PassRequest {
    fn drop(&mut self) {
        // A file that stays is removed by the next pass.
        let _ = self.outbox.remove(&self.name);
    }
}
