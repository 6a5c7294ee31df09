//! Reading and editing a registry.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::room::settings::Settings;
use proptest::prelude::*;

proptest! {
    #[test]
    fn reading_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200), text: String) {
        let _ = Registry::parse(&bytes);
        let _ = Registry::parse(text.as_bytes());
        let _ = Settings::parse(&text);
    }
}

fn problem(text: &str) -> Problem {
    *Registry::parse(text.as_bytes()).expect_err(text)
}

#[test]
fn a_bad_registry_says_where() {
    let cases = [
        ("", "not_json", "line 1 column 0"),
        (
            "{\"agents\": [\n{\"id\": \"a\"",
            "not_json",
            "line 2 column 10",
        ),
        ("{\"agents\": [}", "not_json", "line 1 column 13"),
        ("\u{feff}{}", "not_json", "line 1 column 1"),
        ("[]", "bad_registry", ""),
        ("{}", "bad_registry", ""),
        (
            r#"{"version": 2, "agents": []}"#,
            "bad_registry",
            "/version",
        ),
        (r#"{"agents": {}}"#, "bad_registry", "/agents"),
        (r#"{"agents": [7]}"#, "bad_registry", "/agents/0"),
        (
            r#"{"agents": [{"role": "x"}]}"#,
            "bad_registry",
            "/agents/0",
        ),
        (
            r#"{"agents": [{"id": ".."}]}"#,
            "bad_registry",
            "/agents/0/id",
        ),
        (
            r#"{"agents": [{"id": "a/b"}]}"#,
            "bad_registry",
            "/agents/0/id",
        ),
        (r#"{"agents": [{"id": 5}]}"#, "bad_registry", "/agents/0/id"),
        (
            r#"{"agents": [{"id": "a", "name": "R2D2"}]}"#,
            "bad_registry",
            "/agents/0/name",
        ),
        (
            r#"{"agents": [{"id": "a", "status": "bussy"}]}"#,
            "bad_registry",
            "/agents/0/status",
        ),
        (
            r#"{"agents": [{"id": "a", "topics": ["a b"]}]}"#,
            "bad_registry",
            "/agents/0/topics",
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
            r#"{"agents": [{"id": "worker_1"}, {"id": "worker_l"}]}"#,
            "collision",
            "/agents/1/id",
        ),
        (
            r#"{"agents": [{"id": "arno"}], "aliases": {"am0": "arno"}}"#,
            "collision",
            "/aliases/am0",
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
            "bad_registry",
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
        let found = problem(text);
        assert_eq!((&*found.code, &*found.place), (code, place), "{text}");
    }
}

#[test]
fn no_agent_has_the_name_of_a_role_of_others() {
    // P292
    let bob = r#"{"id": "bob", "role": "engineer"}"#;
    for (other, place) in [
        (r#"{"id": "engineer"}"#, "/agents/1/id"),
        (r#"{"id": "Engineers"}"#, "/agents/1/id"),
        (r#"{"id": "carol", "name": "Engineer"}"#, "/agents/1/name"),
        (r#"{"id": "engineer", "role": "writer"}"#, "/agents/1/id"),
        (r#"{"id": "engineers", "role": "engineer"}"#, "/agents/1/id"),
    ] {
        let found = problem(&format!(r#"{{"version": 1, "agents": [{bob}, {other}]}}"#));
        assert_eq!((&*found.code, &*found.place), ("collision", place));
    }
    for other in [
        r#"{"id": "engineer", "role": "Engineer"}"#,
        r#"{"id": "engine"}"#,
    ] {
        let text = format!(r#"{{"version": 1, "agents": [{bob}, {other}]}}"#);
        assert!(Registry::parse(text.as_bytes()).is_ok(), "{other}");
    }
}

#[test]
fn no_alias_has_the_name_of_a_role_of_others() {
    // P292
    let agents = r#"[{"id": "bob", "role": "engineer"}, {"id": "carol", "role": "engineer"}, {"id": "dan", "role": "writer"}]"#;
    let parse = |aliases: &str| {
        let text = format!(r#"{{"version": 1, "agents": {agents}, "aliases": {aliases}}}"#);
        Registry::parse(text.as_bytes())
    };
    for (aliases, alias) in [
        (r#"{"engineers": ["bob"]}"#, "engineers"),
        (r#"{"Engineer": "dan"}"#, "Engineer"),
        (r#"{"engineers": "bob"}"#, "engineers"),
        (r#"{"engineer": ["bob", "carol"]}"#, "engineer"),
        (r#"{"engineers": "all_writer"}"#, "engineers"),
        (r#"{"engineers": "cap:web"}"#, "engineers"),
    ] {
        let found = parse(aliases).expect_err(aliases);
        assert_eq!(
            (&*found.code, found.place.as_str()),
            ("collision", format!("/aliases/{alias}").as_str())
        );
        let what = found.to_string();
        assert!(what.contains(&format!("the alias \"{alias}\"")), "{what}");
        assert!(what.contains("the alias or for the role"), "{what}");
    }
    for aliases in [
        r#"{"engineers": "all_engineer", "engineer": ["all_Engineers"]}"#,
        r#"{"engineer": "bob"}"#,
        r#"{"engineer": "first", "first": "@bob"}"#,
        r#"{"engine": "dan"}"#,
    ] {
        assert!(parse(aliases).is_ok(), "{aliases}");
    }
}

#[test]
fn a_problem_says_how_to_correct_the_first_wrong_value() {
    let good = json!({"version": 1, "note": "kept", "agents": [
        {"id": "planner", "role": "planner", "name": "Sintra", "instance": 1, "description": "d", "capabilities": ["a"],
         "topics": ["t"], "status": "busy", "supervisor": "human", "mine": null}],
        "aliases": {"web-owner": "cap:web", "leads": ["planner", "human"]}});
    assert!(Registry::parse(good.to_string().as_bytes()).is_ok());
    for (text, said) in [
        (
            r#"{"version": 2, "agents": [{}]}"#,
            "version: 2 is not valid; give 1, the only version of this format",
        ),
        (
            r#"{"agents": [{"id": "a"}, {"role": "a"}]}"#,
            "agents[1]: the key `id` is missing; add it",
        ),
        (
            r#"{"agents": [{"id": "a", "status": "asleep"}]}"#,
            "agents[0].status: \"asleep\" is not valid; give one of online, idle, busy, offline, retired",
        ),
        (
            r#"{"agents": [{"id": "a", "Role": "b"}, {"id": "a"}]}"#,
            "agents[0].Role: \"Role\" is not a key of the registry; write role instead; put data of your own under \
             another name",
        ),
        (
            r#"{"agents": [{"id": "a", "name": "Bob"}, {"id": "bob"}]}"#,
            "agents[1].id: agents[0].name \"Bob\" and agents[1].id \"bob\" have the same name (letter case is ignored); \
             rename one of them; some file systems ignore letter case",
        ),
        (
            r#"{"agents": [{"id": "a"}], "aliases": {"A": "a"}}"#,
            "aliases.A: agents[0].id \"a\" and the alias \"A\" have the same name (letter case is ignored); rename one of \
             them; some file systems ignore letter case",
        ),
    ] {
        assert_eq!(problem(text).to_string(), said);
    }
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
    for edited in [
        registry.retire("human"),
        registry.remove("human"),
        registry.remove("bo"),
        registry.add(Agent::new("..")),
    ] {
        assert!(edited.is_err());
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
fn a_reserved_name_and_a_name_that_looks_like_one_are_rejected_everywhere() {
    for name in [
        "human.", "hu-man", "hurnan", "HURNAN", "mailbag.", "mai1bag", "maiIbag", "Mailbag-",
        "system", "System", "sys.tem", "all.", "a1l", "channe1",
    ] {
        let texts = [
            json!({"agents": [{"id": name}]}),
            json!({"agents": [{"id": "x"}], "aliases": {name: "x"}}),
        ];
        for text in texts {
            let found = problem(&text.to_string());
            assert_eq!(found.code, "reserved_name", "{text}");
        }
    }
    for name in [
        "humane", "bag", "mail", "systems", "manuel", "ali", "alan", "a11",
    ] {
        let text = json!({"agents": [{"id": name}]}).to_string();
        assert!(Registry::parse(text.as_bytes()).is_ok(), "{name}");
    }
}

#[test]
fn a_key_that_is_nearly_a_known_one_is_a_problem_and_other_keys_stay() {
    for (key, known) in [
        ("Role", "role"),
        ("roles", "role"),
        ("rol", "role"),
        ("type", "role"),
        ("capability", "capabilities"),
        ("caps", "capabilities"),
        ("topic", "topics"),
        ("displayName", "name"),
        ("display_name", "name"),
        ("Name", "name"),
        ("Status", "status"),
        ("supervisors", "supervisor"),
    ] {
        let text = json!({"agents": [{"id": "a", key: "x"}]}).to_string();
        let found = problem(&text);
        assert_eq!(
            (&*found.code, &*found.place),
            ("misnamed_field", &*format!("/agents/0/{key}"))
        );
        assert!(
            found.fix.starts_with(&format!("write {known} ")),
            "{found:?}"
        );
    }
    for key in ["alias", "Aliases", "Agents", "agent", "Version"] {
        let text = json!({"agents": [], key: {}}).to_string();
        assert_eq!(problem(&text).code, "misnamed_field", "{key}");
    }
    let own = json!({"agents": [{"id": "a", "team": "web", "started_at": "now", "x-role": 1}], "comment": "ours"});
    assert!(Registry::parse(own.to_string().as_bytes()).is_ok());
}

#[test]
fn the_keys_of_other_agent_systems_are_read_and_an_edit_writes_our_own() {
    let text = json!({"agents": [
        {"agent_id": "agent_engineer_1", "role_name": "engineer", "instance_number": 1, "tmux_target": "x"},
        {"id": "bob", "agent_id": "b-17"},
    ]});
    let registry = Registry::parse(text.to_string().as_bytes()).unwrap();
    let engineer = registry.agent("agent_engineer_1").unwrap();
    assert_eq!(engineer.role.as_deref(), Some("engineer"));
    assert_eq!(engineer.instance.as_deref(), Some("1"));
    let bob = registry.agent("bob").unwrap();
    assert_eq!(bob.rest["agent_id"], "b-17", "its id is given already");
    let edited = registry.subscribe("agent_engineer_1", "ci").unwrap();
    let edited: Value = serde_json::from_str(edited.to_json()).unwrap();
    assert_eq!(
        edited["agents"][0],
        json!({"id": "agent_engineer_1", "role": "engineer", "instance": 1, "tmux_target": "x", "topics": ["ci"]})
    );
    assert_eq!(edited["agents"][1]["agent_id"], "b-17");
}
