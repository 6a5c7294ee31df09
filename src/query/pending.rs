//! What needs an agent or the human: decisions, answers, offers, and what failed.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::log::state::{self, State};
use crate::message::id;
use crate::room::Room;
use crate::room::sessions::{self, Calls};
use crate::router::projections::pending;
pub use crate::router::projections::pending::Item;
use serde::Serialize;

/// What needs an agent.
#[derive(Debug, Serialize)]
pub struct List {
    /// The agent.
    pub agent: String,
    /// The time of this state.
    pub at: String,
    /// The items, most urgent first.
    pub items: Vec<Item>,
}

/// How much needs an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Count {
    /// How many items.
    pub items: usize,
    /// Since when the oldest one is open.
    pub oldest: Option<String>,
}

impl List {
    /// How much it is.
    pub fn count(&self) -> Count {
        Count { items: self.items.len(), oldest: self.items.iter().map(|item| item.since.clone()).min() }
    }
}

/// How much needs this agent by this state. What cannot be read counts as nothing.
pub fn count(room: &Room, state: Option<&State>, agent: &str) -> Count {
    let list = state.and_then(|state| of_state(room, state, agent).ok());
    list.map_or(Count { items: 0, oldest: None }, |list| list.count())
}

/// What needs this agent now.
pub fn pending(room: &Room, agent: &str) -> Result<List> {
    of_state(room, &state::committed(&room.dir)?, agent)
}

/// What needs this agent by this state, and by the outcome of the last wakes.
pub fn of_state(room: &Room, state: &State, agent: &str) -> Result<List> {
    let mut items = pending::items(state, &Calls::of(&room.dir), agent);
    if agent == id::HUMAN {
        items.extend(failed_wakes(room)?);
    }
    Ok(List { agent: agent.to_owned(), at: Stamp::now().to_string(), items })
}

fn failed_wakes(room: &Room) -> Result<Vec<Item>> {
    let fired = sessions::fired(room)?.into_iter().filter(|fired| fired.client == sessions::WAKE);
    let failed = fired.filter_map(|fired| {
        let title = format!("{} was not woken: {}", fired.event, fired.trouble?);
        let command = format!("mailbag agent show {}", fired.event);
        let (message, since, from) = (String::new(), fired.at, fired.event);
        let (deadline, options) = (None, Vec::new());
        Some(Item {
            kind: "wake",
            seq: 0,
            message,
            from,
            title,
            since,
            deadline,
            options,
            blocked: false,
            inactive: false,
            command,
        })
    });
    Ok(failed.collect())
}
