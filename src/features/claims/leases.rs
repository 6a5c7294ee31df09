//! Leases of claims: the time when the claims of an owner lapse, and the review of all claims at a given time.
//!
//! A claim lives as long as its owner is active. A lock that a process of the session holds counts as activity. A process
//! id does not: a sandbox or a container hides it.

use super::owned::{ClaimOffer, OwnedClaim};
use super::state::Claims;
use crate::base::clock::Stamp;
use crate::base::limits;
use crate::base::text::to_the_second;
use crate::room::registry::Registry;
use crate::room::sessions::{SessionCalls, SessionRunState};
use std::collections::BTreeMap;
use std::fmt;
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
}

/// The result of a review of the claims of a room.
#[derive(Debug, Default)]
pub(super) struct ClaimReview {
    /// Owners with claims that lapse.
    pub(super) lapsed: Vec<LapsedClaims>,
    /// Owners that have to be warned.
    pub(super) warned: Vec<LapseWarning>,
    /// Open offers to agents that are retired.
    pub(super) void: Vec<ClaimOffer>,
    /// When the next review is due. `None` if no claim can lapse.
    pub(super) next: Option<Stamp>,
}

/// Claims of one owner that lapse.
#[derive(Debug)]
pub(super) struct LapsedClaims {
    pub(super) owner: Arc<str>,
    pub(super) held: Vec<OwnedClaim>,
    /// When the first of them lapsed.
    pub(super) at: Stamp,
    pub(super) reason: LapseReason,
}

/// Why claims lapse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LapseReason {
    /// The owner was inactive since this time.
    Silent(Stamp),
    /// The owner's session ended at this time.
    Ended(Stamp),
    /// The owner is retired, or no longer registered.
    Retired,
}

/// An owner that has to be warned.
#[derive(Debug)]
pub(super) struct LapseWarning {
    pub(super) owner: Arc<str>,
    /// Why its claims will lapse.
    pub(super) reason: LapseReason,
    /// When its first claim lapses.
    pub(super) lapses: Stamp,
}

/// The end of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimLifetime {
    /// As long as the session of its owner runs.
    Session,
    /// Until this time, unless the owner is active again. It may be past if no router has run since.
    Until(Stamp),
}

impl fmt::Display for ClaimLifetime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClaimLifetime::Session => f.write_str("while its session runs"),
            ClaimLifetime::Until(at) => {
                let at = to_the_second(&at.to_string());
                write!(f, "until {at}, or longer if it is active before")
            }
        }
    }
}

/// The end of a claim, for a reader.
pub fn life(held: &OwnedClaim, signs: &ActivitySigns<'_>) -> ClaimLifetime {
    let seen = signs.seen(&held.owner, held.renewed);
    let run = signs.calls.run(&held.owner, seen);
    if run == SessionRunState::Running {
        return ClaimLifetime::Session;
    }
    ClaimLifetime::Until(lapses(held, seen, session_end(run, seen, Stamp::now())))
}

/// When a claim lapses if its owner, last seen at this time, stays inactive. `end` is the end of the owner's session.
fn lapses(held: &OwnedClaim, seen: Stamp, end: Option<Stamp>) -> Stamp {
    let own = seen
        .max(Stamp::from_micros(held.renewed))
        .after(Duration::from_secs(held.lease));
    end.map_or(own, |end| own.min(end.after(CLAIM_AFTER_SESSION)))
}

/// The end of a session that is known to have ended: its last sign of life, if no process recorded the time.
fn session_end(run: SessionRunState, seen: Stamp, now: Stamp) -> Option<Stamp> {
    let SessionRunState::Ended(at) = run else {
        return None;
    };
    Some(at.filter(|at| *at > seen && *at <= now).unwrap_or(seen))
}

/// Reviews all claims at this time.
pub(super) fn review(
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
            review.owner(signs, &held, now);
        } else {
            review.lapse(owner, held, now, LapseReason::Retired);
        }
    }
    let offered = claims.offered().iter();
    let void = offered.filter(|one| !registry.has_active(&one.to));
    review.void.extend(void.cloned());
    review
}

impl ClaimReview {
    /// Reviews all claims of one owner.
    fn owner(&mut self, signs: &ActivitySigns<'_>, held: &[&OwnedClaim], now: Stamp) {
        let owner = &held[0].owner;
        let renewed = held.iter().map(|held| held.renewed).max();
        let seen = signs.seen(owner, renewed.unwrap_or_default());
        let run = signs.calls.run(owner, seen);
        // A session can end without an event.
        if run == SessionRunState::Running {
            return self.due(now.after(limits::DUE_CHECK));
        }
        if signs.calls.has_session(owner) {
            self.due(now.after(limits::DUE_CHECK));
        }
        let end = session_end(run, seen, now);
        let reason = end.map_or(LapseReason::Silent(seen), LapseReason::Ended);
        let lapses = |held: &&OwnedClaim| lapses(held, seen, end);
        let (over, alive): (Vec<&OwnedClaim>, Vec<&OwnedClaim>) =
            held.iter().partition(|held| lapses(held) <= now);
        if let Some(at) = over.iter().map(lapses).min() {
            self.lapse(owner, over, at, reason);
        }
        let Some(first) = alive.iter().map(lapses).min() else {
            return;
        };
        self.due(first);
        let left = (first.micros() - seen.micros()).max(0) as u64 * (100 - CLAIM_WARNING) / 100;
        let warning = Stamp::from_micros(first.micros() - left as i64);
        if warning > now && end.is_none() {
            self.due(warning);
        } else {
            self.warned.push(LapseWarning {
                owner: owner.clone(),
                reason,
                lapses: first,
            });
        }
    }

    fn lapse(&mut self, owner: &Arc<str>, held: Vec<&OwnedClaim>, at: Stamp, reason: LapseReason) {
        self.lapsed.push(LapsedClaims {
            owner: owner.clone(),
            held: held.into_iter().cloned().collect(),
            at,
            reason,
        });
    }

    fn due(&mut self, at: Stamp) {
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
    }
}

impl ActivitySigns<'_> {
    fn seen(&self, agent: &str, since: i64) -> Stamp {
        let seen = (self.last_seen)(agent).max(self.calls.last_of_any(agent));
        seen.unwrap_or_default().max(Stamp::from_micros(since))
    }
}
