//! Explains which agents an address reaches.

use super::candidates::Candidates;
use super::identity;
use crate::base::error::Result;
use crate::room::Room;
use crate::room::resolve::{self, Explanation};

/// For each address: the agents that it reaches, the rule that applies, and why it does not reach the others.
pub fn explain(room: &Room, from: Option<&str>, addresses: &[String]) -> Result<Explanation> {
    let registry = room.registry()?;
    let from = from
        .map(|name| identity::registered(&registry, name, Some("--from")))
        .transpose()?;
    let from = from.map(|agent| agent.id.to_string());
    let mut candidates = match addresses.iter().any(|address| address.contains("any_")) {
        true => Candidates::whole(room, &registry),
        false => Candidates::quick(room, &registry),
    };
    Ok(resolve::explain(
        &registry,
        from.as_deref(),
        addresses,
        &mut candidates,
    ))
}
