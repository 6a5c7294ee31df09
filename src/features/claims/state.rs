//! Claims: who owns which work, and which offers are open.
//!
//! The records of the log decide: [`Claims::apply`] applies them in their order and rejects nothing. Before the router
//! writes a record, it asks [`Claims::judge`] for the change that a message makes.

use super::change::ClaimChange;
use super::index::SubjectIndex;
use super::owned::{ClaimOffer, OwnedClaim};
use crate::base::clock::Stamp;
use crate::log::state::ChangeSource;
use crate::message::id;
use crate::message::subject::{ClaimSubject, ComparisonBudget, PreparedPath};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// The number of closed offers that the state keeps.
const CLOSED_OFFERS: usize = 1000;

/// An offer that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ClosedOffer {
    pub(super) offer: String,
    pub(super) from: Arc<str>,
    pub(super) to: Arc<str>,
    pub(super) seq: u64,
}

/// All claims of a room.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    #[serde(rename = "claims")]
    pub(super) held: Vec<OwnedClaim>,
    #[serde(rename = "offers")]
    pub(super) offered: Vec<ClaimOffer>,
    /// The router needs them to judge answers. A reader of `claims.json` does not.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub(super) closed: VecDeque<ClosedOffer>,
    changed: u64,
    #[serde(skip)]
    index: SubjectIndex,
}

impl Claims {
    /// Drops the claims and the offers of all other agents, as if they had lapsed.
    pub fn retain_agents(&mut self, is_active: impl Fn(&str) -> bool) {
        self.held.retain(|held| is_active(&held.owner));
        self.offered
            .retain(|one| is_active(&one.from) && is_active(&one.to));
        self.index.removed();
    }

    /// Applies the change that a record makes.
    pub fn apply(&mut self, change: &ClaimChange, record: ChangeSource<'_>) {
        let ChangeSource { seq, from, id, .. } = record;
        let at = record.at.micros();
        self.changed = seq;
        match change {
            ClaimChange::Grant(terms) => {
                for subject in parsed(&terms.claims) {
                    self.own(OwnedClaim {
                        subject,
                        owner: from.clone(),
                        seq,
                        since: at,
                        renewed: at,
                        lease: terms.lease,
                        purpose: terms.purpose.clone(),
                    });
                }
            }
            ClaimChange::Release { of, claims } => drop(self.free(of, &parsed(claims))),
            ClaimChange::Offer { to, claims } => {
                let (offer, from, to, subjects) = (
                    id::full_name(from, id),
                    from.clone(),
                    to.clone(),
                    parsed(claims),
                );
                self.offered.push(ClaimOffer {
                    offer,
                    from,
                    to,
                    subjects,
                    seq,
                    since: at,
                });
            }
            ClaimChange::Accept { offer } => {
                let Some(ClaimOffer {
                    from: giver,
                    to,
                    subjects,
                    ..
                }) = self.close_offer(offer)
                else {
                    return;
                };
                for held in self.free(&giver, &subjects) {
                    self.own(OwnedClaim {
                        owner: to.clone(),
                        seq,
                        since: at,
                        renewed: at,
                        ..held
                    });
                }
            }
            ClaimChange::Decline { offer } => drop(self.close_offer(offer)),
            ClaimChange::Rename { of, to, .. } => self.rename(of, to),
        }
    }

    /// Cuts all times after the clock was set back, in the record `seq`.
    pub(crate) fn cut_times(&mut self, now: Stamp, seq: u64) {
        for held in &mut self.held {
            now.cut(&mut held.since, None);
            now.cut(&mut held.renewed, None);
        }
        for since in self.offered.iter_mut().map(|one| &mut one.since) {
            now.cut(since, None);
        }
        self.changed = if self.is_empty() { self.changed } else { seq };
    }

    /// The last record that changed anything; 0 for none.
    pub fn changed_at(&self) -> u64 {
        self.changed
    }

    /// Returns true if nothing is claimed or offered.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty() && self.offered.is_empty()
    }

    /// Every owned subject, in the order of the grants.
    pub fn held(&self) -> &[OwnedClaim] {
        &self.held
    }

    /// Every open offer, in the order of the log.
    pub fn offered(&self) -> &[ClaimOffer] {
        &self.offered
    }

    /// Returns true if the offer in the message with this number is open.
    pub fn is_open_offer(&self, seq: u64) -> bool {
        self.offered.iter().any(|one| one.seq == seq)
    }

    /// The subjects of an agent.
    pub fn of<'a>(&'a self, agent: &'a str) -> impl Iterator<Item = &'a OwnedClaim> {
        self.held.iter().filter(move |held| &*held.owner == agent)
    }

    /// The claim that covers a path of a repository. `None` as repository is the room's own repository.
    pub fn owner(&self, repository: Option<&str>, path: &str) -> Option<&OwnedClaim> {
        let target = PreparedPath::new(repository, path);
        self.held
            .iter()
            .find(|held| held.subject.covers_target(&target))
    }

    /// The claims that conflict with a subject.
    pub fn conflicting<'a>(
        &'a self,
        subject: &'a ClaimSubject,
    ) -> impl Iterator<Item = &'a OwnedClaim> {
        let steps = ComparisonBudget::of_message();
        self.near([subject])
            .filter(move |held| held.subject.conflicts_within(subject, &steps))
    }

    /// The claims of other agents that conflict with one of these subjects. In doubt, a claim conflicts.
    pub fn of_others<'a>(
        &'a self,
        agent: &'a str,
        subjects: &'a [ClaimSubject],
        steps: &'a ComparisonBudget,
    ) -> impl Iterator<Item = &'a OwnedClaim> {
        self.near(subjects).filter(move |held| {
            let mut own = subjects.iter();
            *held.owner != *agent && own.any(|own| own.conflicts_within(&held.subject, steps))
        })
    }

    /// The owned subjects that can conflict with one of these, in the order of the grants.
    pub(super) fn near<'a>(
        &'a self,
        subjects: impl IntoIterator<Item = &'a ClaimSubject>,
    ) -> impl Iterator<Item = &'a OwnedClaim> {
        self.index
            .near(&self.held, subjects)
            .into_iter()
            .map(|at| &self.held[at])
    }

    /// The claim of an agent on exactly this subject.
    pub(super) fn owned_by(&self, agent: &str, subject: &ClaimSubject) -> Option<&OwnedClaim> {
        self.index
            .find(&self.held, agent, subject)
            .map(|at| &self.held[at])
    }

    fn own(&mut self, new: OwnedClaim) {
        match self.index.find(&self.held, &new.owner, &new.subject) {
            Some(at) => {
                let held = &mut self.held[at];
                (held.renewed, held.lease) = (new.renewed, new.lease);
                held.purpose = new.purpose.or(held.purpose.take());
            }
            None => {
                self.held.push(new);
                self.index.added(&self.held);
            }
        }
    }

    fn free(&mut self, owner: &str, subjects: &[ClaimSubject]) -> Vec<OwnedClaim> {
        let places = subjects
            .iter()
            .filter_map(|subject| self.index.find(&self.held, owner, subject));
        let places: BTreeSet<usize> = places.collect();
        let mut at = 0..self.held.len();
        let freed = self
            .held
            .extract_if(.., |_| at.next().is_some_and(|at| places.contains(&at)))
            .collect();
        self.index.removed();
        // An offer of a subject that its sender no longer owns is void.
        let (held, index) = (&self.held, &self.index);
        let is_void = |offer: &mut ClaimOffer| {
            let mut subjects = offer.subjects.iter();
            *offer.from == *owner
                && !subjects.all(|subject| index.find(held, owner, subject).is_some())
        };
        let void = self.offered.extract_if(.., is_void);
        note_closed(&mut self.closed, void);
        freed
    }

    /// Moves the claims of one agent to another. The claims of two agents never overlap, so one agent can own both.
    fn rename(&mut self, of: &Arc<str>, to: &Arc<str>) {
        let owners = self.held.iter_mut().map(|held| &mut held.owner);
        let offered = self
            .offered
            .iter_mut()
            .flat_map(|one| [&mut one.from, &mut one.to]);
        let closed = self
            .closed
            .iter_mut()
            .flat_map(|one| [&mut one.from, &mut one.to]);
        for agent in owners.chain(offered).chain(closed) {
            if agent == of {
                *agent = to.clone();
            }
        }
        let void = self.offered.extract_if(.., |one| one.from == one.to);
        note_closed(&mut self.closed, void);
        self.index.removed();
    }

    fn close_offer(&mut self, offer: &str) -> Option<ClaimOffer> {
        let at = self.offered.iter().position(|one| one.offer == offer)?;
        let closed = self.offered.remove(at);
        note_closed(&mut self.closed, [closed.clone()]);
        Some(closed)
    }
}

fn note_closed(closed: &mut VecDeque<ClosedOffer>, offers: impl IntoIterator<Item = ClaimOffer>) {
    closed.extend(offers.into_iter().map(|one| ClosedOffer {
        offer: one.offer,
        from: one.from,
        to: one.to,
        seq: one.seq,
    }));
    closed.drain(..closed.len().saturating_sub(CLOSED_OFFERS));
}

/// The subjects of a record. They were parsed before the record was written.
pub(super) fn parsed(claims: &[String]) -> Vec<ClaimSubject> {
    claims
        .iter()
        .filter_map(|text| ClaimSubject::parse(text).ok())
        .collect()
}
