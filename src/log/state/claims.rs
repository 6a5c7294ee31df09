//! Who owns which work: claims that are held, agents that wait for one, and offers that are open.
//!
//! The records of the log decide: [`Claims::apply`] takes them in their order and never disagrees. The router asks
//! [`Claims::judge`] what a message amounts to before it writes the record.

use crate::base::clock::Stamp;
use crate::base::error::Problem;
use crate::message::subject::Subject;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A change of ownership, as a record has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// The sender owns these subjects from now on; those that it owned already are renewed.
    Grant {
        /// The subjects.
        claims: Vec<String>,
        /// How long the claim lives without a sign of life, in seconds.
        lease: u64,
        /// What for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// The sender waits until it can own these.
    Queue {
        /// The subjects.
        claims: Vec<String>,
        /// As in a grant.
        lease: u64,
        /// As in a grant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// The claim of this record, which waited, is granted.
    Dequeue {
        /// The record that queued it.
        claim: u64,
    },
    /// The claim of this record no longer waits.
    Skip {
        /// The record that queued it.
        claim: u64,
    },
    /// These are free again.
    Release {
        /// Who owned them.
        of: Arc<str>,
        /// The subjects.
        claims: Vec<String>,
    },
    /// Their owner offers these to another agent, and owns them until that agent accepts.
    Offer {
        /// The other agent.
        to: Arc<str>,
        /// The subjects.
        claims: Vec<String>,
    },
    /// The recipient of an offer owns what it offered.
    Accept {
        /// The record of the offer.
        offer: u64,
    },
    /// An offer is over.
    Decline {
        /// The record of the offer.
        offer: u64,
    },
}

/// A subject that somebody owns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The record that granted it.
    pub seq: u64,
    /// What is owned.
    pub subject: Subject,
    /// By whom.
    pub owner: Arc<str>,
    /// Since when, in microseconds since 1970, as all times here.
    pub since: i64,
    /// When it was last granted or renewed.
    pub renewed: i64,
    /// How long it lives behind the owner's last sign of life, in seconds.
    pub lease: u64,
    /// What for.
    pub why: Option<String>,
}

/// A claim that waits for others to be released.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// Its record.
    pub seq: u64,
    /// Who waits.
    pub agent: Arc<str>,
    /// For what: all of it at once.
    pub subjects: Vec<Subject>,
    /// Since when.
    pub since: i64,
    /// The lease that it will have.
    pub lease: u64,
    /// What for.
    pub why: Option<String>,
}

/// An offer that is neither accepted nor declined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offered {
    /// Its record.
    pub seq: u64,
    /// The owner.
    pub from: Arc<str>,
    /// Who may accept it.
    pub to: Arc<str>,
    /// What is offered.
    pub subjects: Vec<Subject>,
}

/// All claims of a room.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    held: Vec<Held>,
    waiting: Vec<Waiting>,
    offered: Vec<Offered>,
}

/// What an agent asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// To own subjects; with `wait`, as soon as they are free.
    Claim {
        /// The subjects.
        subjects: Vec<Subject>,
        /// The lease, in seconds.
        lease: u64,
        /// What for.
        why: Option<String>,
        /// Queue it if it can't be granted now?
        wait: bool,
    },
    /// To own them no longer; an empty list means all of `of`'s.
    Release {
        /// The owner.
        of: Arc<str>,
        /// The subjects.
        subjects: Vec<Subject>,
    },
    /// To hand them to another agent.
    Offer {
        /// The other agent.
        to: Arc<str>,
        /// The subjects.
        subjects: Vec<Subject>,
    },
    /// To take an offer, by its record.
    Accept(u64),
    /// To turn an offer down, or to withdraw one's own.
    Decline(u64),
}

impl Claims {
    /// Takes in the change that a record makes.
    pub fn apply(&mut self, seq: u64, from: &Arc<str>, change: &Change, at: Stamp) {
        let at = at.micros();
        match change {
            Change::Grant { claims, lease, why } => {
                let subjects = parsed(claims);
                self.own(from, subjects, Held { seq, lease: *lease, why: why.clone(), ..held(from, at) });
            }
            Change::Queue { claims, lease, why } => self.waiting.push(Waiting {
                seq,
                agent: from.clone(),
                subjects: parsed(claims),
                since: at,
                lease: *lease,
                why: why.clone(),
            }),
            Change::Dequeue { claim } => {
                if let Some(one) = self.no_longer_waits(*claim) {
                    let Waiting { agent, subjects, lease, why, .. } = one;
                    self.own(&agent, subjects, Held { seq, lease, why, ..held(&agent, at) });
                }
            }
            Change::Skip { claim } => drop(self.no_longer_waits(*claim)),
            Change::Release { of, claims } => self.free(of, &parsed(claims)),
            Change::Offer { to, claims } => {
                self.offered.push(Offered { seq, from: from.clone(), to: to.clone(), subjects: parsed(claims) });
            }
            Change::Accept { offer } => {
                if let Some(Offered { from: giver, to, subjects, .. }) = self.no_longer_offered(*offer) {
                    let lease = self.of(&giver).map(|held| held.lease).max().unwrap_or_default();
                    self.free(&giver, &subjects);
                    self.own(&to, subjects, Held { seq, lease, ..held(&to, at) });
                }
            }
            Change::Decline { offer } => drop(self.no_longer_offered(*offer)),
        }
    }

    /// What a message of `agent` amounts to, or everything that is wrong with it.
    pub fn judge(&self, agent: &Arc<str>, ask: Ask) -> Result<Change, Vec<Problem>> {
        match ask {
            Ask::Claim { subjects, lease, why, wait } => {
                let in_the_way = self.in_the_way(agent, &subjects, u64::MAX);
                let claims = texts(&subjects);
                if in_the_way.is_empty() {
                    return Ok(Change::Grant { claims, lease, why });
                }
                let owners: BTreeSet<&Arc<str>> = in_the_way.iter().map(|one| one.agent).collect();
                match owners.iter().find(|owner| wait && self.waits_for(owner, agent)) {
                    Some(owner) => Err(vec![circle(owner)]),
                    None if wait => Ok(Change::Queue { claims, lease, why }),
                    None => Err(in_the_way.iter().map(InTheWay::problem).collect()),
                }
            }
            Ask::Release { of, subjects } => {
                let claims = self.owned(&of, &subjects)?;
                Ok(Change::Release { of, claims })
            }
            Ask::Offer { to, subjects } => {
                if to == *agent {
                    let problem = Problem::new("bad_claim", "an agent cannot hand its claims to itself");
                    return Err(vec![problem.at("/to").fix("name the agent that takes over the work")]);
                }
                let claims = self.owned(agent, &subjects)?;
                match self.kept_in_part(agent, &parsed(&claims)) {
                    Some(problem) => Err(vec![problem]),
                    None => Ok(Change::Offer { to, claims }),
                }
            }
            Ask::Accept(offer) => {
                let open = self.offered.iter().find(|one| one.seq == offer && one.to == *agent);
                let change = Change::Accept { offer };
                let Some(one) = open else { return Err(vec![no_offer(offer, agent)]) };
                if let Some(problem) = self.kept_in_part(&one.from, &one.subjects) {
                    return Err(vec![problem]);
                }
                let mut then = self.clone();
                then.apply(u64::MAX, agent, &change, Stamp::default());
                match then.has_circle() {
                    true => Err(vec![circle(&one.from)]),
                    false => Ok(change),
                }
            }
            Ask::Decline(offer) => match self.offered.iter().find(|one| one.seq == offer) {
                Some(one) if one.to == *agent || one.from == *agent => Ok(Change::Decline { offer }),
                _ => Err(vec![no_offer(offer, agent)]),
            },
        }
    }

    /// The waiting claims that can be granted now, in the order of the log. One that is behind another which it
    /// conflicts with waits for that one, too.
    pub fn grantable(&self) -> Option<&Waiting> {
        self.waiting.iter().find(|one| self.in_the_way(&one.agent, &one.subjects, one.seq).is_empty())
    }

    /// Every subject that is owned, in the order of the grants.
    pub fn held(&self) -> &[Held] {
        &self.held
    }

    /// Every claim that waits, in the order of the log.
    pub fn waiting(&self) -> &[Waiting] {
        &self.waiting
    }

    /// Every open offer, in the order of the log.
    pub fn offered(&self) -> &[Offered] {
        &self.offered
    }

    /// What an agent owns.
    pub fn of<'a>(&'a self, agent: &'a str) -> impl Iterator<Item = &'a Held> {
        self.held.iter().filter(move |held| &*held.owner == agent)
    }

    /// Who owns a path; `None` for a path of the room's own repository.
    pub fn owner(&self, repository: Option<&str>, path: &str) -> Option<&Held> {
        self.held.iter().find(|held| held.subject.covers(repository, path))
    }

    // What of other agents conflicts with these subjects: what they own, and what they wait for in front of `seq`.
    fn in_the_way(&self, agent: &str, subjects: &[Subject], seq: u64) -> Vec<InTheWay<'_>> {
        let meets = |other: &Subject| subjects.iter().any(|own| own.conflicts(other));
        let held = self.held.iter().filter(|held| &*held.owner != agent && meets(&held.subject));
        let held = held.map(|held| InTheWay {
            agent: &held.owner,
            subject: &held.subject,
            since: held.since,
            why: held.why.as_deref(),
            waits: false,
        });
        let waiting = self.waiting.iter().filter(|one| one.seq < seq && &*one.agent != agent);
        let waiting = waiting.filter_map(|one| {
            let subject = one.subjects.iter().find(|subject| meets(subject))?;
            Some(InTheWay { agent: &one.agent, subject, since: one.since, why: one.why.as_deref(), waits: true })
        });
        held.chain(waiting).collect()
    }

    fn has_circle(&self) -> bool {
        self.waiting.iter().any(|one| {
            let others = self.in_the_way(&one.agent, &one.subjects, one.seq);
            others.iter().any(|other| self.waits_for(other.agent, &one.agent))
        })
    }

    // Does an agent wait, over any number of others, for what the other one has or would have?
    fn waits_for(&self, agent: &str, other: &str) -> bool {
        let (mut seen, mut next) = (BTreeSet::new(), vec![agent]);
        while let Some(one) = next.pop() {
            if one == other {
                return true;
            }
            if seen.insert(one) {
                let waiting = self.waiting.iter().filter(|waiting| &*waiting.agent == one);
                let blockers = waiting.flat_map(|waiting| self.in_the_way(one, &waiting.subjects, waiting.seq));
                next.extend(blockers.map(|blocker| &**blocker.agent));
            }
        }
        false
    }

    // The normal texts of subjects that an agent owns, each as it was claimed.
    fn owned(&self, agent: &Arc<str>, subjects: &[Subject]) -> Result<Vec<String>, Vec<Problem>> {
        let own: Vec<&Held> = self.of(agent).collect();
        if subjects.is_empty() {
            return match own.is_empty() {
                false => Ok(own.iter().map(|held| held.subject.to_string()).collect()),
                true => {
                    let problem = Problem::new("not_owned", format!("{agent} owns nothing"));
                    Err(vec![problem.at("/claims").fix("`mailbag claims` lists who owns what")])
                }
            };
        }
        let unknown =
            subjects.iter().enumerate().filter(|(_, subject)| !own.iter().any(|held| held.subject == **subject));
        let problems: Vec<Problem> = unknown
            .map(|(n, subject)| {
                let fix = match own.iter().find(|held| held.subject.conflicts(subject)) {
                    Some(held) => format!("it owns {}, which can only be given up whole", held.subject),
                    None => "`mailbag claims` lists who owns what".to_owned(),
                };
                Problem::new("not_owned", format!("{agent} does not own {subject}")).at(format!("/claims/{n}")).fix(fix)
            })
            .collect();
        if problems.is_empty() { Ok(texts(subjects)) } else { Err(problems) }
    }

    // What would have two owners if these went to another agent: the owner keeps a subject that overlaps them.
    fn kept_in_part(&self, owner: &str, subjects: &[Subject]) -> Option<Problem> {
        let mut kept = self.of(owner).filter(|held| !subjects.contains(&held.subject));
        let held = kept.find(|held| subjects.iter().any(|subject| subject.conflicts(&held.subject)))?;
        let what = format!("{owner} would keep {}, which overlaps what is offered", held.subject);
        Some(Problem::new("overlap_kept", what).at("/claims").fix("offer both, or release one of them first"))
    }

    fn own(&mut self, agent: &Arc<str>, subjects: Vec<Subject>, new: Held) {
        for subject in subjects {
            match self.held.iter_mut().find(|held| held.owner == *agent && held.subject == subject) {
                Some(held) => {
                    (held.renewed, held.lease) = (new.renewed, new.lease);
                    held.why = new.why.clone().or(held.why.take());
                }
                None => self.held.push(Held { subject, ..new.clone() }),
            }
        }
    }

    fn free(&mut self, owner: &str, subjects: &[Subject]) {
        self.held.retain(|held| &*held.owner != owner || !subjects.contains(&held.subject));
        // An offer of what its sender no longer owns is void.
        let held = &self.held;
        let owns =
            |from: &str, subject: &Subject| held.iter().any(|held| &*held.owner == from && held.subject == *subject);
        self.offered.retain(|offer| offer.subjects.iter().all(|subject| owns(&offer.from, subject)));
    }

    fn no_longer_waits(&mut self, seq: u64) -> Option<Waiting> {
        let at = self.waiting.iter().position(|one| one.seq == seq)?;
        Some(self.waiting.remove(at))
    }

    fn no_longer_offered(&mut self, seq: u64) -> Option<Offered> {
        let at = self.offered.iter().position(|one| one.seq == seq)?;
        Some(self.offered.remove(at))
    }
}

/// A claim of another agent that conflicts with what is asked for.
struct InTheWay<'a> {
    agent: &'a Arc<str>,
    subject: &'a Subject,
    since: i64,
    why: Option<&'a str>,
    waits: bool,
}

impl InTheWay<'_> {
    fn problem(&self) -> Problem {
        let InTheWay { agent, subject, .. } = self;
        let verb = if self.waits { "waits for" } else { "owns" };
        let why = self.why.map(|why| format!(": {}", crate::message::address::quoted(why))).unwrap_or_default();
        let what = format!("{agent} {verb} {subject} since {}{why}", Stamp::from_micros(self.since));
        Problem::new("claimed", what).at("/claims").fix(format!(
            "ask {agent} for it by a message of type `question`, or claim it with `\"wait\": true` to get it next"
        ))
    }
}

fn circle(owner: &str) -> Problem {
    let what = format!("{owner} waits for what you own, and so would never release what you ask for");
    Problem::new("circular_wait", what).at("/wait").fix("release your claims first, or hand one to the other agent")
}

fn no_offer(offer: u64, agent: &str) -> Problem {
    Problem::new("no_offer", format!("message {offer} is no open offer to {agent}"))
        .at("/in_reply_to")
        .fix("`mailbag claims` lists open offers; one that was accepted, declined or released is over")
}

fn held(owner: &Arc<str>, at: i64) -> Held {
    let subject = Subject::parse(".").expect("the whole repository is a subject");
    Held { seq: 0, subject, owner: owner.clone(), since: at, renewed: at, lease: 0, why: None }
}

fn texts(subjects: &[Subject]) -> Vec<String> {
    subjects.iter().map(Subject::to_string).collect()
}

// A record has only subjects that could be parsed when it was written.
fn parsed(claims: &[String]) -> Vec<Subject> {
    claims.iter().filter_map(|text| Subject::parse(text).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name(text: &str) -> Arc<str> {
        text.into()
    }

    fn subjects(texts: &[&str]) -> Vec<Subject> {
        texts.iter().map(|text| Subject::parse(text).expect("a subject")).collect()
    }

    fn claim(texts: &[&str], wait: bool) -> Ask {
        Ask::Claim { subjects: subjects(texts), lease: 60, why: None, wait }
    }

    /// Claims, and the number of the next record.
    #[derive(Default)]
    struct Room(Claims, u64);

    impl Room {
        /// Judges, applies, and grants what can be granted then; gives the record's number.
        fn say(&mut self, agent: &str, ask: Ask) -> Result<u64, String> {
            let agent = name(agent);
            let change = self.0.judge(&agent, ask).map_err(|problems| problems[0].code.to_string())?;
            let seq = self.record(&agent, &change);
            while let Some(next) = self.0.grantable() {
                let change = Change::Dequeue { claim: next.seq };
                self.record(&name("mailbag"), &change);
            }
            Ok(seq)
        }

        fn record(&mut self, from: &Arc<str>, change: &Change) -> u64 {
            self.1 += 1;
            self.0.apply(self.1, from, change, Stamp::from_micros(self.1 as i64));
            self.1
        }

        fn owner(&self, path: &str) -> Option<&str> {
            self.0.owner(None, path).map(|held| &*held.owner)
        }
    }

    #[test]
    fn a_claim_is_granted_whole_or_not_at_all() {
        let mut room = Room::default();
        room.say("alice", claim(&["src/auth"], false)).expect("free");
        assert_eq!(room.say("bob", claim(&["docs", "src/**"], false)), Err("claimed".into()));
        assert_eq!((room.owner("docs/a.md"), room.owner("src/auth/x.rs")), (None, Some("alice")));
        room.say("alice", claim(&["src/auth", "docs"], false)).expect("its own and a free one");
        assert_eq!(room.0.of("alice").count(), 2);
    }

    #[test]
    fn claims_queue_first_come_first_served() {
        let mut room = Room::default();
        room.say("alice", claim(&["src"], false)).expect("free");
        room.say("bob", claim(&["src/a", "docs"], true)).expect("queued");
        room.say("carol", claim(&["src/b"], true)).expect("queued");
        // In front of dave is bob, who would own docs.
        assert_eq!(room.say("dave", claim(&["docs"], false)), Err("claimed".into()));
        room.say("alice", Ask::Release { of: name("alice"), subjects: Vec::new() }).expect("released");
        let owners = ["src/a/x", "docs/x", "src/b/x", "src/c"].map(|path| room.owner(path));
        assert_eq!(owners, [Some("bob"), Some("bob"), Some("carol"), None]);
    }

    #[test]
    fn a_circle_of_waits_is_rejected() {
        let mut room = Room::default();
        room.say("alice", claim(&["a"], false)).expect("free");
        room.say("bob", claim(&["b"], false)).expect("free");
        room.say("carol", claim(&["c"], false)).expect("free");
        room.say("alice", claim(&["b"], true)).expect("queued");
        room.say("bob", claim(&["c"], true)).expect("queued");
        assert_eq!(room.say("carol", claim(&["a"], true)), Err("circular_wait".into()));
    }

    #[test]
    fn an_offer_leaves_the_owner_until_it_is_accepted() {
        let mut room = Room::default();
        room.say("alice", claim(&["src", "task:login"], false)).expect("free");
        let offer = Ask::Offer { to: name("bob"), subjects: subjects(&["src"]) };
        let offer = room.say("alice", offer).expect("offered");
        assert_eq!(room.owner("src/x"), Some("alice"));
        assert_eq!(room.say("carol", Ask::Accept(offer)), Err("no_offer".into()));
        room.say("bob", Ask::Accept(offer)).expect("accepted");
        assert_eq!((room.owner("src/x"), room.0.of("alice").count()), (Some("bob"), 1));
        assert_eq!(room.say("bob", Ask::Accept(offer)), Err("no_offer".into()));
    }

    #[test]
    fn what_is_released_can_no_longer_be_accepted_and_no_part_of_a_glob_is_given_up() {
        let mut room = Room::default();
        room.say("alice", claim(&["src/**"], false)).expect("free");
        let part = Ask::Release { of: name("alice"), subjects: subjects(&["src/a"]) };
        assert_eq!(room.say("alice", part), Err("not_owned".into()));
        let offer = room.say("alice", Ask::Offer { to: name("bob"), subjects: Vec::new() }).expect("offered");
        room.say("alice", Ask::Release { of: name("alice"), subjects: Vec::new() }).expect("released");
        assert_eq!(room.say("bob", Ask::Accept(offer)), Err("no_offer".into()));
    }

    fn asks() -> impl Strategy<Value = (usize, u8, Vec<&'static str>, bool)> {
        let texts = ["a", "a/b", "a/*", "**/c", "b", "b/{c,d}", "task:x", "lane:y"];
        (0..4usize, 0..6u8, proptest::sample::subsequence(texts.to_vec(), 1..3), any::<bool>())
    }

    proptest! {
        #[test]
        fn no_subject_has_two_owners_and_no_claim_waits_for_nothing(asks in proptest::collection::vec(asks(), 1..60)) {
            let agents = ["alice", "bob", "carol", "dave"];
            let mut room = Room::default();
            for (who, what, texts, wait) in asks {
                let agent = agents[who];
                let offer = room.0.offered().last().map_or(0, |offer| offer.seq);
                let ask = match what {
                    0..=2 => claim(&texts, wait),
                    3 => Ask::Release { of: name(agent), subjects: Vec::new() },
                    4 => Ask::Offer { to: name(agents[(who + 1) % 4]), subjects: Vec::new() },
                    _ => Ask::Accept(offer),
                };
                let _ = room.say(agent, ask);
                for one in room.0.held() {
                    for two in room.0.held() {
                        prop_assert!(one.owner == two.owner || !one.subject.conflicts(&two.subject));
                    }
                }
                prop_assert!(room.0.grantable().is_none());
                for one in room.0.waiting() {
                    prop_assert!(!room.0.in_the_way(&one.agent, &one.subjects, one.seq).is_empty());
                }
                prop_assert!(!room.0.has_circle());
            }
        }
    }
}
