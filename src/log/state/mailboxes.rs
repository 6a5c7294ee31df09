//! How each agent's copies stand: which are unread, and which were acknowledged or closed.
//!
//! 16 bytes for an unread copy, and a little more for one that somebody acknowledged; a copy that was only seen is
//! forgotten, so that a log of any length states to what is still of use.

use crate::base::clock::Stamp;
use crate::message::status::Status;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// Everybody's copies.
#[derive(Debug, Clone, Default)]
pub struct Mailboxes(HashMap<Arc<str>, Mailbox>);

#[derive(Debug, Clone, Default)]
struct Mailbox {
    /// Accept time and record of each copy that has not been seen to leave the inbox, in order.
    unread: VecDeque<(i64, u64)>,
    /// Copies that an ack, or the end of their time, took up the ladder.
    climbed: BTreeMap<u64, Status>,
}

/// How many bytes of a checkpoint an agent's copies take.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Sizes {
    unread: usize,
    climbed: usize,
}

impl Mailboxes {
    /// A copy will be delivered.
    pub fn deliver(&mut self, agent: &Arc<str>, at: Stamp, seq: u64) {
        match self.0.get_mut(agent) {
            Some(mailbox) => mailbox.unread.push_back((at.micros(), seq)),
            None => {
                let unread = VecDeque::from([(at.micros(), seq)]);
                self.0.insert(agent.clone(), Mailbox { unread, climbed: BTreeMap::new() });
            }
        }
    }

    /// A copy reached a status. One that was seen, expired or was withdrawn is no longer unread.
    pub fn climb(&mut self, agent: &Arc<str>, seq: u64, status: Status, left: bool) {
        let mailbox = self.0.entry(agent.clone()).or_default();
        if left && let Ok(at) = mailbox.unread.binary_search_by_key(&seq, |&(_, seq)| seq) {
            mailbox.unread.remove(at);
        }
        if status.height() >= Status::Acknowledged.height()
            && mailbox.climbed.get(&seq).is_none_or(|&r| status.may_follow(r))
        {
            mailbox.climbed.insert(seq, status);
        }
    }

    /// The status that an ack, or the end of its time, took this copy to.
    pub fn status(&self, agent: &str, seq: u64) -> Option<Status> {
        self.0.get(agent)?.climbed.get(&seq).copied()
    }

    /// The record of the copy that was accepted at this instant, if it is unread. Accept times are unique.
    pub fn unread_at(&self, agent: &str, at: Stamp) -> Option<u64> {
        let unread = &self.0.get(agent)?.unread;
        unread.binary_search_by_key(&at.micros(), |&(at, _)| at).ok().map(|found| unread[found].1)
    }

    /// Is this copy unread?
    pub fn is_unread(&self, agent: &str, seq: u64) -> bool {
        let find = |mailbox: &Mailbox| mailbox.unread.binary_search_by_key(&seq, |&(_, seq)| seq).is_ok();
        self.0.get(agent).is_some_and(find)
    }

    /// The agent's unread copies, oldest first: accept time and record.
    pub fn unread(&self, agent: &str) -> impl DoubleEndedIterator<Item = (Stamp, u64)> + use<'_> {
        let copies = self.0.get(agent).into_iter().flat_map(|mailbox| mailbox.unread.iter());
        copies.map(|&(at, seq)| (Stamp::from_micros(at), seq))
    }

    /// How many copies the agent has not read.
    pub fn count(&self, agent: &str) -> usize {
        self.0.get(agent).map_or(0, |mailbox| mailbox.unread.len())
    }

    /// Everybody who has unread copies, in no order.
    pub fn with_unread(&self) -> impl Iterator<Item = &Arc<str>> {
        self.0.iter().filter(|(_, mailbox)| !mailbox.unread.is_empty()).map(|(agent, _)| agent)
    }

    /// Everything as bytes behind `to`, and whose are how many.
    pub(super) fn put(&self, to: &mut Vec<u8>) -> Vec<(Arc<str>, Sizes)> {
        let mut sizes = Vec::with_capacity(self.0.len());
        for (agent, Mailbox { unread, climbed }) in &self.0 {
            for &(at, seq) in unread {
                to.extend(at.to_le_bytes());
                to.extend(seq.to_le_bytes());
            }
            for (&seq, &status) in climbed {
                to.extend(seq.to_le_bytes());
                to.push(status as u8);
            }
            sizes.push((agent.clone(), Sizes { unread: unread.len(), climbed: climbed.len() }));
        }
        sizes
    }

    /// Reads what [`Mailboxes::put`] gave; `None` if it is not that.
    pub(super) fn take(sizes: Vec<(Arc<str>, Sizes)>, mut from: &[u8]) -> Option<Mailboxes> {
        let mut all = HashMap::with_capacity(sizes.len());
        for (agent, sizes) in sizes {
            let mut mailbox = Mailbox::default();
            for _ in 0..sizes.unread {
                let at = i64::from_le_bytes(chop(&mut from)?);
                mailbox.unread.push_back((at, u64::from_le_bytes(chop(&mut from)?)));
            }
            for _ in 0..sizes.climbed {
                let seq = u64::from_le_bytes(chop(&mut from)?);
                let [status] = chop(&mut from)?;
                mailbox.climbed.insert(seq, RUNGS.into_iter().find(|&known| known as u8 == status)?);
            }
            all.insert(agent, mailbox);
        }
        from.is_empty().then_some(Mailboxes(all))
    }
}

/// The statuses that are remembered.
const RUNGS: [Status; 7] = [
    Status::Acknowledged,
    Status::Actioned,
    Status::Resolved,
    Status::Superseded,
    Status::Withdrawn,
    Status::Abandoned,
    Status::Expired,
];

fn chop<const N: usize>(from: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = from.split_first_chunk()?;
    *from = rest;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_left_is_not_unread_and_one_that_was_acked_still_is() {
        let (mut all, bob) = (Mailboxes::default(), Arc::from("bob"));
        (1..=3).for_each(|seq| all.deliver(&bob, Stamp::from_micros(seq as i64 * 10), seq));
        all.climb(&bob, 2, Status::Seen, true);
        all.climb(&bob, 3, Status::Acknowledged, false);
        assert_eq!(all.unread("bob").map(|(_, seq)| seq).collect::<Vec<_>>(), [1, 3]);
        assert_eq!((all.status("bob", 2), all.status("bob", 3)), (None, Some(Status::Acknowledged)));
        assert_eq!(
            (all.unread_at("bob", Stamp::from_micros(20)), all.unread_at("bob", Stamp::from_micros(30))),
            (None, Some(3))
        );
        let mut bytes = Vec::new();
        let sizes = all.put(&mut bytes);
        let again = Mailboxes::take(sizes, &bytes).expect("its own bytes");
        assert_eq!((again.count("bob"), again.status("bob", 3)), (2, Some(Status::Acknowledged)));
    }
}
