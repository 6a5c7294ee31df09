//! The rules of ownership, and a model test over random requests.

use super::change::{ClaimChange, ClaimTerms};
use super::leases::ClaimLifetime;
use super::owned::{ClaimOffer, OwnedClaim};
use super::requests::{ClaimRequest, OfferAnswer};
use super::state::Claims;
use crate::base::clock::Stamp;
use crate::log::state::ChangeSource;
use crate::message::id;
use crate::message::subject::ClaimSubject;
use proptest::prelude::*;
use std::sync::Arc;

pub(super) fn name(text: &str) -> Arc<str> {
    text.into()
}

pub(super) fn subjects(texts: &[&str]) -> Vec<ClaimSubject> {
    texts
        .iter()
        .map(|text| ClaimSubject::parse(text).expect("a subject"))
        .collect()
}

pub(super) fn claim(texts: &[&str]) -> ClaimRequest {
    ClaimRequest::Claim {
        subjects: subjects(texts),
        lease: 60,
        purpose: None,
    }
}

/// Claims, and the number of the next record.
#[derive(Default)]
pub(super) struct ClaimRoom(pub(super) Claims, pub(super) u64);

impl ClaimRoom {
    /// Judges and applies; returns the name of the message.
    pub(super) fn say(&mut self, agent: &str, ask: ClaimRequest) -> Result<String, String> {
        let agent = name(agent);
        let change = self
            .0
            .judge(&agent, ask, &|_| ClaimLifetime::Session)
            .map_err(|problems| problems[0].code.to_string())?;
        Ok(self.record(&agent, &change))
    }

    pub(super) fn record(&mut self, from: &Arc<str>, change: &ClaimChange) -> String {
        self.1 += 1;
        let (seq, id) = (self.1, format!("m{}", self.1));
        self.0.apply(
            change,
            ChangeSource {
                seq,
                at: Stamp::from_micros(seq as i64),
                from,
                id: &id,
            },
        );
        id::full_name(from, &id)
    }

    fn owner(&self, path: &str) -> Option<&str> {
        self.0.owner(None, path).map(|held| &*held.owner)
    }
}

#[test]
fn a_claim_is_granted_whole_or_not_at_all() {
    let mut room = ClaimRoom::default();
    room.say("alice", claim(&["src/auth"])).expect("free");
    assert_eq!(
        room.say("bob", claim(&["docs", "src/**"])),
        Err("claimed".into())
    );
    assert_eq!(
        (room.owner("docs/a.md"), room.owner("src/auth/x.rs")),
        (None, Some("alice"))
    );
    room.say("alice", claim(&["src/auth", "docs"]))
        .expect("its own and a free one");
    assert_eq!(room.0.of("alice").count(), 2);
}

#[test]
fn an_answer_to_an_ended_offer_accepts_no_later_offer_with_the_same_id() {
    // P120
    let (mut claims, [alice, bob, carol]) =
        (Claims::default(), ["alice", "bob", "carol"].map(name));
    let mut seq = 0;
    let mut apply = |claims: &mut Claims, from: &Arc<str>, change: ClaimChange| {
        seq += 1;
        let at = Stamp::from_micros(seq as i64);
        let source = ChangeSource {
            seq,
            at,
            from,
            id: "h",
        };
        claims.apply(&change, source);
    };
    let own = |text: &str| {
        ClaimChange::Grant(ClaimTerms {
            claims: vec![text.to_owned()],
            lease: 60,
            purpose: None,
        })
    };
    let offer = |text: &str| ClaimChange::Offer {
        to: bob.clone(),
        claims: vec![text.to_owned()],
    };
    let find = |claims: &Claims, reference| {
        claims
            .find_offer("bob", OfferAnswer::Accept, reference)
            .ok()
    };
    let ends = [
        ClaimChange::Accept {
            offer: "alice/h".into(),
        },
        ClaimChange::Decline {
            offer: "alice/h".into(),
        },
        ClaimChange::Release {
            of: alice.clone(),
            claims: vec!["src".into()],
        },
    ];
    apply(&mut claims, &carol, own("docs"));
    for end in ends {
        let mut claims = claims.clone();
        apply(&mut claims, &alice, own("src"));
        apply(&mut claims, &alice, offer("src"));
        assert_eq!(find(&claims, Some("h")).as_deref(), Some("alice/h"));
        apply(&mut claims, &bob, end);
        apply(&mut claims, &carol, offer("docs"));
        assert_eq!(find(&claims, Some("h")), None, "it can mean either");
        assert_eq!(find(&claims, Some("alice/h")), None);
        for reference in [None, Some("carol/h")] {
            assert_eq!(find(&claims, reference).as_deref(), Some("carol/h"));
        }
    }
}

#[test]
fn an_offer_leaves_the_owner_until_it_is_accepted() {
    let mut room = ClaimRoom::default();
    room.say("alice", claim(&["src", "task:login"]))
        .expect("free");
    let offer = ClaimRequest::Offer {
        to: name("bob"),
        subjects: subjects(&["src"]),
    };
    let offer = room.say("alice", offer).expect("offered");
    assert_eq!(room.owner("src/x"), Some("alice"));
    assert_eq!(
        room.say("carol", ClaimRequest::Accept(offer.clone())),
        Err("no_offer".into())
    );
    room.say("bob", ClaimRequest::Accept(offer.clone()))
        .expect("accepted");
    assert_eq!(
        (room.owner("src/x"), room.0.of("alice").count()),
        (Some("bob"), 1)
    );
    assert_eq!(
        room.say("bob", ClaimRequest::Accept(offer.clone())),
        Err("no_offer".into())
    );
}

#[test]
fn what_is_released_can_no_longer_be_accepted_and_no_part_of_a_glob_is_given_up() {
    let mut room = ClaimRoom::default();
    room.say("alice", claim(&["src/**"])).expect("free");
    let part = ClaimRequest::Release {
        of: name("alice"),
        subjects: subjects(&["src/a"]),
    };
    assert_eq!(room.say("alice", part), Err("not_owned".into()));
    let offer = room
        .say(
            "alice",
            ClaimRequest::Offer {
                to: name("bob"),
                subjects: Vec::new(),
            },
        )
        .expect("offered");
    room.say(
        "alice",
        ClaimRequest::Release {
            of: name("alice"),
            subjects: Vec::new(),
        },
    )
    .expect("released");
    assert_eq!(
        room.say("bob", ClaimRequest::Accept(offer.clone())),
        Err("no_offer".into())
    );
}

const AGENTS: [&str; 4] = ["alice", "bob", "carol", "dave"];
/// Subjects with the cells that each covers.
const SUBJECTS: [(&str, &[u8]); 10] = [
    ("a", &[0, 1, 2]),
    ("a/b", &[1]),
    ("a/*", &[1, 2]),
    ("c/**", &[3, 4]),
    ("c/d.rs", &[4]),
    ("b", &[7, 8]),
    ("b/{c,d}", &[7]),
    ("**/d.rs", &[0, 1, 2, 3, 4, 7, 8]),
    ("task:x", &[5]),
    ("lane:x", &[6]),
];

type SubjectNumbers = Vec<usize>;

#[derive(Debug, Clone)]
enum ClaimAct {
    Claim(SubjectNumbers),
    Release,
    Offer { to: usize },
    Accept,
    Decline,
}

fn acts() -> impl Strategy<Value = (usize, ClaimAct)> {
    let some = || proptest::sample::subsequence((0..SUBJECTS.len()).collect::<Vec<_>>(), 1..3);
    let act = prop_oneof![
        4 => some().prop_map(ClaimAct::Claim),
        2 => Just(ClaimAct::Release),
        1 => (0..AGENTS.len()).prop_map(|to| ClaimAct::Offer { to }),
        1 => Just(ClaimAct::Accept),
        1 => Just(ClaimAct::Decline),
    ];
    (0..AGENTS.len(), act)
}

/// The model's knowledge: owners of subjects, and offers.
#[derive(Default)]
struct ClaimModel {
    held: Vec<(usize, usize)>,
    offers: Vec<(usize, usize, SubjectNumbers)>,
}

fn meet(one: usize, other: usize) -> bool {
    SUBJECTS[one]
        .1
        .iter()
        .any(|cell| SUBJECTS[other].1.contains(cell))
}

impl ClaimModel {
    fn owns(&self, agent: usize, subject: usize) -> bool {
        self.held.contains(&(agent, subject))
    }

    fn of(&self, agent: usize) -> SubjectNumbers {
        self.held
            .iter()
            .filter(|(owner, _)| *owner == agent)
            .map(|(_, subject)| *subject)
            .collect()
    }

    /// The code of the rejection; empty if the act is accepted.
    fn act(&mut self, agent: usize, act: &ClaimAct) -> &'static str {
        match act {
            ClaimAct::Claim(subjects) => {
                let new = subjects.iter().filter(|s| !self.owns(agent, **s));
                let is_taken = |own: &usize| {
                    let mut others = self.held.iter().filter(|(owner, _)| *owner != agent);
                    others.any(|(_, subject)| meet(*own, *subject))
                };
                if new.copied().any(|own| is_taken(&own)) {
                    return "claimed";
                }
                self.own(agent, subjects);
                ""
            }
            ClaimAct::Release => {
                let had = self.of(agent);
                self.free(agent, &had);
                if had.is_empty() { "not_owned" } else { "" }
            }
            ClaimAct::Offer { to } => {
                let offered = self.of(agent);
                if offered.is_empty() {
                    return "not_owned";
                }
                self.offers.push((agent, *to, offered));
                ""
            }
            ClaimAct::Accept => {
                let open: Vec<usize> = (0..self.offers.len())
                    .filter(|n| self.offers[*n].1 == agent)
                    .collect();
                let [n] = open[..] else { return "no_offer" };
                let (giver, _, offered) = self.offers[n].clone();
                let keeps = self
                    .of(giver)
                    .into_iter()
                    .filter(|s| !offered.contains(s))
                    .collect::<SubjectNumbers>();
                if keeps
                    .iter()
                    .any(|kept| offered.iter().any(|s| meet(*kept, *s)))
                {
                    return "overlap_kept";
                }
                self.offers.remove(n);
                self.free(giver, &offered);
                self.own(agent, &offered);
                ""
            }
            ClaimAct::Decline => {
                let open: Vec<usize> = (0..self.offers.len())
                    .filter(|n| self.offers[*n].1 == agent || self.offers[*n].0 == agent)
                    .collect();
                let [n] = open[..] else { return "no_offer" };
                self.offers.remove(n);
                ""
            }
        }
    }

    fn own(&mut self, agent: usize, subjects: &[usize]) {
        for subject in subjects {
            if !self.owns(agent, *subject) {
                self.held.push((agent, *subject));
            }
        }
    }

    fn free(&mut self, agent: usize, subjects: &[usize]) {
        self.held
            .retain(|(owner, subject)| *owner != agent || !subjects.contains(subject));
        let held = self.held.clone();
        self.offers
            .retain(|(from, _, offered)| offered.iter().all(|s| held.contains(&(*from, *s))));
    }
}

impl ClaimAct {
    /// The request of an agent. An answer names its only open offer.
    fn request(&self, room: &ClaimRoom, agent: usize) -> ClaimRequest {
        let only_offer = |has_agent: &dyn Fn(&ClaimOffer) -> bool| {
            let mut offers = room.0.offered().iter().filter(|offer| has_agent(offer));
            match (offers.next(), offers.next()) {
                (Some(only), None) => only.offer.clone(),
                _ => "none".to_owned(),
            }
        };
        let agent = AGENTS[agent];
        match self {
            ClaimAct::Claim(subjects) => {
                let texts: Vec<&str> = subjects.iter().map(|n| SUBJECTS[*n].0).collect();
                claim(&texts)
            }
            ClaimAct::Release => ClaimRequest::Release {
                of: name(agent),
                subjects: Vec::new(),
            },
            ClaimAct::Offer { to } => ClaimRequest::Offer {
                to: name(AGENTS[*to]),
                subjects: Vec::new(),
            },
            ClaimAct::Accept => ClaimRequest::Accept(only_offer(&|offer| *offer.to == *agent)),
            ClaimAct::Decline => ClaimRequest::Decline(only_offer(&|offer| {
                *offer.to == *agent || *offer.from == *agent
            })),
        }
    }
}

proptest! {
    /// A subject of the model is a set of cells, so that the model needs no test of conflicts.
    #[test]
    fn the_claims_are_those_of_a_model(acts in proptest::collection::vec(acts(), 1..60)) {
        let (mut room, mut model) = (ClaimRoom::default(), ClaimModel::default());
        for (agent, act) in acts {
            if matches!(act, ClaimAct::Offer { to } if to == agent) {
                continue;
            }
            let request = act.request(&room, agent);
            let rejection = room.say(AGENTS[agent], request).err().unwrap_or_default();
            prop_assert_eq!(rejection, model.act(agent, &act), "{:?} by {}", act, AGENTS[agent]);
            let mut held: Vec<(usize, usize)> = room
                .0
                .held()
                .iter()
                .map(|held| (number(&AGENTS, &held.owner), number_of_subject(&held.subject)))
                .collect();
            let mut wanted = model.held.clone();
            held.sort();
            wanted.sort();
            prop_assert_eq!(held, wanted, "after {:?} by {}", act, AGENTS[agent]);
            prop_assert_eq!(room.0.offered().len(), model.offers.len());
        }
    }
}

fn number(names: &[&str], name: &str) -> usize {
    names.iter().position(|one| *one == name).expect(name)
}

fn number_of_subject(subject: &ClaimSubject) -> usize {
    number(&SUBJECTS.map(|(text, _)| text), &subject.to_string())
}

/// Paths, globs, alternatives, other repositories, tasks and lanes over few names. Many of them conflict.
fn any_subject() -> impl Strategy<Value = ClaimSubject> {
    let path = "([ab]|[ab]\\*|\\*\\*|\\{a,b\\}|A|\u{e9})(/([ab]|[ab]\\*|\\*\\*|\\{a/b,b\\})){0,3}";
    let text = prop_oneof![8 => path, 1 => "w:[ab]/[ab]", 1 => "task:[ab]", 1 => "lane:[ab]", 1 => Just(".".to_owned())];
    text.prop_filter_map("no subject", |text| ClaimSubject::parse(&text).ok())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_index_finds_what_a_look_at_all_claims_finds(
        claims in proptest::collection::vec((0..4usize, any_subject()), 0..40),
        released in proptest::collection::vec(any::<prop::sample::Index>(), 0..10),
        asked in any_subject(),
    ) {
        let mut room = ClaimRoom::default();
        let agent = |n: &usize| name(["alice", "bob", "carol", "dave"][*n]);
        let grant = |subject: &ClaimSubject| {
            ClaimChange::Grant(ClaimTerms { claims: vec![subject.to_string()], lease: 60, purpose: None })
        };
        for (n, subject) in &claims {
            room.record(&agent(n), &grant(subject));
            let found: Vec<&OwnedClaim> = room.0.conflicting(&asked).collect();
            let all: Vec<&OwnedClaim> = room.0.held().iter().filter(|held| held.subject.conflicts(&asked)).collect();
            prop_assert_eq!(found, all);
        }
        for at in &released {
            if claims.is_empty() {
                break;
            }
            let (n, subject) = at.get(&claims);
            let change = ClaimChange::Release { of: agent(n), claims: vec![subject.to_string()] };
            room.record(&agent(n), &change);
            prop_assert!(!room.0.held().iter().any(|held| held.owner == agent(n) && held.subject == *subject));
        }
        let all: Vec<&OwnedClaim> = room.0.held().iter().filter(|held| held.subject.conflicts(&asked)).collect();
        prop_assert_eq!(room.0.conflicting(&asked).collect::<Vec<_>>(), all);
        let again: Claims = serde_json::from_value(serde_json::to_value(&room.0).expect("JSON")).expect("claims");
        prop_assert_eq!(&again, &room.0);
        prop_assert_eq!(again.conflicting(&asked).count(), room.0.conflicting(&asked).count());
    }
}

#[test]
fn of_ten_thousand_claims_only_those_near_a_subject_are_compared_with_it() {
    let mut room = ClaimRoom::default();
    for n in 0..100 {
        let claims = (0..100)
            .map(|m| format!("src/part{n}/file{m}.rs"))
            .collect();
        room.record(
            &name(&format!("agent{}", n % 10)),
            &ClaimChange::Grant(ClaimTerms {
                claims,
                lease: 60,
                purpose: None,
            }),
        );
    }
    room.record(
        &name("agent0"),
        &ClaimChange::Grant(ClaimTerms {
            claims: vec!["**/Cargo.toml".into()],
            lease: 60,
            purpose: None,
        }),
    );
    assert_eq!(room.0.held().len(), 10_001);
    for (text, count) in [
        ("src/part7/file7.rs", 2),
        ("src/part7", 101),
        ("docs", 1),
        ("src/part7/*.rs", 101),
        (".", 10_001),
        ("task:x", 0),
        ("web:src", 0),
    ] {
        assert_eq!(room.0.near(&subjects(&[text])).count(), count, "{text}");
    }
}
