//! Programs that a room would start to wake agents, and whether the user allowed them.

use crate::base::error::Result;
use crate::room::Room;
use crate::room::consent::ConsentList;
use crate::room::registry::{Agent, Registry, WakeProgram};
use serde::Serialize;
use serde_json::Value;

/// A program that wakes an agent.
#[derive(Debug, Clone, Serialize)]
pub struct ProgramTrust {
    /// The agent that it wakes.
    pub agent: String,
    /// Its arguments, or a keyword such as `codex`.
    pub program: Value,
    /// The digest that identifies it.
    pub sha256: String,
    /// Whether the user allowed it.
    pub trusted: bool,
}

/// The programs of a room that the user has not allowed.
pub fn not_trusted(room: &Room, registry: &Registry) -> Result<Vec<ProgramTrust>> {
    if !registry.agents().iter().any(Agent::is_woken_by_a_program) {
        return Ok(Vec::new());
    }
    let (identity, consents) = (room.identity()?, ConsentList::read()?);
    let mut all = programs(registry, &|program| {
        consents.agrees(&identity, &program.sha256())
    });
    all.retain(|program| !program.trusted);
    Ok(all)
}

/// All programs of a room, each with the user's decision.
pub fn programs(
    registry: &Registry,
    is_trusted: &dyn Fn(&WakeProgram) -> bool,
) -> Vec<ProgramTrust> {
    let one = &|agent: &Agent, program: WakeProgram| {
        let (agent, trusted) = (agent.id.to_string(), is_trusted(&program));
        ProgramTrust {
            agent,
            sha256: program.sha256(),
            program: program.value().clone(),
            trusted,
        }
    };
    let all = registry
        .agents()
        .iter()
        .filter_map(|agent| Some((agent, agent.wake.as_ref()?.programs())));
    all.flat_map(|(agent, programs)| programs.into_iter().map(move |program| one(agent, program)))
        .collect()
}
