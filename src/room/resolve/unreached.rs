//! Addresses that reach no agent although they are valid: why, and the name that may be meant.

#![allow(
    clippy::result_large_err,
    reason = "a problem is built for rejected input only"
)]

use super::expand::{AddressExpansion, best_first};
use super::{Availability, ResolvedRecipients, resolve_all};
use crate::base::error::{Problem, nearest};
use crate::base::text::listed;
use crate::message::address::{Address, quoted};
use crate::message::{MILESTONE, Message, behaviour};
use crate::room::registry::Registry;

/// The code of a group with the sender as the only member.
const ONLY_SENDER: &str = "only_sender";
/// The advice for an address that reaches no other agent.
const NAME_ANOTHER: &str = "name another agent; `mailbag agent list` lists the agents";
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
    let needs_none = behaviour(kind).channel;
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
        let fix = format!("{near}name the recipients in `to`; `mailbag agent list` shows them");
        return Err(problem.fix(fix).into());
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
        if let Some((name, targets)) = self.meaning(address) {
            let addresses = targets
                .iter()
                .filter_map(|target| Address::parse(target).ok());
            let plain = addresses.filter(|address| self.meaning(address).is_none());
            let reasons: Vec<Problem> = plain.map(|address| self.why_unreached(&address)).collect();
            let why = listed(reasons.iter().map(|reason| &reason.what));
            let what = format!("{name} means {}: {why}", listed(targets));
            let first = reasons.into_iter().next();
            return Problem::new("no_target", what)
                .fix(first.map_or_else(|| NAME_ANOTHER.to_owned(), |first| first.fix));
        }
        let why = match address {
            Address::All => {
                let problem = Problem::new(ALONE, "this room has no other agent");
                return problem.fix("add one with `mailbag agent add NAME`");
            }
            Address::Topic(topic) => return self.no_subscriber(topic),
            Address::Role(_) | Address::At(_) | Address::Word(_) => {
                "you are the only agent with this role"
            }
            Address::Glob(_) => "the pattern matches only you",
            Address::Capability(_) => "you are the only agent with this capability",
            Address::Owner(_) => "you own it",
            // Each of them reaches an agent, or is rejected.
            Address::Any(_) | Address::Lane(_) | Address::Remote { .. } => {
                "no other agent is there"
            }
        };
        let what = format!("{address} reaches no other agent: {why}");
        Problem::new(ONLY_SENDER, what).fix(NAME_ANOTHER)
    }

    /// The alias or the lane that an address names, with its targets.
    fn meaning(&self, address: &Address) -> Option<(&str, &[String])> {
        let registry = self.registry;
        let lane = match address {
            Address::Lane(name) => registry.lane(name),
            Address::At(word) | Address::Word(word) => {
                if let Some((alias, targets)) = registry.alias(word) {
                    return Some((alias, targets));
                }
                if registry.role_named(word).is_some() {
                    return None;
                }
                registry.lane(word)
            }
            _ => None,
        }?;
        Some((&lane.address, &lane.owners))
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
                "another agent subscribes with `mailbag agent set NAME --topic {topic}`"
            ));
        }
        let others = registry
            .topics()
            .filter(|(_, subscribers)| subscribers.iter().any(|at| Some(*at) != self.sender));
        let fix = if let Some(agent) = registry.find(topic) {
            format!("write {} for this agent", agent.id)
        } else if let Some((role, _)) = registry.role_named(topic) {
            format!("write all_{role} for all agents with this role")
        } else {
            best_first(topic, others.map(|(other, _)| other), "#")
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
