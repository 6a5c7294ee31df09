//! Fuzz target: addresses, against the registry of the fixtures. Delivery and explanation agree.

use mailbag::base::clock::Stamp;
use mailbag::message::address::Address;
use mailbag::room::registry::Registry;
use mailbag::room::resolve::{Availability, explain, resolve};
use std::sync::LazyLock;

/// Everything that an address can meet: see `fixtures/addresses`.
static REGISTRY: LazyLock<Registry> =
    LazyLock::new(|| Registry::parse(TEXT.as_bytes()).expect("a registry"));
const TEXT: &str = r#"{"version": 1, "agents": [
    {"id": "alice", "role": "lead", "topics": ["auth-module"]},
    {"id": "bob", "role": "engineer", "name": "Sintra", "capabilities": ["has-telegram", "web-presence"], "topics": ["auth-module"]},
    {"id": "carol", "role": "engineer", "topics": ["quiet"]},
    {"id": "agent_engineer_1_abc123", "role": "engineer", "name": "Porto", "status": "offline"},
    {"id": "dora", "role": "news", "capabilities": ["web-presence"]},
    {"id": "erin", "role": "lonely"},
    {"id": "old", "role": "archivist", "status": "retired", "capabilities": ["cobol"], "name": "Evora"},
    {"id": "human", "role": "engineer", "topics": ["auth-module"]}],
  "aliases": {"web-owner": "cap:web-presence", "team": ["web-owner", "carol"], "me": "alice", "ping": "pong",
    "pong": ["bob", "ping"], "gone": "nobody-there", "many": ["*", "all", "agent_*", "any_engineer"]}}"#;
/// So few that no message reaches the limit on patterns, which an explanation has for each address
/// alone.
const MOST: usize = 8;

/// Every agent has a different presence, so that `any_<role>` has a choice.
struct Stand;

impl Availability for Stand {
    fn unread(&self, agent: &str) -> usize {
        agent.len() % 3
    }
    fn online(&self, agent: &str) -> bool {
        agent != "agent_engineer_1_abc123"
    }
    fn last_active(&self, _: &str) -> Stamp {
        Stamp::default()
    }
}

/// The first byte chooses the sender, the rest is addresses, one a line.
pub(crate) fn run(bytes: &[u8]) {
    let (Some((first, rest)), registry) = (bytes.split_first(), &*REGISTRY) else {
        return;
    };
    let senders = registry.agents();
    let from = senders
        .get(usize::from(*first) % (senders.len() + 1))
        .map_or("stranger", |agent| &*agent.id);
    let text = String::from_utf8_lossy(rest);
    let addresses: Vec<String> = text.split('\n').take(MOST).map(str::to_owned).collect();
    for address in &addresses {
        match Address::parse(address) {
            Ok(parsed) => assert_eq!(
                Address::parse(&parsed.to_string()).ok(),
                Some(parsed),
                "{address:?}"
            ),
            Err(problem) => assert!(
                !problem.what.is_empty() && problem.what.len() < 2000,
                "{problem:?}"
            ),
        }
    }
    // An unknown handle does not count as a mention, and all other addresses are valid.
    let mentioned = resolve(registry, from, &addresses, true, &mut Stand);
    mentioned.iter().flatten().for_each(|r| {
        assert!(
            registry
                .agent(&r.agent)
                .is_some_and(|agent| !agent.is_retired())
        )
    });
    let resolved = resolve(registry, from, &addresses, false, &mut Stand);
    let explained = explain(registry, Some(from), &addresses, &mut Stand);
    match resolved {
        Ok(list) => {
            assert!(
                explained.addresses.iter().all(|e| e.problems.is_empty()),
                "{addresses:?}: {explained:#?}"
            );
            assert_eq!(explained.recipients, list, "{addresses:?}");
            assert!(list.iter().all(|r| {
                registry
                    .agent(&r.agent)
                    .is_some_and(|agent| !agent.is_retired())
            }));
        }
        Err(problems) => {
            assert!(explained.recipients.is_empty(), "{addresses:?}");
            assert!(
                explained.addresses.iter().any(|e| !e.problems.is_empty()),
                "{addresses:?}: {problems:?}"
            );
            assert!(
                problems
                    .iter()
                    .all(|p| !p.what.is_empty() && !p.fix.is_empty()),
                "{problems:?}"
            );
        }
    }
}
