//! Resolving addresses: the recipients of a message, each with its rule, or the reasons to reject the message.
//!
//! The recipients are determined once, when the message is accepted. An agent that several addresses reach gets one
//! copy, with the rule that reached it first. A direct address takes precedence over a group, so that `["all", "bob"]`
//! shows bob that he was named.

mod explain;
mod expand;
#[cfg(test)]
mod tests;
mod terms;
mod unreached;

pub use explain::{AddressExplanation, RecipientExplanation, explain};
pub use unreached::resolve_message;

use crate::base::clock::Stamp;
use crate::base::error::Problem;
use crate::base::json_text::parse_word;
use crate::base::limits;
use crate::message::subject::ClaimSubject;
use crate::room::registry::Registry;
use expand::{AddressExpansion, AddressTarget};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// The most addresses in one message. For more recipients there are roles, topics and `all`.
pub const ADDRESSES: usize = 10_000;

/// The rule that reached a recipient.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecipientRule {
    /// By id or display name.
    Direct,
    /// By an alias.
    Alias,
    /// By `all_<role>` or `@<role>`.
    Role,
    /// By a glob.
    Pattern,
    /// By `#topic`.
    Topic,
    /// By `cap:…`.
    Capability,
    /// By `any_<role>`: chosen among the role.
    Any,
    /// By `owner:…`: the owner of a claim.
    Owner,
    /// As a party of a claim.
    Claim,
    /// As a party of an approval.
    Decision,
    /// Because it waits for the sender.
    Waiting,
    /// By `all`.
    All,
    /// By a mention in the body.
    Mention,
    /// By a link to another room.
    Link,
    /// From mailbag itself.
    Router,
}

impl RecipientRule {
    /// The word in `delivery.via`.
    pub fn as_str(self) -> &'static str {
        match self {
            RecipientRule::Direct => "direct",
            RecipientRule::Alias => "alias",
            RecipientRule::Role => "role",
            RecipientRule::Pattern => "pattern",
            RecipientRule::Topic => "topic",
            RecipientRule::Capability => "capability",
            RecipientRule::Any => "any",
            RecipientRule::Owner => "owner",
            RecipientRule::Claim => "claim",
            RecipientRule::Decision => "decision",
            RecipientRule::Waiting => "waiting",
            RecipientRule::All => "all",
            RecipientRule::Mention => "mention",
            RecipientRule::Link => "link",
            RecipientRule::Router => "router",
        }
    }

    /// Reads the word in `delivery.via`.
    pub fn parse(word: &str) -> Option<RecipientRule> {
        parse_word(word)
    }
}

/// A recipient of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recipient {
    /// Its id.
    pub agent: Arc<str>,
    /// The rule that reached it.
    pub via: RecipientRule,
}

/// The data that `any_<role>` and `owner:<claim>` use to choose.
pub trait Availability {
    /// The number of an agent's unread messages.
    fn unread(&self, agent: &str) -> usize;
    /// Returns true if it can be online, according to the registry.
    fn online(&self, agent: &str) -> bool;
    /// Returns true if it was active within the last hour.
    fn was_seen(&self, _agent: &str) -> bool {
        false
    }
    /// The time of its last activity.
    fn last_active(&self, agent: &str) -> Stamp;
    /// The owners of the claims that conflict with a subject.
    fn owners(&self, _subject: &ClaimSubject) -> Vec<Arc<str>> {
        Vec::new()
    }
}

/// Nothing is known about the agents: for a check without a room, or a result that does not depend on them.
pub struct UnknownAvailability;

impl Availability for UnknownAvailability {
    fn unread(&self, _agent: &str) -> usize {
        0
    }

    fn online(&self, _agent: &str) -> bool {
        true
    }

    fn last_active(&self, _agent: &str) -> Stamp {
        Stamp::default()
    }
}

/// The recipients of a message.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResolvedRecipients {
    /// Each agent once. Can be empty.
    pub recipients: Vec<Recipient>,
    /// The addresses that reach no agent, each with a name that may be meant. They reject nothing.
    pub unreached: Vec<Problem>,
}

/// The recipients of a message from `from` to `addresses`; the list can be empty. With `mention`, the addresses are
/// mentions in the body, and unknown names reach no agent. All problems are reported up to a limit, and any problem
/// rejects the whole message.
pub fn resolve(
    registry: &Registry,
    from: &str,
    addresses: &[String],
    mention: bool,
    standing: &mut dyn Availability,
) -> Result<Vec<Recipient>, Vec<Problem>> {
    resolve_all(registry, from, addresses, mention, standing).map(|resolved| resolved.recipients)
}

/// As [`resolve`], with the addresses that reach no agent.
fn resolve_all(
    registry: &Registry,
    from: &str,
    addresses: &[String],
    mention: bool,
    standing: &mut dyn Availability,
) -> Result<ResolvedRecipients, Vec<Problem>> {
    if addresses.len() > ADDRESSES {
        let what = format!(
            "too many addresses: {}; the limit is {ADDRESSES}",
            addresses.len()
        );
        let problem = Problem::new("too_many_addresses", what).at("/to");
        return Err(problem
            .fix("write to a role, a topic or `all` instead")
            .into());
    }
    let (mut problems, mut unreached) = (Vec::new(), Vec::new());
    let mut reached = ReachedAgents::new(registry);
    let mut expansion = AddressExpansion::new(registry, Some(from), &*standing);
    for (n, text) in addresses.iter().enumerate() {
        let result = if mention {
            expansion.mention(text)
        } else {
            expansion.address(text)
        };
        let place = place(n, addresses.len(), mention);
        match result {
            Err(found) => problems.extend(found.into_iter().map(|p| p.at(&place))),
            Ok(targets) if targets.is_empty() && unreached.len() < limits::PROBLEMS => {
                let why = expansion.explain_unreached(text, mention);
                unreached.extend(why.map(|p| p.at(&place)));
            }
            Ok(targets) => {
                for (target, via) in targets {
                    let is_mention = mention && via != RecipientRule::Link;
                    let via = if is_mention {
                        RecipientRule::Mention
                    } else {
                        via
                    };
                    reached.add(target, via);
                }
            }
        }
        if problems.len() >= limits::PROBLEMS {
            problems.truncate(limits::PROBLEMS);
            break;
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(ResolvedRecipients {
        recipients: reached.list,
        unreached,
    })
}

/// `/to` for a single address, because the caller does not know whether it was in an array.
fn place(n: usize, of: usize, mention: bool) -> String {
    match (mention, of) {
        (true, _) => "/body".to_owned(),
        (false, 1) => "/to".to_owned(),
        (false, _) => format!("/to/{n}"),
    }
}

/// The reached agents, each once, in order.
struct ReachedAgents<'a> {
    registry: &'a Registry,
    list: Vec<Recipient>,
    /// The index of each agent in the list.
    places: HashMap<Arc<str>, usize>,
}

impl<'a> ReachedAgents<'a> {
    fn new(registry: &'a Registry) -> ReachedAgents<'a> {
        ReachedAgents {
            registry,
            list: Vec::new(),
            places: HashMap::new(),
        }
    }

    fn add(&mut self, target: AddressTarget, via: RecipientRule) {
        let agent = match target {
            AddressTarget::Here(at) => self.registry.at(at).id.clone(),
            AddressTarget::There(agent) => agent,
        };
        match self.places.get(&agent) {
            Some(place) if via == RecipientRule::Direct => self.list[*place].via = via,
            Some(_) => {}
            None => {
                self.places.insert(agent.clone(), self.list.len());
                self.list.push(Recipient { agent, via });
            }
        }
    }
}
