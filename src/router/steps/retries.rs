//! Rejected messages that were sent again. At most one of a rejection's retries is accepted.

use super::batch_message::{BatchMessage, MessageRejection, MessageRuling};
use crate::base::error::{Problem, Result};
use crate::base::hash::Hash;
use crate::disk::failpoint::{self, Failpoint};
use crate::disk::layout;
use crate::log;
use crate::log::find;
use crate::log::state::RoomState;
use crate::message::Message;
use crate::message::record::{AcceptedMessage, Event, Record, RetriedRejection};
use crate::router::parts::RoomConfig;
use std::collections::HashSet;
use std::sync::Arc;

/// The retries of one batch.
pub(super) struct BatchRetries<'a> {
    config: &'a RoomConfig,
    state: &'a RoomState,
    /// The rejections with a retry that this batch accepts.
    accepted: HashSet<RetriedRejection>,
}

impl<'a> BatchRetries<'a> {
    pub(super) fn new(config: &'a RoomConfig, state: &'a RoomState) -> BatchRetries<'a> {
        BatchRetries {
            config,
            state,
            accepted: HashSet::new(),
        }
    }

    /// The first rejection, if this message is a retry. A sender can choose any file name, so the log must have the
    /// rejection.
    pub(super) fn find(&self, letter: &BatchMessage<()>) -> Result<Option<RetriedRejection>> {
        let Some(seq) = letter.claim.as_deref().and_then(layout::retry_of_claim) else {
            return Ok(None);
        };
        if !failpoint::on(Failpoint::RetryCheck) {
            return Ok(None);
        }
        let record = find::record_by_seq(self.config.dir(), seq)?;
        let Some(Event::Rejected(rejected)) = record.map(|record| record.event) else {
            return Ok(None);
        };
        // The sender can have another name now, and another agent can have its name.
        let claim = layout::read_claim(&rejected.origin.claim);
        let sender = claim.map(|claim| Arc::from(claim.agent));
        let is_own = sender.is_some_and(|sender| {
            sender == letter.agent || *self.state.holder(&sender, seq) == letter.agent
        });
        let mut first = rejected.origin.retries.unwrap_or(RetriedRejection {
            seq,
            line: rejected.origin.line,
        });
        first.line = first
            .line
            .or(letter.source.as_ref().map(|source| source.line));
        Ok(is_own.then_some(first))
    }

    /// Decides about a retry if another retry of the rejection was accepted: `Some(None)` if it waits for the next
    /// batch. Returns `None` if no other retry was accepted.
    pub(super) fn judge(
        &self,
        letter: &BatchMessage<()>,
        message: &Message,
        digest: &Hash,
    ) -> Result<Option<Option<MessageRuling>>> {
        let Some(rejection) = letter.retries else {
            return Ok(None);
        };
        if self.accepted.contains(&rejection) {
            // A line cannot wait without the other lines of its file.
            let is_line = letter.source.is_some();
            return Ok(Some(
                is_line.then(|| reject(rejection, "in the same moment", message)),
            ));
        }
        for place in self.state.ids.retries(rejection)? {
            let Some(found) = log::read_live(self.config.dir(), place)? else {
                continue;
            };
            let Ok(record) = found.record() else {
                continue;
            };
            let is_it = record
                .accepted()
                .is_some_and(|AcceptedMessage { origin, .. }| origin.retries == letter.retries);
            if !is_it {
                continue;
            }
            let ruling = if has_same_content(&record, message) {
                MessageRuling::Duplicate {
                    of: record.seq,
                    id: message.id().to_owned(),
                    digest: *digest,
                }
            } else {
                reject(
                    rejection,
                    &format!("and accepted as #{}", record.seq),
                    message,
                )
            };
            return Ok(Some(Some(ruling)));
        }
        Ok(None)
    }

    /// Notes an accepted retry.
    pub(super) fn ruled(&mut self, letter: &BatchMessage<()>, ruling: &MessageRuling) {
        if let (Some(rejection), MessageRuling::Accept { .. }) = (letter.retries, ruling) {
            self.accepted.insert(rejection);
        }
    }
}

/// Returns true if the messages have the same content, ignoring ids, because the router adds a different id each time, and
/// senders, because an agent can be renamed between two retries.
fn has_same_content(record: &Record, message: &Message) -> bool {
    let Some(mut before) = record.message_fields() else {
        return false;
    };
    let mut now = message.fields().clone();
    for field in ["id", "from"] {
        before.remove(field);
        now.remove(field);
    }
    before == now
}

fn reject(rejection: RetriedRejection, accepted: &str, message: &Message) -> MessageRuling {
    let what = format!(
        "the rejected message #{} was sent again before, with other content, {accepted}",
        rejection.seq
    );
    let problem =
        Problem::new("retried", what).fix("to send this message as well, drop it as a new file");
    MessageRuling::Reject(MessageRejection {
        problems: vec![problem],
        id: Some(message.id().to_owned()),
        ack: message.kind() == "ack",
    })
}
