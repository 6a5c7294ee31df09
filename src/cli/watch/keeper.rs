//! Looks at the room's numbers while somebody watches, and routes what waits as long as no router runs.

use super::Wake;
use crate::actions::send;
use crate::actions::status::{self, Glance};
use crate::error::Result;
use crate::limits;
use crate::room::Room;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Numbers that change all the time are looked at no more often than this.
const BREATH: Duration = Duration::from_millis(100);

/// A thread of its own: a pass that takes long, or waits for another's, holds up nobody who reads or writes.
pub(super) struct Keeper {
    pokes: Sender<Poke>,
}

impl Keeper {
    /// Begins to look, and tells each new look to `wakes`.
    pub(super) fn start(room: Room, reader: String, wakes: Sender<Wake>) -> Keeper {
        let (pokes, poked) = channel();
        std::thread::spawn(move || keep(&room, &reader, &wakes, &poked));
        Keeper { pokes }
    }

    /// Something has changed: look.
    pub(super) fn poke(&self, poke: Poke) {
        // It ends only with the view.
        let _ = self.pokes.send(poke);
    }
}

/// Why to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Poke {
    /// The log has grown: soon.
    Grown,
    /// Somebody has sent something and waits to see it: at once.
    Sent,
}

fn keep(room: &Room, reader: &str, wakes: &Sender<Wake>, poked: &Receiver<Poke>) {
    let mut last = None;
    let mut first = true;
    loop {
        let begun = Instant::now();
        let looked = look(room, reader, std::mem::take(&mut first), last.as_ref());
        last = looked.as_ref().ok().cloned();
        if wakes.send(Wake::Looked(looked.map_err(|e| e.to_string()))).is_err() {
            return;
        }
        // A look at a large room takes long, and must leave the router its time.
        let breath = BREATH.max(begun.elapsed() * 9);
        let now = Instant::now();
        let mut wait = limits::SWEEP_UNTRUSTED;
        loop {
            match poked.recv_timeout(wait) {
                Ok(Poke::Sent) | Err(RecvTimeoutError::Timeout) => break,
                Ok(Poke::Grown) if now.elapsed() >= breath => break,
                // What comes within a breath is looked at together.
                Ok(Poke::Grown) => wait = breath.saturating_sub(now.elapsed()),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        while poked.try_recv().is_ok() {}
    }
}

/// The numbers, after a pass if one is due: at the beginning, when files wait, and when something is newly stuck.
fn look(room: &Room, reader: &str, first: bool, last: Option<&Glance>) -> Result<Glance> {
    let glance = status::glance(room, reader)?;
    let is_stuck = last.is_none_or(|last| last.blocked != glance.blocked);
    if glance.router.is_some() || !(first || glance.waiting > 0 || is_stuck) {
        return Ok(glance);
    }
    send::route(room)?;
    status::glance(room, reader)
}
