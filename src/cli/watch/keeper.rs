//! Reads the numbers of the room for the view, and delivers mail if no router runs.

use super::Wake;
use crate::base::error::Result;
use crate::base::limits;
use crate::commands::wait::Routing;
use crate::query::latest::Latest;
use crate::query::pending::PendingList;
use crate::query::status::{self, Glance};
use crate::query::who::Everybody;
use crate::room::Room;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Minimum time between two looks.
const BREATH: Duration = Duration::from_millis(100);

/// The result of a look.
pub(super) struct Looked {
    /// The numbers of the room.
    pub(super) glance: Glance,
    /// The pending items of the reader, if the view shows them.
    pub(super) pending: Option<PendingList>,
    /// The agents, if the view shows them.
    pub(super) everybody: Option<Everybody>,
}

/// A thread of its own, so that a slow look does not delay the view.
pub(super) struct Keeper {
    pokes: Option<Sender<Poke>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Starts to look, and sends each result to `wakes`. `latest` reads the pending items and the agents.
    pub(super) fn start(
        room: Room,
        reader: String,
        latest: Option<Latest>,
        wakes: Sender<Wake>,
    ) -> Keeper {
        let (pokes, poked) = channel();
        let thread = std::thread::spawn(move || keep(&room, &reader, latest, &wakes, &poked));
        Keeper {
            pokes: Some(pokes),
            thread: Some(thread),
        }
    }

    /// Asks for a look.
    pub(super) fn poke(&self, poke: Poke) {
        // The thread ends only with the view.
        let _ = self.pokes.as_ref().map(|pokes| pokes.send(poke));
    }
}

/// The reason for a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Poke {
    /// The log has grown: look soon.
    Grown,
    /// The person has sent a message: look now.
    Sent,
}

fn keep(
    room: &Room,
    reader: &str,
    mut latest: Option<Latest>,
    wakes: &Sender<Wake>,
    poked: &Receiver<Poke>,
) {
    let mut routing = Routing::new(room);
    loop {
        let begun = Instant::now();
        let looked = look(room, reader, &mut routing, latest.as_mut()).map(Box::new);
        if wakes
            .send(Wake::Looked(looked.map_err(|e| e.to_string())))
            .is_err()
        {
            return;
        }
        // A look at a large room takes long, and must leave the router its share of the processor.
        let breath = BREATH.max(begun.elapsed() * 9);
        let now = Instant::now();
        let mut wait = limits::SWEEP_UNTRUSTED;
        loop {
            match poked.recv_timeout(wait) {
                Ok(Poke::Sent) | Err(RecvTimeoutError::Timeout) => break,
                Ok(Poke::Grown) if now.elapsed() >= breath => break,
                // Changes within a short time share one look.
                Ok(Poke::Grown) => wait = breath.saturating_sub(now.elapsed()),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        while poked.try_recv().is_ok() {}
    }
}

/// Starts or stops delivery in this process, and then reads the numbers of the room, the pending items and the agents.
fn look(
    room: &Room,
    reader: &str,
    routing: &mut Routing,
    latest: Option<&mut Latest>,
) -> Result<Looked> {
    routing.tend()?;
    let mut looked = Looked {
        glance: status::glance(room, reader)?,
        pending: None,
        everybody: None,
    };
    if let Some(latest) = latest {
        looked.pending = Some(latest.pending(reader)?);
        looked.everybody = Some(latest.everybody()?);
    }
    Ok(looked)
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // The thread ends when the channel closes, and then stops delivering after the current batch.
        self.pokes = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
