//! Sessions that lost their agent to another session, until they are notified. Their model still believes that it is
//! the agent.

use super::{CallingSession, LockedSessions, SessionIdentity, SessionLease, all};
use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::text::to_the_second;
use crate::room::Room;
use serde::{Deserialize, Serialize};

/// The number of remembered sessions that lost an agent and are not notified yet.
const LOST: usize = 16;

/// A session that lost its agent and has not been notified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostSession {
    /// The session.
    #[serde(flatten)]
    pub by: SessionIdentity,
    /// The time of the loss, RFC 3339.
    pub at: String,
}

/// The notification of a session that lost its agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LossNotification {
    /// The agent.
    pub agent: String,
    /// A description of the new holder.
    pub holder: String,
    /// The time of the loss, RFC 3339.
    pub at: String,
}

impl std::fmt::Display for LossNotification {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let LossNotification { agent, holder, at } = self;
        write!(
            f,
            "this session is no longer {agent}: {holder} took it over at {}",
            to_the_second(at)
        )
    }
}

/// The sessions to notify when another session than this lease's gets the agent. The most recent loss is the last one.
pub(super) fn after(lease: &SessionLease, now: &str) -> Vec<LostSession> {
    let mut lost = lease.lost.clone();
    lost.retain(|lost| !lost.by.is(&lease.named()));
    lost.push(LostSession {
        by: lease.named(),
        at: now.to_owned(),
    });
    lost.split_off(lost.len().saturating_sub(LOST))
}

/// The agent that a session lost without being notified, if the session has no other agent.
pub fn loss(room: &Room, caller: &CallingSession) -> Result<Option<LossNotification>> {
    let (leases, caller) = (all(room)?, SessionIdentity::from(caller));
    let losses = leases.iter().filter(|lease| !lease.named().is(&caller));
    let losses = losses.filter_map(|lease| {
        let lost = lease.lost.iter().find(|lost| lost.by.is(&caller))?;
        Some(LossNotification {
            agent: lease.agent.clone(),
            holder: lease.holder(),
            at: lost.at.clone(),
        })
    });
    Ok(losses.max_by_key(|loss| Stamp::parse(&loss.at)))
}

/// Notes that the session was notified.
pub fn notified_of_loss(room: &Room, caller: &CallingSession, agent: &str) -> Result<()> {
    let held = LockedSessions::open(room)?;
    let caller = SessionIdentity::from(caller);
    let Some(mut lease) = super::read(&held.dir, agent) else {
        return Ok(());
    };
    lease.lost.retain(|lost| !lost.by.is(&caller));
    held.write(&lease)
}
