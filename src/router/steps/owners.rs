//! Claims, in step 5: judges messages about claims, grants waiting claims as soon as possible, and reviews leases.

use super::batch_message::{BatchMessage, MessageRuling};
use crate::base::clock::{self, Stamp};
use crate::base::error::Problem;
use crate::base::text::{listed, to_the_second};
use crate::base::{limits, sanitize};
use crate::features::claims::change::ClaimChange;
use crate::log::state::claims::{
    ClaimOffer, ClaimRequest, Claims, OfferAnswer, WaitingClaim, parsed,
};
use crate::message::record::Facts;
use crate::message::subject::{ClaimSubject, ComparisonBudget, cover_everything};
use crate::message::title::title_of_fields;
use crate::message::{Message, id, object};
use crate::room::leases::{self, ActivitySigns, LapseReason, LapseWarning, LapsedClaims};
use crate::room::registry::Agent;
use crate::room::resolve::RecipientRule;
use crate::router::parts::{AgentRename, NoticeText};
use crate::router::seam::{Cx, Draft, Due};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

/// The default lease of a claim.
const CLAIM_LEASE: Duration = Duration::from_secs(4 * 3600);

/// The claims of the room.
#[derive(Clone, Copy)]
pub(super) struct ClaimJudge<'a> {
    cx: Cx<'a>,
    claims: &'a Claims,
}

/// Judges a message about claims after its recipients are resolved, and adds the recipients that follow from the
/// change.
pub(crate) fn judge(cx: Cx<'_>, draft: &mut Draft) -> Result<(), Vec<Problem>> {
    if !draft.message.is_about_claims() {
        return Ok(());
    }
    let judge = ClaimJudge::new(cx);
    let agent = &draft.from.clone();
    let change = judge.claims.judge(agent, judge.ask(agent, draft)?)?;
    let outcome = judge.outcome(agent, &change, draft);
    draft.delivery.insert("claim".to_owned(), outcome);
    draft.facts.claims = Some(change);
    Ok(())
}

/// The due steps of a review of the leases.
pub(crate) fn due(cx: Cx<'_>) -> Due {
    ClaimJudge::new(cx).due()
}

/// The waiting claims of both names of a renamed agent.
pub(super) fn waiting_of(cx: Cx<'_>, of: &str, to: &str) -> Vec<WaitingClaim> {
    let mut waiting = cx.state().claims.waiting().to_vec();
    waiting.retain(|one| *one.agent == *of || *one.agent == *to);
    waiting
}

/// Ends a waiting claim of a renamed agent, if claims wait for each other, directly or not.
pub(super) fn stop_circle(
    cx: Cx<'_>,
    (of, to): &AgentRename,
    one: WaitingClaim,
    steps: &ComparisonBudget,
) -> Option<BatchMessage<MessageRuling>> {
    let judge = ClaimJudge::new(cx);
    if !judge.claims.has_circle(steps) {
        return None;
    }
    let why = format!("{of} is {to} now, and would wait for itself.");
    let agent = to.clone();
    let (notice, change) = judge.stop_waiting(WaitingClaim { agent, ..one }, &why);
    Some(notice.letter(Facts::from(change)))
}

impl<'a> ClaimJudge<'a> {
    fn new(cx: Cx<'a>) -> ClaimJudge<'a> {
        let claims = &cx.state().claims;
        ClaimJudge { cx, claims }
    }

    fn due(self) -> Due {
        let signs = ActivitySigns {
            last_seen: &|agent| self.cx.state().last_seen(agent),
            calls: self.cx.calls,
            active: &|_| false,
        };
        let review = leases::review(self.claims, self.cx.registry(), &signs, self.cx.now);
        let mut due = Due::default();
        if let Some(next) = review.next {
            due.ask_at(next);
        }
        if let Some((_, one)) = self.claims.grantable(0) {
            let (notice, change) = self.grant(one.clone());
            due.add(self.cx.now, Vec::new(), notice, change);
        }
        for lapsed in review.lapsed {
            let hear = match lapsed.reason {
                LapseReason::Retired => Vec::new(),
                _ => vec![lapsed.owner.clone()],
            };
            let (notice, change) = self.lapse(lapsed);
            due.add(self.cx.now, hear, notice, change);
        }
        for one in review.skipped {
            let hear = vec![one.agent.clone()];
            let (notice, change) = self.skip(one);
            due.add(self.cx.now, hear, notice, change);
        }
        for offered in review.void {
            let (notice, change) = self.void(offered);
            due.add(self.cx.now, Vec::new(), notice, change);
        }
        for (owner, until) in review.ended {
            let hear = vec![owner.clone()];
            let (notice, change) = self.cut(owner, until);
            due.add(self.cx.now, hear, notice, change);
        }
        for warned in review.warned {
            let hear = vec![warned.owner.clone()];
            if let Some(notice) = self.warn(warned) {
                due.add(self.cx.now, hear, notice, Facts::default());
            }
        }
        due
    }

    /// Grants a waiting claim.
    fn grant(self, one: WaitingClaim) -> (NoticeText, ClaimChange) {
        let WaitingClaim {
            claim,
            agent,
            subjects,
            lease,
            ..
        } = one;
        let what = list(&subjects);
        let body = format!(
            "You own {what} now. The claim lives for {} after your last activity. `mailbag release` ends it.",
            clock::span_text(Duration::from_secs(lease))
        );
        let notice = NoticeText {
            kind: "notification",
            about: format!("claim-granted {claim}"),
            to: vec![agent],
            subject: format!("granted: {what}"),
            body,
            more: more(
                Some(&claim),
                json!({"status": "granted", "claims": subjects}),
            ),
        };
        (notice, ClaimChange::Dequeue { claim })
    }

    fn ask(self, agent: &Arc<str>, draft: &Draft) -> Result<ClaimRequest, Vec<Problem>> {
        let message = &*draft.message;
        // The check has parsed each subject.
        let subjects: Vec<ClaimSubject> = message
            .claims()
            .filter_map(|text| ClaimSubject::parse(text).ok())
            .collect();
        match message.kind() {
            "claim" => {
                let lease = message
                    .text("lease")
                    .and_then(clock::span)
                    .unwrap_or(CLAIM_LEASE);
                let wait = message
                    .fields()
                    .get("wait")
                    .and_then(Value::as_bool)
                    .unwrap_or_default();
                Ok(ClaimRequest::Claim {
                    subjects,
                    lease: lease.as_secs(),
                    purpose: purpose(message),
                    wait,
                })
            }
            "release" => Ok(ClaimRequest::Release {
                of: self.released(agent, message)?,
                subjects,
            }),
            "accept" => self
                .claims
                .find_offer(agent, OfferAnswer::Accept, message.text("in_reply_to"))
                .map(ClaimRequest::Accept),
            "decline" => self
                .claims
                .find_offer(agent, OfferAnswer::Decline, message.text("in_reply_to"))
                .map(ClaimRequest::Decline),
            _ => {
                let mut recipients = draft.recipients();
                match (recipients.next(), recipients.next()) {
                    (Some(one), None) => Ok(ClaimRequest::Offer {
                        to: one.clone(),
                        subjects,
                    }),
                    (_, other) => {
                        let found = if other.is_some() {
                            "more than one agent"
                        } else {
                            "no other agent"
                        };
                        let what = format!(
                            "claims can be handed over to one agent, and to reaches {found}"
                        );
                        Err(vec![
                            Problem::new("bad_handoff", what)
                                .at("/to")
                                .fix("name one agent in to"),
                        ])
                    }
                }
            }
        }
    }

    /// The owner of the claims of a release.
    fn released(self, agent: &Arc<str>, message: &Message) -> Result<Arc<str>, Vec<Problem>> {
        let Some(word) = message.text("of") else {
            return Ok(agent.clone());
        };
        let registry = self.cx.registry();
        // An owner that is no longer registered can be named by its id.
        let owner = self
            .claims
            .held()
            .iter()
            .map(|held| &held.owner)
            .find(|owner| &***owner == word);
        let Some(of) = registry
            .find(word)
            .map(|found| found.id.clone())
            .or_else(|| owner.cloned())
        else {
            let problem = Problem::new("unknown_agent", format!("unknown agent {word:?}"));
            return Err(vec![problem.at("/of").fix(registry.did_you_mean(word))]);
        };
        let is_steward = registry.agent(agent).is_some_and(Agent::is_steward);
        if of == *agent || &**agent == id::HUMAN || is_steward {
            return Ok(of);
        }
        let what = format!("{agent} cannot release the claims of {of}");
        let fix = format!("ask {of} or the human");
        Err(vec![Problem::new("not_steward", what).at("/of").fix(fix)])
    }

    /// The outcome in the copies. Adds the recipients that follow from the change.
    fn outcome(self, agent: &Arc<str>, change: &ClaimChange, draft: &mut Draft) -> Value {
        match change {
            ClaimChange::Grant(terms) => {
                draft.add_recipient(self.cx, RecipientRule::Claim, agent);
                self.notify_human(agent, &terms.claims, draft);
                let lease = clock::span_text(Duration::from_secs(terms.lease));
                json!({"status": "granted", "claims": terms.claims, "lease": lease})
            }
            ClaimChange::Queue(terms) => {
                draft.add_recipient(self.cx, RecipientRule::Claim, agent);
                self.notify_human(agent, &terms.claims, draft);
                let subjects = parsed(&terms.claims);
                let before = self.claims.waiting().len();
                let steps = ComparisonBudget::of_message();
                let behind: Vec<_> = self
                    .claims
                    .in_the_way(agent, &subjects, before, &steps)
                    .take(limits::PROBLEMS)
                    .collect();
                json!({"status": "waiting", "claims": terms.claims, "behind": behind})
            }
            ClaimChange::Release { of, claims, .. } => {
                if of != agent {
                    draft.add_recipient(self.cx, RecipientRule::Claim, of);
                    if &**agent != id::HUMAN {
                        draft.add_recipient(self.cx, RecipientRule::Claim, &id::HUMAN.into());
                    }
                }
                json!({"status": "released", "of": of, "claims": claims})
            }
            ClaimChange::Offer { claims, .. } => json!({"status": "offered", "claims": claims}),
            ClaimChange::Accept { offer } | ClaimChange::Decline { offer } => {
                let Some(one) = self.claims.offered().iter().find(|one| one.offer == *offer) else {
                    return Value::Null;
                };
                let is_accepted = matches!(change, ClaimChange::Accept { .. });
                let other = if one.from == *agent {
                    &one.to
                } else {
                    &one.from
                };
                draft.add_recipient(self.cx, RecipientRule::Claim, other);
                if is_accepted {
                    draft.add_recipient(self.cx, RecipientRule::Claim, agent);
                }
                let status = if is_accepted { "granted" } else { "declined" };
                json!({"status": status, "claims": one.subjects, "offer": offer})
            }
            ClaimChange::Dequeue { .. }
            | ClaimChange::Skip { .. }
            | ClaimChange::Rename { .. }
            | ClaimChange::Cut { .. } => Value::Null,
        }
    }

    /// Adds the human as a recipient when the claims of an agent begin to cover all files of a repository.
    fn notify_human(self, agent: &Arc<str>, claims: &[String], draft: &mut Draft) {
        let claims = parsed(claims);
        let held: Vec<&ClaimSubject> = self.claims.of(agent).map(|held| &held.subject).collect();
        if cover_everything(held.iter().copied().chain(&claims)) && !cover_everything(held) {
            draft.add_recipient(self.cx, RecipientRule::Claim, &id::HUMAN.into());
        }
    }

    fn lapse(self, lapsed: LapsedClaims) -> (NoticeText, ClaimChange) {
        let LapsedClaims {
            owner,
            held,
            reason,
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
        let mut to: Vec<Arc<str>> = vec![owner.clone(), id::HUMAN.into()];
        let steps = ComparisonBudget::of_message();
        for one in self.claims.waiting() {
            let mut wanted = one.subjects.iter();
            if wanted.any(|own| {
                let mut subjects = subjects.iter();
                subjects.any(|subject| own.conflicts_within(subject, &steps))
            }) {
                to.push(one.agent.clone());
            }
        }
        let what = list(&subjects);
        let body = format!("{what} is free again, and was owned by {owner}. {why}");
        let claim = json!({"status": "lapsed", "of": owner, "claims": subjects});
        let notice = NoticeText {
            kind: "notification",
            about: format!("claims-lapsed {owner} {}", held[0].seq),
            to: self.cx.registered(to),
            subject: format!("lapsed: {what}"),
            body,
            more: more(None, claim),
        };
        let claims = subjects.iter().map(ClaimSubject::to_string).collect();
        let change = ClaimChange::Release {
            of: owner,
            claims,
            waiting: Vec::new(),
        };
        (notice, change)
    }

    fn skip(self, one: WaitingClaim) -> (NoticeText, ClaimChange) {
        let span = clock::span_text(limits::CLAIM_WAITER);
        self.stop_waiting(
            one,
            &format!("You showed no activity for {span}. Claim it again if you still need it."),
        )
    }

    fn stop_waiting(self, one: WaitingClaim, why: &str) -> (NoticeText, ClaimChange) {
        let WaitingClaim {
            claim,
            agent,
            subjects,
            ..
        } = one;
        let what = list(&subjects);
        let notice = NoticeText {
            kind: "notification",
            about: format!("claim-skipped {claim}"),
            to: self.cx.registered([agent]),
            subject: format!("no longer waiting: {what}"),
            body: format!("Your claim of {what} no longer waits. {why}"),
            more: more(
                Some(&claim),
                json!({"status": "skipped", "claims": subjects}),
            ),
        };
        (notice, ClaimChange::Skip { claim })
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

    fn cut(self, owner: Arc<str>, until: Stamp) -> (NoticeText, ClaimChange) {
        let subjects: Vec<ClaimSubject> = self
            .claims
            .of(&owner)
            .map(|held| held.subject.clone())
            .collect();
        let what = list(&subjects);
        let end = shown(until);
        let body = format!(
            "Your session has ended. You own {what} until {end}, and longer if you return before."
        );
        let claim = json!({"status": "ending", "claims": subjects, "until": until.to_string()});
        let notice = NoticeText {
            kind: "notification",
            about: format!("claims-ending {owner} {until}"),
            to: self.cx.registered([owner.clone()]),
            subject: format!("your claims lapse at {end}"),
            body,
            more: more(None, claim),
        };
        let until = until.micros();
        (notice, ClaimChange::Cut { of: owner, until })
    }

    fn warn(self, warned: LapseWarning) -> Option<NoticeText> {
        let LapseWarning {
            owner,
            since,
            lapses,
        } = warned;
        let about = format!("claims-warned {owner} {}", since.micros());
        if self.cx.state().notices.contains(&about) {
            return None;
        }
        let subjects: Vec<ClaimSubject> = self
            .claims
            .of(&owner)
            .map(|held| held.subject.clone())
            .collect();
        let end = shown(lapses);
        let body = format!(
            "You showed no activity since {}. At {end} you lose {}. Any message, command or hook keeps it; \
             `mailbag release` ends it.",
            shown(since),
            list(&subjects)
        );
        let notice = NoticeText {
            kind: "notification",
            about,
            to: vec![owner],
            subject: format!("your claims lapse at {end}"),
            body,
            more: Map::new(),
        };
        Some(notice)
    }
}

/// The notice of a renamed agent. `twice` are the records with an unread copy for both names.
pub(super) fn rename((of, to): &AgentRename, twice: Vec<u64>) -> BatchMessage<MessageRuling> {
    let notice = NoticeText {
        kind: "notification",
        about: format!("renamed {of} {to}"),
        to: Vec::new(),
        subject: format!("{of} is {to} now"),
        body: format!(
            "{to} has the unread mail and the claims of {of}, and {of} is an alias of {to}."
        ),
        more: Map::new(),
    };
    let (of, to) = (of.clone(), to.clone());
    notice.letter(Facts::from(ClaimChange::Rename { of, to, twice }))
}

fn shown(at: Stamp) -> String {
    to_the_second(&at.to_string())
}

/// The purpose of a claim.
fn purpose(message: &Message) -> Option<String> {
    let title = title_of_fields(message.fields())?;
    Some(title.chars().take(limits::REPORT_TEXT).collect())
}

fn list(subjects: &[ClaimSubject]) -> String {
    sanitize::line(&listed(subjects)).into_owned()
}

fn more(answered: Option<&str>, claim: Value) -> Map<String, Value> {
    object(json!({"in_reply_to": answered, "metadata": {"claim": claim}}))
}
