//! Step 9: what follows from a record outside the mail itself: the conversations, subscriptions, which stand in the
//! registry, and messages that were taken back. Done again after a kill, they come to the same.

use crate::base::error::Result;
use crate::disk::layout;
use crate::message::record::Act;
use crate::message::status::Status;
use crate::router::{Delivered, Projected, Router};
use std::sync::Arc;

impl Router {
    /// Step 9. A record whose effect could not be made stays open, and is tried again.
    pub(crate) fn project(&mut self, Delivered(seqs): Delivered) -> Result<Projected> {
        self.show();
        let seqs = self.take_back(seqs)?;
        Ok(self.subscribe(seqs))
    }

    // Messages that their senders withdrew go out of the inboxes in which they are unread.
    fn take_back(&mut self, seqs: Vec<u64>) -> Result<Vec<u64>> {
        let mut done = Vec::with_capacity(seqs.len());
        for seq in seqs {
            let receipts = match self.state.open.get(&seq).and_then(|open| open.act.as_ref()) {
                Some(Act::Ack(receipts)) if receipts.iter().any(|receipt| receipt.status == Status::Withdrawn) => {
                    receipts.clone()
                }
                _ => {
                    done.push(seq);
                    continue;
                }
            };
            match self.withdraw_or_wait(&receipts)? {
                true => done.push(seq),
                false => drop(self.stuck.insert(seq)),
            }
        }
        Ok(done)
    }

    fn subscribe(&mut self, seqs: Vec<u64>) -> Projected {
        let acts: Vec<(u64, Arc<str>, Act)> = seqs
            .iter()
            .filter_map(|seq| self.state.open.get(seq))
            .filter_map(|open| open.act.clone().map(|act| (open.seq, open.from.clone(), act)))
            .filter(|(_, _, act)| !matches!(act, Act::Ack(_)))
            .collect();
        if acts.is_empty() {
            return Projected(seqs);
        }
        match self.edit_registry(&acts) {
            Ok(()) => {
                self.waiting.over(layout::REGISTRY);
                Projected(seqs)
            }
            Err(e) => {
                self.waiting.failed(layout::REGISTRY, e.to_string());
                let undone = |seq: &u64| acts.iter().any(|(act, ..)| act == seq);
                self.stuck.extend(seqs.iter().copied().filter(undone));
                Projected(seqs.into_iter().filter(|seq| !undone(seq)).collect())
            }
        }
    }

    // One write for all subscriptions of a batch.
    fn edit_registry(&mut self, acts: &[(u64, Arc<str>, Act)]) -> Result<()> {
        let _held = self.room.try_lock_registry()?;
        let mut registry = self.room.registry()?;
        let before = registry.to_json();
        for (seq, agent, act) in acts {
            let edited = match act {
                Act::Subscribe(topic) => registry.subscribe(agent, topic),
                Act::Unsubscribe(topic) => registry.unsubscribe(agent, topic),
                Act::Ack(_) => continue,
            };
            match edited {
                Ok(edited) => registry = edited,
                // Its sender was removed in the meantime: there is nothing left to subscribe.
                Err(problems) => tracing::warn!(seq, "not done: {}", crate::base::error::Error::Rejected(problems)),
            }
        }
        let after = registry.to_json();
        if after != before {
            self.room.dir.replace(layout::REGISTRY, after.as_bytes())?;
        }
        self.acted = true;
        self.registry = Arc::new(registry);
        Ok(())
    }
}
