//! Resolving one address to agents, with an explanation if no agent matches.

#![allow(
    clippy::result_large_err,
    reason = "a problem is built for rejected input only"
)]

use super::terms::SenderTerms;
use super::{Availability, RecipientRule};
use crate::base::error::{Problem, nearest};
use crate::base::text::{joined, listed};
use crate::message::address::{self, Address, quoted};
use crate::message::id::{HUMAN, MAILBAG, far};
use crate::message::subject::ClaimSubject;
use crate::room::registry::{AddressKind, Agent, Registry};
use std::cmp::Reverse;
use std::sync::Arc;

/// The most globs in one message, including globs in aliases. Each glob is compared with every name.
pub(super) const GLOBS: usize = 32;

/// The target of an address.
#[derive(Debug, Clone)]
pub(super) enum AddressTarget {
    /// An agent of this room, by its position in the registry.
    Here(u32),
    /// An address in another room, with its tag.
    There(Arc<str>),
}

/// The targets of an address, each with the rule that reaches it, or the problems of the address, without a position.
pub(super) type Expanded = Result<Vec<(AddressTarget, RecipientRule)>, Vec<Problem>>;

/// Resolves the addresses of one message.
pub(super) struct AddressExpansion<'a, 's> {
    pub(super) registry: &'a Registry,
    pub(super) sender: Option<u32>,
    /// The addresses that the sender may use.
    terms: SenderTerms<'a>,
    standing: &'s dyn Availability,
    /// The aliases that are being expanded, outermost first.
    path: Vec<&'a str>,
    /// The aliases that were already expanded for this address. Their recipients were already reached.
    done: Vec<&'a str>,
    globs: usize,
}

impl<'a, 's> AddressExpansion<'a, 's> {
    /// For a sender, or for an unknown one.
    pub(super) fn new(
        registry: &'a Registry,
        from: Option<&'a str>,
        standing: &'s dyn Availability,
    ) -> AddressExpansion<'a, 's> {
        let sender = from.and_then(|from| registry.position(from));
        AddressExpansion {
            registry,
            sender,
            terms: SenderTerms::of(registry, from),
            standing,
            path: Vec::new(),
            done: Vec::new(),
            globs: 0,
        }
    }

    /// The targets of an address.
    pub(super) fn address(&mut self, text: &str) -> Expanded {
        // An id needs no parsing, because no reserved word or other form of address can be an id.
        if let Some(at) = self.registry.position(text) {
            return self.agent(at);
        }
        self.expand_whole(&Address::parse(text)?)
    }

    /// The targets of a mention. An unknown name reaches no agent.
    pub(super) fn mention(&mut self, text: &str) -> Expanded {
        match self.mentioned(text) {
            Some(address) => self.expand_whole(&address),
            None => Ok(Vec::new()),
        }
    }

    /// The address that a mention means. Punctuation at the end counts only if it belongs to a name, because a mention can
    /// end a sentence. Ids match in any letter case, because a mention can begin a sentence.
    pub(super) fn mentioned(&self, text: &str) -> Option<Address> {
        let bare = text.strip_prefix('@').unwrap_or(text);
        // Without a link of this tag, the colon is the writer's.
        let near = bare.split_once(':').map_or(bare, |(near, _)| near);
        [bare, without_end(bare), near, without_end(near)]
            .into_iter()
            .find_map(|handle| match Address::parse(&format!("@{handle}")).ok()? {
                Address::At(word) => match self.registry.find_position(&word) {
                    Some(at) => Some(Address::At(self.registry.at(at).id.to_string())),
                    None => Some(Address::At(word)).filter(|address| self.knows(address)),
                },
                address => Some(address).filter(|address| self.knows(address)),
            })
    }

    fn knows(&self, address: &Address) -> bool {
        match address {
            Address::All => true,
            Address::Remote { tag, .. } => self.registry.room(tag).is_some(),
            Address::Role(role) | Address::Any(role) => self.registry.role_named(role).is_some(),
            Address::At(word) => {
                let registry = self.registry;
                registry.alias(word).is_some()
                    || registry.role_named(word).is_some()
                    || registry.lane(word).is_some()
            }
            _ => false,
        }
    }

    fn expand_whole(&mut self, address: &Address) -> Expanded {
        self.path.clear();
        self.done.clear();
        self.expand(address)
    }

    fn expand(&mut self, address: &Address) -> Expanded {
        match address {
            Address::At(word) | Address::Word(word) => self.word(address, word),
            Address::Lane(lane) => self.lane(lane),
            Address::All => {
                self.terms.admit(AddressKind::All, "all")?;
                self.group(self.registry.everybody(), RecipientRule::All)
            }
            Address::Role(role) => self.role(address, role),
            Address::Any(role) => self.any(address, role),
            Address::Glob(pattern) => self.glob(pattern),
            Address::Topic(topic) => {
                self.terms.admit(AddressKind::Topics, topic)?;
                self.group(self.registry.with_topic(topic), RecipientRule::Topic)
            }
            Address::Capability(capability) => self.capability(address, capability),
            Address::Owner(subject) => self.owner(subject),
            Address::Remote { tag, who } => self.remote(tag, who),
        }
    }

    /// A group with only the sender as member reaches no agent, which is not an error: the sender is notified.
    fn group(&self, members: &[u32], via: RecipientRule) -> Expanded {
        let others = members.iter().filter(|at| Some(**at) != self.sender);
        Ok(others.map(|at| (AddressTarget::Here(*at), via)).collect())
    }

    fn role(&self, address: &Address, role: &str) -> Expanded {
        self.group(self.members(address, role)?, RecipientRule::Role)
    }

    /// The agents with a role. Fails if there is none.
    fn members(&self, address: &Address, role: &str) -> Result<&'a [u32], Problem> {
        self.terms.admit(AddressKind::Roles, &address.to_string())?;
        match self.registry.role_named(role) {
            Some((_, members)) if !members.is_empty() => Ok(members),
            found => Err(self.empty_role(address, role, found.is_some())),
        }
    }

    /// Chooses one agent, by these criteria in order: online, active within the last hour, fewest unread messages, idle
    /// for the longest time, first in the registry.
    fn any(&self, address: &Address, role: &str) -> Expanded {
        let members = self.members(address, role)?.iter();
        let chosen = members
            .filter(|at| Some(**at) != self.sender)
            .min_by_key(|at| {
                let id = &self.registry.at(**at).id;
                (
                    Reverse((self.standing.online(id), self.standing.was_seen(id))),
                    self.standing.unread(id),
                    self.standing.last_active(id),
                    **at,
                )
            });
        let Some(chosen) = chosen else {
            let what = format!("{address} reaches no agent: you are the only agent with this role");
            let problem = Problem::new("empty_role", what);
            return Err(problem
                .fix("name another agent, or do the work yourself")
                .into());
        };
        self.group(&[*chosen], RecipientRule::Any)
    }

    /// Id, display name, alias, with `@` also role, and last a lane of the charter: an edit of the charter must not take
    /// the mail of a name in the registry.
    fn word(&mut self, address: &Address, word: &str) -> Expanded {
        let registry = self.registry;
        if let Some(at) = registry.find_position(word) {
            return self.agent(at);
        }
        if let Some((alias, targets)) = registry.alias(word) {
            return self.targets(alias, targets);
        }
        let is_role = registry.role_named(word).is_some();
        if is_role && matches!(address, Address::At(_)) {
            return self.role(address, word);
        }
        match registry.lane(word) {
            Some(lane) if !is_role => self.lane(&lane.name),
            _ => Err(self.unknown(address, word).into()),
        }
    }

    /// An agent that is named, also the sender.
    fn agent(&self, at: u32) -> Expanded {
        let agent = self.registry.at(at);
        if agent.is_retired() {
            return Err(self.retired(agent).into());
        }
        self.terms.admit_agent(&agent.id)?;
        Ok(vec![(AddressTarget::Here(at), RecipientRule::Direct)])
    }

    fn lane(&mut self, name: &str) -> Expanded {
        let registry = self.registry;
        self.terms
            .admit(AddressKind::Topics, &format!("lane:{name}"))?;
        let Some(lane) = registry.lane(name) else {
            let names = registry.lanes().iter().map(|lane| lane.name.as_str());
            let fix = best_first(name, names, "lane:")
                .unwrap_or_else(|| "name an agent, or add the lane to charter.md".to_owned());
            let what = format!("the charter has no lane {}", quoted(name));
            return Err(Problem::new("unknown_recipient", what).fix(fix).into());
        };
        if lane.owners.is_empty() {
            let problem = Problem::new("no_owner", format!("the lane {} has no owner", lane.name));
            return Err(problem
                .fix("name an agent, or add owners to the lane in charter.md")
                .into());
        }
        self.targets(&lane.address, &lane.owners)
    }

    /// The agents behind an alias, or behind a lane by its address.
    fn targets(&mut self, alias: &'a str, targets: &'a [String]) -> Expanded {
        if let Some(start) = self.path.iter().position(|a| *a == alias) {
            let path = [&self.path[start..], &[alias]].concat().join(" → ");
            let what = format!("the alias {alias} refers to itself: {path}");
            let fix = "correct \"aliases\" in registry.json, or the lanes in charter.md";
            return Err(Problem::new("alias_cycle", what).fix(fix).into());
        }
        let (mut reached, mut problems) = (Vec::new(), Vec::new());
        if self.done.contains(&alias) {
            return Ok(reached);
        }
        self.path.push(alias);
        for target in targets {
            let address = Address::parse(target).map_err(Vec::from);
            match address.and_then(|address| self.expand(&address)) {
                Ok(targets) => reached.extend(targets.into_iter().map(|(target, via)| match via {
                    RecipientRule::Link => (target, via),
                    _ => (target, RecipientRule::Alias),
                })),
                Err(found) => problems.extend(found.into_iter().map(|p| behind(alias, p))),
            }
        }
        self.path.pop();
        self.done.push(alias);
        if problems.is_empty() {
            Ok(reached)
        } else {
            Err(problems)
        }
    }

    fn glob(&mut self, pattern: &str) -> Expanded {
        self.terms.admit(AddressKind::All, pattern)?;
        self.globs += 1;
        if self.globs > GLOBS {
            let what = format!("one message has more than {GLOBS} patterns");
            let problem = Problem::new("too_many_addresses", what);
            return Err(problem.fix("use fewer patterns, or a role or topic").into());
        }
        let compiled = address::compiled(pattern)?;
        let mut found = self.registry.everybody().to_vec();
        found.retain(|at| {
            let agent = self.registry.at(*at);
            let short = agent.id.strip_prefix("agent_");
            let names = [Some(&*agent.id), short, agent.name.as_deref()];
            names
                .into_iter()
                .flatten()
                .any(|name| compiled.is_match(name))
        });
        if !found.is_empty() {
            return self.group(&found, RecipientRule::Pattern);
        }
        let what = format!(
            "the pattern {} matches no id or display name",
            quoted(pattern)
        );
        let literal = pattern.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let fix = self.registry.did_you_mean(literal);
        Err(Problem::new("empty_pattern", what).fix(fix).into())
    }

    fn capability(&self, address: &Address, capability: &str) -> Expanded {
        self.terms
            .admit(AddressKind::Topics, &address.to_string())?;
        let members = self.registry.with_capability(capability);
        if let Some(members) = members.filter(|m| !m.is_empty()) {
            return self.group(members, RecipientRule::Capability);
        }
        let what = match members {
            Some(_) => format!(
                "{address} reaches no agent: only retired agents or the human have this capability"
            ),
            None => format!("no agent has the capability {}", quoted(capability)),
        };
        let there = self.registry.capabilities().filter(|c| {
            let members = self.registry.with_capability(c);
            members.is_some_and(|m| !m.is_empty())
        });
        let fix = best_first(capability, there, "cap:")
            .unwrap_or_else(|| "name an agent; no agent has a capability".into());
        Err(Problem::new("empty_capability", what).fix(fix).into())
    }

    fn owner(&self, text: &str) -> Expanded {
        self.terms
            .admit(AddressKind::Topics, &format!("owner:{text}"))?;
        let Ok(subject) = ClaimSubject::parse(text) else {
            return Ok(Vec::new());
        };
        let owners = self.standing.owners(&subject);
        let owners: Vec<u32> = owners
            .iter()
            .filter_map(|owner| self.registry.position(owner))
            .collect();
        if owners.is_empty() {
            let fix = "name an agent or a role; `mailbag claims` lists who owns what";
            let problem = Problem::new("no_owner", format!("no agent owns {text}"));
            return Err(problem.fix(fix).into());
        }
        // The human can own a claim, and is in no other group.
        for at in &owners {
            if self.registry.at(*at).is_human() {
                self.terms.admit_agent(HUMAN)?;
            }
        }
        self.group(&owners, RecipientRule::Owner)
    }

    fn retired(&self, agent: &Agent) -> Problem {
        const LIST: &str = "run `mailbag agent list` to list the agents";
        let what = format!("{} is retired and cannot receive messages", agent.id);
        let alike = agent
            .role
            .as_ref()
            .filter(|r| self.registry.with_role(r).is_some_and(|m| !m.is_empty()));
        let fix = alike.map_or(LIST.to_owned(), |role| {
            format!("write to any_{role}, or {LIST}")
        });
        Problem::new("retired_recipient", what).fix(fix)
    }

    fn empty_role(&self, address: &Address, role: &str, known: bool) -> Problem {
        let why = if known {
            "all agents with this role are retired".to_owned()
        } else {
            format!("no agent has the role {}", quoted(role))
        };
        let what = format!("{address} reaches no agent: {why}");
        let roles = self.registry.roles();
        let there = roles.iter().filter(|(_, count)| **count > 0);
        let prefix = if matches!(address, Address::Any(_)) {
            "any_"
        } else {
            "all_"
        };
        let fix = best_first(role, there.map(|(role, _)| *role), prefix)
            .unwrap_or_else(|| "write to `all`; no agent has a role".into());
        Problem::new("empty_role", what).fix(fix)
    }

    fn unknown(&self, address: &Address, word: &str) -> Problem {
        let registry = self.registry;
        let what = format!("unknown recipient {}", quoted(&address.to_string()));
        let fix = if word.eq_ignore_ascii_case(MAILBAG) {
            "remove it: mailbag is the router and does not read mail".to_owned()
        } else if word.eq_ignore_ascii_case("channel") {
            "write @channel or all".to_owned()
        } else if let Some((role, _)) = registry.role_named(word) {
            format!("write all_{role} for all agents with this role, or any_{role} for one of them")
        } else if !registry.with_topic(word).is_empty() {
            format!("write #{word} for the subscribers of this topic")
        } else if registry.with_capability(word).is_some() {
            format!("write cap:{word} for all agents with this capability")
        } else {
            registry.did_you_mean(word)
        };
        Problem::new("unknown_recipient", what).fix(fix)
    }

    fn remote(&self, tag: &str, who: &str) -> Expanded {
        let Some(tag) = self.registry.room(tag) else {
            return Err(self.no_link(tag, who).into());
        };
        let there = far(tag, who);
        if self.terms.is_elsewhere() {
            let what = format!("{there} is in a third room, and mail from a link is not passed on");
            let problem = Problem::new("not_passed_on", what);
            return Err(problem.fix("write to an agent of this room").into());
        }
        Ok(vec![(
            AddressTarget::There(there.into()),
            RecipientRule::Link,
        )])
    }

    fn no_link(&self, tag: &str, who: &str) -> Problem {
        let what = format!(
            "this room has no link to the room {tag}, so {} cannot be reached",
            quoted(&far(tag, who))
        );
        let near = nearest(tag, self.registry.rooms().keys().map(String::as_str));
        let fix = match (self.registry.find(who), near.as_slice()) {
            (_, [near, ..]) => format!("did you mean {}?", far(near, who)),
            (Some(agent), _) => format!("write {} if you mean the agent of this room", agent.id),
            _ => "add the link with `mailbag link add`; `mailbag link list` shows the links"
                .to_owned(),
        };
        Problem::new("no_link", what).fix(fix)
    }
}

/// A hint with existing names: the similar ones, as `did you mean all_engineer?`, or some of all.
pub(super) fn best_first<'c>(
    word: &str,
    there: impl Iterator<Item = &'c str>,
    prefix: &str,
) -> Option<String> {
    let there: Vec<&str> = there.collect();
    let near = nearest(word, there.iter().copied());
    if there.is_empty() {
        return None;
    }
    Some(if near.is_empty() {
        let names = there.iter().map(|name| format!("{prefix}{name}"));
        format!("there is {}", listed(names))
    } else {
        let names = near.iter().map(|name| format!("{prefix}{name}"));
        format!("did you mean {}?", joined(names))
    })
}

fn behind(alias: &str, mut problem: Problem) -> Problem {
    if problem.code != "alias_cycle" {
        let kind = if alias.contains(':') {
            "address"
        } else {
            "alias"
        };
        problem.what = format!("the {kind} {alias} has an invalid target: {}", problem.what);
    }
    problem
}

/// A mention without the punctuation at its end.
fn without_end(text: &str) -> &str {
    text.trim_end_matches(|c: char| !c.is_ascii_alphanumeric())
}
