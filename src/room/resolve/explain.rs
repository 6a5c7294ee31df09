//! Explaining addresses: the current recipients with the rule for each.

use super::{Availability, Recipient, resolve};
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
    let sender = from.unwrap_or_default();
    let mut explained = Vec::new();
    for address in addresses {
        let (reaches, mut problems) = match resolve(
            registry,
            sender,
            std::slice::from_ref(address),
            false,
            standing,
        ) {
            Ok(reaches) => (reaches, Vec::new()),
            Err(problems) => (Vec::new(), problems),
        };
        for problem in &mut problems {
            problem.place.clear();
        }
        explained.push(AddressExplanation {
            address: address.clone(),
            reaches,
            problems,
        });
    }
    RecipientExplanation {
        from: from.map(String::from),
        addresses: explained,
        recipients: resolve(registry, sender, addresses, false, standing).unwrap_or_default(),
    }
}
