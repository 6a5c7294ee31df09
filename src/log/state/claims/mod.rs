//! Claims: who owns which work, which claims wait, and which offers are open.
//!
//! The records of the log decide: [`Claims::apply`] applies them in their order and rejects nothing. Before the router
//! writes a record, it asks [`Claims::judge`] for the change that a message makes.

mod file;
mod index;
mod judge;
#[cfg(test)]
mod steps;
#[cfg(test)]
mod tests;

pub use file::{ClaimsPosition, owners, text, written};
pub use judge::{ClaimRequest, ConflictingClaim, OfferAnswer};

use super::ChangeSource;
use super::clock::ClockShift;
use crate::base::rfc3339;
use crate::features::claims::change::{ClaimChange, lease};
use crate::message::id;
use crate::message::subject::{ClaimSubject, ComparisonBudget, PreparedPath};
use index::SubjectIndex;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// An owned subject. Times are in microseconds since 1970 and printed as RFC 3339.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnedClaim {
    /// The subject.
    pub subject: ClaimSubject,
    /// The owner.
    pub owner: Arc<str>,
    /// The number of the record that granted it.
    pub seq: u64,
    /// The time of the grant.
    #[serde(with = "rfc3339")]
    pub since: i64,
    /// The time of the grant or of the last renewal.
    #[serde(with = "rfc3339")]
    pub renewed: i64,
    /// The life of the claim after the owner's last activity, such as `4h`.
    #[serde(with = "lease")]
    pub lease: u64,
    /// The purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
}

/// A claim that waits until other agents release its subjects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingClaim {
    /// The message, as `<sender>/<id>`.
    pub claim: String,
    /// The agent that waits.
    pub agent: Arc<str>,
    /// The subjects, granted together.
    pub subjects: Vec<ClaimSubject>,
    /// The number of the message's record.
    pub seq: u64,
    /// The time of the message.
    #[serde(with = "rfc3339")]
    pub since: i64,
    /// The requested lease, such as `4h`.
    #[serde(with = "lease")]
    pub lease: u64,
    /// The purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
}

/// The number of closed offers that the state keeps.
const CLOSED_OFFERS: usize = 1000;

/// An open offer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimOffer {
    /// The message, as `<sender>/<id>`.
    pub offer: String,
    /// The owner.
    pub from: Arc<str>,
    /// The agent that can accept it.
    pub to: Arc<str>,
    /// The subjects.
    pub subjects: Vec<ClaimSubject>,
    /// The number of the message's record.
    pub seq: u64,
    /// The time of the message.
    #[serde(with = "rfc3339")]
    pub since: i64,
}

/// An offer that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedOffer {
    offer: String,
    from: Arc<str>,
    to: Arc<str>,
    seq: u64,
}

/// The known end of an owner's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerSessionEnd {
    /// When it was recorded. Later activity of the owner cancels it.
    #[serde(with = "rfc3339")]
    pub at: i64,
    /// When the owner's claims lapse.
    #[serde(with = "rfc3339")]
    pub until: i64,
}

/// All claims of a room.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    #[serde(rename = "claims")]
    held: Vec<OwnedClaim>,
    waiting: Vec<WaitingClaim>,
    #[serde(rename = "offers")]
    offered: Vec<ClaimOffer>,
    /// The router needs them to judge answers. A reader of `claims.json` does not.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub(super) closed: VecDeque<ClosedOffer>,
    cuts: BTreeMap<Arc<str>, OwnerSessionEnd>,
    changed: u64,
    #[serde(skip)]
    index: SubjectIndex,
}

impl Claims {
    /// Drops the claims, the waiting claims and the offers of all other agents, as if they had lapsed.
    pub fn retain_agents(&mut self, is_active: impl Fn(&str) -> bool) {
        self.held.retain(|held| is_active(&held.owner));
        self.waiting.retain(|one| is_active(&one.agent));
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
                self.cuts.remove(from);
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
            ClaimChange::Queue(terms) => {
                let (subjects, lease) = (parsed(&terms.claims), terms.lease);
                let purpose = terms.purpose.clone();
                let queued = self
                    .waiting
                    .iter_mut()
                    .find(|one| one.agent == *from && one.subjects == subjects);
                match queued {
                    // It keeps its place.
                    Some(one) => (one.lease, one.purpose) = (lease, purpose.or(one.purpose.take())),
                    None => {
                        let (claim, agent) = (id::full_name(from, id), from.clone());
                        self.waiting.push(WaitingClaim {
                            claim,
                            agent,
                            subjects,
                            seq,
                            since: at,
                            lease,
                            purpose,
                        });
                    }
                }
            }
            ClaimChange::Dequeue { claim } => {
                let Some(WaitingClaim {
                    agent,
                    subjects,
                    lease,
                    purpose,
                    ..
                }) = self.stop_waiting(claim)
                else {
                    return;
                };
                for subject in subjects {
                    let (owner, purpose) = (agent.clone(), purpose.clone());
                    self.own(OwnedClaim {
                        subject,
                        owner,
                        seq,
                        since: at,
                        renewed: at,
                        lease,
                        purpose,
                    });
                }
            }
            ClaimChange::Skip { claim } => drop(self.stop_waiting(claim)),
            ClaimChange::Release {
                of,
                claims,
                waiting,
            } => {
                drop(self.free(of, &parsed(claims)));
                self.waiting.retain(|one| !waiting.contains(&one.claim));
            }
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
            ClaimChange::Cut { of, until } => {
                self.cuts
                    .insert(of.clone(), OwnerSessionEnd { at, until: *until });
            }
        }
    }

    /// Moves all times, in the record `seq`.
    pub(super) fn shift(&mut self, shift: ClockShift, seq: u64) {
        for held in &mut self.held {
            shift.apply(&mut held.since);
            shift.apply(&mut held.renewed);
        }
        for since in self.waiting.iter_mut().map(|one| &mut one.since) {
            shift.apply(since);
        }
        for since in self.offered.iter_mut().map(|one| &mut one.since) {
            shift.apply(since);
        }
        for cut in self.cuts.values_mut() {
            shift.apply_to(&mut cut.at, Some(&mut cut.until));
        }
        self.changed = if self.is_empty() { self.changed } else { seq };
    }

    /// The last record that changed anything; 0 for none.
    pub fn changed_at(&self) -> u64 {
        self.changed
    }

    /// Returns true if nothing is claimed or offered.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty() && self.waiting.is_empty() && self.offered.is_empty()
    }

    /// The first waiting claim from this position on that can be granted now, and its position. A claim also waits for
    /// conflicting claims before it, so a grant never frees an earlier one.
    pub fn grantable(&self, from: usize) -> Option<(usize, &WaitingClaim)> {
        self.waiting.iter().enumerate().skip(from).find(|(n, one)| {
            let steps = ComparisonBudget::of_message();
            let mut others = self.in_the_way(&one.agent, &one.subjects, *n, &steps);
            others.next().is_none()
        })
    }

    /// Every owned subject, in the order of the grants.
    pub fn held(&self) -> &[OwnedClaim] {
        &self.held
    }

    /// Every waiting claim, in the order of the log.
    pub fn waiting(&self) -> &[WaitingClaim] {
        &self.waiting
    }

    /// The agents that own a subject or wait for one.
    pub fn agents(&self) -> impl Iterator<Item = &Arc<str>> {
        let owners = self.held.iter().map(|held| &held.owner);
        owners.chain(self.waiting.iter().map(|one| &one.agent))
    }

    /// Every open offer, in the order of the log.
    pub fn offered(&self) -> &[ClaimOffer] {
        &self.offered
    }

    /// Returns true if the offer in the message with this number is open.
    pub fn is_open_offer(&self, seq: u64) -> bool {
        self.offered.iter().any(|one| one.seq == seq)
    }

    /// The known end of an owner's session.
    pub fn cut(&self, agent: &str) -> Option<OwnerSessionEnd> {
        self.cuts.get(agent).copied()
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
    fn near<'a>(
        &'a self,
        subjects: impl IntoIterator<Item = &'a ClaimSubject>,
    ) -> impl Iterator<Item = &'a OwnedClaim> {
        self.index
            .near(&self.held, subjects)
            .into_iter()
            .map(|at| &self.held[at])
    }

    /// The claim of an agent on exactly this subject.
    fn owned_by(&self, agent: &str, subject: &ClaimSubject) -> Option<&OwnedClaim> {
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
        if !self.held.iter().any(|held| &*held.owner == owner) {
            self.cuts.remove(owner);
        }
        freed
    }

    /// Moves the claims of one agent to another. The claims of two agents never overlap, so one agent can own both.
    fn rename(&mut self, of: &Arc<str>, to: &Arc<str>) {
        let owners = self.held.iter_mut().map(|held| &mut held.owner);
        let waiting = self.waiting.iter_mut().map(|one| &mut one.agent);
        let offered = self
            .offered
            .iter_mut()
            .flat_map(|one| [&mut one.from, &mut one.to]);
        let closed = self
            .closed
            .iter_mut()
            .flat_map(|one| [&mut one.from, &mut one.to]);
        for agent in owners.chain(waiting).chain(offered).chain(closed) {
            if agent == of {
                *agent = to.clone();
            }
        }
        let void = self.offered.extract_if(.., |one| one.from == one.to);
        note_closed(&mut self.closed, void);
        self.cuts.remove(of);
        self.index.removed();
    }

    fn stop_waiting(&mut self, claim: &str) -> Option<WaitingClaim> {
        let at = self.waiting.iter().position(|one| one.claim == claim)?;
        Some(self.waiting.remove(at))
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
pub fn parsed(claims: &[String]) -> Vec<ClaimSubject> {
    claims
        .iter()
        .filter_map(|text| ClaimSubject::parse(text).ok())
        .collect()
}
