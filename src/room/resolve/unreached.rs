//! Addresses that reach no agent although they are valid: why, and the name that may be meant.

#![allow(
    clippy::result_large_err,
    reason = "a problem is built for rejected input only"
)]

use super::expand::{AddressExpansion, best_first};
use super::{Availability, ResolvedRecipients, resolve_all};
use crate::base::error::{Problem, nearest};
use crate::message::address::{Address, quoted};
use crate::message::{MILESTONE, Message, may_go_to_channel_alone};
use crate::room::registry::Registry;
use std::collections::BTreeSet;

/// The code of a group with the sender as the only member.
const ONLY_SENDER: &str = "only_sender";
/// The code of the address `all` in a room without other agents.
const ALONE: &str = "no_other_agent";
/// Types that announce something to the agents that are there.
const ANNOUNCING: [&str; 3] = [MILESTONE, "announcement", "broadcast"];

/// The recipients of a message from this sender, and its addresses that reach no agent.
pub fn resolve_message(
    registry: &Registry,
    sender: &str,
    message: &Message,
    standing: &mut dyn Availability,
) -> Result<ResolvedRecipients, Vec<Problem>> {
    let (kind, by_mention) = (message.kind(), message.by_mention());
    let needs_none = may_go_to_channel_alone(kind);
    let mut resolved = resolve_all(registry, sender, message.addresses(), by_mention, standing)?;
    if resolved.recipients.is_empty() && by_mention && !needs_none {
        let problem = Problem::new(
            "no_recipient",
            "no agent that the body mentions is registered",
        )
        .at("/body");
        let near = resolved
            .unreached
            .first()
            .map(|problem| format!("{}; or ", problem.fix))
            .unwrap_or_default();
        return Err(vec![problem.fix(format!(
            "{near}name the recipients in `to`; `mailbag agent list` shows them"
        ))]);
    }
    if needs_none && by_mention {
        // A name in the text of a report need not be an address.
        resolved.unreached.clear();
    } else if needs_none || ANNOUNCING.contains(&kind) {
        resolved.unreached.retain(|problem| problem.code != ALONE);
    }
    Ok(resolved)
}

impl AddressExpansion<'_, '_> {
    /// Why an address or a mention reaches no agent. `None` for an invalid address, which is rejected, and for a word that
    /// resembles no name.
    pub(super) fn explain_unreached(&self, text: &str, mention: bool) -> Option<Problem> {
        if !mention {
            return Address::parse(text)
                .ok()
                .map(|address| self.why_unreached(&address));
        }
        match self.mentioned(text) {
            Some(address) => Some(self.why_unreached(&address)),
            None => self.misspelled_mention(text),
        }
    }

    fn why_unreached(&self, address: &Address) -> Problem {
        let why = match address {
            Address::All => {
                let problem = Problem::new(ALONE, "this room has no other agent");
                return problem.fix("add one with `mailbag agent add NAME`");
            }
            Address::Topic(topic) => return self.no_subscriber(topic),
            Address::Role(_) => "you are the only agent with this role",
            Address::Glob(_) => "the pattern matches only you",
            Address::Capability(_) => "you are the only agent with this capability",
            Address::Owner(_) => "you own it",
            Address::At(word) | Address::Word(word) => match self.registry.alias(word) {
                Some((alias, targets)) => return no_target(alias, targets),
                None => match self.registry.lane(word) {
                    Some(lane) if self.registry.role_named(word).is_none() => {
                        return no_target(&lane.address, &lane.owners);
                    }
                    _ => "you are the only agent with this role",
                },
            },
            Address::Lane(name) => match self.registry.lane(name) {
                Some(lane) => return no_target(&lane.address, &lane.owners),
                None => "you are the only owner",
            },
            // Each of them reaches an agent, or is rejected.
            Address::Any(_) | Address::Remote { .. } => "no other agent is there",
        };
        let what = format!("{address} reaches no other agent: {why}");
        Problem::new(ONLY_SENDER, what)
            .fix("name another agent; `mailbag agent list` lists the agents")
    }

    fn no_subscriber(&self, topic: &str) -> Problem {
        let registry = self.registry;
        if registry
            .with_topic(topic)
            .iter()
            .any(|at| Some(*at) == self.sender)
        {
            let problem = Problem::new(
                ONLY_SENDER,
                format!("you are the only subscriber of #{topic}"),
            );
            return problem.fix(format!(
                "another agent subscribes with `mailbag topic subscribe {topic} --as NAME`"
            ));
        }
        let others = registry.agents().iter().enumerate().filter(|(at, agent)| {
            !agent.is_retired() && !agent.is_human() && self.sender != u32::try_from(*at).ok()
        });
        let topics: BTreeSet<&str> = others
            .flat_map(|(_, agent)| agent.topics.iter().map(String::as_str))
            .collect();
        let fix = if let Some(agent) = registry.find(topic) {
            format!("write {} for this agent", agent.id)
        } else if let Some((role, _)) = registry.role_named(topic) {
            format!("write all_{role} for all agents with this role")
        } else {
            best_first(topic, topics.into_iter(), "#")
                .unwrap_or_else(|| "name an agent; no other agent subscribes to a topic".to_owned())
        };
        Problem::new("no_subscriber", format!("no agent subscribes to #{topic}")).fix(fix)
    }

    /// A name that resembles none need not be meant as a mention.
    fn misspelled_mention(&self, text: &str) -> Option<Problem> {
        let handle = text.strip_prefix('@').unwrap_or(text);
        let handle = handle.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let roles = self.registry.roles();
        let fix = match nearest(handle, roles.keys().copied()).first() {
            Some(role) => format!("did you mean @{role}?"),
            None => self.registry.did_you_mean(handle),
        };
        let what = format!(
            "no agent is called {}, so this mention reaches no agent",
            quoted(&format!("@{handle}"))
        );
        fix.starts_with("did you mean")
            .then(|| Problem::new("unknown_mention", what).fix(fix))
    }
}

fn no_target(alias: &str, targets: &[String]) -> Problem {
    let what = format!(
        "{alias} means {}, which reaches only you",
        targets.join(", ")
    );
    Problem::new("no_target", what).fix("name an agent; `mailbag agent list` lists the agents")
}
