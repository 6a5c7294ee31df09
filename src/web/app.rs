//! The state of all requests: the room, the gate, and the signs of change.

use super::gate::PageGate;
use super::reply::RequestFailure;
use crate::base::error::Result;
use crate::base::limits;
use crate::message::id;
use crate::query::identity::AgentIdentity;
use crate::query::latest::{RoomStateCache, WaitReason};
use crate::query::pending::{PendingItem, PendingList, add_text};
use crate::query::who::KnownAgents;
use crate::room::Room;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Changes of the room. The receivers read the room again when it is replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ChangeSignal {
    /// Counts the times that the log may have grown.
    pub(super) grown: u64,
    /// Why the room cannot be read.
    pub(super) gone: Option<String>,
}

/// The page of one room.
pub(super) struct WebApp {
    pub(super) room: Room,
    pub(super) gate: PageGate,
    pub(super) changes: watch::Receiver<ChangeSignal>,
    /// Places for streams of events.
    pub(super) streams: Arc<Semaphore>,
    /// KiB of events that clients have not read yet.
    pub(super) unread: Arc<Semaphore>,
    /// Held by the stream that reads records into memory.
    pub(super) reading: tokio::sync::Mutex<()>,
    /// Held by the request that searches the log, so that searches do not delay other requests.
    searching: Arc<tokio::sync::Mutex<()>>,
    latest: Mutex<RoomStateCache>,
}

impl WebApp {
    pub(super) fn new(
        room: &Room,
        gate: PageGate,
        changes: watch::Receiver<ChangeSignal>,
    ) -> WebApp {
        WebApp {
            room: room.clone(),
            gate,
            changes,
            streams: Arc::new(Semaphore::new(limits::WEB_STREAMS)),
            unread: Arc::new(Semaphore::new(limits::WEB_STREAM_KIB as usize)),
            reading: tokio::sync::Mutex::default(),
            searching: Arc::default(),
            latest: Mutex::new(RoomStateCache::new(room.clone())),
        }
    }

    /// A place for a further stream of events, until it is dropped.
    pub(super) fn stream_place(&self) -> Option<OwnedSemaphorePermit> {
        self.streams.clone().try_acquire_owned().ok()
    }

    /// The person. The page acts in its name.
    pub(super) fn who(&self) -> AgentIdentity {
        AgentIdentity::verified(id::HUMAN, "the page")
    }

    /// The items that need the person, without the texts of approvals.
    pub(super) fn pending(&self) -> Result<PendingList> {
        held(&self.latest).pending(id::HUMAN)
    }

    /// Adds the text of an approval. Without it, the approval cannot be displayed, so the page cannot decide it.
    pub(super) fn add_text(&self, item: &mut PendingItem) {
        let _ = add_text(item, &self.room).inspect_err(|e| tracing::warn!("{e}"));
    }

    /// All known agents.
    pub(super) fn everybody(&self) -> Result<KnownAgents> {
        held(&self.latest).everybody()
    }

    /// The waits of each agent.
    pub(super) fn waits(&self) -> Result<BTreeMap<Arc<str>, Vec<WaitReason>>> {
        held(&self.latest).waits()
    }
}

/// Like [`run`], for work that reads the whole log: one after another.
pub(super) async fn run_in_turn<T: Send + 'static>(
    app: &Arc<WebApp>,
    work: impl FnOnce(&WebApp) -> Result<T> + Send + 'static,
) -> std::result::Result<T, RequestFailure> {
    let turn = app.searching.clone().lock_owned().await;
    // If the client closes the connection, the work continues, and so does its turn.
    run(app, move |app| {
        let _turn = turn;
        work(app)
    })
    .await
}

/// A request that panicked leaves nothing half done here.
fn held<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs what reads or writes files in a thread of its own, so that a slow disk does not delay other requests.
pub(super) async fn run<T: Send + 'static>(
    app: &Arc<WebApp>,
    work: impl FnOnce(&WebApp) -> Result<T> + Send + 'static,
) -> std::result::Result<T, RequestFailure> {
    let app = app.clone();
    let done = tokio::task::spawn_blocking(move || {
        app.room.still_exists()?;
        work(&app)
    });
    match done.await {
        Ok(done) => done.map_err(RequestFailure::from),
        Err(_) => Err(RequestFailure::broken()),
    }
}
