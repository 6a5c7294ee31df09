//! Resolving one address to agents, with an explanation if no agent matches.

#![allow(
    clippy::result_large_err,
    reason = "a problem is built for rejected input only"
)]

use super::border::RoomBorder;
use super::{Availability, RecipientRule};
use crate::base::error::{Problem, nearest};
use crate::message::address::{self, Address, quoted};
use crate::message::id::{HUMAN, far};
use crate::message::subject::ClaimSubject;
use crate::room::registry::{Agent, Registry};
use crate::room::settings::AcceptedAddress;
use std::cmp::Reverse;

/// The most globs in one message, including globs in aliases. Each glob is compared with every name.
pub(super) const GLOBS: usize = 32;

/// The target of an address.
#[derive(Debug, Clone, Copy)]
pub(super) enum AddressTarget<'r> {
    /// An agent of this room, by its position in the registry.
    Here(u32),
    /// An address in another room.
    There { tag: &'r str, who: &'r str },
}

/// Receives each agent or address that an address reaches.
pub(super) type TargetReceiver<'e> = &'e mut dyn FnMut(AddressTarget<'_>, RecipientRule);

/// Resolves the addresses of one message.
pub(super) struct AddressExpansion<'a, 's> {
    pub(super) registry: &'a Registry,
    pub(super) sender: Option<u32>,
    /// The border that the message crossed.
    pub(super) border: RoomBorder<'a>,
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
            border: RoomBorder::around(registry, from),
            standing,
            path: Vec::new(),
            done: Vec::new(),
            globs: 0,
        }
    }

    /// The agents that an address reaches. Problems have no position yet.
    pub(super) fn address(
        &mut self,
        text: &str,
        each: TargetReceiver<'_>,
    ) -> Result<(), Vec<Problem>> {
        self.path.clear();
        self.done.clear();
        let address = Address::parse(text).map_err(|p| vec![p])?;
        self.expand(&address, each)
    }

    /// The agents that a mention reaches. An unknown name reaches no agent.
    pub(super) fn mention(
        &mut self,
        text: &str,
        each: TargetReceiver<'_>,
    ) -> Result<(), Vec<Problem>> {
        let Some(address) = self.mentioned(text) else {
            return Ok(());
        };
        self.path.clear();
        self.done.clear();
        self.expand(&address, each)
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
            Address::Remote { tag, .. } => self.registry.link(tag).is_some(),
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

    fn expand(&mut self, address: &Address, each: TargetReceiver<'_>) -> Result<(), Vec<Problem>> {
        let expanded = match address {
            Address::At(word) => return self.word(address, word, true, each),
            Address::Word(word) => return self.word(address, word, false, each),
            Address::Lane(lane) => return self.lane(lane, each),
            Address::All => self.all(each),
            Address::Role(role) => self.role(address, role, each),
            Address::Any(role) => self.any(address, role, each),
            Address::Glob(pattern) => self.glob(pattern, each),
            Address::Topic(topic) => self.topic(topic, each),
            Address::Capability(capability) => self.capability(address, capability, each),
            Address::Owner(subject) => self.owner(subject, each),
            Address::Remote { tag, who } => self.remote(tag, who, each),
        };
        expanded.map_err(|problem| vec![problem])
    }

    fn all(&self, each: TargetReceiver<'_>) -> Result<(), Problem> {
        self.border.admit(AcceptedAddress::All, "all")?;
        self.group(self.registry.everybody(), RecipientRule::All, each)
    }

    fn topic(&self, topic: &str, each: TargetReceiver<'_>) -> Result<(), Problem> {
        self.border.admit(AcceptedAddress::Topics, topic)?;
        self.group(self.registry.with_topic(topic), RecipientRule::Topic, each)
    }

    /// A group with only the sender as member reaches no agent, which is not an error: the sender is notified.
    fn group(
        &self,
        members: &[u32],
        via: RecipientRule,
        each: TargetReceiver<'_>,
    ) -> Result<(), Problem> {
        for at in members.iter().filter(|at| Some(**at) != self.sender) {
            each(AddressTarget::Here(*at), via);
        }
        Ok(())
    }

    fn role(&self, address: &Address, role: &str, each: TargetReceiver<'_>) -> Result<(), Problem> {
        self.border
            .admit(AcceptedAddress::Roles, &address.to_string())?;
        match self.registry.role_named(role) {
            Some((_, members)) if !members.is_empty() => {
                self.group(members, RecipientRule::Role, each)
            }
            found => Err(self.empty_role(address, role, found.is_some())),
        }
    }

    /// Chooses one agent, by these criteria in order: online, active within the last hour, fewest unread messages, idle
    /// for the longest time, first in the registry.
    fn any(&self, address: &Address, role: &str, each: TargetReceiver<'_>) -> Result<(), Problem> {
        self.border
            .admit(AcceptedAddress::Roles, &address.to_string())?;
        let members = match self.registry.role_named(role) {
            Some((_, members)) if !members.is_empty() => members,
            found => return Err(self.empty_role(address, role, found.is_some())),
        };
        let others = members.iter().filter(|at| Some(**at) != self.sender);
        let chosen = others.min_by_key(|at| {
            let id = &self.registry.at(**at).id;
            let there = Reverse((self.standing.online(id), self.standing.was_seen(id)));
            (
                there,
                self.standing.unread(id),
                self.standing.last_active(id),
                **at,
            )
        });
        let Some(chosen) = chosen else {
            let what = format!("{address} reaches no agent: you are the only agent with this role");
            return Err(
                Problem::new("empty_role", what).fix("name another agent, or do the work yourself")
            );
        };
        each(AddressTarget::Here(*chosen), RecipientRule::Any);
        Ok(())
    }

    /// Id, display name, alias, with `@` also role, and last a lane of the charter: an edit of the charter must not take
    /// the mail of a name in the registry.
    fn word(
        &mut self,
        address: &Address,
        word: &str,
        with_at: bool,
        each: TargetReceiver<'_>,
    ) -> Result<(), Vec<Problem>> {
        if let Some(at) = self.registry.find_position(word) {
            let agent = self.registry.at(at);
            if agent.is_retired() {
                return Err(vec![self.retired(agent)]);
            }
            self.border
                .admit_agent(&agent.id)
                .map_err(|problem| vec![problem])?;
            each(AddressTarget::Here(at), RecipientRule::Direct);
            return Ok(());
        }
        let registry = self.registry;
        if let Some((alias, targets)) = registry.alias(word) {
            return self.targets(alias, targets, each);
        }
        if with_at && registry.role_named(word).is_some() {
            return self.role(address, word, each).map_err(|p| vec![p]);
        }
        match registry.lane(word) {
            Some(lane) if registry.role_named(word).is_none() => self.lane(&lane.name, each),
            _ => Err(vec![self.unknown(address, word)]),
        }
    }

    fn lane(&mut self, name: &str, each: TargetReceiver<'_>) -> Result<(), Vec<Problem>> {
        let registry = self.registry;
        self.border
            .admit(AcceptedAddress::Topics, &format!("lane:{name}"))
            .map_err(|problem| vec![problem])?;
        let Some(lane) = registry.lane(name) else {
            let names: Vec<&str> = registry
                .lanes()
                .iter()
                .map(|lane| lane.name.as_str())
                .collect();
            let fix = best_first(name, names.into_iter(), "lane:")
                .unwrap_or_else(|| "name an agent, or add the lane to charter.md".to_owned());
            let what = format!("the charter has no lane {}", quoted(name));
            return Err(vec![Problem::new("unknown_recipient", what).fix(fix)]);
        };
        if lane.owners.is_empty() {
            let problem = Problem::new("no_owner", format!("the lane {} has no owner", lane.name));
            return Err(vec![
                problem.fix("name an agent, or add owners to the lane in charter.md"),
            ]);
        }
        self.targets(&lane.address, &lane.owners, each)
    }

    /// The agents behind an alias, or behind a lane by its address.
    fn targets(
        &mut self,
        alias: &'a str,
        targets: &'a [String],
        each: TargetReceiver<'_>,
    ) -> Result<(), Vec<Problem>> {
        if let Some(start) = self.path.iter().position(|a| *a == alias) {
            let path = [&self.path[start..], &[alias]].concat().join(" → ");
            let what = format!("the alias {alias} refers to itself: {path}");
            let fix = "correct \"aliases\" in registry.json, or the lanes in charter.md";
            return Err(vec![Problem::new("alias_cycle", what).fix(fix)]);
        }
        if self.done.contains(&alias) {
            return Ok(());
        }
        self.path.push(alias);
        let mut problems = Vec::new();
        for target in targets {
            let result = match Address::parse(target) {
                Ok(address) => self.expand(&address, &mut |reach, via| {
                    each(
                        reach,
                        if via == RecipientRule::Link {
                            via
                        } else {
                            RecipientRule::Alias
                        },
                    )
                }),
                Err(problem) => Err(vec![problem]),
            };
            problems.extend(result.err().into_iter().flatten().map(|p| behind(alias, p)));
        }
        self.path.pop();
        self.done.push(alias);
        if problems.is_empty() {
            Ok(())
        } else {
            Err(problems)
        }
    }

    fn glob(&mut self, pattern: &str, each: TargetReceiver<'_>) -> Result<(), Problem> {
        self.border.admit(AcceptedAddress::All, pattern)?;
        self.globs += 1;
        if self.globs > GLOBS {
            let what = format!("one message has more than {GLOBS} patterns");
            return Err(Problem::new("too_many_addresses", what)
                .fix("use fewer patterns, or a role or topic"));
        }
        let compiled = address::compiled(pattern)?;
        let mut found = false;
        for at in self.registry.everybody() {
            let agent = self.registry.at(*at);
            let hit = ids_of(agent)
                .chain(agent.name.as_deref())
                .any(|name| compiled.is_match(name));
            found |= hit;
            if hit && Some(*at) != self.sender {
                each(AddressTarget::Here(*at), RecipientRule::Pattern);
            }
        }
        if found {
            return Ok(());
        }
        let what = format!(
            "the pattern {} matches no id or display name",
            quoted(pattern)
        );
        let literal = pattern.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        Err(Problem::new("empty_pattern", what).fix(self.registry.did_you_mean(literal)))
    }

    fn capability(
        &self,
        address: &Address,
        capability: &str,
        each: TargetReceiver<'_>,
    ) -> Result<(), Problem> {
        self.border
            .admit(AcceptedAddress::Topics, &address.to_string())?;
        let members = self.registry.with_capability(capability);
        if let Some(members) = members.filter(|m| !m.is_empty()) {
            return self.group(members, RecipientRule::Capability, each);
        }
        let what = match members {
            Some(_) => format!(
                "{address} reaches no agent: only retired agents or the human have this capability"
            ),
            None => format!("no agent has the capability {}", quoted(capability)),
        };
        let there = self.registry.capabilities().filter(|c| {
            self.registry
                .with_capability(c)
                .is_some_and(|m| !m.is_empty())
        });
        let fix = best_first(capability, there, "cap:")
            .unwrap_or_else(|| "name an agent; no agent has a capability".into());
        Err(Problem::new("empty_capability", what).fix(fix))
    }

    fn owner(&self, text: &str, each: TargetReceiver<'_>) -> Result<(), Problem> {
        self.border
            .admit(AcceptedAddress::Topics, &format!("owner:{text}"))?;
        let Ok(subject) = ClaimSubject::parse(text) else {
            return Ok(());
        };
        let owners = self.standing.owners(&subject);
        let owners: Vec<u32> = owners
            .iter()
            .filter_map(|owner| self.registry.position(owner))
            .collect();
        if owners.is_empty() {
            let fix = "name an agent or a role; `mailbag claims` lists who owns what";
            return Err(Problem::new("no_owner", format!("no agent owns {text}")).fix(fix));
        }
        // The human can own a claim, and is in no other group.
        for at in owners
            .iter()
            .filter(|at| *self.registry.at(**at).id == *HUMAN)
        {
            self.border.admit_agent(&self.registry.at(*at).id)?;
        }
        self.group(&owners, RecipientRule::Owner, each)
    }

    fn retired(&self, agent: &Agent) -> Problem {
        let what = format!("{} is retired and cannot receive messages", agent.id);
        let alike = agent
            .role
            .as_ref()
            .filter(|r| self.registry.with_role(r).is_some_and(|m| !m.is_empty()));
        let fix = match alike {
            Some(role) => {
                format!("write to any_{role}, or run `mailbag agent list` to list the agents")
            }
            None => "run `mailbag agent list` to list the agents".to_owned(),
        };
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
        let there = roles
            .iter()
            .filter(|(_, count)| **count > 0)
            .map(|(role, _)| *role);
        let prefix = if matches!(address, Address::Any(_)) {
            "any_"
        } else {
            "all_"
        };
        let fix = best_first(role, there, prefix)
            .unwrap_or_else(|| "write to `all`; no agent has a role".into());
        Problem::new("empty_role", what).fix(fix)
    }

    fn unknown(&self, address: &Address, word: &str) -> Problem {
        let registry = self.registry;
        let what = format!("unknown recipient {}", quoted(&address.to_string()));
        let problem = Problem::new("unknown_recipient", what);
        if word.eq_ignore_ascii_case(crate::message::id::MAILBAG) {
            problem.fix("remove it: mailbag is the router and does not read mail")
        } else if word.eq_ignore_ascii_case("channel") {
            problem.fix("write @channel or all")
        } else if let Some((role, _)) = registry.role_named(word) {
            problem.fix(format!(
                "write all_{role} for all agents with this role, or any_{role} for one of them"
            ))
        } else if !registry.with_topic(word).is_empty() {
            problem.fix(format!("write #{word} for the subscribers of this topic"))
        } else if registry.with_capability(word).is_some() {
            problem.fix(format!(
                "write cap:{word} for all agents with this capability"
            ))
        } else {
            problem.fix(registry.did_you_mean(word))
        }
    }

    fn remote(&self, tag: &str, who: &str, each: TargetReceiver<'_>) -> Result<(), Problem> {
        let Some(tag) = self.registry.link(tag) else {
            return Err(self.no_link(tag, who));
        };
        if self.border.is_crossed() {
            let what = format!(
                "{} is in a third room, and mail from a link is not passed on",
                far(tag, who)
            );
            return Err(Problem::new("not_passed_on", what).fix("write to an agent of this room"));
        }
        each(AddressTarget::There { tag, who }, RecipientRule::Link);
        Ok(())
    }

    fn no_link(&self, tag: &str, who: &str) -> Problem {
        let what = format!(
            "this room has no link to the room {tag}, so {} cannot be reached",
            quoted(&far(tag, who))
        );
        let near = nearest(tag, self.registry.links().keys().map(String::as_str));
        let fix = match (self.registry.find(who), near.as_slice()) {
            (_, [near, ..]) => format!("did you mean {}?", far(near, who)),
            (Some(agent), _) => format!("write {} if you mean the agent of this room", agent.id),
            _ => "add the link with `mailbag link add`; `mailbag link list` shows the links"
                .to_owned(),
        };
        Problem::new("no_link", what).fix(fix)
    }
}

/// The id, and the id without the prefix `agent_`.
fn ids_of(agent: &Agent) -> impl Iterator<Item = &str> {
    [Some(&*agent.id), agent.id.strip_prefix("agent_")]
        .into_iter()
        .flatten()
}

/// A hint such as "use all_engineer, all_writer" with existing names, the most similar first.
pub(super) fn best_first<'c>(
    word: &str,
    there: impl Iterator<Item = &'c str>,
    prefix: &str,
) -> Option<String> {
    const MOST: usize = 10;
    let there: Vec<&str> = there.collect();
    let near = nearest(word, there.iter().copied());
    let rest = there.iter().copied().filter(|c| !near.contains(c));
    let listed: Vec<String> = near
        .iter()
        .copied()
        .chain(rest)
        .take(MOST)
        .map(|c| format!("{prefix}{c}"))
        .collect();
    let more = there.len().saturating_sub(MOST);
    let and_more = if more > 0 {
        format!(" or {more} more")
    } else {
        String::new()
    };
    let verb = if near.is_empty() {
        "there is"
    } else {
        "did you mean"
    };
    let mark = if near.is_empty() { "" } else { "?" };
    (!listed.is_empty()).then(|| format!("{verb} {}{and_more}{mark}", listed.join(", ")))
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
