//! How the copies of an agent were closed. A message that was read before can be replaced later, and its reader can move it
//! back into the inbox.

use super::InboxMessage;
use crate::base::error::Result;
use crate::log::state;
use crate::message::status::CopyStatus;
use crate::query::trace;
use crate::room::Room;

/// Notes in these messages how the copies of the agent were closed. If this user cannot read the log, they stay as they are.
pub fn note_closed(room: &Room, agent: &str, mails: &mut [InboxMessage]) {
    if mails.iter().all(|mail| mail.seq.is_none()) {
        return;
    }
    if let Err(e) = try_note_closed(room, agent, mails) {
        tracing::debug!("{e}; closed messages are not marked");
    }
}

fn try_note_closed(room: &Room, agent: &str, mails: &mut [InboxMessage]) -> Result<()> {
    let state = state::committed(&room.dir)?;
    for mail in mails {
        let Some(seq) = mail.seq else { continue };
        let status = state.mailboxes.status(agent, seq);
        if !status.is_some_and(CopyStatus::is_closed) {
            continue;
        }
        let trace = trace::trace(room, Some(agent), &format!("#{seq}"))?;
        let steps = trace
            .recipients
            .iter()
            .find(|one| one.agent == agent || one.renamed_to.as_deref() == Some(agent))
            .map(|one| one.statuses.as_slice())
            .unwrap_or_default();
        if let Some(step) = steps.iter().find(|step| step.status.is_closed()) {
            let note = step.note.iter().map(|note| format!(": {note}"));
            let closed = format!("{}{}", step.status.as_str(), note.collect::<String>());
            if let Some(delivery) = mail.content.get_mut("delivery") {
                delivery["closed"] = closed.as_str().into();
            }
            mail.closed = Some(closed);
        }
    }
    Ok(())
}
