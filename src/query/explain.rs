//! Explains which agents an address reaches.

use super::candidates::RoomAvailability;
use super::identity;
use super::links::{KnownRemoteAgent, remote};
use crate::base::error::Result;
use crate::message::address::Address;
use crate::message::id;
use crate::room::Room;
use crate::room::registry::Registry;
use crate::room::resolve::{self, RecipientExplanation};
use std::collections::BTreeSet;

/// For each address: the agents that it reaches, each with its rule.
pub fn explain(
    room: &Room,
    registry: &Registry,
    from: Option<&str>,
    addresses: &[String],
) -> Result<RecipientExplanation> {
    let from = from
        .map(|name| identity::registered(registry, name, Some("--from")))
        .transpose()?;
    let from = from.map(|agent| agent.id.to_string());
    let mut candidates = if addresses.iter().any(|address| address.contains("any_")) {
        RoomAvailability::whole(room, registry)
    } else {
        RoomAvailability::quick(room, registry)
    };
    Ok(resolve::explain(
        registry,
        from.as_deref(),
        addresses,
        &mut candidates,
    ))
}

/// The addresses that can be written to: agents, groups, topics, lanes, and the known agents of other rooms.
pub fn known_addresses(room: &Room) -> Result<BTreeSet<String>> {
    let registry = room.registry()?;
    let mut all = BTreeSet::from([Address::All.to_string()]);
    for agent in registry.agents().iter().filter(|agent| !agent.is_retired()) {
        all.insert(agent.id.to_string());
    }
    all.extend(registry.topics().map(|(topic, _)| format!("#{topic}")));
    for role in registry.roles().keys() {
        all.extend([format!("all_{role}"), format!("any_{role}")]);
    }
    let lanes = registry.lanes().iter();
    all.extend(lanes.map(|lane| format!("lane:{}", lane.name)));
    for KnownRemoteAgent { id, role, .. } in remote(room)? {
        if let (Some(tag), Some(role)) = (id::tag_of(&id), role) {
            all.insert(id::far(tag, &format!("all_{role}")));
        }
        all.insert(id);
    }
    Ok(all)
}
