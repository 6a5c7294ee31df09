//! Leases of claims: the time when the claims of an owner lapse, and the steps that are due at a given time.
//!
//! A claim lives as long as its owner is active. A lock that a process of the session holds counts as activity. A process
//! id does not: a sandbox or a container hides it.

use crate::base::clock::Stamp;
use crate::base::limits;
use crate::log::state::claims::{ClaimOffer, Claims, OwnedClaim, OwnerSessionEnd, WaitingClaim};
use crate::room::registry::Registry;
use crate::room::sessions::{SessionCalls, SessionRunState};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The time that claims of an ended session stay.
const CLAIM_AFTER_SESSION: Duration = Duration::from_secs(15 * 60);
/// The owner is warned after this part of its lease, in percent, has passed without activity.
const CLAIM_WARNING: u64 = 80;

/// Signs of activity of agents.
pub struct ActivitySigns<'a> {
    /// The last activity of an agent that the log shows.
    pub last_seen: &'a dyn Fn(&str) -> Option<Stamp>,
    /// The sessions of the room.
    pub calls: &'a SessionCalls,
    /// Returns true for an agent with mail that is routed at this moment: it is active.
    pub active: &'a dyn Fn(&str) -> bool,
}

/// The due steps for the claims of a room.
#[derive(Debug, Default)]
pub struct ClaimReview {
    /// Owners with claims that lapse.
    pub lapsed: Vec<LapsedClaims>,
    /// Waiting claims of agents without activity.
    pub skipped: Vec<WaitingClaim>,
    /// Owners with an ended session, and the times when their claims lapse.
    pub ended: Vec<(Arc<str>, Stamp)>,
    /// Owners that were inactive for most of their lease.
    pub warned: Vec<LapseWarning>,
    /// Open offers to agents that are retired.
    pub void: Vec<ClaimOffer>,
    /// When the next review is due. `None` if no claim can lapse.
    pub next: Option<Stamp>,
}

/// Claims of one owner that lapse.
#[derive(Debug)]
pub struct LapsedClaims {
    /// The owner.
    pub owner: Arc<str>,
    /// The claims.
    pub held: Vec<OwnedClaim>,
    /// The reason.
    pub reason: LapseReason,
}

/// Why claims lapse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LapseReason {
    /// The owner was inactive since this time.
    Silent(Stamp),
    /// The owner's session ended at this time.
    Ended(Stamp),
    /// The owner is retired, or no longer registered.
    Retired,
}

/// An owner that has to be warned.
#[derive(Debug)]
pub struct LapseWarning {
    /// The owner.
    pub owner: Arc<str>,
    /// Its last activity.
    pub since: Stamp,
    /// When its first claim lapses.
    pub lapses: Stamp,
}

/// The end of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimLifetime {
    /// As long as the session of its owner runs.
    Session,
    /// Until this time, unless the owner is active again. It may be past if no router has run since.
    Until(Stamp),
}

/// The end of a claim, for a reader.
pub fn life(claims: &Claims, held: &OwnedClaim, signs: &ActivitySigns<'_>) -> ClaimLifetime {
    let seen = signs.seen(&held.owner, held.renewed);
    if signs.calls.run(&held.owner, seen) == SessionRunState::Running {
        return ClaimLifetime::Session;
    }
    ClaimLifetime::Until(lapses(
        held,
        seen,
        claims.cut(&held.owner).filter(|cut| cut.at > seen.micros()),
    ))
}

/// When a claim lapses if its owner, last seen at this time, stays inactive.
fn lapses(held: &OwnedClaim, seen: Stamp, cut: Option<OwnerSessionEnd>) -> Stamp {
    let own = seen
        .max(Stamp::from_micros(held.renewed))
        .after(Duration::from_secs(held.lease));
    cut.map_or(own, |cut| own.min(Stamp::from_micros(cut.until)))
}

/// Reviews all claims at this time.
pub fn review(
    claims: &Claims,
    registry: &Registry,
    signs: &ActivitySigns<'_>,
    now: Stamp,
) -> ClaimReview {
    let mut review = ClaimReview::default();
    let mut owners: BTreeMap<&Arc<str>, Vec<&OwnedClaim>> = BTreeMap::new();
    for held in claims.held() {
        owners.entry(&held.owner).or_default().push(held);
    }
    for (owner, held) in owners {
        if registry.has_active(owner) {
            review.owner(claims, signs, &held, now);
        } else {
            review.lapse(owner, held, LapseReason::Retired);
        }
    }
    for waiting in claims.waiting() {
        let until = signs.alive_until(&waiting.agent, waiting.since, limits::CLAIM_WAITER, now);
        if until > now && registry.has_active(&waiting.agent) {
            review.due(until);
        } else {
            review.skipped.push(waiting.clone());
        }
    }
    review.void.extend(
        claims
            .offered()
            .iter()
            .filter(|one| !registry.has_active(&one.to))
            .cloned(),
    );
    review
}

impl ClaimReview {
    /// Reviews all claims of one owner.
    fn owner(
        &mut self,
        claims: &Claims,
        signs: &ActivitySigns<'_>,
        held: &[&OwnedClaim],
        now: Stamp,
    ) {
        let owner = &held[0].owner;
        let renewed = held
            .iter()
            .map(|held| held.renewed)
            .max()
            .unwrap_or_default();
        let seen = signs.seen(owner, renewed);
        if (signs.active)(owner) {
            return self.due(now.after(limits::DUE_CHECK));
        }
        let run = signs.calls.run(owner, seen);
        if run == SessionRunState::Running {
            return self.due(now.after(limits::DUE_CHECK));
        }
        let mut cut = claims.cut(owner).filter(|cut| cut.at > seen.micros());
        if let (None, SessionRunState::Ended(at)) = (cut, run) {
            let at = at.filter(|at| *at > seen && *at <= now).unwrap_or(now);
            let until = at.after(CLAIM_AFTER_SESSION);
            if until > now {
                self.ended.push((owner.clone(), until));
            } else {
                // No router ran in the meantime.
                cut = Some(OwnerSessionEnd {
                    at: at.micros(),
                    until: until.micros(),
                });
            }
            self.due(until);
        }
        let (over, alive): (Vec<&OwnedClaim>, Vec<&OwnedClaim>) =
            held.iter().partition(|held| lapses(held, seen, cut) <= now);
        if !over.is_empty() {
            let reason = cut.map_or(LapseReason::Silent(seen), |cut| {
                LapseReason::Ended(Stamp::from_micros(cut.at))
            });
            self.lapse(owner, over, reason);
        }
        let Some(first) = alive.iter().map(|held| lapses(held, seen, cut)).min() else {
            return;
        };
        self.due(first);
        // The owner got a message when the cut was recorded.
        if cut.is_none() {
            let left = (first.micros() - seen.micros()).max(0) as u64 * (100 - CLAIM_WARNING) / 100;
            let warning = Stamp::from_micros(first.micros() - left as i64);
            if warning > now {
                self.due(warning);
            } else {
                self.warned.push(LapseWarning {
                    owner: owner.clone(),
                    since: seen,
                    lapses: first,
                });
            }
        }
        // A session can end without an event.
        if signs.calls.has_session(owner) {
            self.due(now.after(limits::DUE_CHECK));
        }
    }

    fn lapse(&mut self, owner: &Arc<str>, held: Vec<&OwnedClaim>, reason: LapseReason) {
        self.lapsed.push(LapsedClaims {
            owner: owner.clone(),
            held: held.into_iter().cloned().collect(),
            reason,
        });
    }

    fn due(&mut self, at: Stamp) {
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
    }
}

impl ActivitySigns<'_> {
    fn seen(&self, agent: &str, since: i64) -> Stamp {
        let seen = (self.last_seen)(agent).max(self.calls.last(agent));
        seen.unwrap_or_default().max(Stamp::from_micros(since))
    }

    fn alive_until(&self, agent: &str, since: i64, span: Duration, now: Stamp) -> Stamp {
        let seen = self.seen(agent, since);
        if (self.active)(agent) || self.calls.run(agent, seen) == SessionRunState::Running {
            now.after(limits::DUE_CHECK)
        } else {
            seen.after(span)
        }
    }
}
