//! The due notices about claims: claims lapse when their owner is inactive, and the owner is warned before.

use super::change::ClaimChange;
use super::leases::{self, ActivitySigns, LapseReason, LapseWarning, LapsedClaims};
use super::owned::ClaimOffer;
use super::state::Claims;
use crate::base::clock::Stamp;
use crate::base::sanitize;
use crate::base::text::{listed, to_the_second};
use crate::message::record::Facts;
use crate::message::subject::ClaimSubject;
use crate::message::{id, object};
use crate::router::seam::{Cx, Due, NoticeText};
use serde_json::{Map, Value, json};

/// The notices that are due, by a review of all leases.
pub(super) fn due(cx: Cx<'_>) -> Due {
    let claims = super::of(cx.state());
    let signs = ActivitySigns {
        last_seen: &|agent| cx.state().last_seen(agent),
        calls: cx.calls,
    };
    let review = leases::review(claims, cx.registry(), &signs, cx.now);
    let notices = ClaimNotices { cx, claims };
    let mut due = Due::default();
    if let Some(next) = review.next {
        due.ask_at(next);
    }
    for lapsed in review.lapsed {
        let (at, owner) = (lapsed.at, lapsed.owner.clone());
        // A retired agent can do nothing about it.
        let is_retired = lapsed.reason == LapseReason::Retired;
        let hear = if is_retired { Vec::new() } else { vec![owner] };
        let (notice, change) = notices.lapse(lapsed);
        due.add(at, hear, notice, change);
    }
    for offered in review.void {
        let (notice, change) = notices.void(offered);
        due.add(cx.now, Vec::new(), notice, change);
    }
    for warned in review.warned {
        let owner = warned.owner.clone();
        if let Some(notice) = notices.warn(warned) {
            due.add(cx.now, vec![owner], notice, Facts::default());
        }
    }
    due
}

/// Writes the notices about claims.
#[derive(Clone, Copy)]
struct ClaimNotices<'a> {
    cx: Cx<'a>,
    claims: &'a Claims,
}

impl ClaimNotices<'_> {
    fn lapse(self, lapsed: LapsedClaims) -> (NoticeText, ClaimChange) {
        let LapsedClaims {
            owner,
            held,
            reason,
            ..
        } = lapsed;
        let subjects: Vec<ClaimSubject> = held.iter().map(|held| held.subject.clone()).collect();
        let why = match reason {
            LapseReason::Silent(since) => {
                format!("{owner} showed no activity since {}.", shown(since))
            }
            LapseReason::Ended(at) => format!(
                "The session of {owner} ended at {}, and {owner} did not return.",
                shown(at)
            ),
            LapseReason::Retired => format!("{owner} is retired, or no longer registered."),
        };
        let what = list(&subjects);
        let body = format!("{what} is free again, and was owned by {owner}. {why}");
        let claim = json!({"status": "lapsed", "of": owner, "claims": subjects});
        let notice = NoticeText {
            kind: "notification",
            about: format!("claims-lapsed {owner} {}", held[0].seq),
            to: self.cx.registered([owner.clone(), id::HUMAN.into()]),
            subject: format!("lapsed: {what}"),
            body,
            more: more(None, claim),
        };
        let claims = subjects.iter().map(ClaimSubject::to_string).collect();
        (notice, ClaimChange::Release { of: owner, claims })
    }

    fn void(self, offered: ClaimOffer) -> (NoticeText, ClaimChange) {
        let ClaimOffer {
            offer,
            from,
            to,
            subjects,
            ..
        } = offered;
        let what = list(&subjects);
        let notice = NoticeText {
            kind: "notification",
            about: format!("offer-void {offer}"),
            to: self.cx.registered([from]),
            subject: format!("not handed over: {what}"),
            body: format!(
                "Your offer of {what} is void: {to} is retired, or no longer registered. You still own it."
            ),
            more: more(
                Some(&offer),
                json!({"status": "declined", "claims": subjects}),
            ),
        };
        (notice, ClaimChange::Decline { offer })
    }

    /// `None` if the owner is warned already.
    fn warn(self, warned: LapseWarning) -> Option<NoticeText> {
        let LapseWarning {
            owner,
            reason,
            lapses,
        } = warned;
        let owned = self.claims.of(&owner);
        let subjects: Vec<ClaimSubject> = owned.map(|held| held.subject.clone()).collect();
        let (what, end) = (list(&subjects), shown(lapses));
        let (about, body) = match reason {
            LapseReason::Ended(at) => (
                format!("claims-ending {owner} {}", at.micros()),
                format!(
                    "Your session has ended. You own {what} until {end}, and longer if you return before."
                ),
            ),
            LapseReason::Silent(since) => (
                format!("claims-warned {owner} {}", since.micros()),
                format!(
                    "You showed no activity since {}. At {end} you lose {what}. Any message, command or hook keeps it; \
                     `mailbag release` ends it.",
                    shown(since)
                ),
            ),
            LapseReason::Retired => return None,
        };
        if self.cx.state().notices.contains(&about) {
            return None;
        }
        Some(NoticeText {
            kind: "notification",
            about,
            to: vec![owner],
            subject: format!("your claims lapse at {end}"),
            body,
            more: Map::new(),
        })
    }
}

fn shown(at: Stamp) -> String {
    to_the_second(&at.to_string())
}

fn list(subjects: &[ClaimSubject]) -> String {
    sanitize::line(&listed(subjects)).into_owned()
}

fn more(answered: Option<&str>, claim: Value) -> Map<String, Value> {
    object(json!({"in_reply_to": answered, "metadata": {"claim": claim}}))
}
