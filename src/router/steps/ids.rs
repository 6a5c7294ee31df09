//! Ids that are used more than once in a batch.

use super::letter::{Letter, Rejection, Ruling};
use crate::base::error::Problem;
use crate::base::hash::Hash;
use crate::message::gap::LostMessage;
use std::collections::HashMap;
use std::sync::Arc;

/// The ids in a batch so far, each with the digest of the message that was accepted under it.
#[derive(Default)]
pub(super) struct Ids(HashMap<(Arc<str>, String), Option<Hash>>);

/// The earlier use of an id in the batch.
pub(super) enum Met {
    /// It was not used before.
    New,
    /// It was used, and the file can wait for the next batch.
    Before,
    /// It was used, and this line cannot wait without the other lines of its file. This is the decision about it.
    Ruled(Ruling),
}

impl Ids {
    pub(super) fn meet(&self, letter: &Letter<()>, id: &str, digest: &Hash) -> Met {
        match (
            self.0.get(&(letter.agent.clone(), id.to_owned())),
            &letter.source,
        ) {
            (None, _) | (Some(None), Some(_)) => Met::New,
            (Some(_), None) => Met::Before,
            (Some(Some(first)), Some(_)) if first == digest => Met::Ruled(Ruling::Again {
                id: id.to_owned(),
                digest: *digest,
            }),
            (Some(Some(_)), Some(_)) => {
                let what = format!(
                    "the id {id:?} was used before, by a message in the same batch, with other content"
                );
                Met::Ruled(reused(what, id))
            }
        }
    }

    /// Notes the decision about a message.
    pub(super) fn ruled(&mut self, letter: &Letter<()>, ruling: &Ruling) {
        let (id, accepted) = match ruling {
            Ruling::Accept {
                message, digest, ..
            } => (message.id(), Some(*digest)),
            Ruling::Duplicate { id, .. } | Ruling::Reject(Rejection { id: Some(id), .. }) => {
                (id.as_str(), None)
            }
            _ => return,
        };
        let known = self
            .0
            .entry((letter.agent.clone(), id.to_owned()))
            .or_default();
        *known = known.or(accepted);
    }
}

/// Judges a message with the id of a delivered message that the log has lost.
pub(super) fn judge_lost(lost: &LostMessage, digest: &Hash) -> Ruling {
    let LostMessage { seq, id, .. } = lost;
    if lost.digest == *digest {
        return Ruling::Duplicate {
            of: *seq,
            id: id.clone(),
            digest: *digest,
        };
    }
    let what = format!(
        "the id {id:?} was used before, by the delivered message {seq}, with other content"
    );
    reused(what, id)
}

/// Rejects a message with an id that was used before for other content.
pub(super) fn reused(what: String, id: &str) -> Ruling {
    let problem = Problem::new("id_reused", what)
        .at("/id")
        .fix("give each message its own id, or leave it out");
    Ruling::Reject(Rejection {
        problems: vec![problem],
        id: Some(id.to_owned()),
        ack: false,
    })
}
