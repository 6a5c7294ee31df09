//! Acks: a recipient, or for some rungs the sender, says how far a message has come.

use super::identity::Who;
use super::send::{self, Draft, Sent};
use crate::error::{Error, Result};
use crate::fold;
use crate::ladder::Rung;
use crate::message::Message;
use crate::room::Room;
use crate::route::{AckClaims, judge_ack};
use serde_json::{Map, json};

/// What an ack says.
#[derive(Debug)]
pub struct Ack {
    /// The messages: each an id, `<sender>/<id>` or a seq.
    pub refs: Vec<String>,
    /// How far they have come.
    pub rung: Rung,
    /// In words.
    pub note: Option<String>,
}

/// Drops the ack into its sender's outbox, refused beforehand if the router would refuse it. Once this has returned, a
/// power cut doesn't lose it.
pub fn ack(room: &Room, who: &Who, ack: Ack) -> Result<Sent> {
    let registry = room.registry()?;
    let agent = who.in_registry(&registry)?.id.clone();
    let status = ack.rung.as_str();
    let fields = json!({"id": "judged", "from": &*agent, "type": "ack", "refs": ack.refs, "status": status});
    let judged = Message::from_fields(fields.as_object().cloned().unwrap_or_else(Map::new));
    let fold = fold::committed(&room.dir)?;
    if let Some(message) = judged {
        judge_ack(&room.dir, &fold, &agent, &message, &mut AckClaims::new())?.map_err(Error::Refused)?;
    }
    let draft = Draft {
        kind: Some("ack".into()),
        body: ack.note,
        raw_refs: ack.refs,
        status: Some(status.into()),
        ..Draft::default()
    };
    send::send(room, who, draft)
}
