//! Claims, in step 5: judges messages about claims, grants waiting claims as soon as possible, and reviews leases.

use super::batch_message::{BatchMessage, MessageEffect, MessageRuling};
use super::parties;
use crate::base::clock::{self, Stamp};
use crate::base::error::Problem;
use crate::base::text::{listed, to_the_second};
use crate::base::{limits, sanitize};
use crate::features::claims::change::ClaimChange;
use crate::log::state::RoomState;
use crate::log::state::claims::{
    ClaimOffer, ClaimRequest, Claims, OfferAnswer, WaitingClaim, parsed,
};
use crate::message::record::{Facts, RecipientGroup};
use crate::message::subject::{ClaimSubject, ComparisonBudget, cover_everything};
use crate::message::title::title_of_fields;
use crate::message::{Message, id, object};
use crate::room::leases::{
    self, ActivitySigns, ClaimReview, LapseReason, LapseWarning, LapsedClaims,
};
use crate::room::registry::Agent;
use crate::room::resolve::RecipientRule;
use crate::room::sessions::SessionCalls;
use crate::router::parts::{AgentRename, NoticeText, RoomConfig};
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// The default lease of a claim.
const CLAIM_LEASE: Duration = Duration::from_secs(4 * 3600);

/// The claims of the room.
#[derive(Clone, Copy)]
pub(super) struct ClaimJudge<'a> {
    config: &'a RoomConfig,
    state: &'a RoomState,
    claims: &'a Claims,
}

/// A step of a review of leases.
pub(super) enum ReviewStep {
    Lapse(LapsedClaims),
    Skip(WaitingClaim),
    Void(ClaimOffer),
    /// The claims of the owner of an ended session lapse at this time.
    Cut(Arc<str>, Stamp),
    Warn(LapseWarning),
}

impl<'a> ClaimJudge<'a> {
    pub(super) fn new(config: &'a RoomConfig, state: &'a RoomState) -> ClaimJudge<'a> {
        ClaimJudge {
            config,
            state,
            claims: &state.claims,
        }
    }

    /// Judges a message about claims after its recipients are resolved, and adds the recipients that follow from the
    /// change.
    pub(super) fn judge(
        self,
        agent: &Arc<str>,
        message: &Message,
        to: &mut Vec<RecipientGroup>,
    ) -> Result<MessageEffect, Vec<Problem>> {
        let ask = self.ask(agent, message, to)?;
        let change = self.claims.judge(agent, ask)?;
        let outcome = self.outcome(agent, &change, to);
        Ok(MessageEffect {
            fact: Facts::from(change),
            again: Vec::new(),
            outcome,
        })
    }

    /// Grants the next waiting claim at or after a place, with a notice. Returns its place.
    pub(super) fn grant(self, place: usize) -> Option<(usize, BatchMessage<MessageRuling>)> {
        let (place, one) = self.claims.grantable(place)?;
        let WaitingClaim {
            claim,
            agent,
            subjects,
            lease,
            ..
        } = one.clone();
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
        Some((place, change(notice, ClaimChange::Dequeue { claim })))
    }

    /// The waiting claims of both names of a renamed agent.
    pub(super) fn waiting_of(self, of: &str, to: &str) -> Vec<WaitingClaim> {
        let mut waiting = self.claims.waiting().to_vec();
        waiting.retain(|one| *one.agent == *of || *one.agent == *to);
        waiting
    }

    /// Ends a waiting claim of a renamed agent, if claims wait for each other, directly or not.
    pub(super) fn stop_circle(
        self,
        (of, to): &AgentRename,
        one: WaitingClaim,
        steps: &ComparisonBudget,
    ) -> Option<BatchMessage<MessageRuling>> {
        if !self.claims.has_circle(steps) {
            return None;
        }
        let why = format!("{of} is {to} now, and would wait for itself.");
        let agent = to.clone();
        Some(self.stop_waiting(WaitingClaim { agent, ..one }, &why))
    }

    /// Reviews the leases. `active` are the senders of the present batch. Returns the steps that are due, and the time of
    /// the next review.
    pub(super) fn review(
        self,
        calls: &SessionCalls,
        active: &HashSet<Arc<str>>,
    ) -> (Vec<ReviewStep>, Option<Stamp>) {
        let signs = ActivitySigns {
            last_seen: &|agent| self.state.last_seen(agent),
            calls,
            active: &|agent| active.contains(agent),
        };
        let ClaimReview {
            lapsed,
            skipped,
            ended,
            warned,
            void,
            next,
        } = leases::review(self.claims, self.config.registry(), &signs, Stamp::now());
        let mut steps: Vec<ReviewStep> = lapsed.into_iter().map(ReviewStep::Lapse).collect();
        steps.extend(skipped.into_iter().map(ReviewStep::Skip));
        steps.extend(void.into_iter().map(ReviewStep::Void));
        for (owner, until) in ended {
            steps.push(ReviewStep::Cut(owner, until));
        }
        steps.extend(warned.into_iter().map(ReviewStep::Warn));
        (steps, next)
    }

    /// The notice of a step, with its change.
    pub(super) fn notice_of(self, step: ReviewStep) -> Option<BatchMessage<MessageRuling>> {
        match step {
            ReviewStep::Lapse(lapsed) => self.lapse(lapsed),
            ReviewStep::Skip(one) => Some(self.skip(one)),
            ReviewStep::Void(offered) => Some(self.void(offered)),
            ReviewStep::Cut(owner, until) => Some(self.cut(owner, until)),
            ReviewStep::Warn(warned) => self.warn(warned),
        }
    }

    fn ask(
        self,
        agent: &Arc<str>,
        message: &Message,
        to: &[RecipientGroup],
    ) -> Result<ClaimRequest, Vec<Problem>> {
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
                let mut recipients = to.iter().flat_map(|group| &group.agents);
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
        let registry = self.config.registry();
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
    fn outcome(
        self,
        agent: &Arc<str>,
        change: &ClaimChange,
        to: &mut Vec<RecipientGroup>,
    ) -> Value {
        match change {
            ClaimChange::Grant(terms) => {
                parties::add(self.config, to, RecipientRule::Claim, agent);
                self.notify_human(agent, &terms.claims, to);
                let lease = clock::span_text(Duration::from_secs(terms.lease));
                json!({"status": "granted", "claims": terms.claims, "lease": lease})
            }
            ClaimChange::Queue(terms) => {
                parties::add(self.config, to, RecipientRule::Claim, agent);
                self.notify_human(agent, &terms.claims, to);
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
                    parties::add(self.config, to, RecipientRule::Claim, of);
                    if &**agent != id::HUMAN {
                        parties::add(self.config, to, RecipientRule::Claim, &id::HUMAN.into());
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
                parties::add(self.config, to, RecipientRule::Claim, other);
                if is_accepted {
                    parties::add(self.config, to, RecipientRule::Claim, agent);
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
    fn notify_human(self, agent: &Arc<str>, claims: &[String], to: &mut Vec<RecipientGroup>) {
        let claims = parsed(claims);
        let held: Vec<&ClaimSubject> = self.claims.of(agent).map(|held| &held.subject).collect();
        if cover_everything(held.iter().copied().chain(&claims)) && !cover_everything(held) {
            parties::add(self.config, to, RecipientRule::Claim, &id::HUMAN.into());
        }
    }

    fn lapse(self, lapsed: LapsedClaims) -> Option<BatchMessage<MessageRuling>> {
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
            about: format!("claims-lapsed {owner} {}", held.first()?.seq),
            to: parties::registered(self.config, to),
            subject: format!("lapsed: {what}"),
            body,
            more: more(None, claim),
        };
        let claims = subjects.iter().map(ClaimSubject::to_string).collect();
        Some(change(
            notice,
            ClaimChange::Release {
                of: owner,
                claims,
                waiting: Vec::new(),
            },
        ))
    }

    fn skip(self, one: WaitingClaim) -> BatchMessage<MessageRuling> {
        let span = clock::span_text(limits::CLAIM_WAITER);
        self.stop_waiting(
            one,
            &format!("You showed no activity for {span}. Claim it again if you still need it."),
        )
    }

    fn stop_waiting(self, one: WaitingClaim, why: &str) -> BatchMessage<MessageRuling> {
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
            to: parties::registered(self.config, [agent]),
            subject: format!("no longer waiting: {what}"),
            body: format!("Your claim of {what} no longer waits. {why}"),
            more: more(
                Some(&claim),
                json!({"status": "skipped", "claims": subjects}),
            ),
        };
        change(notice, ClaimChange::Skip { claim })
    }

    fn void(self, offered: ClaimOffer) -> BatchMessage<MessageRuling> {
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
            to: parties::registered(self.config, [from]),
            subject: format!("not handed over: {what}"),
            body: format!(
                "Your offer of {what} is void: {to} is retired, or no longer registered. You still own it."
            ),
            more: more(
                Some(&offer),
                json!({"status": "declined", "claims": subjects}),
            ),
        };
        change(notice, ClaimChange::Decline { offer })
    }

    fn cut(self, owner: Arc<str>, until: Stamp) -> BatchMessage<MessageRuling> {
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
            to: parties::registered(self.config, [owner.clone()]),
            subject: format!("your claims lapse at {end}"),
            body,
            more: more(None, claim),
        };
        change(
            notice,
            ClaimChange::Cut {
                of: owner,
                until: until.micros(),
            },
        )
    }

    fn warn(self, warned: LapseWarning) -> Option<BatchMessage<MessageRuling>> {
        let LapseWarning {
            owner,
            since,
            lapses,
        } = warned;
        let about = format!("claims-warned {owner} {}", since.micros());
        if self.state.notices.contains(&about) {
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
        Some(notice.letter())
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
    change(notice, ClaimChange::Rename { of, to, twice })
}

/// The letter of a notice with a change.
fn change(notice: NoticeText, change: ClaimChange) -> BatchMessage<MessageRuling> {
    let message = notice.message();
    notice.letter_with(message, Some(Facts::from(change)))
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
