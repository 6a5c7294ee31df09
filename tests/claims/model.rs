//! The real program beside a model: random claims, releases, offers and answers, and after each the owners have to be those
//! of the model. A subject of the model is a set of cells, so that it needs no test of conflicts.

use super::{ledger, outcome, owned, pass};
use crate::town::Town;
use crate::world::World;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const AGENTS: [&str; 4] = ["alice", "bob", "carol", "dave"];
/// Subjects with the cells that each covers.
const SUBJECTS: [(&str, &[u8]); 8] = [
    ("a", &[0, 1, 2]),
    ("a/b", &[1]),
    ("a/*", &[1, 2]),
    ("c/**", &[3, 4]),
    ("c/d.rs", &[4]),
    ("**/d.rs", &[0, 1, 2, 3, 4]),
    ("task:x", &[5]),
    ("lane:x", &[6]),
];

type Subjects = Vec<usize>;

#[derive(Debug, Clone)]
enum Act {
    Claim { subjects: Subjects, wait: bool },
    Release,
    Offer { to: usize },
    Accept,
    Decline,
}

fn acts() -> impl Strategy<Value = (usize, Act)> {
    let some = || proptest::sample::subsequence((0..SUBJECTS.len()).collect::<Vec<_>>(), 1..3);
    let act = prop_oneof![
        4 => (some(), any::<bool>()).prop_map(|(subjects, wait)| Act::Claim { subjects, wait }),
        2 => Just(Act::Release),
        1 => (0..AGENTS.len()).prop_map(|to| Act::Offer { to }),
        1 => Just(Act::Accept),
        1 => Just(Act::Decline),
    ];
    (0..AGENTS.len(), act)
}

/// The model's knowledge: owners of subjects, waiting claims, and offers.
#[derive(Default)]
struct Model {
    held: Vec<(usize, usize)>,
    waiting: Vec<(usize, Subjects)>,
    offers: Vec<(usize, usize, Subjects)>,
}

fn meet(one: usize, other: usize) -> bool {
    SUBJECTS[one]
        .1
        .iter()
        .any(|cell| SUBJECTS[other].1.contains(cell))
}

impl Model {
    fn owns(&self, agent: usize, subject: usize) -> bool {
        self.held.contains(&(agent, subject))
    }

    fn of(&self, agent: usize) -> Subjects {
        self.held
            .iter()
            .filter(|(owner, _)| *owner == agent)
            .map(|(_, subject)| *subject)
            .collect()
    }

    /// The agents in the way of these subjects, including the first waiting claims up to `before`.
    fn in_the_way(&self, agent: usize, subjects: &[usize], before: usize) -> BTreeSet<usize> {
        let meets = |other: usize| subjects.iter().any(|own| meet(*own, other));
        let held = self
            .held
            .iter()
            .filter(|(owner, subject)| *owner != agent && meets(*subject));
        let waiting = self.waiting[..before]
            .iter()
            .filter(|(other, theirs)| *other != agent && theirs.iter().any(|s| meets(*s)));
        held.map(|(owner, _)| *owner)
            .chain(waiting.map(|(other, _)| *other))
            .collect()
    }

    fn waits_for(&self, agent: usize, other: usize) -> bool {
        let (mut seen, mut next) = (BTreeSet::new(), vec![agent]);
        while let Some(one) = next.pop() {
            if one == other {
                return true;
            }
            if seen.insert(one) {
                let waiting = self
                    .waiting
                    .iter()
                    .enumerate()
                    .filter(|(_, (who, _))| *who == one);
                next.extend(
                    waiting.flat_map(|(n, (_, subjects))| self.in_the_way(one, subjects, n)),
                );
            }
        }
        false
    }

    fn has_circle(&self) -> bool {
        self.waiting.iter().enumerate().any(|(n, (who, subjects))| {
            self.in_the_way(*who, subjects, n)
                .into_iter()
                .any(|other| self.waits_for(other, *who))
        })
    }

    /// The outcome of an act: the status in the copy, the code of the rejection, or nothing.
    fn act(&mut self, agent: usize, act: &Act) -> &'static str {
        let became = self.judge(agent, act);
        while let Some(n) = (0..self.waiting.len()).find(|n| {
            let (who, subjects) = &self.waiting[*n];
            self.in_the_way(*who, subjects, *n).is_empty()
        }) {
            let (who, subjects) = self.waiting.remove(n);
            self.own(who, &subjects);
        }
        became
    }

    fn judge(&mut self, agent: usize, act: &Act) -> &'static str {
        match act {
            Act::Claim { subjects, wait } => {
                let new: Subjects = subjects
                    .iter()
                    .copied()
                    .filter(|s| !self.owns(agent, *s))
                    .collect();
                let others = self.in_the_way(agent, &new, self.waiting.len());
                if others.is_empty() {
                    self.own(agent, subjects);
                    return "granted";
                }
                if !wait {
                    return "claimed";
                }
                if self
                    .waiting
                    .iter()
                    .any(|(who, same)| *who == agent && *same == new)
                {
                    return "waiting";
                }
                if others.into_iter().any(|other| self.waits_for(other, agent)) {
                    return "circular_wait";
                }
                self.waiting.push((agent, new));
                "waiting"
            }
            Act::Release => {
                let had = self.of(agent).len()
                    + self.waiting.iter().filter(|(who, _)| *who == agent).count();
                self.waiting.retain(|(who, _)| *who != agent);
                self.free(agent, &self.of(agent));
                if had == 0 { "not_owned" } else { "" }
            }
            Act::Offer { to } if *to == agent => "bad_claim",
            Act::Offer { to } => {
                let offered = self.of(agent);
                if offered.is_empty() {
                    return "not_owned";
                }
                self.offers.push((agent, *to, offered));
                ""
            }
            Act::Accept => {
                let open: Vec<usize> = (0..self.offers.len())
                    .filter(|n| self.offers[*n].1 == agent)
                    .collect();
                let [n] = open[..] else { return "no_offer" };
                let (giver, _, offered) = self.offers[n].clone();
                let keeps = self
                    .of(giver)
                    .into_iter()
                    .filter(|s| !offered.contains(s))
                    .collect::<Subjects>();
                if keeps
                    .iter()
                    .any(|kept| offered.iter().any(|s| meet(*kept, *s)))
                {
                    return "overlap_kept";
                }
                let before = (self.held.clone(), self.offers.clone());
                self.offers.remove(n);
                self.free(giver, &offered);
                self.own(agent, &offered);
                if self.has_circle() {
                    (self.held, self.offers) = before;
                    return "circular_wait";
                }
                "granted"
            }
            Act::Decline => {
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

fn message(world: &World, agent: &str, act: &Act) -> Value {
    match act {
        Act::Claim { subjects, wait } => {
            let texts: Vec<&str> = subjects.iter().map(|n| SUBJECTS[*n].0).collect();
            json!({"type": "claim", "claims": texts, "wait": wait})
        }
        Act::Release => json!({"type": "release", "claims": "all"}),
        Act::Offer { to } => json!({"type": "handoff", "to": AGENTS[*to], "claims": "all"}),
        Act::Accept => json!({"type": "accept", "in_reply_to": only_offer(world, agent, &["to"])}),
        Act::Decline => {
            json!({"type": "decline", "in_reply_to": only_offer(world, agent, &["to", "from"])})
        }
    }
}

/// The only open offer that names an agent in one of these fields, or a name that no offer has.
fn only_offer(world: &World, agent: &str, fields: &[&str]) -> Value {
    if !world.room("claims.json").exists() {
        return json!("none");
    }
    let claims = world.read("claims.json");
    let offers = claims["offers"].as_array().expect("a list").iter();
    let mine: Vec<&Value> = offers
        .filter(|offer| fields.iter().any(|field| offer[*field] == agent))
        .collect();
    if let [only] = mine[..] {
        only["offer"].clone()
    } else {
        json!("none")
    }
}

fn play(acts: &[(usize, Act)]) {
    let world = World::with(&AGENTS);
    world.write(
        "settings.toml",
        "durability = \"process\"\nbudget.messages = 0\n",
    );
    let mut model = Model::default();
    for (n, (agent, act)) in acts.iter().enumerate() {
        let mut message = message(&world, AGENTS[*agent], act);
        message["id"] = json!(format!("m{n}"));
        world.drop_file(AGENTS[*agent], &format!("{n}.json"), message.to_string());
        pass(&world, 0);
        let became = outcome(&world, AGENTS[*agent], &format!("m{n}"));
        assert_eq!(
            became,
            model.act(*agent, act),
            "what became of {} by {}",
            message,
            AGENTS[*agent]
        );
        if model.held.is_empty() && !world.room("claims.json").exists() {
            continue;
        }
        let mut wanted: Vec<(String, String)> = model
            .held
            .iter()
            .map(|(owner, subject)| (SUBJECTS[*subject].0.into(), AGENTS[*owner].into()))
            .collect();
        let mut found = owned(&world);
        wanted.sort();
        found.sort();
        assert_eq!(found, wanted, "after {} by {}", message, AGENTS[*agent]);
    }
    ledger::check(&world).is_settled();
}

#[test]
fn the_program_grants_what_a_model_grants() {
    // P118, P119, P120, P121
    let cases = if Town::full_size() { 200 } else { 8 };
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 100,
        ..Config::default()
    };
    let sequences = proptest::collection::vec(acts(), 10..30);
    // The small run always tries the same sequences, so that only a change of the code can make it
    // fail.
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = if Town::full_size() {
        TestRunner::new(config)
    } else {
        TestRunner::new_with_rng(config, rng)
    };
    runner
        .run(&sequences, |acts| {
            play(&acts);
            Ok(())
        })
        .unwrap_or_else(|e| panic!("{e}"));
}
