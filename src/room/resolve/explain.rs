//! Explaining addresses: the current recipients with the rule for each, and the reason why each other agent is not a
//! recipient.

use super::expand::AddressExpansion;
use super::{Availability, ReachedAgents, Recipient};
use crate::base::error::Problem;
use crate::message::address::Address;
use crate::room::registry::{Agent, Registry};
use serde::Serialize;

/// The explanation of several addresses.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecipientExplanation {
    /// The assumed sender, if one was given.
    pub from: Option<String>,
    /// The explanation of each address, in order.
    pub addresses: Vec<AddressExplanation>,
    /// The agents that would get one copy each. Empty if an address is invalid.
    pub recipients: Vec<Recipient>,
}

/// The explanation of one address.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AddressExplanation {
    /// The address as given.
    pub address: String,
    /// The rule in words.
    pub rule: String,
    /// The agents that it reaches.
    pub reaches: Vec<Recipient>,
    /// All other agents.
    pub others: Vec<UnreachedAgent>,
    /// Why a message to this address would be rejected.
    pub problems: Vec<Problem>,
}

/// An agent that an address does not reach.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnreachedAgent {
    /// Its id.
    pub agent: String,
    /// The reason.
    pub reason: String,
}

/// Explains addresses for the sender `from`, or for an unregistered sender. Does not count as a choice of `any_…`.
pub fn explain(
    registry: &Registry,
    from: Option<&str>,
    addresses: &[String],
    standing: &mut dyn Availability,
) -> RecipientExplanation {
    let sender = from.and_then(|from| registry.position(from));
    let mut all = ReachedAgents::new(registry);
    let explained: Vec<AddressExplanation> = addresses
        .iter()
        .map(|text| {
            let mut reached = ReachedAgents::new(registry);
            let mut expansion = AddressExpansion::new(registry, from, &*standing);
            let result = expansion.address(text, &mut |reach, via| {
                reached.add(reach, via);
                all.add(reach, via);
            });
            let problems = result.err().unwrap_or_default();
            let rule = rule(registry, text);
            let others = others(registry, sender, text, &reached, standing);
            // If an alias fails, none of its agents receives the message.
            let reaches = if problems.is_empty() {
                reached.list
            } else {
                Vec::new()
            };
            AddressExplanation {
                address: text.clone(),
                rule,
                reaches,
                others,
                problems,
            }
        })
        .collect();
    let refused = explained.iter().any(|e| !e.problems.is_empty());
    let recipients = if refused { Vec::new() } else { all.list };
    RecipientExplanation {
        from: from.map(String::from),
        addresses: explained,
        recipients,
    }
}

fn rule(registry: &Registry, text: &str) -> String {
    match Address::parse(text) {
        Err(_) => "not a valid address".to_owned(),
        Ok(Address::All) => "all agents except the sender and the human".to_owned(),
        Ok(Address::Role(role)) => {
            format!("all agents with the role {}", role_text(registry, &role))
        }
        Ok(Address::Any(role)) => format!("one agent with the role {}", role_text(registry, &role)),
        Ok(Address::Glob(_)) => {
            "all agents with an id or display name that matches the pattern".to_owned()
        }
        Ok(Address::Topic(topic)) => format!("the subscribers of {topic}"),
        Ok(Address::Capability(capability)) => {
            format!("all agents with the capability {capability}")
        }
        Ok(Address::Owner(subject)) => format!("the agents that own {subject}"),
        Ok(Address::Lane(lane)) => lane_rule(registry, &lane),
        Ok(Address::Remote { tag, .. }) => format!("a recipient in the room {tag}"),
        Ok(Address::Word(word)) => word_rule(registry, &word, false),
        Ok(Address::At(word)) => word_rule(registry, &word, true),
    }
}

fn word_rule(registry: &Registry, word: &str, with_at: bool) -> String {
    let role = registry.role_named(word);
    let named = match (registry.find(word), registry.alias(word)) {
        (Some(agent), _) => Some(format!(
            "the agent with this {}",
            if &*agent.id == word {
                "id"
            } else {
                "display name"
            }
        )),
        (None, Some((alias, targets))) => {
            Some(format!("the alias {alias} for {}", targets.join(", ")))
        }
        (None, None) if with_at => role.map(|(role, _)| format!("all agents with the role {role}")),
        (None, None) => None,
    };
    match (named, registry.lane(word)) {
        (Some(named), Some(lane)) => format!("{named}; the lane of this name is {}", lane.address),
        (Some(named), None) => named,
        (None, Some(lane)) if role.is_none() => lane_rule(registry, &lane.name),
        (None, _) => "an unknown name".to_owned(),
    }
}

fn lane_rule(registry: &Registry, name: &str) -> String {
    match registry.lane(name) {
        Some(lane) => format!(
            "the owners of the lane {} in the charter: {}",
            lane.name,
            lane.owners.join(", ")
        ),
        None => "an unknown lane".to_owned(),
    }
}

fn role_text<'t>(registry: &Registry, role: &'t str) -> &'t str {
    registry.role_named(role).map_or(role, |(role, _)| role)
}

fn others(
    registry: &Registry,
    sender: Option<u32>,
    text: &str,
    reached: &ReachedAgents<'_>,
    standing: &dyn Availability,
) -> Vec<UnreachedAgent> {
    let Ok(address) = Address::parse(text) else {
        return Vec::new();
    };
    let asked = match &address {
        // `@engineers` is a role only if no agent and no alias has this name.
        Address::At(word) if registry.find(word).is_none() && registry.alias(word).is_none() => {
            Address::Role(word.clone())
        }
        other => other.clone(),
    };
    let left = registry
        .agents()
        .iter()
        .enumerate()
        .filter(|(at, _)| reached.place(*at as u32).is_none());
    left.map(|(at, agent)| UnreachedAgent {
        agent: agent.id.to_string(),
        reason: why_not(
            registry,
            &asked,
            agent,
            sender == u32::try_from(at).ok(),
            &reached.list,
            standing,
        ),
    })
    .collect()
}

fn lacks<'a>(of: &str, name: &str, own: impl IntoIterator<Item = &'a String>) -> Option<String> {
    let has = own.into_iter().any(|own| own.eq_ignore_ascii_case(name));
    (!has).then(|| format!("does not have the {of} {name}"))
}

fn why_not(
    registry: &Registry,
    address: &Address,
    agent: &Agent,
    is_sender: bool,
    reached: &[Recipient],
    standing: &dyn Availability,
) -> String {
    let not_in_it = match address {
        Address::All => None,
        Address::Role(role) | Address::Any(role) => {
            let role = role_text(registry, role);
            lacks("role", role, &agent.role)
        }
        Address::Topic(topic) => lacks("topic", topic, &agent.topics),
        Address::Capability(name) => lacks("capability", name, &agent.capabilities),
        Address::Glob(_) if !is_sender && !agent.is_human() && !agent.is_retired() => {
            Some("has no matching name".into())
        }
        Address::Glob(_) => None,
        Address::Word(_) | Address::At(_) | Address::Lane(_) if agent.is_retired() => None,
        Address::Word(_) | Address::At(_) | Address::Lane(_) => {
            Some("is not named by it".to_owned())
        }
        Address::Owner(subject) if !is_sender => Some(format!("owns nothing of {subject}")),
        Address::Owner(_) => None,
        Address::Remote { .. } => Some("is in this room".to_owned()),
    };
    if let Some(reason) = not_in_it {
        return reason;
    }
    match address {
        _ if agent.is_retired() => "is retired".to_owned(),
        _ if agent.is_human() => "is the human, who is not in groups".to_owned(),
        _ if is_sender => "is the sender, who is not in groups".to_owned(),
        Address::Any(_) => passed_over(agent, reached, standing),
        _ => "is not reached".to_owned(),
    }
}

/// Why `any_…` chose another agent.
fn passed_over(agent: &Agent, reached: &[Recipient], standing: &dyn Availability) -> String {
    let Some(chosen) = reached.first() else {
        return "is not chosen".to_owned();
    };
    let (mine, theirs) = (&*agent.id, &*chosen.agent);
    if standing.online(mine) != standing.online(theirs) {
        return format!("is not online, and {theirs} is");
    }
    if standing.was_seen(mine) != standing.was_seen(theirs) {
        return format!("was not active within the last hour, and {theirs} was");
    }
    if standing.unread(mine) != standing.unread(theirs) {
        return format!(
            "has {} unread, and {theirs} has {}",
            standing.unread(mine),
            standing.unread(theirs)
        );
    }
    if standing.last_active(mine) != standing.last_active(theirs) {
        return format!("was active later than {theirs}");
    }
    format!("is after {theirs} in the registry")
}
