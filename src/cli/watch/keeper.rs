//! Reads the numbers of the room for the view, and delivers mail if no router runs.

use super::WatchEvent;
use crate::base::error::Result;
use crate::base::limits;
use crate::commands::wait::StandbyRouter;
use crate::query::latest::RoomStateCache;
use crate::query::pending::PendingList;
use crate::query::status::{self, RoomCounters};
use crate::query::who::KnownAgents;
use crate::room::Room;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Minimum time between two looks.
const BREATH: Duration = Duration::from_millis(100);

/// The result of a look.
pub(super) struct RoomSnapshot {
    /// The numbers of the room.
    pub(super) glance: RoomCounters,
    /// The pending items of the reader, if the view shows them.
    pub(super) pending: Option<PendingList>,
    /// The agents, if the view shows them.
    pub(super) everybody: Option<KnownAgents>,
}

/// A thread of its own, so that a slow look does not delay the view.
pub(super) struct RoomMonitor {
    pokes: Option<Sender<RefreshReason>>,
    thread: Option<JoinHandle<()>>,
}

impl RoomMonitor {
    /// Starts to look, and sends each result to `wakes`. `latest` reads the pending items and the agents.
    pub(super) fn start(
        room: Room,
        reader: String,
        latest: Option<RoomStateCache>,
        wakes: Sender<WatchEvent>,
    ) -> RoomMonitor {
        let (pokes, poked) = channel();
        let thread = std::thread::spawn(move || keep(&room, &reader, latest, &wakes, &poked));
        RoomMonitor {
            pokes: Some(pokes),
            thread: Some(thread),
        }
    }

    /// Asks for a look.
    pub(super) fn poke(&self, poke: RefreshReason) {
        // The thread ends only with the view.
        let _ = self.pokes.as_ref().map(|pokes| pokes.send(poke));
    }
}

/// The reason for a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefreshReason {
    /// The log has grown: look soon.
    Grown,
    /// The person has sent a message: look now.
    Sent,
}

fn keep(
    room: &Room,
    reader: &str,
    mut latest: Option<RoomStateCache>,
    wakes: &Sender<WatchEvent>,
    poked: &Receiver<RefreshReason>,
) {
    let mut routing = StandbyRouter::new(room);
    loop {
        let begun = Instant::now();
        let looked = look(room, reader, &mut routing, latest.as_mut()).map(Box::new);
        if wakes
            .send(WatchEvent::Looked(looked.map_err(|e| e.to_string())))
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
                Ok(RefreshReason::Sent) | Err(RecvTimeoutError::Timeout) => break,
                Ok(RefreshReason::Grown) if now.elapsed() >= breath => break,
                // Changes within a short time share one look.
                Ok(RefreshReason::Grown) => wait = breath.saturating_sub(now.elapsed()),
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
    routing: &mut StandbyRouter,
    latest: Option<&mut RoomStateCache>,
) -> Result<RoomSnapshot> {
    routing.tend()?;
    let mut looked = RoomSnapshot {
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

impl Drop for RoomMonitor {
    fn drop(&mut self) {
        // The thread ends when the channel closes, and then stops delivering after the current batch.
        self.pokes = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
