//! Which programs a room would start, and which of them the person agreed to.

use crate::base::error::Result;
use crate::room::Room;
use crate::room::consent::Consents;
use crate::room::registry::{Agent, Program, Registry};
use serde::Serialize;
use serde_json::Value;

/// A program that an agent would be woken by.
#[derive(Debug, Clone, Serialize)]
pub struct Startable {
    /// Whom it wakes.
    pub agent: String,
    /// Its arguments, or the word that stands for it.
    pub program: Value,
    /// The digest by which it is known.
    pub sha256: String,
    /// May it be started?
    pub agreed: bool,
}

/// The programs of a room that the person did not agree to.
pub fn not_agreed(room: &Room, registry: &Registry) -> Result<Vec<Startable>> {
    if !registry.agents().iter().any(Agent::is_woken_by_a_program) {
        return Ok(Vec::new());
    }
    let (identity, consents) = (room.identity()?, Consents::read()?);
    let mut all = programs(registry, &|program| consents.agrees(&identity, &program.sha256()));
    all.retain(|program| !program.agreed);
    Ok(all)
}

/// All of them, with what was agreed.
pub fn programs(registry: &Registry, is_agreed: &dyn Fn(&Program) -> bool) -> Vec<Startable> {
    let one = |agent: &Agent| {
        let program = agent.wake.as_ref()?.program()?;
        let (agent, agreed) = (agent.id.to_string(), is_agreed(&program));
        Some(Startable { agent, sha256: program.sha256(), program: program.value().clone(), agreed })
    };
    registry.agents().iter().filter_map(one).collect()
}
