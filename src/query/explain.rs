//! What addresses mean here and now.

use super::identity;
use super::standing::Seen;
use crate::base::error::Result;
use crate::room::Room;
use crate::room::resolve::{self, Explanation};

/// Who each address reaches, by which rule, and why everybody else is not in it.
pub fn explain(room: &Room, from: Option<&str>, addresses: &[String]) -> Result<Explanation> {
    let registry = room.registry()?;
    let from = from.map(|name| identity::registered(&registry, name, Some("--from"))).transpose()?;
    let from = from.map(|agent| agent.id.to_string());
    let mut standing = match addresses.iter().any(|address| address.contains("any_")) {
        true => Seen::whole(room, &registry),
        false => Seen::quick(room, &registry),
    };
    Ok(resolve::explain(&registry, from.as_deref(), addresses, &mut standing))
}
