//! Ids that are used more than once in a batch.

use super::batch_message::{BatchMessage, MessageRejection, MessageRuling};
use crate::base::error::Problem;
use crate::base::hash::Hash;
use std::collections::HashMap;
use std::sync::Arc;

/// The ids in a batch so far, each with the digest of the message that this batch accepts under it.
#[derive(Default)]
pub(super) struct BatchIds(HashMap<(Arc<str>, String), Option<Hash>>);

/// The earlier use of an id in the batch.
pub(super) enum EarlierUse {
    /// It was not used before.
    New,
    /// It was used, and the file can wait for the next batch.
    Before,
    /// It was used, and this line cannot wait without the other lines of its file. This is the decision about it.
    Ruled(MessageRuling),
}

impl BatchIds {
    pub(super) fn meet(&self, letter: &BatchMessage<()>, id: &str, digest: &Hash) -> EarlierUse {
        match (
            self.0.get(&(letter.agent.clone(), id.to_owned())),
            &letter.source,
        ) {
            (None | Some(None), _) => EarlierUse::New,
            (Some(Some(_)), None) => EarlierUse::Before,
            (Some(Some(first)), Some(_)) if first == digest => {
                EarlierUse::Ruled(MessageRuling::Again {
                    id: id.to_owned(),
                    digest: *digest,
                })
            }
            (Some(Some(_)), Some(_)) => {
                let what = format!(
                    "the id {id:?} was used before, by a message in the same batch, with other content"
                );
                EarlierUse::Ruled(reused(what, id))
            }
        }
    }

    /// Notes the decision about a message.
    pub(super) fn ruled(&mut self, letter: &BatchMessage<()>, ruling: &MessageRuling) {
        let (id, accepted) = match ruling {
            MessageRuling::Accept {
                message, digest, ..
            } => (message.id(), Some(*digest)),
            MessageRuling::Duplicate { id, .. }
            | MessageRuling::Reject(MessageRejection { id: Some(id), .. }) => (id.as_str(), None),
            _ => return,
        };
        let known = self
            .0
            .entry((letter.agent.clone(), id.to_owned()))
            .or_default();
        *known = known.or(accepted);
    }
}

/// Rejects a message with an id that was used before for other content.
pub(super) fn reused(what: String, id: &str) -> MessageRuling {
    let problem = Problem::new("id_reused", what)
        .at("/id")
        .fix("give each message its own id, or leave it out");
    MessageRuling::Reject(MessageRejection {
        problems: vec![problem],
        id: Some(id.to_owned()),
        ack: false,
    })
}
