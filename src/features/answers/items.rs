//! Open items: messages that need an action of an agent. Questions, escalations and rejections; approvals and offers have a
//! state of their own.

use super::escalated::EscalatedMessage;
use super::item::OpenItem;
use super::reply::{AnswerableMessage, ReplyKey};
use super::reply_index::{ReplyIndex, owes};
use crate::base::clock::Stamp;
use crate::log::state::renames;
use crate::message::id;
use crate::message::status::CopyStatus;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The most items in the list for each causing agent. The older ones are only counted.
const ITEMS_OF_AGENT: usize = 100;
/// The most items of each causing agent, listed or counted; the oldest are forgotten.
const COUNTED_OF_AGENT: usize = 10_000;

/// All open items.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "SavedItems", into = "SavedItems")]
pub struct OpenItems {
    open: BTreeMap<u64, OpenItem>,
    /// The items by causing agent, for the limit per agent.
    of_cause: BTreeMap<Arc<str>, BTreeSet<u64>>,
    /// The open escalations of each message that is passed on.
    escalations: BTreeMap<u64, BTreeSet<u64>>,
    asked: ReplyIndex,
    passed_on: ReplyIndex,
    changed: u64,
}

/// The items in a snapshot.
#[derive(Serialize, Deserialize)]
struct SavedItems {
    open: Vec<OpenItem>,
    changed: u64,
}

impl From<SavedItems> for OpenItems {
    fn from(saved: SavedItems) -> OpenItems {
        let mut all = OpenItems::default();
        for item in saved.open {
            all.add(item);
        }
        all.changed = saved.changed;
        all
    }
}

impl From<OpenItems> for SavedItems {
    fn from(items: OpenItems) -> SavedItems {
        SavedItems {
            open: items.open.into_values().collect(),
            changed: items.changed,
        }
    }
}

impl OpenItems {
    /// Adds an item. Above the limit per agent, the oldest item is no longer listed.
    pub(super) fn add(&mut self, mut item: OpenItem) {
        self.changed = self.changed.max(item.seq);
        let own = self.of_cause.entry(item.cause().clone()).or_default();
        own.insert(item.seq);
        let oldest = if own.len() > COUNTED_OF_AGENT {
            own.first().copied()
        } else {
            None
        };
        if let Some(&older) = own.iter().rev().nth(ITEMS_OF_AGENT) {
            let listed = self.open.get_mut(&older).into_iter();
            let added = (item.seq <= older).then_some(&mut item);
            for one in listed.chain(added) {
                one.is_older = true;
                one.title.clear();
            }
        }
        self.asked.add(item.asked());
        if let Some(about) = &item.about {
            self.passed_on.add(about.asked());
            self.escalations
                .entry(about.seq)
                .or_default()
                .insert(item.seq);
        }
        self.open.insert(item.seq, item);
        if let Some(seq) = oldest {
            self.remove(seq);
        }
    }

    /// Cuts all times after the clock was set back, in the record `seq`.
    pub(super) fn cut_times(&mut self, now: Stamp, seq: u64) {
        for item in self.open.values_mut() {
            now.cut(&mut item.since, None);
            self.changed = seq;
        }
    }

    /// The listed items, in the order of the log.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &OpenItem> {
        self.open.values().filter(|item| !item.is_older)
    }

    /// The items that are only counted.
    pub fn older(&self) -> impl Iterator<Item = &OpenItem> {
        self.open.values().filter(|item| item.is_older)
    }

    /// The last record that changed anything; 0 for none.
    pub fn changed_at(&self) -> u64 {
        self.changed
    }

    /// The first message with one of these names that fulfils the condition, and that the agent has to answer or that has
    /// an escalation to the agent.
    pub(super) fn first_owed(
        &self,
        agent: &str,
        names: &[ReplyKey],
        is_meant: &dyn Fn(&AnswerableMessage<'_>) -> bool,
    ) -> Option<u64> {
        let own = self.asked.first(names, |seq| {
            self.open
                .get(&seq)
                .is_some_and(|item| owes(&item.of, agent) && is_meant(&item.asked()))
        });
        let passed_on = self.passed_on.first(names, |seq| {
            self.passed_on_as(seq)
                .any(|one| owes(&one.of, agent) && is_meant(&one.asked()))
        });
        own.into_iter().chain(passed_on).min()
    }

    /// The message of this record that an open escalation passes on.
    pub(super) fn passed_on(&self, seq: u64) -> Option<&EscalatedMessage> {
        self.passed_on_as(seq).next()
    }

    /// The message of this record, as each open escalation passes it on.
    fn passed_on_as(&self, seq: u64) -> impl Iterator<Item = &EscalatedMessage> {
        let escalations = self.escalations.get(&seq).into_iter().flatten();
        escalations.filter_map(|escalation| self.open.get(escalation)?.about.as_ref())
    }

    /// Records in `at` that an agent answered a message.
    pub(super) fn answered(&mut self, seq: u64, agent: &str, at: u64) {
        self.acted(seq, |of| id::answers_for(agent, of), at);
        self.settle(seq, agent, None, at);
    }

    /// Records in `at` that a message of this sender with this id was accepted from this file: it closes the rejections that the
    /// file corrects.
    pub(super) fn corrected(&mut self, from: &Arc<str>, claim: &str, id: &str, at: u64) {
        let own = self.of_cause.get(from).into_iter().flatten();
        let is_corrected = |seq: &&u64| {
            let item = self.open.get(*seq);
            let rejected = item.and_then(|item| item.rejected.as_ref());
            rejected.is_some_and(|rejected| rejected.is_corrected_by(claim, id))
        };
        let seqs: Vec<u64> = own.filter(is_corrected).copied().collect();
        for seq in seqs {
            self.close(seq, at);
        }
    }

    /// Closes an item in the record `at`, if it is open.
    pub(super) fn close(&mut self, seq: u64, at: u64) {
        if self.open.contains_key(&seq) {
            self.remove(seq);
            self.changed = at;
        }
    }

    /// Records in `at` a status of a copy.
    pub(super) fn reached(&mut self, seq: u64, agent: &str, status: CopyStatus, at: u64) {
        self.settle(seq, agent, Some(status), at);
        let Some(item) = self.open.get(&seq) else {
            return;
        };
        if item.is_done(status) {
            self.acted(seq, |of| status.counts_for(agent, of), at);
        }
    }

    /// Closes the escalations of a message when no reply to it is missing.
    fn settle(&mut self, seq: u64, by: &str, status: Option<CopyStatus>, at: u64) {
        for escalation in self.escalations.get(&seq).cloned().unwrap_or_default() {
            let item = self.open.get_mut(&escalation);
            let Some(passed_on) = item.and_then(|item| item.about.as_mut()) else {
                continue;
            };
            if passed_on.settle(by, status) {
                self.changed = at;
            }
            if passed_on.of.is_empty() {
                self.remove(escalation);
            }
        }
    }

    /// Moves the items of one agent to another, in the record `at`.
    pub(super) fn rename(&mut self, of: &str, to: &Arc<str>, at: u64) {
        for about in self
            .open
            .values_mut()
            .filter_map(|item| item.about.as_mut())
        {
            about.rename(of, to);
        }
        let seqs: Vec<u64> = self
            .open
            .values()
            .filter(|item| item.of.iter().any(|one| **one == *of))
            .map(|item| item.seq)
            .collect();
        for seq in seqs {
            let Some(mut item) = self.open.get(&seq).cloned() else {
                continue;
            };
            self.remove(seq);
            renames::replace(&mut item.of, of, to);
            self.add(item);
            self.changed = at;
        }
    }

    fn acted(&mut self, seq: u64, has_acted: impl Fn(&str) -> bool, at: u64) {
        let Some(item) = self.open.get_mut(&seq) else {
            return;
        };
        let before = item.of.len();
        item.of.retain(|of| !has_acted(of));
        if item.of.len() == before {
            return;
        }
        self.changed = at;
        if item.of.is_empty() {
            self.remove(seq);
        }
    }

    fn remove(&mut self, seq: u64) {
        let Some(item) = self.open.remove(&seq) else {
            return;
        };
        if let Some(own) = self.of_cause.get_mut(item.cause()) {
            own.remove(&seq);
            if own.is_empty() {
                self.of_cause.remove(item.cause());
            }
        }
        self.asked.remove(item.asked());
        if let Some(about) = &item.about
            && let Some(escalations) = self.escalations.get_mut(&about.seq)
        {
            escalations.remove(&seq);
            if escalations.is_empty() {
                self.escalations.remove(&about.seq);
                self.passed_on.remove(about.asked());
            }
        }
    }
}

impl PartialEq for OpenItems {
    fn eq(&self, other: &OpenItems) -> bool {
        self.open == other.open
    }
}
