//! Judges requests about claims: the result is a change, or all problems.

use super::change::{ClaimChange, ClaimTerms};
use super::leases::ClaimLifetime;
use super::owned::{ClaimOffer, OwnedClaim};
use super::state::{Claims, parsed};
use crate::base::clock::Stamp;
use crate::base::error::Problem;
use crate::base::limits;
use crate::base::text::{shell_word, to_the_second};
use crate::message::address::quoted;
use crate::message::reference::{Reference, ReferenceResolution};
use crate::message::subject::{ClaimSubject, ComparisonBudget};
use std::collections::HashSet;
use std::sync::Arc;

/// The most subjects that an agent owns.
const CLAIMS_OF_AGENT: usize = 1000;
/// The most open offers of an agent.
const OFFERS_OF_AGENT: usize = 100;

/// A request about claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimRequest {
    /// To own subjects.
    Claim {
        /// The subjects.
        subjects: Vec<ClaimSubject>,
        /// The lease, in seconds.
        lease: u64,
        /// The purpose.
        purpose: Option<String>,
    },
    /// To no longer own subjects.
    Release {
        /// The owner.
        of: Arc<str>,
        /// The subjects; empty for all that it owns.
        subjects: Vec<ClaimSubject>,
    },
    /// To offer subjects to another agent.
    Offer {
        /// The other agent.
        to: Arc<str>,
        /// The subjects; empty for all that the sender owns.
        subjects: Vec<ClaimSubject>,
    },
    /// To accept the offer in this message (`<sender>/<id>`).
    Accept(String),
    /// To decline the offer in this message, or to withdraw the agent's own offer.
    Decline(String),
}

/// An answer to an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferAnswer {
    /// Its recipient takes the work over.
    Accept,
    /// Its recipient declines it, or its sender withdraws it.
    Decline,
}

type ClaimJudgement = Result<ClaimChange, Vec<Problem>>;

/// The ends of claims.
type Lifetimes<'a> = &'a dyn Fn(&OwnedClaim) -> ClaimLifetime;

impl Claims {
    /// The change that a message of `agent` makes, or everything that is wrong with the message.
    pub fn judge(
        &self,
        agent: &Arc<str>,
        ask: ClaimRequest,
        until: Lifetimes<'_>,
    ) -> ClaimJudgement {
        let steps = ComparisonBudget::of_message();
        let judgement = self.judge_within(agent, ask, until, &steps);
        if steps.is_spent() {
            let what = "these patterns take too long to compare with the claims of the room";
            let fix = "name directories and files, or fewer patterns in one message";
            return Err(vec![too_many(what.into(), fix)]);
        }
        judgement
    }

    fn judge_within(
        &self,
        agent: &Arc<str>,
        ask: ClaimRequest,
        until: Lifetimes<'_>,
        steps: &ComparisonBudget,
    ) -> ClaimJudgement {
        match ask {
            ClaimRequest::Claim {
                subjects,
                lease,
                purpose,
            } => {
                let terms = ClaimTerms {
                    claims: texts(&subjects),
                    lease,
                    purpose,
                };
                self.judge_claim(agent, terms, &subjects, until, steps)
            }
            ClaimRequest::Release { of, subjects } if subjects.is_empty() => {
                let claims: Vec<String> =
                    self.of(&of).map(|held| held.subject.to_string()).collect();
                if claims.is_empty() {
                    return Err(vec![owns_nothing(&of)]);
                }
                Ok(ClaimChange::Release { of, claims })
            }
            ClaimRequest::Release { of, subjects } => {
                let claims = self.owned(&of, &subjects, steps)?;
                Ok(ClaimChange::Release { of, claims })
            }
            ClaimRequest::Offer { to, subjects } => self.judge_offer(agent, to, &subjects, steps),
            ClaimRequest::Accept(offer) => self.judge_accept(agent, offer, steps),
            ClaimRequest::Decline(offer) => {
                match self.offered.iter().find(|one| one.offer == offer) {
                    Some(one) if one.to == *agent || one.from == *agent => {
                        Ok(ClaimChange::Decline { offer })
                    }
                    _ => Err(vec![no_offer(&offer, agent)]),
                }
            }
        }
    }

    /// The open offer that an agent answers, as `<sender>/<id>`. The reference is complete. Without one, it is the only
    /// offer. Open and closed offers are searched together, so that a repeated answer never answers another offer.
    pub fn find_offer(
        &self,
        agent: &str,
        answer: OfferAnswer,
        reference: Option<&str>,
    ) -> Result<String, Vec<Problem>> {
        let parsed = reference.and_then(Reference::parse);
        let is_meant = |from: &str, to: &str, offer: &str, seq: u64| {
            let (sender, id) = offer.split_once('/').unwrap_or_default();
            let is_named = |parsed: &Reference| parsed.is_of(sender, id, Some(seq));
            (to == agent || answer == OfferAnswer::Decline && from == agent)
                && (reference.is_none() || parsed.as_ref().is_some_and(is_named))
        };
        let open = self
            .offered
            .iter()
            .filter(|one| is_meant(&one.from, &one.to, &one.offer, one.seq));
        let closed = self
            .closed
            .iter()
            .filter(|one| reference.is_some() && is_meant(&one.from, &one.to, &one.offer, one.seq));
        let named: Vec<Option<&ClaimOffer>> = open.map(Some).chain(closed.map(|_| None)).collect();
        let (what, fix) = match ReferenceResolution::of(named) {
            ReferenceResolution::One(Some(one)) => return Ok(one.offer.clone()),
            ReferenceResolution::One(None) => ("this offer has ended", "nothing was changed"),
            ReferenceResolution::Several(_) if reference.is_some() => (
                "more than one offer has this name",
                "write <sender>/<id>, or the number as #12, in in_reply_to",
            ),
            ReferenceResolution::Several(_) => (
                "more than one offer is open",
                "name the message of the offer in in_reply_to",
            ),
            ReferenceResolution::None => (
                "no such offer is open",
                "`mailbag claims` lists open offers; an offer ends when it is accepted or declined, or when its \
                 subjects are released",
            ),
        };
        Err(vec![
            Problem::new("no_offer", what).at("/in_reply_to").fix(fix),
        ])
    }

    fn judge_claim(
        &self,
        agent: &Arc<str>,
        terms: ClaimTerms,
        subjects: &[ClaimSubject],
        until: Lifetimes<'_>,
        steps: &ComparisonBudget,
    ) -> ClaimJudgement {
        // The subjects that the agent owns are only renewed.
        let new = |subject: &&ClaimSubject| self.owned_by(agent, subject).is_none();
        let new: Vec<ClaimSubject> = subjects.iter().filter(new).cloned().collect();
        if self.of(agent).count() + new.len() > CLAIMS_OF_AGENT {
            let what = format!("{agent} would own more than {} subjects", CLAIMS_OF_AGENT);
            return Err(vec![too_many(
                what,
                "claim a directory or a glob, and release finished claims",
            )]);
        }
        let in_the_way = self.of_others(agent, &new, steps).take(limits::PROBLEMS);
        let problems: Vec<Problem> = in_the_way
            .map(|held| held.conflict(subjects, until(held), steps))
            .collect();
        if problems.is_empty() {
            Ok(ClaimChange::Grant(terms))
        } else {
            Err(problems)
        }
    }

    fn judge_offer(
        &self,
        agent: &Arc<str>,
        to: Arc<str>,
        subjects: &[ClaimSubject],
        steps: &ComparisonBudget,
    ) -> ClaimJudgement {
        if to == *agent {
            let problem = Problem::new("bad_claim", "an agent cannot hand claims over to itself");
            return Err(vec![
                problem
                    .at("/to")
                    .fix("name the agent that takes over the work"),
            ]);
        }
        let claims = if subjects.is_empty() {
            self.of(agent)
                .map(|held| held.subject.to_string())
                .collect()
        } else {
            self.owned(agent, subjects, steps)?
        };
        if claims.is_empty() {
            return Err(vec![owns_nothing(agent)]);
        }
        if self.offered.iter().filter(|one| one.from == *agent).count() >= OFFERS_OF_AGENT {
            let what = format!("{agent} has {} open offers already", OFFERS_OF_AGENT);
            return Err(vec![too_many(what, "withdraw one with a decline")]);
        }
        match self.kept_in_part(agent, &parsed(&claims), steps) {
            Some(problem) => Err(vec![problem]),
            None => Ok(ClaimChange::Offer { to, claims }),
        }
    }

    fn judge_accept(
        &self,
        agent: &Arc<str>,
        offer: String,
        steps: &ComparisonBudget,
    ) -> ClaimJudgement {
        let open = self
            .offered
            .iter()
            .find(|one| one.offer == offer && one.to == *agent);
        let Some(one) = open else {
            return Err(vec![no_offer(&offer, agent)]);
        };
        if let Some(problem) = self.kept_in_part(&one.from, &one.subjects, steps) {
            return Err(vec![problem]);
        }
        Ok(ClaimChange::Accept { offer })
    }

    /// The open offers that an agent can accept.
    pub fn offers_to<'a>(&'a self, agent: &'a str) -> impl Iterator<Item = &'a ClaimOffer> {
        self.offered.iter().filter(move |one| &*one.to == agent)
    }

    // The normalized subjects, if the agent owns all of them.
    fn owned(
        &self,
        agent: &str,
        subjects: &[ClaimSubject],
        steps: &ComparisonBudget,
    ) -> Result<Vec<String>, Vec<Problem>> {
        let (mut owned, mut problems) = (Vec::new(), Vec::new());
        for (n, subject) in subjects.iter().enumerate() {
            if let Some(held) = self.owned_by(agent, subject) {
                owned.push(held.subject.to_string());
            } else {
                let mut of_agent = self.of(agent);
                let fix = match of_agent.find(|held| held.subject.conflicts_within(subject, steps))
                {
                    Some(held) => {
                        format!("it owns {}, which can only be released whole", held.subject)
                    }
                    None => "`mailbag claims` lists who owns what".to_owned(),
                };
                let problem = Problem::new("not_owned", format!("{agent} does not own {subject}"));
                problems.push(problem.at(format!("/claims/{n}")).fix(fix));
            }
        }
        if problems.is_empty() {
            Ok(owned)
        } else {
            Err(problems)
        }
    }

    /// The problem if the owner would keep a subject that overlaps these: it would then have two owners.
    fn kept_in_part(
        &self,
        owner: &str,
        subjects: &[ClaimSubject],
        steps: &ComparisonBudget,
    ) -> Option<Problem> {
        let offered: HashSet<u64> = subjects.iter().map(ClaimSubject::key).collect();
        let of_owner = self.near(subjects).filter(|held| &*held.owner == owner);
        let mut kept = of_owner.filter(|held| !offered.contains(&held.subject.key()));
        let held = kept.find(|held| {
            subjects
                .iter()
                .any(|subject| subject.conflicts_within(&held.subject, steps))
        })?;
        let what = format!(
            "{owner} would keep {}, which overlaps the offered subjects",
            held.subject
        );
        Some(
            Problem::new("overlap_kept", what)
                .at("/claims")
                .fix("offer both, or release one of them first"),
        )
    }
}

impl OwnedClaim {
    /// The problem of a request for `subjects` that conflicts with this claim.
    fn conflict(
        &self,
        subjects: &[ClaimSubject],
        until: ClaimLifetime,
        steps: &ComparisonBudget,
    ) -> Problem {
        let OwnedClaim { owner, subject, .. } = self;
        let n = subjects
            .iter()
            .position(|own| own.conflicts_within(subject, steps))
            .unwrap_or_default();
        let purpose = self.purpose.as_deref().map(quoted);
        let purpose = purpose.map_or(String::new(), |purpose| format!(": {purpose}"));
        let since = to_the_second(&Stamp::from_micros(self.since).to_string());
        let what = format!("{owner} owns {subject} since {since}, {until}{purpose}");
        let word = shell_word(subjects.get(n).unwrap_or(subject).as_str());
        let question = shell_word(&format!("May I have {subject}?"));
        let fix = format!(
            "ask for it with `mailbag send {owner} {question}`, or wait for it with `mailbag claim --wait {word}`"
        );
        Problem::new("claimed", what)
            .at(format!("/claims/{n}"))
            .fix(fix)
    }
}

fn too_many(what: String, fix: &str) -> Problem {
    Problem::new("too_many_claims", what).at("/claims").fix(fix)
}

fn owns_nothing(agent: &str) -> Problem {
    let problem = Problem::new("not_owned", format!("{agent} owns nothing"));
    problem
        .at("/claims")
        .fix("`mailbag claims` lists who owns what")
}

fn no_offer(offer: &str, agent: &str) -> Problem {
    Problem::new("no_offer", format!("{} is not an open offer to {agent}", quoted(offer))).at("/in_reply_to").fix(
        "`mailbag claims` lists open offers; an offer ends when it is accepted, declined or its subjects are released",
    )
}

fn texts(subjects: &[ClaimSubject]) -> Vec<String> {
    subjects.iter().map(ClaimSubject::to_string).collect()
}
