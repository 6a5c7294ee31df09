//! Judges requests about claims: the result is a change, or all problems.

use super::{ClaimOffer, Claims, OwnedClaim, WaitingClaim};
use crate::base::clock::Stamp;
use crate::base::error::Problem;
use crate::base::limits;
use crate::base::text::{shell_word, to_the_second};
use crate::features::claims::change::{ClaimChange, ClaimTerms};
use crate::message::address::quoted;
use crate::message::reference::{Reference, ReferenceResolution};
use crate::message::subject::{ClaimSubject, ComparisonBudget};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// The most subjects that an agent owns.
const CLAIMS_OF_AGENT: usize = 1000;
/// The most waiting claims of an agent.
const WAITING_OF_AGENT: usize = 16;
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
        /// Whether the claim waits if it cannot be granted now.
        wait: bool,
    },
    /// To no longer own subjects, nor wait for them.
    Release {
        /// The owner.
        of: Arc<str>,
        /// The subjects; empty for all that it owns or waits for.
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

/// A claim of another agent that conflicts with a request.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct ConflictingClaim<'a> {
    /// The other agent.
    pub agent: &'a str,
    /// Its subject.
    pub claim: &'a ClaimSubject,
    /// The time of the grant or of the message, in microseconds since 1970.
    #[serde(with = "crate::base::rfc3339")]
    pub since: i64,
    /// Its purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<&'a str>,
    /// Whether it is a waiting claim.
    pub waiting: bool,
}

type ClaimJudgement = Result<ClaimChange, Vec<Problem>>;

impl Claims {
    /// The change that a message of `agent` makes, or everything that is wrong with the message.
    pub fn judge(&self, agent: &Arc<str>, ask: ClaimRequest) -> ClaimJudgement {
        let steps = ComparisonBudget::of_message();
        let judgement = self.judge_within(agent, ask, &steps);
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
        steps: &ComparisonBudget,
    ) -> ClaimJudgement {
        match ask {
            ClaimRequest::Claim {
                subjects,
                lease,
                purpose,
                wait,
            } => {
                let terms = ClaimTerms {
                    claims: texts(&subjects),
                    lease,
                    purpose,
                };
                self.judge_claim(agent, terms, wait, steps)
            }
            ClaimRequest::Release { of, subjects } if subjects.is_empty() => {
                let claims: Vec<String> =
                    self.of(&of).map(|held| held.subject.to_string()).collect();
                let waiting: Vec<String> =
                    self.waits_of(&of).map(|one| one.claim.clone()).collect();
                if claims.is_empty() && waiting.is_empty() {
                    return Err(vec![owns_nothing(&of)]);
                }
                Ok(ClaimChange::Release {
                    of,
                    claims,
                    waiting,
                })
            }
            ClaimRequest::Release { of, subjects } => {
                let mut waiting: Vec<&WaitingClaim> = self.waits_of(&of).collect();
                waiting.retain(|one| one.subjects.iter().any(|own| subjects.contains(own)));
                let waited: HashSet<u64> = waiting
                    .iter()
                    .flat_map(|one| &one.subjects)
                    .map(ClaimSubject::key)
                    .collect();
                let claims = self.owned(&of, &subjects, &waited, steps)?;
                let waiting = waiting.iter().map(|one| one.claim.clone()).collect();
                Ok(ClaimChange::Release {
                    of,
                    claims,
                    waiting,
                })
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
        wait: bool,
        steps: &ComparisonBudget,
    ) -> ClaimJudgement {
        let subjects = super::parsed(&terms.claims);
        // The subjects that the agent owns are only renewed, although others may wait for them.
        let new: Vec<ClaimSubject> = subjects
            .iter()
            .filter(|subject| self.owned_by(agent, subject).is_none())
            .cloned()
            .collect();
        if self.of(agent).count() + new.len() > CLAIMS_OF_AGENT {
            let what = format!("{agent} would own more than {} subjects", CLAIMS_OF_AGENT);
            return Err(vec![too_many(
                what,
                "claim a directory or a glob, and release finished claims",
            )]);
        }
        let in_the_way = self.in_the_way(agent, &new, self.waiting.len(), steps);
        // A waiting claim needs all claims before it.
        let in_the_way: Vec<ConflictingClaim> = in_the_way
            .take(if wait { usize::MAX } else { limits::PROBLEMS })
            .collect();
        if in_the_way.is_empty() {
            return Ok(ClaimChange::Grant(terms));
        }
        if !wait {
            let problems = in_the_way.iter().map(|one| one.problem(&subjects, steps));
            return Err(problems.collect());
        }
        if self.waits_of(agent).count() >= WAITING_OF_AGENT {
            let what = format!("{agent} waits for {} claims already", WAITING_OF_AGENT);
            return Err(vec![too_many(
                what,
                "wait for one of them, or withdraw it with a release",
            )]);
        }
        if self.waits_of(agent).any(|one| one.subjects == new) {
            // It keeps its place, so nothing new waits for anything.
            return Ok(ClaimChange::Queue(ClaimTerms {
                claims: texts(&new),
                ..terms
            }));
        }
        let owners: BTreeSet<&str> = in_the_way.iter().map(|one| one.agent).collect();
        match owners
            .into_iter()
            .find(|owner| self.waits_for(owner, agent, steps))
        {
            Some(owner) => Err(vec![circle(owner)]),
            None => Ok(ClaimChange::Queue(ClaimTerms {
                claims: texts(&new),
                ..terms
            })),
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
            self.owned(agent, subjects, &HashSet::new(), steps)?
        };
        if claims.is_empty() {
            return Err(vec![owns_nothing(agent)]);
        }
        if self.offered.iter().filter(|one| one.from == *agent).count() >= OFFERS_OF_AGENT {
            let what = format!("{agent} has {} open offers already", OFFERS_OF_AGENT);
            return Err(vec![too_many(what, "withdraw one with a decline")]);
        }
        match self.kept_in_part(agent, &super::parsed(&claims), steps) {
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
        if self.accept_closes_a_circle(one, steps) {
            return Err(vec![circle(&one.from)]);
        }
        Ok(ClaimChange::Accept { offer })
    }

    /// The open offers that an agent can accept.
    pub fn offers_to<'a>(&'a self, agent: &'a str) -> impl Iterator<Item = &'a ClaimOffer> {
        self.offered.iter().filter(move |one| &*one.to == agent)
    }

    /// Claims of other agents that conflict with these subjects, including the first `before` waiting claims. In doubt, a
    /// claim conflicts.
    pub fn in_the_way<'a>(
        &'a self,
        agent: &'a str,
        subjects: &'a [ClaimSubject],
        before: usize,
        steps: &'a ComparisonBudget,
    ) -> impl Iterator<Item = ConflictingClaim<'a>> {
        let held = self.of_others(agent, subjects, steps);
        let held = held.map(
            |OwnedClaim {
                 owner,
                 subject,
                 since,
                 purpose,
                 ..
             }| ConflictingClaim {
                agent: owner,
                claim: subject,
                since: *since,
                purpose: purpose.as_deref(),
                waiting: false,
            },
        );
        let waiting = self
            .waiting
            .iter()
            .take(before)
            .filter(move |one| &*one.agent != agent);
        let wanted = subjects;
        let waiting = waiting.filter_map(
            move |WaitingClaim {
                      agent,
                      subjects,
                      since,
                      purpose,
                      ..
                  }| {
                let subject = subjects
                    .iter()
                    .find(|other| wanted.iter().any(|own| own.conflicts_within(other, steps)))?;
                Some(ConflictingClaim {
                    agent,
                    claim: subject,
                    since: *since,
                    purpose: purpose.as_deref(),
                    waiting: true,
                })
            },
        );
        held.chain(waiting)
    }

    fn waits_of<'a>(&'a self, agent: &'a str) -> impl Iterator<Item = &'a WaitingClaim> {
        self.waiting.iter().filter(move |one| &*one.agent == agent)
    }

    fn accept_closes_a_circle(&self, offer: &ClaimOffer, steps: &ComparisonBudget) -> bool {
        let mut then = self.clone();
        let (from, change) = (
            offer.to.clone(),
            ClaimChange::Accept {
                offer: offer.offer.clone(),
            },
        );
        then.apply(
            &change,
            super::ChangeSource {
                seq: 0,
                at: Stamp::default(),
                from: &from,
                id: "",
            },
        );
        then.has_circle(steps)
    }

    /// Returns true if an agent waits, directly or not, for itself, and if no step is left.
    pub fn has_circle(&self, steps: &ComparisonBudget) -> bool {
        self.waiting.iter().enumerate().any(|(n, one)| {
            self.in_the_way(&one.agent, &one.subjects, n, steps)
                .any(|other| self.waits_for(other.agent, &one.agent, steps))
        })
    }

    // Returns true if an agent waits, directly or not, for a claim of the other agent, and if no step is left.
    fn waits_for(&self, agent: &str, other: &str, steps: &ComparisonBudget) -> bool {
        let (mut seen, mut next) = (BTreeSet::new(), vec![agent]);
        while let Some(one) = next.pop() {
            if one == other || steps.is_spent() {
                return true;
            }
            if seen.insert(one) {
                let waiting = self
                    .waiting
                    .iter()
                    .enumerate()
                    .filter(|(_, waiting)| &*waiting.agent == one);
                next.extend(waiting.flat_map(|(n, waiting)| {
                    self.in_the_way(one, &waiting.subjects, n, steps)
                        .map(|blocker| blocker.agent)
                }));
            }
        }
        false
    }

    // The normalized subjects that an agent owns. The other subjects must be `elsewhere`.
    fn owned(
        &self,
        agent: &str,
        subjects: &[ClaimSubject],
        elsewhere: &HashSet<u64>,
        steps: &ComparisonBudget,
    ) -> Result<Vec<String>, Vec<Problem>> {
        let (mut owned, mut problems) = (Vec::new(), Vec::new());
        for (n, subject) in subjects.iter().enumerate() {
            if let Some(held) = self.owned_by(agent, subject) {
                owned.push(held.subject.to_string());
            } else if !elsewhere.contains(&subject.key()) {
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

impl ConflictingClaim<'_> {
    fn problem(&self, subjects: &[ClaimSubject], steps: &ComparisonBudget) -> Problem {
        let ConflictingClaim {
            agent,
            claim: subject,
            ..
        } = self;
        let n = subjects
            .iter()
            .position(|own| own.conflicts_within(subject, steps))
            .unwrap_or_default();
        let verb = if self.waiting { "waits for" } else { "owns" };
        let purpose = self
            .purpose
            .map(|purpose| format!(": {}", quoted(purpose)))
            .unwrap_or_default();
        let since = to_the_second(&Stamp::from_micros(self.since).to_string());
        let what = format!("{agent} {verb} {subject} since {since}{purpose}");
        let word = shell_word(subjects.get(n).unwrap_or(subject).as_str());
        let question = shell_word(&format!("May I have {subject}?"));
        let fix = format!(
            "ask for it with `mailbag send {agent} {question}`, or wait for it: with `mailbag claim --wait {word}`, or with \
             \"wait\": true"
        );
        Problem::new("claimed", what)
            .at(format!("/claims/{n}"))
            .fix(fix)
    }
}

fn circle(owner: &str) -> Problem {
    let what = format!("{owner} waits for your claims, so both of you would wait forever");
    Problem::new("circular_wait", what)
        .at("/claims")
        .fix("release your claims first, or hand one over to the other agent")
}

fn too_many(what: String, fix: &str) -> Problem {
    Problem::new("too_many_claims", what).at("/claims").fix(fix)
}

fn owns_nothing(agent: &str) -> Problem {
    let problem = Problem::new(
        "not_owned",
        format!("{agent} owns nothing and waits for nothing"),
    );
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
