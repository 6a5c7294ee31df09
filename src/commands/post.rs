//! Sending with its outcome: the caller learns what has happened to the message so far.

use super::deliver::send_and_route;
use super::send::{Draft, Sent};
use crate::base::error::Result;
use crate::base::limits;
use crate::log;
use crate::query::identity::Who;
use crate::query::outcome::{Outcome, outcome};
use crate::room::Room;
use crate::router::daemon::Passed;
use std::time::Duration;

/// A message that was sent.
#[derive(Debug)]
pub struct Posted {
    /// The message in the outbox.
    pub sent: Sent,
    /// What has happened to it so far.
    pub outcome: Outcome,
    /// Why this process could not deliver it.
    pub trouble: Option<String>,
}

/// Sends a message, delivers it or waits shortly for the router, and looks up the outcome. An error means that the
/// message was not sent: later failures are part of the result.
pub fn post(room: &Room, who: &Who, draft: Draft) -> Result<Posted> {
    let since = log::committed(&room.dir)?;
    let (sent, routed) = send_and_route(room, who, draft, |_| Ok(()))?;
    let (patience, trouble) = match routed {
        Ok(Passed::Routed(_)) => (Duration::ZERO, None),
        Ok(Passed::RouterRuns(_) | Passed::OwnerRoutes) => (limits::TOOL_SENT, None),
        Err(e) => (Duration::ZERO, Some(e.to_string())),
    };
    let outcome = outcome(room, since, &sent.file, patience).unwrap_or_else(|e| {
        tracing::warn!("{e}");
        Outcome::Pending
    });
    Ok(Posted { sent, outcome, trouble })
}
