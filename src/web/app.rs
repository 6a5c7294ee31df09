//! What every request gets: the room, the gate, and the signs of change.

use super::gate::Gate;
use super::reply::Failure;
use crate::base::error::Result;
use crate::base::limits;
use crate::message::id;
use crate::query::identity::Who;
use crate::query::latest::{Latest, Wait};
use crate::query::pending::List;
use crate::query::who::Everybody;
use crate::room::Room;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Semaphore, watch};

/// Changes of the room. The receivers read the room again when it is replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Change {
    /// Counts the times that the log may have grown.
    pub(super) grown: u64,
    /// Why the room cannot be read.
    pub(super) gone: Option<String>,
}

/// The page of one room.
pub(super) struct App {
    pub(super) room: Room,
    pub(super) gate: Gate,
    pub(super) changes: watch::Receiver<Change>,
    /// Places for streams of events.
    pub(super) streams: Arc<Semaphore>,
    latest: Mutex<Latest>,
    notes: Mutex<Notes>,
}

/// The notes that no page has shown yet, each with its number.
#[derive(Debug, Default)]
struct Notes {
    last: u64,
    kept: VecDeque<(u64, Note)>,
}

/// What was done, for the page that comes next.
#[derive(Debug, Clone)]
pub(super) struct Note {
    /// A sentence.
    pub(super) text: String,
    /// Did it fail?
    pub(super) failed: bool,
}

impl App {
    pub(super) fn new(room: &Room, gate: Gate, changes: watch::Receiver<Change>) -> App {
        App {
            room: room.clone(),
            gate,
            changes,
            streams: Arc::new(Semaphore::new(limits::WEB_STREAMS)),
            latest: Mutex::new(Latest::new(room.clone())),
            notes: Mutex::default(),
        }
    }

    /// The person, as whom the page acts.
    pub(super) fn who(&self) -> Who {
        Who { name: id::HUMAN.to_owned(), source: "the page" }
    }

    /// What needs the person.
    pub(super) fn pending(&self) -> Result<List> {
        held(&self.latest).pending(id::HUMAN)
    }

    /// Everybody who is known.
    pub(super) fn everybody(&self) -> Result<Everybody> {
        held(&self.latest).everybody()
    }

    /// What each agent waits for.
    pub(super) fn waits(&self) -> Result<BTreeMap<Arc<str>, Vec<Wait>>> {
        held(&self.latest).waits()
    }

    /// Keeps a note, and gives its number for the address of the next page.
    pub(super) fn keep(&self, note: Note) -> u64 {
        let mut notes = held(&self.notes);
        notes.last += 1;
        let number = notes.last;
        notes.kept.push_back((number, note));
        if notes.kept.len() > limits::PAGE_NOTES {
            notes.kept.pop_front();
        }
        number
    }

    /// Gives a note once.
    pub(super) fn note(&self, number: u64) -> Option<Note> {
        let mut notes = held(&self.notes);
        let at = notes.kept.iter().position(|(known, _)| *known == number)?;
        notes.kept.remove(at).map(|(_, note)| note)
    }
}

/// A request that panicked leaves nothing half done here.
fn held<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs what reads or writes files in a thread of its own, so that a slow disk does not delay other requests.
pub(super) async fn run<T: Send + 'static>(
    app: &Arc<App>,
    work: impl FnOnce(&App) -> Result<T> + Send + 'static,
) -> std::result::Result<T, Failure> {
    let app = app.clone();
    let done = tokio::task::spawn_blocking(move || {
        app.room.still_exists()?;
        work(&app)
    });
    match done.await {
        Ok(done) => done.map_err(Failure::from),
        Err(_) => Err(Failure::broken()),
    }
}
