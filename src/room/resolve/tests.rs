//! The recipients of addresses: the cases in `fixtures/addresses`, properties of any list, and rejected addresses.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::message::address::Address;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::HashMap;

/// The presence of agents, from `standing` of a case: `{"bob": {"online": true, "unread": 2,
/// "last_active": "…"}}`.
#[derive(Default)]
struct Stand(HashMap<String, (bool, usize, Stamp)>);

impl Stand {
    fn read(value: &Value) -> Stand {
        let one = |v: &Value| {
            let active = v["last_active"]
                .as_str()
                .and_then(Stamp::parse)
                .unwrap_or_default();
            (
                v["online"] == true,
                v["unread"].as_u64().unwrap_or(0) as usize,
                active,
            )
        };
        Stand(
            value
                .as_object()
                .into_iter()
                .flatten()
                .map(|(id, v)| (id.clone(), one(v)))
                .collect(),
        )
    }
}

impl Availability for Stand {
    fn unread(&self, agent: &str) -> usize {
        self.0.get(agent).map_or(0, |s| s.1)
    }
    fn online(&self, agent: &str) -> bool {
        self.0.get(agent).is_some_and(|s| s.0)
    }
    fn last_active(&self, agent: &str) -> Stamp {
        self.0.get(agent).map(|s| s.2).unwrap_or_default()
    }
}

/// P382: the cases with `other-case` in their names
#[test]
fn cases() {
    let mut files: Vec<_> = std::fs::read_dir("fixtures/addresses")
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    files.sort();
    let mut wrong = Vec::new();
    for file in &files {
        let case: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let got = outcome(&case);
        let wanted =
            json!({"recipients": case.get("recipients"), "problems": case.get("problems")});
        if got != wanted {
            wrong.push(format!(
                "{}\n  wanted {wanted}\n  got    {got}",
                file.display()
            ));
        }
    }
    assert!(files.len() >= 40, "only {} cases", files.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn outcome(case: &Value) -> Value {
    let registry =
        Registry::parse(case["registry"].to_string().as_bytes()).expect("the registry of the case");
    let addresses: Vec<String> = serde_json::from_value(case["addresses"].clone()).unwrap();
    let mut stand = Stand::read(&case["standing"]);
    let result = resolve(
        &registry,
        case["sender"].as_str().unwrap(),
        &addresses,
        case["mention"] == true,
        &mut stand,
    );
    match result {
        Ok(list) => {
            let pairs: Vec<Value> = list
                .iter()
                .map(|r| json!([&*r.agent, r.via.as_str()]))
                .collect();
            json!({"recipients": pairs, "problems": null})
        }
        Err(problems) => {
            assert!(
                problems.iter().all(|p| !p.fix.is_empty()),
                "a problem without a fix: {problems:?}"
            );
            let short: Vec<Value> = problems
                .iter()
                .map(|p| json!({"code": p.code, "where": p.place}))
                .collect();
            json!({"recipients": null, "problems": short})
        }
    }
}

fn team() -> Registry {
    let agents = json!({"agents": [
        {"id": "alice", "role": "lead", "topics": ["auth"]},
        {"id": "bob", "role": "engineer", "name": "Sintra", "capabilities": ["web"], "x": 12345678901234567890123u128.to_string()},
        {"id": "agent_engineer_2_ff", "role": "engineer", "topics": ["auth"]},
        {"id": "old", "role": "engineer", "status": "retired"}],
        "aliases": {"owner": "cap:web", "round": ["owner", "trip"], "trip": "round"}});
    Registry::parse(agents.to_string().as_bytes()).unwrap()
}

fn to(addresses: &[&str]) -> Result<Vec<String>, Vec<Problem>> {
    let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    let list = resolve(&team(), "alice", &addresses, false, &mut Stand::default())?;
    Ok(list.iter().map(|r| r.agent.to_string()).collect())
}

fn written() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "all",
        "@channel",
        "alice",
        "bob",
        "SINTRA",
        "old",
        "@engineers",
        "all_engineer",
        "any_engineer",
        "owner",
        "round",
        "agent_*",
        "*",
        "#auth",
        "#none",
        "cap:web",
        "cap:no",
        "po:x",
        "human",
        "mailbag",
        "bo",
        "all_",
    ]);
    prop_oneof![3 => known.prop_map(String::from), 1 => "[@#a-z_*?{}:,\\[\\] .!-]{0,20}", 1 => any::<String>()]
}

proptest! {
    #[test]
    fn an_address_list_reaches_each_named_agent_once(addresses in prop::collection::vec(written(), 0..6), mention: bool) {
        let registry = team();
        if let Ok(list) = resolve(&registry, "alice", &addresses, mention, &mut Stand::default()) {
            let mut ids: Vec<_> = list.iter().map(|r| r.agent.clone()).collect();
            ids.sort();
            ids.dedup();
            prop_assert_eq!(ids.len(), list.len());
            prop_assert!(list.iter().all(|r| !registry.agent(&r.agent).unwrap().is_retired()));
            if !addresses.iter().any(|a| a.to_lowercase().contains("alice")) {
                prop_assert!(list.iter().all(|r| &*r.agent != "alice"));
            }
        }
        explain(&registry, Some("alice"), &addresses, &mut Stand::default());
    }

    #[test]
    fn an_address_is_given_back(text in written()) {
        if let Ok(address) = Address::parse(&text) {
            prop_assert_eq!(Address::parse(&address.to_string()).unwrap(), address);
        }
    }
}

#[test]
fn heavy_input_is_refused_quickly() {
    for text in [
        "a:".repeat(500_000),
        "*a".repeat(500_000),
        "x".repeat(1_000_000),
        "a, ".repeat(300_000),
    ] {
        let problems = to(&[&text]).unwrap_err();
        assert_eq!(problems[0].code, "bad_address");
        assert!(problems[0].what.len() < 300, "{}", problems[0].what);
    }
    assert_eq!(
        to(&vec!["nobody"; 20_000]).unwrap_err()[0].code,
        "too_many_addresses"
    );
    assert_eq!(
        to(&vec!["*"; 100]).unwrap_err()[0].code,
        "too_many_addresses"
    );
    assert_eq!(
        to(&vec!["nobody"; 100]).unwrap_err().len(),
        limits::PROBLEMS
    );
}

#[test]
fn a_rejected_address_gets_a_suggestion() {
    let said = |address: &str| to(&[address]).unwrap_err()[0].to_string();
    assert!(
        said("bobb").ends_with("did you mean bob?"),
        "{}",
        said("bobb")
    );
    assert!(
        said("all_enginer").contains("did you mean all_engineer?"),
        "{}",
        said("all_enginer")
    );
    assert!(
        said("round").contains("round → trip → round"),
        "{}",
        said("round")
    );
    assert!(
        said("po:x").contains("no link to the room po"),
        "{}",
        said("po:x")
    );
    assert!(
        said("engineer").contains("all_engineer"),
        "{}",
        said("engineer")
    );
    assert_eq!(
        to(&["bob, carol"]).unwrap_err()[0].example,
        Some(json!(["bob", "carol"]))
    );
}
