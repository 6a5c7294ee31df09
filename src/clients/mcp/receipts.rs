//! Receipts: which mail went to the client, and whether the client has shown that it received the mail.
//!
//! A response that was written may still be lost: the client may have given up on the request, or may die. So mail stays
//! unread until the client sends something that it can only send after the response.

use crate::base::error::Result;
use crate::commands::{announce, read};
use crate::query::history::LoggedMessage;
use crate::room::Room;
use rmcp::model::RequestId;
use std::ffi::OsString;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The order of requests and responses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LogicalTime(u64);

/// A message that was handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResponseMessage {
    /// Its file in the inbox.
    pub(super) file: OsString,
    /// Its sender and its id.
    pub(super) from: String,
    pub(super) id: String,
}

/// Mail in the response to one request.
struct ResponseMail {
    request: RequestId,
    room: Room,
    agent: String,
    mails: Vec<ResponseMessage>,
    /// Files that are announced to the agent for the first time.
    news: Vec<OsString>,
    written: ResponseState,
}

/// The state of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResponseState {
    NotYet,
    /// Being written since then. The client may answer before the writer knows that it is complete.
    Since(LogicalTime),
    /// Written at that time.
    At(LogicalTime),
}

/// The longest wait of a request for the end of a write that it may answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Mail that was handed over and is not confirmed yet.
#[derive(Default)]
pub(super) struct UnconfirmedMail {
    state: Mutex<UnconfirmedMailState>,
    changed: Condvar,
}

#[derive(Default)]
struct UnconfirmedMailState {
    now: LogicalTime,
    open: Vec<ResponseMail>,
}

impl UnconfirmedMailState {
    fn tick(&mut self) -> LogicalTime {
        self.now.0 += 1;
        self.now
    }
}

impl UnconfirmedMail {
    fn state(&self) -> MutexGuard<'_, UnconfirmedMailState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request arrived. Mail for an earlier request with the same id can no longer be sent.
    pub(super) fn came(&self, request: &RequestId) -> LogicalTime {
        let mut state = self.state();
        state.open.retain(|handover| {
            handover.written != ResponseState::NotYet || handover.request != *request
        });
        state.tick()
    }

    /// The client has cancelled a request or cannot be written to. It may not have the mail of the response, so it counts
    /// as unannounced.
    pub(super) fn lost(&self, request: &RequestId) {
        let mut state = self.state();
        let lost: Vec<ResponseMail> = state
            .open
            .extract_if(.., |handover| handover.request == *request)
            .collect();
        drop(state);
        self.changed.notify_all();
        for handover in lost {
            for file in handover.news {
                announce::retract(&handover.room, &handover.agent, &file);
            }
        }
    }

    /// Adds mail to the response to a request.
    pub(super) fn hand(
        &self,
        request: &RequestId,
        room: &Room,
        agent: &str,
        mails: Vec<ResponseMessage>,
    ) -> Result<()> {
        let mut news = Vec::new();
        for mail in &mails {
            if !announce::is_announced(room, agent, &mail.file)? {
                news.push(mail.file.clone());
            }
        }
        let (request, room, agent) = (request.clone(), room.clone(), agent.to_owned());
        self.state().open.push(ResponseMail {
            request,
            room,
            agent,
            mails,
            news,
            written: ResponseState::NotYet,
        });
        Ok(())
    }

    /// The response to a request is about to be written.
    pub(super) fn writing(&self, request: &RequestId) {
        let mut state = self.state();
        let now = state.tick();
        let handover = state
            .open
            .iter_mut()
            .rfind(|handover| handover.request == *request);
        if let Some(handover) = handover {
            handover.written = ResponseState::Since(now);
        }
    }

    /// The response was written.
    pub(super) fn written(&self, request: &RequestId) {
        let mut state = self.state();
        for handover in state
            .open
            .iter_mut()
            .filter(|handover| handover.request == *request)
        {
            if let ResponseState::Since(began) = handover.written {
                handover.written = ResponseState::At(began);
            }
        }
        self.changed.notify_all();
    }

    /// A call for more mail shows that the client received the earlier mail, which is then marked as read.
    pub(super) fn received_before(&self, came: LogicalTime) -> Result<()> {
        let waited = self
            .changed
            .wait_timeout_while(self.state(), PATIENCE, |state| {
                state.open.iter().any(|handover| {
                    matches!(handover.written, ResponseState::Since(began) if began < came)
                })
            });
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let received: Vec<ResponseMail> = state
            .open
            .extract_if(
                ..,
                |handover| matches!(handover.written, ResponseState::At(began) if began < came),
            )
            .collect();
        drop(state);
        received
            .iter()
            .try_for_each(|handover| mark(&handover.room, &handover.agent, &handover.mails))
    }

    /// The client names a message, so it has received it. The message is marked as read if it was handed over.
    pub(super) fn spoken_of(
        &self,
        room: &Room,
        agent: &str,
        message: &LoggedMessage,
    ) -> Result<()> {
        let mut meant = Vec::new();
        for handover in self
            .state()
            .open
            .iter_mut()
            .filter(|handover| handover.agent == agent)
        {
            meant.extend(handover.mails.extract_if(.., |mail| {
                mail.id == message.id && *mail.from == *message.from
            }));
        }
        mark(room, agent, &meant)
    }
}

/// Skips files that the reader has moved.
fn mark(room: &Room, agent: &str, mails: &[ResponseMessage]) -> Result<()> {
    read::mark_files_seen(room, agent, mails.iter().map(|mail| &*mail.file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::inbox;

    /// A room with one message for bob, and the receipts of his client.
    fn handed(request: i64) -> (tempfile::TempDir, Room, UnconfirmedMail) {
        let directory = tempfile::tempdir().expect("a directory");
        let (room, _) = Room::init(directory.path()).expect("a room");
        room.dir.make("inbox/bob").expect("an inbox");
        room.dir.replace("inbox/bob/x.json", b"{}").expect("a file");
        let receipts = UnconfirmedMail::default();
        let mail = ResponseMessage {
            file: "x.json".into(),
            from: "alice".into(),
            id: "x".into(),
        };
        receipts
            .hand(&RequestId::Number(request), &room, "bob", vec![mail])
            .expect("a handover");
        (directory, room, receipts)
    }

    fn unread(room: &Room) -> usize {
        inbox::unread(&room.dir, "bob").expect("an inbox").len()
    }

    #[test]
    fn a_request_that_came_before_the_response_went_shows_nothing() {
        let (_directory, room, receipts) = handed(1);
        let at_once = receipts.came(&RequestId::Number(2));
        receipts.writing(&RequestId::Number(1));
        receipts.written(&RequestId::Number(1));
        receipts.received_before(at_once).expect("it works");
        assert_eq!(unread(&room), 1);
        receipts
            .received_before(receipts.came(&RequestId::Number(3)))
            .expect("it works");
        assert_eq!(unread(&room), 0);
    }

    #[test]
    fn a_request_that_overtakes_the_writer_waits_for_it() {
        let (_directory, room, receipts) = handed(1);
        receipts.writing(&RequestId::Number(1));
        let next = receipts.came(&RequestId::Number(2));
        std::thread::scope(|threads| {
            threads.spawn(|| receipts.received_before(next).expect("it works"));
            receipts.written(&RequestId::Number(1));
        });
        assert_eq!(unread(&room), 0);
    }

    #[test]
    fn what_was_never_written_or_was_lost_stays_unread() {
        let (_directory, room, receipts) = handed(1);
        receipts
            .received_before(receipts.came(&RequestId::Number(2)))
            .expect("it works");
        // The same id again: the first response can no longer arrive.
        let again = receipts.came(&RequestId::Number(1));
        receipts.writing(&RequestId::Number(1));
        receipts.written(&RequestId::Number(1));
        receipts.received_before(again).expect("it works");
        receipts
            .received_before(receipts.came(&RequestId::Number(3)))
            .expect("it works");
        assert_eq!(unread(&room), 1);
        let (_directory, room, receipts) = handed(4);
        receipts.writing(&RequestId::Number(4));
        receipts.written(&RequestId::Number(4));
        receipts.lost(&RequestId::Number(4));
        receipts
            .received_before(receipts.came(&RequestId::Number(5)))
            .expect("it works");
        assert_eq!(unread(&room), 1);
    }
}
