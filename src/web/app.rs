//! What every request gets: the room, the gate, and the signs of change.

use super::gate::Gate;
use super::reply::Failure;
use crate::base::error::Result;
use crate::base::limits;
use crate::message::id;
use crate::query::identity::Who;
use crate::query::pending::{List, Tracker};
use crate::room::Room;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
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
    pending: Mutex<Tracker>,
    notes: Mutex<VecDeque<(u64, Note)>>,
    next_note: Mutex<u64>,
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
            pending: Mutex::new(Tracker::new(room.clone(), id::HUMAN.to_owned())),
            notes: Mutex::default(),
            next_note: Mutex::default(),
        }
    }

    /// The person, as whom the page acts.
    pub(super) fn who(&self) -> Who {
        Who { name: id::HUMAN.to_owned(), source: "the page" }
    }

    /// What needs the person.
    pub(super) fn pending(&self) -> Result<List> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).look()
    }

    /// Keeps a note, and gives its number for the address of the next page.
    pub(super) fn keep(&self, note: Note) -> u64 {
        let mut next = self.next_note.lock().unwrap_or_else(PoisonError::into_inner);
        *next += 1;
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.push_back((*next, note));
        if notes.len() > limits::PAGE_NOTES {
            notes.pop_front();
        }
        *next
    }

    /// Gives a note once.
    pub(super) fn note(&self, number: u64) -> Option<Note> {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        let at = notes.iter().position(|(known, _)| *known == number)?;
        notes.remove(at).map(|(_, note)| note)
    }
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
