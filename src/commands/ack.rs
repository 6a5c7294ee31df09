//! Acks: a recipient, or for some statuses the sender, sets a message's status.

use super::send::{self, MessageDraft, OutboxMessage};
use crate::base::error::{Error, Result};
use crate::base::text::listed;
use crate::features::approvals;
use crate::log::lookup::{self, LoggedMessage};
use crate::log::state::{self, RoomState};
use crate::message::reference::Reference;
use crate::message::status::CopyStatus;
use crate::message::{Message, id, object};
use crate::query::identity::{self, AgentIdentity};
use crate::room::Room;
use crate::router::{AckRoom, SUPERSEDED_BY, judge_ack};
use serde_json::json;

/// An ack to send.
#[derive(Debug)]
pub struct AckRequest {
    /// References to the messages.
    pub refs: Vec<String>,
    /// Their new status.
    pub status: CopyStatus,
    /// A note.
    pub note: Option<String>,
    /// A reference to the message that supersedes them.
    pub superseded_by: Option<String>,
}

/// An ack that was written to the sender's outbox.
#[derive(Debug)]
pub struct SentAck {
    /// The ack.
    pub sent: OutboxMessage,
    /// The status that it sets.
    pub status: CopyStatus,
    /// The messages that it names.
    pub messages: Vec<LoggedMessage>,
}

impl SentAck {
    /// The changes of an accepted ack, a line for each message.
    pub fn outcome(&self) -> Vec<String> {
        let status = self.status.as_str();
        let messages = self.messages.iter();
        messages
            .map(|message| format!("#{} from {} is {status}", message.seq, message.from))
            .collect()
    }

    /// A sentence about the recipients in other rooms that keep their copies of a message that its sender withdraws or
    /// supersedes. `None` without such recipients.
    pub fn kept_elsewhere(&self) -> Option<String> {
        if !self.status.is_set_by_sender() {
            return None;
        }
        let recipients = self.messages.iter().flat_map(|message| &message.recipients);
        let mut far: Vec<&str> = recipients
            .filter(|agent| id::tag_of(agent).is_some())
            .map(|agent| &**agent)
            .collect();
        far.dedup();
        let first = far.first()?;
        Some(format!(
            "{} in another room: the copy there stays, because an ack does not cross a link; write to {first} about it",
            listed(&far)
        ))
    }
}

/// Writes the ack to the sender's outbox, after checking that the router will accept it. The file is durable when this
/// returns.
pub fn ack(room: &Room, who: &AgentIdentity, ack: AckRequest) -> Result<SentAck> {
    let registry = room.registry()?;
    let agent = who.in_registry(&registry)?.id.clone();
    let state = state::committed(&room.dir)?;
    let status = ack.status;
    let items = find_items(room, &state, &agent, ack.refs)?;
    let by = match ack.superseded_by {
        Some(text) => Some(complete_reference(room, &state, &agent, text)?),
        None => None,
    };
    let metadata = object(json!({SUPERSEDED_BY: by}));
    let fields = json!({"id": "judged", "from": &*agent, "type": "ack", "refs": items.refs,
        "status": status.as_str(), "metadata": metadata});
    if let Some(message) = Message::from_fields(object(fields)) {
        let log = state.indexed(&room.dir);
        let acks = AckRoom {
            log: &log,
            state: &state,
            registry: &registry,
        };
        let judged = judge_ack(&acks, &agent, &message)?;
        let receipts = judged.map_err(Error::Rejected)?;
        let withdrawn = approvals::of(&state).withdrawn(&receipts, &agent);
        withdrawn.map_err(|problem| Error::Rejected(vec![*problem]))?;
    }
    let draft = MessageDraft {
        kind: Some("ack".into()),
        body: ack.note,
        raw_refs: items.refs,
        status: Some(status.as_str().into()),
        raw_metadata: metadata,
        ..MessageDraft::default()
    };
    Ok(SentAck {
        sent: send::send(room, who, draft)?,
        status,
        messages: items.messages,
    })
}

/// The items that an ack names.
#[derive(Default)]
struct AckedItems {
    messages: Vec<LoggedMessage>,
    /// All references as the router accepts them: as given if they are complete, else as a number.
    refs: Vec<String>,
}

/// The complete reference to the message that replaces others. An unknown one is left to the check of the ack.
fn complete_reference(room: &Room, state: &RoomState, agent: &str, text: String) -> Result<String> {
    let viewer = identity::own_viewer(room, agent)?;
    let log = state.indexed(&room.dir);
    let found = lookup::find_typed(&log, &viewer, std::slice::from_ref(&text))?;
    Ok(match found.into_iter().next() {
        Some(Ok((past, _))) if !past.is_named_by(&text) => format!("#{}", past.seq),
        _ => text,
    })
}

/// Finds the items. All missing and ambiguous references are reported together.
fn find_items(
    room: &Room,
    state: &RoomState,
    agent: &str,
    refs: Vec<String>,
) -> Result<AckedItems> {
    let viewer = identity::own_viewer(room, agent)?;
    let found = lookup::find_typed(&state.indexed(&room.dir), &viewer, &refs)?;
    let (mut items, mut problems) = (AckedItems::default(), Vec::new());
    for (n, (text, found)) in refs.into_iter().zip(found).enumerate() {
        match found {
            Ok((past, _)) => {
                let is_complete = Reference::parse(&text)
                    .is_some_and(|one| one.is_of(&past.from, &past.id, None));
                items.refs.push(if is_complete {
                    text
                } else {
                    format!("#{}", past.seq)
                });
                items.messages.push(past);
            }
            Err(unclear) => problems.push(unclear.problem(&viewer, &text).at(format!("/refs/{n}"))),
        }
    }
    if problems.is_empty() {
        Ok(items)
    } else {
        Err(Error::Rejected(problems))
    }
}
