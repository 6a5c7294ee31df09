//! The status of each agent's copies: unread, acknowledged or closed.
//!
//! An unread copy needs 16 bytes, and an acknowledged copy a little more. A copy that was only seen is removed, so the
//! size does not depend on the length of the log.

use crate::base::clock::Stamp;
use crate::base::packed_numbers::PackedNumbers;
use crate::message::status::CopyStatus;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// The copies of all agents.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Mailboxes(HashMap<Arc<str>, AgentMailbox>);

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(try_from = "SavedMailbox", into = "SavedMailbox")]
struct AgentMailbox {
    /// The accept time and record of each unread copy, in order.
    unread: VecDeque<(i64, u64)>,
    /// The statuses that acks or an expiry gave to copies.
    reached: BTreeMap<u64, CopyStatus>,
}

/// The copies of an agent in a snapshot: two numbers for each unread copy, and one for each status.
#[derive(Serialize, Deserialize)]
struct SavedMailbox {
    unread: PackedNumbers,
    reached: PackedNumbers,
}

impl From<AgentMailbox> for SavedMailbox {
    fn from(mailbox: AgentMailbox) -> SavedMailbox {
        let unread = mailbox.unread.iter();
        let unread = unread.flat_map(|&(at, seq)| [at as u64, seq]).collect();
        let reached = mailbox.reached.iter();
        let reached = reached
            .map(|(seq, status)| seq << 8 | *status as u64)
            .collect();
        SavedMailbox {
            unread: PackedNumbers(unread),
            reached: PackedNumbers(reached),
        }
    }
}

impl TryFrom<SavedMailbox> for AgentMailbox {
    type Error = &'static str;

    fn try_from(saved: SavedMailbox) -> Result<AgentMailbox, &'static str> {
        let (unread, _) = saved.unread.0.as_chunks::<2>();
        let mut mailbox = AgentMailbox {
            unread: unread.iter().map(|&[at, seq]| (at as i64, seq)).collect(),
            reached: BTreeMap::new(),
        };
        for number in saved.reached.0 {
            let status = STATUSES
                .into_iter()
                .find(|&known| known as u64 == number & 0xff);
            mailbox
                .reached
                .insert(number >> 8, status.ok_or("an unknown status")?);
        }
        Ok(mailbox)
    }
}

impl Mailboxes {
    /// Adds an unread copy.
    pub fn deliver(&mut self, agent: &Arc<str>, at: Stamp, seq: u64) {
        match self.0.get_mut(agent) {
            Some(mailbox) => mailbox.unread.push_back((at.micros(), seq)),
            None => {
                let unread = VecDeque::from([(at.micros(), seq)]);
                self.0.insert(
                    agent.clone(),
                    AgentMailbox {
                        unread,
                        reached: BTreeMap::new(),
                    },
                );
            }
        }
    }

    /// Adds a copy that its reader moved back into the inbox: it is unread again.
    pub fn take_back(&mut self, agent: &Arc<str>, at: i64, seq: u64) {
        let unread = &mut self.0.entry(agent.clone()).or_default().unread;
        if let Err(place) = unread.binary_search_by_key(&seq, |&(_, seq)| seq) {
            unread.insert(place, (at, seq));
        }
    }

    /// Sets the status of a copy. A copy that was seen, expired or withdrawn is no longer unread.
    pub fn advance(&mut self, agent: &Arc<str>, seq: u64, status: CopyStatus, left: bool) {
        let mailbox = self.0.entry(agent.clone()).or_default();
        if left && let Ok(at) = mailbox.unread.binary_search_by_key(&seq, |&(_, seq)| seq) {
            mailbox.unread.remove(at);
        }
        if status.rank() >= CopyStatus::Acknowledged.rank()
            && mailbox
                .reached
                .get(&seq)
                .is_none_or(|&r| status.may_follow(r))
        {
            mailbox.reached.insert(seq, status);
        }
    }

    /// Returns true if this agent was ever a recipient.
    pub fn has(&self, agent: &str) -> bool {
        self.0.contains_key(agent)
    }

    /// Gives the copies of one agent to another, and returns the accept times of the unread copies that the other agent also
    /// received: copies of these records, or unread.
    pub(super) fn rename(&mut self, of: &str, to: &Arc<str>, had: &[u64]) -> Vec<i64> {
        let Some(AgentMailbox { unread, reached }) = self.0.remove(of) else {
            return Vec::new();
        };
        let mailbox = self.0.entry(to.clone()).or_default();
        let (twice, new): (Vec<_>, Vec<_>) = unread.into_iter().partition(|&(at, seq)| {
            let there = mailbox.unread.binary_search_by_key(&at, |&(at, _)| at);
            had.contains(&seq) || there.is_ok()
        });
        mailbox.unread.extend(new);
        mailbox.unread.make_contiguous().sort_unstable();
        for (seq, status) in reached {
            if mailbox
                .reached
                .get(&seq)
                .is_none_or(|&now| status.may_follow(now))
            {
                mailbox.reached.insert(seq, status);
            }
        }
        twice.into_iter().map(|(at, _)| at).collect()
    }

    /// The status that an ack or an expiry gave to this copy.
    pub fn status(&self, agent: &str, seq: u64) -> Option<CopyStatus> {
        self.0.get(agent)?.reached.get(&seq).copied()
    }

    /// The statuses that acks or an expiry gave to the copies of this record.
    pub fn statuses(&self, seq: u64) -> impl Iterator<Item = CopyStatus> {
        let mailboxes = self.0.values();
        mailboxes.filter_map(move |mailbox| mailbox.reached.get(&seq).copied())
    }

    /// The record of the unread copy with this accept time. Accept times are unique.
    pub fn unread_at(&self, agent: &str, at: Stamp) -> Option<u64> {
        let unread = &self.0.get(agent)?.unread;
        unread
            .binary_search_by_key(&at.micros(), |&(at, _)| at)
            .ok()
            .map(|found| unread[found].1)
    }

    /// Returns true if this copy is unread.
    pub fn is_unread(&self, agent: &str, seq: u64) -> bool {
        self.0.get(agent).is_some_and(|mailbox| {
            let found = mailbox.unread.binary_search_by_key(&seq, |&(_, seq)| seq);
            found.is_ok()
        })
    }

    /// The agent's unread copies, oldest first: accept time and record.
    pub fn unread(&self, agent: &str) -> impl DoubleEndedIterator<Item = (Stamp, u64)> + use<'_> {
        let copies = self
            .0
            .get(agent)
            .into_iter()
            .flat_map(|mailbox| mailbox.unread.iter());
        copies.map(|&(at, seq)| (Stamp::from_micros(at), seq))
    }

    /// The number of the agent's unread copies.
    pub fn count(&self, agent: &str) -> usize {
        self.0.get(agent).map_or(0, |mailbox| mailbox.unread.len())
    }

    /// All agents with unread copies, in no order.
    pub fn with_unread(&self) -> impl Iterator<Item = &Arc<str>> {
        self.0
            .iter()
            .filter(|(_, mailbox)| !mailbox.unread.is_empty())
            .map(|(agent, _)| agent)
    }
}

/// The statuses that are stored.
const STATUSES: [CopyStatus; 7] = [
    CopyStatus::Acknowledged,
    CopyStatus::Actioned,
    CopyStatus::Resolved,
    CopyStatus::Superseded,
    CopyStatus::Withdrawn,
    CopyStatus::Abandoned,
    CopyStatus::Expired,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_left_is_not_unread_and_one_that_was_acked_still_is() {
        let (mut all, bob) = (Mailboxes::default(), Arc::from("bob"));
        for seq in 1..=3 {
            all.deliver(&bob, Stamp::from_micros(seq as i64 * 10), seq);
        }
        all.advance(&bob, 2, CopyStatus::Seen, true);
        all.advance(&bob, 3, CopyStatus::Acknowledged, false);
        assert_eq!(
            all.unread("bob").map(|(_, seq)| seq).collect::<Vec<_>>(),
            [1, 3]
        );
        assert_eq!(
            (all.status("bob", 2), all.status("bob", 3)),
            (None, Some(CopyStatus::Acknowledged))
        );
        assert_eq!(
            (
                all.unread_at("bob", Stamp::from_micros(20)),
                all.unread_at("bob", Stamp::from_micros(30))
            ),
            (None, Some(3))
        );
        let text = serde_json::to_string(&all).expect("JSON");
        let again: Mailboxes = serde_json::from_str(&text).expect("its own text");
        assert_eq!(
            (again.count("bob"), again.status("bob", 3)),
            (2, Some(CopyStatus::Acknowledged))
        );
    }
}
