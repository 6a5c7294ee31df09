//! What needs an agent or the human: decisions, answers, offers, and what failed.

use super::displayed::DisplayedApproval;
use crate::base::clock::{Stamp, span_text};
use crate::base::error::Result;
use crate::log::state::{self, State};
use crate::room::Room;
use crate::room::sessions::Calls;
use crate::router::projections::pending;
pub use crate::router::projections::pending::{Item, Key, Owned};
use serde::Serialize;
use std::time::Duration;

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
    /// Adds the complete texts of the approvals. Fails if one cannot be read, after it has added the others.
    pub fn add_texts(&mut self, room: &Room) -> Result<()> {
        let mut outcome = Ok(());
        for item in &mut self.items {
            let Some(digest) = &item.digest else { continue };
            match DisplayedApproval::of_record(room, item.seq, digest) {
                Ok(displayed) => item.text = Some(displayed.text),
                Err(e) => outcome = Err(e),
            }
        }
        outcome
    }

    /// How much it is.
    pub fn count(&self) -> Count {
        Count {
            items: self.items.len(),
            oldest: self.items.iter().map(|item| item.since.clone()).min(),
        }
    }
}

/// How much needs this agent by this state, if there is one.
pub fn count(room: &Room, state: Option<&State>, agent: &str) -> Count {
    let list = state.map(|state| of_state(room, state, agent));
    list.map_or(
        Count {
            items: 0,
            oldest: None,
        },
        |list| list.count(),
    )
}

/// The number of open questions in this state, and the oldest.
pub fn questions(state: Option<&State>) -> Count {
    let questions = state.map(State::questions).unwrap_or_default();
    Count {
        items: questions.len(),
        oldest: questions.into_iter().map(|question| question.at).min(),
    }
}

/// What needs this agent now.
pub fn pending(room: &Room, agent: &str) -> Result<List> {
    Ok(of_state(room, &state::committed(&room.dir)?, agent))
}

/// As [`pending()`], with the complete texts of the approvals.
pub fn with_texts(room: &Room, agent: &str) -> Result<List> {
    let mut list = pending(room, agent)?;
    list.add_texts(room)?;
    Ok(list)
}

/// What needs this agent by this state.
pub fn of_state(room: &Room, state: &State, agent: &str) -> List {
    let items = pending::items(state, &Calls::of(&room.dir), agent);
    List {
        agent: agent.to_owned(),
        at: Stamp::now().to_string(),
        items,
    }
}

/// How long ago a time was, in its largest unit.
pub fn age(since: &str) -> String {
    rough(Stamp::now().micros() - Stamp::parse(since).unwrap_or_default().micros())
}

/// How long it is until a deadline, in its largest unit.
pub fn left(deadline: &str) -> String {
    let left = Stamp::parse(deadline).unwrap_or_default().micros() - Stamp::now().micros();
    if left <= 0 {
        "overdue".to_owned()
    } else {
        format!("{} left", rough(left))
    }
}

/// A span of time in microseconds, in its largest unit.
pub fn rough(micros: i64) -> String {
    let seconds = ((micros + 500_000) / 1_000_000).max(1) as u64;
    let units = [86_400, 3_600, 60, 1];
    let unit = units.into_iter().find(|unit| seconds >= *unit).unwrap_or(1);
    span_text(Duration::from_secs(seconds / unit * unit))
}
