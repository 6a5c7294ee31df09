//! Fuzz target: the bytes of `registry.json`.

use mailbag::room::registry::Registry;

/// Reads the bytes. An accepted registry is written and read back equal, and can be edited.
pub(crate) fn run(bytes: &[u8]) {
    let registry = match Registry::parse(bytes) {
        Ok(registry) => registry,
        Err(problem) => {
            let said = problem.what.len() + problem.fix.len() + problem.place.len();
            assert!(said <= 64 << 10, "{said} bytes about {} bytes", bytes.len());
            return assert!(!problem.what.is_empty(), "{problem:?}");
        }
    };
    let text = same(&registry);
    let human = registry.agent("human").expect("always registered");
    assert!(!human.is_retired());
    for agent in registry.agents() {
        let found = registry
            .find(&agent.id)
            .expect("who is in it is found in it");
        assert_eq!(found, agent);
        let members = agent
            .role
            .as_ref()
            .and_then(|role| registry.with_role(role));
        let is_member = members
            .unwrap_or_default()
            .iter()
            .any(|at| registry.at(*at).id == agent.id);
        assert_eq!(
            is_member,
            agent.role.is_some() && !agent.is_retired() && !agent.is_human(),
            "{text}"
        );
    }
    let first = registry.agents()[0].id.clone();
    let edited = registry
        .subscribe(&first, "fuzzed")
        .unwrap_or_else(|e| panic!("can't subscribe {first}: {e:?}\n{text}"));
    assert!(
        edited
            .agent(&first)
            .is_some_and(|agent| agent.topics.iter().any(|topic| topic == "fuzzed"))
    );
    same(&edited);
    same(
        &edited
            .unsubscribe(&first, "fuzzed")
            .expect("it was subscribed"),
    );
}

fn same(registry: &Registry) -> String {
    let text = registry.to_json().to_owned();
    let again = Registry::parse(text.as_bytes())
        .unwrap_or_else(|e| panic!("doesn't read back: {e:?}\n{text}"));
    assert_eq!(again.to_json(), text);
    assert_eq!(
        (again.agents(), again.aliases()),
        (registry.agents(), registry.aliases())
    );
    text
}
