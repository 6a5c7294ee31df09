//! Removes a link, or starts it again: a message of the human, which the router records.

use super::{edit, table};
use crate::base::error::{Error, Problem, Result};
use crate::base::limits;
use crate::base::text::{count_of, shell_word};
use crate::commands::follow::{self, TrackedMessage};
use crate::commands::send::{self, MessageDraft};
use crate::commands::trust;
use crate::log::state::{self, LinkState};
use crate::message::LINK;
use crate::message::record::Record;
use crate::query::identity::AgentIdentity;
use crate::query::links;
use crate::room::Room;
use crate::room::links::{LinkEndState, continues, last_item_there, state_there};
use crate::room::settings::{Carrier, Settings, stream_of, token};
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::Arc;

/// A change of a link that the router has recorded.
#[derive(Debug, Serialize)]
pub struct RecordedLinkChange {
    /// The tag of the other room.
    pub tag: String,
    /// The number of the record, if there was something to change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The number of unconfirmed items: they are sent again, or given up.
    pub waiting: usize,
    /// The command of the NATS client that removes the data of a removed link from the servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cleanup: Option<String>,
}

impl RecordedLinkChange {
    /// The result for a link that needs no change.
    pub fn unchanged(tag: &str) -> RecordedLinkChange {
        RecordedLinkChange {
            tag: tag.to_owned(),
            seq: None,
            waiting: 0,
            server_cleanup: None,
        }
    }
}

/// The result of a rebind.
#[derive(Debug)]
pub struct RebindResult {
    /// The number of items that are sent again.
    pub again: usize,
    /// The number of items that the other room had confirmed.
    pub confirmed: u64,
}

/// Removes a link from the log, and then from the settings. With `bounce`, the senders of unconfirmed items are
/// notified.
pub fn remove(room: &Room, tag: &str, bounce: bool) -> Result<RecordedLinkChange> {
    check_known(room, tag)?;
    follow::route(room, limits::WRITER_WAIT)?;
    let waiting = waiting(room, tag)?;
    if waiting > 0 && !bounce {
        let what = format!(
            "the room {tag} has not confirmed {}",
            count_of(waiting, "item")
        );
        let fix = "wait until it has, or pass --bounce: the senders then learn that their mail was not confirmed";
        return Err(Error::Rejected(vec![
            Problem::new("link_in_use", what).fix(fix),
        ]));
    }
    let seq = Some(record(room, tag, if bounce { "bounce" } else { "remove" })?.seq);
    let _held = room.lock_registry()?;
    let settings = room.settings()?;
    let server_cleanup = server_cleanup_command(&settings, tag);
    edit(room, false, |text| table::take_out(text, tag))?;
    trust::agree_after_link(room, tag, &settings)?;
    Ok(RecordedLinkChange {
        tag: tag.to_owned(),
        seq,
        waiting,
        server_cleanup,
    })
}

/// The command that removes the data of a link from NATS servers: the stream of this room, or only its consumer if the stream
/// also serves other links.
fn server_cleanup_command(settings: &Settings, tag: &str) -> Option<String> {
    let link = settings
        .links
        .get(tag)
        .filter(|link| link.carrier == Carrier::Nats)?;
    let known_as = settings.known_as(link)?;
    let stream = stream_of(known_as);
    let what = if settings.links.iter().any(|(other_tag, other)| {
        other_tag != tag
            && other.carrier == Carrier::Nats
            && other.address == link.address
            && settings.known_as(other) == Some(known_as)
    }) {
        format!(
            "consumer rm {} {}",
            shell_word(&stream),
            shell_word(&token(tag))
        )
    } else {
        format!("stream rm {}", shell_word(&stream))
    };
    Some(format!(
        "nats --server {} {what}",
        shell_word(&link.address)
    ))
}

/// The expected result of a rebind of this link. `None` if both streams continue without it, as after a rebind in the other
/// room of a link to a new room.
pub fn to_rebind(room: &Room, tag: &str) -> Result<Option<RebindResult>> {
    check_known(room, tag)?;
    follow::route(room, limits::WRITER_WAIT)?;
    let state = state::committed(&room.dir)?;
    let own = LinkEndState::of("", state.links.get(tag), Arc::default());
    if state_there(&room.dir, tag).is_some_and(|far| continues(&own, &far)) {
        return Ok(None);
    }
    let (again, confirmed) = state.links.out(tag).map_or((0, 0), |out| {
        // The other room may have less than it had confirmed, or more than this room has heard of.
        let there = last_item_there(&room.dir, tag, out);
        let again = out.n.saturating_sub(there);
        (usize::try_from(again).unwrap_or(usize::MAX), out.acked)
    });
    Ok(Some(RebindResult { again, confirmed }))
}

/// Starts both streams of a link again, as planned.
pub fn rebind(room: &Room, tag: &str, plan: &RebindResult) -> Result<RecordedLinkChange> {
    Ok(RecordedLinkChange {
        tag: tag.to_owned(),
        seq: Some(record(room, tag, "rebind")?.seq),
        waiting: plan.again,
        server_cleanup: None,
    })
}

/// Fails if no link has this tag.
pub(super) fn check_known(room: &Room, tag: &str) -> Result<()> {
    let settings = room.settings()?;
    if settings.links.contains_key(tag) {
        Ok(())
    } else {
        Err(links::unknown(&settings, tag))
    }
}

fn waiting(room: &Room, tag: &str) -> Result<usize> {
    let state = state::committed(&room.dir)?;
    Ok(state
        .links
        .get(tag)
        .into_iter()
        .flat_map(LinkState::waiting)
        .count())
}

/// Writes a message about a link. Only a person may.
pub(super) fn drop_message(room: &Room, tag: &str, action: &str) -> Result<TrackedMessage> {
    let who = AgentIdentity::person();
    let fields = Map::from_iter([("link".to_owned(), Value::from(tag))]);
    let draft = MessageDraft {
        kind: Some(LINK.into()),
        action: Some(action.into()),
        fields,
        ..MessageDraft::default()
    };
    let sent = send::send(room, &who, draft)?;
    Ok(TrackedMessage::new(room, sent, Error::Rejected))
}

/// Sends a message about a link, and waits until the router has recorded it.
fn record(room: &Room, tag: &str, action: &str) -> Result<Record> {
    let mut message = drop_message(room, tag, action)?;
    let found = follow::follow(room, limits::WRITER_WAIT, &mut || message.read_own());
    message.decided(found, "`mailbag link status` shows the state of the link")
}
