//! Explaining addresses: the current recipients with the rule for each.

use super::expand::AddressExpansion;
use super::{Availability, ReachedAgents, Recipient};
use crate::base::error::Problem;
use crate::room::registry::Registry;
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
    /// The agents that it reaches.
    pub reaches: Vec<Recipient>,
    /// Why a message to this address would be rejected.
    pub problems: Vec<Problem>,
}

/// Explains addresses for the sender `from`, or for an unregistered sender. Does not count as a choice of `any_…`.
pub fn explain(
    registry: &Registry,
    from: Option<&str>,
    addresses: &[String],
    standing: &mut dyn Availability,
) -> RecipientExplanation {
    let mut all = ReachedAgents::new(registry);
    let explained: Vec<AddressExplanation> = addresses
        .iter()
        .map(|text| {
            let mut reached = ReachedAgents::new(registry);
            let mut expansion = AddressExpansion::new(registry, from, &*standing);
            // If an alias fails, none of its agents receives the message.
            let (targets, problems) = match expansion.address(text) {
                Ok(targets) => (targets, Vec::new()),
                Err(problems) => (Vec::new(), problems),
            };
            for (target, via) in targets {
                all.add(target.clone(), via);
                reached.add(target, via);
            }
            AddressExplanation {
                address: text.clone(),
                reaches: reached.list,
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
