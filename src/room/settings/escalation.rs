//! The setting `escalation`: what happens to proposals that meet objections.

use super::values::{integer, shown};
use crate::base::{clock, limits};
use serde::Serialize;
use std::time::Duration;
use toml::de::DeValue;

/// What happens to proposals that meet objections, without a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Escalation {
    /// The rounds before it is passed on.
    pub attempts: u32,
    /// The address of the supervisor. `None` to ask the human at once.
    pub supervisor: Option<String>,
    /// How long the supervisor has before the human is asked.
    pub within: Duration,
}

/// A description of a valid value.
pub(super) const WANTED: &str =
    "a table such as { attempts = 2, supervisor = \"lead\", within = \"30m\" }";

impl Escalation {
    /// Reads the table. `None` if it is not valid.
    pub(super) fn read(value: &DeValue<'_>) -> Option<Escalation> {
        let mut read = Escalation {
            attempts: limits::ATTEMPTS,
            supervisor: None,
            within: limits::ESCALATION,
        };
        for (key, value) in value.as_table()? {
            let value = value.get_ref();
            match key.get_ref().as_ref() {
                "attempts" => {
                    let given = integer(value).and_then(|n| u32::try_from(n).ok());
                    read.attempts = given.filter(|n| (1..=limits::ATTEMPTS_MOST).contains(n))?;
                }
                "supervisor" => {
                    read.supervisor =
                        Some(value.as_str().filter(|text| !text.is_empty())?.to_owned())
                }
                "within" => {
                    let given = value.as_str().and_then(clock::span);
                    read.within = given
                        .filter(|within| !within.is_zero() && *within <= limits::DEADLINE_MOST)?;
                }
                _ => return None,
            }
        }
        Some(read)
    }

    /// The value as TOML.
    pub(super) fn show(&self) -> String {
        let supervisor = self
            .supervisor
            .as_ref()
            .map(|name| format!("supervisor = {}, ", shown(name)));
        let within = shown(&clock::span_text(self.within));
        format!(
            "{{ attempts = {}, {}within = {within} }}",
            self.attempts,
            supervisor.unwrap_or_default()
        )
    }
}
