//! Addresses, registry and settings: the cases in `fixtures/addresses`, properties, and bad input.

#![allow(clippy::unwrap_used)]

use mailbag::base::clock::Stamp;
use mailbag::base::error::Problem;
use mailbag::message::address::Address;
use mailbag::room::registry::{Agent, Registry};
use mailbag::room::resolve::{Availability, explain, resolve};
use mailbag::room::settings::{Durability, Settings};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
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
    fn taken(&mut self, agent: &str) {
        self.0.entry(agent.to_owned()).or_default().1 += 1;
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
    let addresses: Vec<String> = addresses.iter().map(|a| a.to_string()).collect();
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

    #[test]
    fn reading_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200), text: String) {
        let _ = Registry::parse(&bytes);
        let _ = Registry::parse(text.as_bytes());
        let _ = Settings::parse(&text);
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
        mailbag::base::limits::PROBLEMS
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
        said("all_enginer").contains("did you mean all_engineer, all_lead?"),
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

#[test]
fn an_explanation_names_every_agent_with_its_reason() {
    let e = explain(
        &team(),
        Some("alice"),
        &["all_engineers".into()],
        &mut Stand::default(),
    );
    let why: Vec<String> = e.addresses[0]
        .others
        .iter()
        .map(|o| format!("{} {}", o.agent, o.why))
        .collect();
    assert_eq!(
        why,
        [
            "alice does not have the role engineer",
            "old is retired",
            "human does not have the role engineer"
        ]
    );
    assert_eq!(e.recipients.len(), 2);
    let any = explain(
        &team(),
        None,
        &["any_engineer".into()],
        &mut Stand::default(),
    );
    assert_eq!(
        any.addresses[0].others[1].why,
        "is after bob in the registry"
    );
}

fn refused(text: &str) -> Vec<(String, String, String)> {
    let problems = Registry::parse(text.as_bytes()).unwrap_err();
    problems
        .into_iter()
        .map(|p| (p.code, p.place, p.what))
        .collect()
}

#[test]
fn a_bad_registry_says_where() {
    let cases = [
        ("", "not_json", ""),
        ("  \n", "not_json", ""),
        (
            "{\"agents\": [\n{\"id\": \"a\"",
            "not_json",
            "line 2 column 10",
        ),
        ("{\"agents\": [}", "not_json", "line 1 column 13"),
        ("\u{feff}{}", "not_json", "line 1 column 1"),
        ("[]", "wrong_type", ""),
        ("{}", "missing_field", "/agents"),
        (r#"{"version": 2, "agents": []}"#, "bad_version", "/version"),
        (r#"{"agents": {}}"#, "wrong_type", "/agents"),
        (r#"{"agents": [7]}"#, "wrong_type", "/agents/0"),
        (
            r#"{"agents": [{"role": "x"}]}"#,
            "missing_field",
            "/agents/0",
        ),
        (r#"{"agents": [{"id": ".."}]}"#, "bad_name", "/agents/0/id"),
        (r#"{"agents": [{"id": "a/b"}]}"#, "bad_name", "/agents/0/id"),
        (r#"{"agents": [{"id": 5}]}"#, "wrong_type", "/agents/0/id"),
        (
            r#"{"agents": [{"id": "a", "name": "R2D2"}]}"#,
            "bad_name",
            "/agents/0/name",
        ),
        (
            r#"{"agents": [{"id": "a", "status": "bussy"}]}"#,
            "bad_status",
            "/agents/0/status",
        ),
        (
            r#"{"agents": [{"id": "a", "uid": -1}]}"#,
            "wrong_type",
            "/agents/0/uid",
        ),
        (
            r#"{"agents": [{"id": "a", "uid": 1000.0}]}"#,
            "wrong_type",
            "/agents/0/uid",
        ),
        (
            r#"{"agents": [{"id": "a", "wake": {"by": "post"}}]}"#,
            "bad_wake",
            "/agents/0/wake",
        ),
        (
            r#"{"agents": [{"id": "a", "wake": {"argv": ["x"], "every": "soon"}}]}"#,
            "bad_wake",
            "/agents/0/wake",
        ),
        (
            r#"{"agents": [{"id": "a", "topics": ["a b"]}]}"#,
            "bad_name",
            "/agents/0/topics/0",
        ),
        (
            r#"{"agents": [{"id": "ALL"}]}"#,
            "reserved_name",
            "/agents/0/id",
        ),
        (
            r#"{"agents": [{"id": "any_x"}]}"#,
            "reserved_name",
            "/agents/0/id",
        ),
        (
            r#"{"agents": [{"id": "Human"}]}"#,
            "reserved_name",
            "/agents/0/id",
        ),
        (
            r#"{"agents": [{"id": "human", "status": "retired"}]}"#,
            "reserved_name",
            "/agents/0/status",
        ),
        (
            r#"{"agents": [], "aliases": {"mailbag": "x"}}"#,
            "reserved_name",
            "/aliases/mailbag",
        ),
        (
            r#"{"agents": [], "aliases": {"x": []}}"#,
            "wrong_type",
            "/aliases/x",
        ),
        (
            r#"{"agents": [], "aliases": {"x": "no one"}}"#,
            "bad_address",
            "/aliases/x",
        ),
        (
            r#"{"agents": [], "agents": []}"#,
            "duplicate_key",
            "line 1 column 23",
        ),
        (
            r#"{"agents": [{"id": "a", "id": "b"}]}"#,
            "duplicate_key",
            "line 1 column 28",
        ),
    ];
    for (text, code, place) in cases {
        let got = refused(text);
        assert_eq!(
            (got[0].0.as_str(), got[0].1.as_str(), got.len()),
            (code, place, 1),
            "{text}: {got:?}"
        );
    }
}

#[test]
fn a_collision_names_both() {
    let two = refused(
        r#"{"agents": [{"id": "a", "name": "Bob"}, {"id": "bob"}], "aliases": {"A": "bob"}}"#,
    );
    assert!(
        two[0]
            .2
            .starts_with("agents/0 \"Bob\" and agents/1 \"bob\""),
        "{two:?}"
    );
    assert!(
        two[1].2.starts_with("agents/0 \"a\" and aliases \"A\""),
        "{two:?}"
    );
    assert!(Registry::parse(br#"{"agents": [{"id": "sintra", "name": "Sintra"}]}"#).is_ok());
}

#[test]
fn registry_edits_keep_unknown_fields() {
    let text = r#"{"z": 1e400, "agents": [{"x": 20123456789012345678901, "id": "bob", "name": "Porto"}], "version": 1}"#;
    let registry = Registry::parse(text.as_bytes()).unwrap();
    let change = Map::from_iter([
        ("role".to_owned(), json!("lead")),
        ("name".to_owned(), Value::Null),
    ]);
    let edited = registry
        .set("bob", &change)
        .unwrap()
        .subscribe("human", "news")
        .unwrap();
    let squeezed: String = edited.to_json().split_whitespace().collect();
    let wanted = r#"{"z":1e+400,"agents":[{"x":20123456789012345678901,"id":"bob","role":"lead"},{"id":"human","topics":["news"]}],"version":1}"#;
    assert_eq!(squeezed.replace("1e400", "1e+400"), wanted);
    assert!(registry.unsubscribe("bob", "news").is_ok());
    assert_eq!(
        registry
            .retire("bob")
            .unwrap()
            .remove("bob")
            .unwrap()
            .agents()
            .len(),
        1
    );
    for problems in [
        registry.retire("human"),
        registry.remove("human"),
        registry.remove("bo"),
        registry.add(Agent::new("..")),
    ] {
        assert!(problems.is_err());
    }
    let pool = ["Porto".to_owned(), "Sintra".to_owned()];
    assert_eq!(registry.next_free_name(&pool), Some("Sintra"));
}

#[test]
fn an_open_room_reads_roles_from_ids() {
    let of = |id| Registry::admit(id).role.unwrap_or_default();
    assert_eq!(of("agent_engineer_1_abc123"), "engineer");
    assert_eq!(of("agent_data_engineer_2_abc"), "data_engineer");
    assert_eq!(
        (of("agent__1_x"), of("planner"), of("agent_1_x")),
        ("".into(), "".into(), "".into())
    );
    assert!(
        Registry::empty()
            .add(Registry::admit("agent_engineer_1_abc123"))
            .is_ok()
    );
}

#[test]
fn settings_errors_name_the_line() {
    let settings = Settings::parse("# a room\ntag = \"po\"\ndurability = \"process\"\n").unwrap();
    assert_eq!(
        (settings.tag.as_deref(), settings.durability),
        (Some("po"), Durability::Process)
    );
    let sources: Vec<_> = settings
        .listing()
        .iter()
        .map(|s| (s.key, s.source))
        .collect();
    assert_eq!(
        sources[..3],
        [
            ("tag", "settings.toml"),
            ("durability", "settings.toml"),
            ("admission", "default")
        ]
    );
    let again: String = settings
        .listing()
        .iter()
        .filter(|s| !s.value.is_empty())
        .map(|s| format!("{} = {}\n", s.key, s.value))
        .collect();
    assert_eq!(Settings::parse(&again).unwrap().names, settings.names);
    let bad = Settings::parse(
        "\nadmision = \"open\"\ncontext = \"inbox/x\"\nmessage_bytes = 0\nnames = [\"a1\"]\n",
    )
    .unwrap_err();
    let places: Vec<_> = bad
        .iter()
        .map(|p| (p.code.as_str(), p.place.as_str()))
        .collect();
    let wrong = "bad_setting";
    assert_eq!(
        places,
        [
            ("unknown_setting", "line 2"),
            (wrong, "line 3"),
            (wrong, "line 4"),
            (wrong, "line 5")
        ]
    );
    assert_eq!(bad[0].fix, "did you mean admission?");
    assert_eq!(Settings::parse("tag = \n").unwrap_err()[0].code, "not_toml");
    assert_eq!(Settings::parse("").unwrap(), Settings::default());
    let named = |names: &[String]| {
        names
            .iter()
            .all(|n| mailbag::message::address::is_display_name(n))
            && names.len() == 134
    };
    assert!(named(&Settings::default().names));
}

#[test]
fn budgets_are_whole_numbers_and_their_window_a_time() {
    let window = |text: &str| {
        Settings::parse(&format!("budget.window = {text}\n")).map(|s| s.budget.window.as_secs())
    };
    assert_eq!(window("\"1s\""), Ok(1));
    assert_eq!(window("\"10m\""), Ok(600));
    assert_eq!(window("\"24h\""), Ok(86_400));
    for bad in [
        "60",
        "\"60\"",
        "\"0s\"",
        "\"25h\"",
        "\"1.5m\"",
        "\"-1s\"",
        "\"s\"",
        "\"\"",
        "\"99999999999999999999h\"",
    ] {
        let problems = window(bad).expect_err(bad);
        assert!(
            problems[0]
                .to_string()
                .contains("a duration from 1s to 24h"),
            "{bad}: {problems:?}"
        );
    }
    for key in ["budget.messages", "budget.copies", "budget.replies"] {
        for bad in ["-1", "1.5", "\"60\"", "1_000_001"] {
            let problems = Settings::parse(&format!("{key} = {bad}\n")).expect_err(bad);
            assert!(
                problems[0]
                    .to_string()
                    .contains("a whole number from 0 (no limit) to 1000000"),
                "{problems:?}"
            );
        }
    }
    assert_eq!(
        Settings::parse("budget.messages = 0x10\nbudget.replies = 0\n")
            .unwrap()
            .budget
            .messages,
        16
    );
}
