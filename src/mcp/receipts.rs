//! Which mail was handed to the client, and whether the client has shown that it has it.
//!
//! A response that was written may still be lost: the client may have given up on the request, or may die. So mail stays
//! unread until something comes from the client that it can only have sent afterwards.

use crate::error::Result;
use crate::inbox;
use crate::room::Room;
use rmcp::model::RequestId;
use std::ffi::OsString;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// When something came from the client, in the order of what came and went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Instant(u64);

/// A message that was handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Handed {
    /// Its file in the inbox.
    pub(super) file: OsString,
    /// Its sender and its id.
    pub(super) from: String,
    pub(super) id: String,
}

/// Mail that went with the response to one request.
struct Handover {
    request: RequestId,
    room: Room,
    agent: String,
    mails: Vec<Handed>,
    /// The files of those that nobody had told of before.
    news: Vec<OsString>,
    /// When the response was written, if it was.
    written: Option<Instant>,
}

/// What was handed over and not yet shown to be received.
#[derive(Default)]
pub(super) struct Receipts {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    now: Instant,
    open: Vec<Handover>,
}

impl State {
    fn tick(&mut self) -> Instant {
        self.now.0 += 1;
        self.now
    }
}

impl Receipts {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request came. Nothing that was meant for an earlier one of the same id can go with its response.
    pub(super) fn came(&self, request: &RequestId) -> Instant {
        let mut state = self.state();
        state.open.retain(|handover| handover.written.is_some() || handover.request != *request);
        state.tick()
    }

    /// The client has given up on a request, or can't be written to: what went with the response, it may not have, and
    /// so has not been told of.
    pub(super) fn lost(&self, request: &RequestId) {
        let mut state = self.state();
        let lost: Vec<Handover> = state.open.extract_if(.., |handover| handover.request == *request).collect();
        drop(state);
        for handover in lost {
            for file in handover.news {
                if let Err(e) = inbox::unannounce(&handover.room.dir, &handover.agent, &file) {
                    tracing::warn!("{e}");
                }
            }
        }
    }

    /// Mail goes with the response to a request.
    pub(super) fn hand(&self, request: &RequestId, room: &Room, agent: &str, mails: Vec<Handed>) -> Result<()> {
        let mut news = Vec::new();
        for mail in &mails {
            if !inbox::is_announced(&room.dir, agent, &mail.file)? {
                news.push(mail.file.clone());
            }
        }
        let (request, room, agent) = (request.clone(), room.clone(), agent.to_owned());
        self.state().open.push(Handover { request, room, agent, mails, news, written: None });
        Ok(())
    }

    /// The response to a request was written.
    pub(super) fn written(&self, request: &RequestId) {
        let mut state = self.state();
        let now = state.tick();
        let handover = state.open.iter_mut().rfind(|handover| handover.request == *request);
        if let Some(handover) = handover {
            handover.written.get_or_insert(now);
        }
    }

    /// A call that came then asks for more mail: what was written before, the client has. It is marked as read.
    pub(super) fn received_before(&self, came: Instant) -> Result<()> {
        let mut state = self.state();
        let is_received = |handover: &Handover| handover.written.is_some_and(|written| written < came);
        let (received, open) = state.open.drain(..).partition(is_received);
        state.open = open;
        drop(state);
        let received: Vec<Handover> = received;
        received.iter().try_for_each(|handover| mark(&handover.room, &handover.agent, &handover.mails))
    }

    /// The client speaks of a message, so it has it: it is marked as read, if it was handed over.
    pub(super) fn spoken_of(&self, room: &Room, agent: &str, name: &str) -> Result<()> {
        let is_meant = |mail: &Handed| mail.id == name || format!("{}/{}", mail.from, mail.id) == name;
        let mut meant = Vec::new();
        for handover in self.state().open.iter_mut().filter(|handover| handover.agent == agent) {
            meant.extend(handover.mails.extract_if(.., |mail| is_meant(mail)));
        }
        mark(room, agent, &meant)
    }
}

/// What its reader took away meanwhile is fine.
fn mark(room: &Room, agent: &str, mails: &[Handed]) -> Result<()> {
    mails.iter().try_for_each(|mail| inbox::mark_seen(&room.dir, agent, &mail.file).map(drop))
}
