//! Reads the numbers of the room for the view, and delivers mail if no router runs.

use super::WatchEvent;
use crate::base::error::Result;
use crate::base::limits;
use crate::base::worker::WorkerThread;
use crate::commands::wait::StandbyRouter;
use crate::query::latest::RoomStateCache;
use crate::query::pending::PendingList;
use crate::query::status::{self, RoomCounters};
use crate::query::who::KnownAgents;
use crate::room::Room;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
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

/// A thread that looks at the room: a slow look does not delay the view. A call asks for a look.
pub(super) type RoomMonitor = WorkerThread<RefreshReason>;

/// The reason for a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefreshReason {
    /// The log has grown: look soon.
    Grown,
    /// The person has sent a message: look now.
    Sent,
}

/// Looks at the room and sends each result to `wakes`, until a channel is closed. `latest` reads the pending items and the
/// agents.
pub(super) fn keep(
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
    room.check_place()?;
    routing.tend()?;
    let mut looked = RoomSnapshot {
        glance: status::glance(room)?,
        pending: None,
        everybody: None,
    };
    if let Some(latest) = latest {
        looked.pending = Some(latest.pending(reader)?);
        looked.everybody = Some(latest.everybody()?);
    }
    Ok(looked)
}
