//! How the copies of an agent were closed. A message that was read before can be replaced later, and its reader can move it
//! back into the inbox.

use super::InboxMessage;
use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::features::claims::change::OFFER_ENDED;
use crate::log::state;
use crate::message::status::CopyStatus;
use crate::query::{claims, trace};
use crate::room::Room;
use std::time::Duration;

/// The usual time of a delivery. A later change of the file can be a move back from `seen/`.
const DELIVERY: Duration = Duration::from_millis(20);

/// Notes in these messages how the copies of the agent were closed, and which offers of claims have ended. If this user
/// cannot read the log, they stay as they are.
pub fn note_closed(room: &Room, agent: &str, mails: &mut [InboxMessage]) {
    note_ended_offers(room, mails);
    // A closed copy is not in the inbox unless it was moved there. So most calls need not read the state of the whole room.
    if !mails.iter().any(|mail| may_have_moved(room, mail)) {
        return;
    }
    if let Err(e) = try_note_closed(room, agent, mails) {
        tracing::debug!("{e}; closed messages are not marked");
    }
}

/// Notes in these messages which offers of claims have ended. Without an offer, it reads nothing.
pub fn note_ended_offers(room: &Room, mails: &mut [InboxMessage]) {
    let mut offers = mails.iter_mut().filter(|mail| mail.is_offer).peekable();
    if offers.peek().is_none() {
        return;
    }
    let claims = match claims::owners(room) {
        Ok(claims) => claims,
        Err(e) => return tracing::debug!("{e}; ended offers are not marked"),
    };
    for mail in offers {
        if mail.seq.is_some_and(|seq| !claims.is_open_offer(seq)) {
            close(mail, OFFER_ENDED.to_owned());
        }
    }
}

fn close(mail: &mut InboxMessage, closed: String) {
    if let Some(delivery) = mail.content.get_mut("delivery") {
        delivery["closed"] = closed.as_str().into();
    }
    mail.closed = Some(closed);
}

fn may_have_moved(room: &Room, mail: &InboxMessage) -> bool {
    if mail.seq.is_none() || mail.seen {
        return mail.seen;
    }
    let delivered = Stamp::parse(&mail.accepted_at).map(|accepted| accepted.after(DELIVERY));
    match (delivered, room.dir.stat(&mail.file)) {
        (Some(delivered), Ok(Some(file))) => i128::from(delivered.micros()) * 1_000 < file.changed,
        _ => true,
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
            close(mail, closed);
        }
    }
    Ok(())
}
