//! Judges messages about claims: who owns, releases, offers and takes over work.

use super::change::ClaimChange;
use super::leases::{self, ActivitySigns};
use super::requests::{ClaimRequest, OfferAnswer};
use super::state::{Claims, parsed};
use crate::base::clock;
use crate::base::error::Problem;
use crate::base::limits;
use crate::message::subject::{ClaimSubject, cover_everything};
use crate::message::title::title_of_fields;
use crate::message::{Message, id};
use crate::room::registry::Agent;
use crate::room::resolve::RecipientRule;
use crate::router::seam::{Cx, Draft};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// The default lease of a claim.
const CLAIM_LEASE: Duration = Duration::from_secs(4 * 3600);

/// Judges a message about claims, and adds the recipients that follow from the change.
pub(super) fn judge(cx: Cx<'_>, draft: &mut Draft) -> Result<(), Vec<Problem>> {
    if !draft.message.is_about_claims() {
        return Ok(());
    }
    let claims = super::of(cx.state());
    let judge = ClaimJudge { cx, claims };
    let agent = &draft.from.clone();
    let signs = ActivitySigns {
        last_seen: &|agent| cx.state().last_seen(agent),
        calls: cx.calls,
    };
    let until = |held: &_| leases::life(held, &signs);
    let change = claims.judge(agent, judge.ask(agent, draft)?, &until)?;
    let outcome = judge.outcome(agent, &change, draft);
    draft.delivery.insert("claim".to_owned(), outcome);
    draft.facts.claims = Some(change);
    Ok(())
}

/// The claims of the room, for one message.
#[derive(Clone, Copy)]
struct ClaimJudge<'a> {
    cx: Cx<'a>,
    claims: &'a Claims,
}

impl ClaimJudge<'_> {
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
                Ok(ClaimRequest::Claim {
                    subjects,
                    lease: lease.as_secs(),
                    purpose: purpose(message),
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
            ClaimChange::Release { of, claims } => {
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
            ClaimChange::Rename { .. } => Value::Null,
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
}

/// The purpose of a claim.
fn purpose(message: &Message) -> Option<String> {
    let title = title_of_fields(message.fields())?;
    Some(title.chars().take(limits::REPORT_TEXT).collect())
}
