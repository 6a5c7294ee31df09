//! The agents of the room and the recipients of an address: a second, simple implementation of the
//! protocol.

use std::collections::{BTreeMap, BTreeSet};

pub(super) type Name = &'static str;

/// All possible agents; the last two join later.
pub(super) const AGENTS: [Name; 6] = ["alice", "bob", "carol", "agent_writer_1_ab", "eve", "frank"];
pub(super) const AT_FIRST: usize = 4;
pub(super) const ROLES: [Name; 3] = ["lead", "engineer", "writer"];
pub(super) const TOPICS: [Name; 2] = ["news", "auth"];
pub(super) const ALIASES: [Name; 2] = ["owner", "crew"];
pub(super) const PATTERNS: [Name; 4] = ["agent_*", "writer_*", "*", "x*"];
pub(super) const CAPABILITY: Name = "web";
/// Bob's display name, in another letter case.
pub(super) const BOB: Name = "sintra";

/// One agent, as the registry has it.
#[derive(Debug, Clone)]
pub(super) struct Agent {
    pub(super) id: Name,
    pub(super) role: Name,
    pub(super) retired: bool,
}

/// An address, as senders write it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Address {
    Agent(Name),
    Bob,
    Human,
    Nobody,
    All,
    Role(Name),
    Any(Name),
    Pattern(Name),
    Topic(Name),
    Capability,
    Alias(Name),
}

impl Address {
    pub(super) fn text(&self) -> String {
        match self {
            Address::Agent(id) => (*id).to_owned(),
            Address::Bob => format!("@{BOB}"),
            Address::Human => "human".to_owned(),
            Address::Nobody => "zebediah".to_owned(),
            Address::All => "all".to_owned(),
            Address::Role(role) => format!("all_{role}s"),
            Address::Any(role) => format!("any_{role}"),
            Address::Pattern(pattern) => (*pattern).to_owned(),
            Address::Topic(topic) => format!("#{topic}"),
            Address::Capability => format!("cap:{CAPABILITY}"),
            Address::Alias(alias) => (*alias).to_owned(),
        }
    }
}

/// The registry.
#[derive(Debug, Clone)]
pub(super) struct People {
    pub(super) agents: Vec<Agent>,
    pub(super) aliases: BTreeMap<Name, Vec<Address>>,
    /// The subscribers of a topic; `None` if a crash leaves it open.
    pub(super) topics: BTreeMap<(Name, Name), Option<bool>>,
}

/// The recipients of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Reach {
    pub(super) surely: BTreeSet<Name>,
    /// The agents that get it if they follow the topic at that time.
    pub(super) perhaps: BTreeSet<Name>,
    /// Exactly one of each of these.
    pub(super) one_of: BTreeSet<BTreeSet<Name>>,
}

impl Reach {
    /// Returns true if these can be the recipients.
    pub(super) fn fits(&self, got: &BTreeSet<Name>) -> bool {
        let chosen: Vec<&Name> = got
            .difference(&self.surely)
            .filter(|who| !self.perhaps.contains(*who))
            .collect();
        self.surely.is_subset(got)
            && self.one_of.iter().all(|group| !group.is_disjoint(got))
            && chosen.len() <= self.one_of.len()
            && chosen
                .iter()
                .all(|who| self.one_of.iter().any(|group| group.contains(**who)))
    }
}

impl People {
    pub(super) fn at_first() -> People {
        let agents = (0..AT_FIRST).map(|n| Agent {
            id: AGENTS[n],
            role: ROLES[n.min(2)],
            retired: false,
        });
        let aliases = BTreeMap::from([(ALIASES[0], vec![Address::Capability])]);
        People {
            agents: agents.collect(),
            aliases,
            topics: BTreeMap::from([(("carol", TOPICS[0]), Some(true))]),
        }
    }

    pub(super) fn agent(&mut self, id: Name) -> Option<&mut Agent> {
        self.agents.iter_mut().find(|agent| agent.id == id)
    }

    /// Returns true if the agent can send and receive.
    pub(super) fn is_active(&self, id: Name) -> bool {
        self.agents
            .iter()
            .any(|agent| agent.id == id && !agent.retired)
    }

    /// The recipients of these addresses, or the codes of their rejection.
    pub(super) fn reach(&self, from: Name, addresses: &[Address]) -> Result<Reach, BTreeSet<Name>> {
        let (mut reach, mut codes) = (Reach::default(), BTreeSet::new());
        for address in addresses {
            let behind = match address {
                Address::Alias(alias) => self.aliases.get(alias).map(Vec::as_slice),
                plain => Some(std::slice::from_ref(plain)),
            };
            match behind {
                None => drop(codes.insert("unknown_recipient")),
                Some(targets) => codes.extend(
                    targets
                        .iter()
                        .filter_map(|to| self.add(from, to, &mut reach).err()),
                ),
            }
        }
        if codes.is_empty() {
            Ok(reach)
        } else {
            Err(codes)
        }
    }

    fn add(&self, from: Name, address: &Address, reach: &mut Reach) -> Result<(), Name> {
        let living = || self.agents.iter().filter(|agent| !agent.retired);
        let group = |members: Vec<Name>, code: Name| {
            if members.is_empty() {
                Err(code)
            } else {
                Ok(members)
            }
        };
        let role = |role: &Name| -> Vec<Name> {
            living().filter(|a| a.role == *role).map(|a| a.id).collect()
        };
        let members = match address {
            Address::Nobody | Address::Alias(_) => return Err("unknown_recipient"),
            Address::Human => return self.one(HUMAN, reach),
            Address::Bob => return self.one("bob", reach),
            Address::Agent(id) => return self.one(id, reach),
            Address::Topic(topic) => {
                for agent in living().filter(|agent| agent.id != from) {
                    match self.topics.get(&(agent.id, *topic)) {
                        Some(Some(true)) => drop(reach.surely.insert(agent.id)),
                        Some(None) => drop(reach.perhaps.insert(agent.id)),
                        _ => {}
                    }
                }
                return Ok(());
            }
            Address::Any(of) => {
                let others: Vec<Name> = role(of).into_iter().filter(|id| *id != from).collect();
                reach
                    .one_of
                    .insert(group(others, "empty_role")?.into_iter().collect());
                return Ok(());
            }
            Address::All => living().map(|agent| agent.id).collect(),
            Address::Role(of) => group(role(of), "empty_role")?,
            Address::Capability => group(
                living().map(|a| a.id).filter(|id| *id == "bob").collect(),
                "empty_capability",
            )?,
            Address::Pattern(pattern) => group(
                living()
                    .map(|a| a.id)
                    .filter(|id| matches(pattern, id))
                    .collect(),
                "empty_pattern",
            )?,
        };
        reach
            .surely
            .extend(members.into_iter().filter(|id| *id != from));
        Ok(())
    }

    fn one(&self, id: Name, reach: &mut Reach) -> Result<(), Name> {
        match self.agents.iter().find(|agent| agent.id == id) {
            None if id != HUMAN => Err("unknown_recipient"),
            Some(agent) if agent.retired => Err("retired_recipient"),
            _ => {
                reach.surely.insert(id);
                Ok(())
            }
        }
    }
}

pub(super) const HUMAN: Name = "human";

/// All patterns here end in their only star. An id counts also without its `agent_`.
fn matches(pattern: &str, id: &str) -> bool {
    let start = pattern.trim_end_matches('*');
    let ids = [
        Some(id),
        id.strip_prefix("agent_"),
        (id == "bob").then_some(BOB),
    ];
    ids.into_iter().flatten().any(|id| id.starts_with(start))
}
