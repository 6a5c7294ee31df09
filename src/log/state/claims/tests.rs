//! The rules of ownership, and a model test over random requests.

use super::{ChangeSource, ClaimRequest, Claims, OwnedClaim};
use crate::base::clock::Stamp;
use crate::message::claim::{self, ClaimChange, ClaimTerms};
use crate::message::subject::ClaimSubject;
use proptest::prelude::*;
use std::sync::Arc;

fn name(text: &str) -> Arc<str> {
    text.into()
}

fn subjects(texts: &[&str]) -> Vec<ClaimSubject> {
    texts
        .iter()
        .map(|text| ClaimSubject::parse(text).expect("a subject"))
        .collect()
}

fn claim(texts: &[&str], wait: bool) -> ClaimRequest {
    ClaimRequest::Claim {
        subjects: subjects(texts),
        lease: 60,
        why: None,
        wait,
    }
}

/// Claims, and the number of the next record.
#[derive(Default)]
struct ClaimRoom(Claims, u64);

impl ClaimRoom {
    /// Judges and applies, then grants all grantable claims; returns the name of the message.
    fn say(&mut self, agent: &str, ask: ClaimRequest) -> Result<String, String> {
        let agent = name(agent);
        let change = self
            .0
            .judge(&agent, ask)
            .map_err(|problems| problems[0].code.to_string())?;
        let said = self.record(&agent, &change);
        while let Some(next) = self.0.grantable() {
            let change = ClaimChange::Dequeue {
                claim: next.claim.clone(),
            };
            self.record(&name("mailbag"), &change);
        }
        Ok(said)
    }

    fn record(&mut self, from: &Arc<str>, change: &ClaimChange) -> String {
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
        claim::name(from, &id)
    }

    fn owner(&self, path: &str) -> Option<&str> {
        self.0.owner(None, path).map(|held| &*held.owner)
    }
}

#[test]
fn a_claim_is_granted_whole_or_not_at_all() {
    let mut room = ClaimRoom::default();
    room.say("alice", claim(&["src/auth"], false))
        .expect("free");
    assert_eq!(
        room.say("bob", claim(&["docs", "src/**"], false)),
        Err("claimed".into())
    );
    assert_eq!(
        (room.owner("docs/a.md"), room.owner("src/auth/x.rs")),
        (None, Some("alice"))
    );
    room.say("alice", claim(&["src/auth", "docs"], false))
        .expect("its own and a free one");
    assert_eq!(room.0.of("alice").count(), 2);
}

#[test]
fn claims_queue_first_come_first_served() {
    let mut room = ClaimRoom::default();
    room.say("alice", claim(&["src"], false)).expect("free");
    room.say("bob", claim(&["src/a", "docs"], true))
        .expect("queued");
    room.say("carol", claim(&["src/b"], true)).expect("queued");
    // In front of dave is bob, who would own docs.
    assert_eq!(
        room.say("dave", claim(&["docs"], false)),
        Err("claimed".into())
    );
    room.say(
        "alice",
        ClaimRequest::Release {
            of: name("alice"),
            subjects: Vec::new(),
        },
    )
    .expect("released");
    let owners = ["src/a/x", "docs/x", "src/b/x", "src/c"].map(|path| room.owner(path));
    assert_eq!(owners, [Some("bob"), Some("bob"), Some("carol"), None]);
}

#[test]
fn an_owner_renews_and_extends_its_claims_although_others_wait_for_them() {
    let mut room = ClaimRoom::default();
    room.say("alice", claim(&["src"], false)).expect("free");
    room.say("bob", claim(&["src"], true)).expect("queued");
    for wait in [false, true] {
        room.say("alice", claim(&["src"], wait)).expect("renewed");
    }
    room.say("alice", claim(&["src", "docs"], false))
        .expect("renewed, and extended");
    room.say("carol", claim(&["web"], false)).expect("free");
    room.say("alice", claim(&["src", "web"], true))
        .expect("it waits for carol alone");
    room.say(
        "carol",
        ClaimRequest::Release {
            of: name("carol"),
            subjects: Vec::new(),
        },
    )
    .expect("released");
    assert_eq!(
        (room.owner("src/x"), room.owner("web/x")),
        (Some("alice"), Some("alice"))
    );
}

#[test]
fn a_waiting_claim_that_is_repeated_keeps_its_place() {
    let mut room = ClaimRoom::default();
    room.say("alice", claim(&["src"], false)).expect("free");
    room.say("bob", claim(&["src/b"], true)).expect("queued");
    room.say("carol", claim(&["src"], true)).expect("queued");
    room.say("bob", claim(&["src/b"], true))
        .expect("carol waits for bob, and he for alice alone");
    assert_eq!(room.0.waiting().len(), 2);
    room.say(
        "alice",
        ClaimRequest::Release {
            of: name("alice"),
            subjects: Vec::new(),
        },
    )
    .expect("released");
    assert_eq!(room.owner("src/b/x"), Some("bob"));
}

#[test]
fn a_circle_of_waits_is_rejected() {
    let mut room = ClaimRoom::default();
    room.say("alice", claim(&["a"], false)).expect("free");
    room.say("bob", claim(&["b"], false)).expect("free");
    room.say("carol", claim(&["c"], false)).expect("free");
    room.say("alice", claim(&["b"], true)).expect("queued");
    room.say("bob", claim(&["c"], true)).expect("queued");
    assert_eq!(
        room.say("carol", claim(&["a"], true)),
        Err("circular_wait".into())
    );
}

#[test]
fn an_offer_leaves_the_owner_until_it_is_accepted() {
    let mut room = ClaimRoom::default();
    room.say("alice", claim(&["src", "task:login"], false))
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
    room.say("alice", claim(&["src/**"], false)).expect("free");
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

fn asks() -> impl Strategy<Value = (usize, u8, Vec<&'static str>, bool)> {
    let texts = [
        "a", "a/b", "a/*", "**/c", "b", "b/{c,d}", "task:x", "lane:y",
    ];
    (
        0..4usize,
        0..6u8,
        proptest::sample::subsequence(texts.to_vec(), 1..3),
        any::<bool>(),
    )
}

proptest! {
    #[test]
    fn no_subject_has_two_owners_and_no_claim_waits_for_nothing(asks in proptest::collection::vec(asks(), 1..60)) {
        let agents = ["alice", "bob", "carol", "dave"];
        let mut room = ClaimRoom::default();
        for (who, what, texts, wait) in asks {
            let agent = agents[who];
            let offer = room.0.offered().last().map(|offer| offer.offer.clone()).unwrap_or_default();
            let ask = match what {
                0..=2 => claim(&texts, wait),
                3 => ClaimRequest::Release { of: name(agent), subjects: Vec::new() },
                4 => ClaimRequest::Offer { to: name(agents[(who + 1) % 4]), subjects: Vec::new() },
                _ => ClaimRequest::Accept(offer),
            };
            let _ = room.say(agent, ask);
            for one in room.0.held() {
                for two in room.0.held() {
                    prop_assert!(one.owner == two.owner || !one.subject.conflicts(&two.subject));
                }
            }
            prop_assert!(room.0.grantable().is_none());
            for (n, one) in room.0.waiting().iter().enumerate() {
                prop_assert!(room.0.in_the_way(&one.agent, &one.subjects, n).next().is_some());
            }
            prop_assert!(!room.0.has_circle());
        }
    }
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
            ClaimChange::Grant(ClaimTerms { claims: vec![subject.to_string()], lease: 60, why: None })
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
            let change = ClaimChange::Release { of: agent(n), claims: vec![subject.to_string()], waiting: Vec::new() };
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
                why: None,
            }),
        );
    }
    room.record(
        &name("agent0"),
        &ClaimChange::Grant(ClaimTerms {
            claims: vec!["**/Cargo.toml".into()],
            lease: 60,
            why: None,
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
