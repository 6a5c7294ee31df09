//! Looks at the room's numbers while somebody watches, and routes what waits as long as no router runs.

use super::Wake;
use crate::base::error::Result;
use crate::base::limits;
use crate::query::status::{self, Glance};
use crate::room::Room;
use crate::router::daemon::{Alongside, alongside};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Numbers that change all the time are looked at no more often than this.
const BREATH: Duration = Duration::from_millis(100);

/// A thread of its own: a look that takes long holds up nobody who reads or writes.
pub(super) struct Keeper {
    pokes: Option<Sender<Poke>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Begins to look, and tells each new look to `wakes`.
    pub(super) fn start(room: Room, reader: String, wakes: Sender<Wake>) -> Keeper {
        let (pokes, poked) = channel();
        let thread = std::thread::spawn(move || keep(&room, &reader, &wakes, &poked));
        Keeper { pokes: Some(pokes), thread: Some(thread) }
    }

    /// Something has changed: look.
    pub(super) fn poke(&self, poke: Poke) {
        // It ends only with the view.
        let _ = self.pokes.as_ref().map(|pokes| pokes.send(poke));
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
    let mut router = None;
    loop {
        let begun = Instant::now();
        let looked = look(room, reader, &mut router);
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

/// The numbers; before, this process begins to route if nobody else does, or hands over to who wants to.
fn look(room: &Room, reader: &str, router: &mut Option<Alongside>) -> Result<Glance> {
    let failure = router.as_mut().and_then(Alongside::failure);
    if failure.is_some() || room.is_wanted() {
        *router = None;
    }
    if let Some(e) = failure {
        return Err(e);
    }
    if router.is_none() {
        *router = alongside(room)?;
    }
    status::glance(room, reader)
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // The thread ends when nobody can poke it any more, and gives up routing in good order.
        self.pokes = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
