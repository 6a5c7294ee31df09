//! Removes a link, or starts it again: a message of the human, which the router records.

use super::{edit, table};
use crate::base::error::{Error, Problem, Result};
use crate::base::limits;
use crate::base::text::{count_of, shell_word};
use crate::commands::follow::{self, TrackedMessage};
use crate::commands::send::{self, MessageDraft};
use crate::disk::layout;
use crate::log::state::{self, LinkState};
use crate::message::LINK;
use crate::message::record::Record;
use crate::query::identity::AgentIdentity;
use crate::query::links;
use crate::room::Room;
use crate::room::links::LinkEndState;
use crate::room::settings::{Carrier, LinkSettings, Settings, stream_of, token};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// A change of a link that the router has recorded.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RecordedLinkChange {
    /// The tag of the other room.
    pub tag: String,
    /// The number of the record.
    pub seq: u64,
    /// The number of unconfirmed items: they are sent again, or given up.
    pub waiting: usize,
    /// The command of the NATS client that removes the data of a removed link from the servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cleanup: Option<String>,
}

/// The result of a rebind.
#[derive(Debug, Serialize)]
pub struct RebindResult {
    /// The tag of the other room.
    pub tag: String,
    /// The number of items that are sent again.
    pub again: u64,
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
    let seq = record(room, tag, if bounce { "bounce" } else { "remove" })?.seq;
    let _held = room.lock_registry()?;
    let server_cleanup = server_cleanup_command(&room.settings()?, tag);
    edit(room, false, |text| table::take_out(text, tag))?;
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
    let known_as = |link: &LinkSettings| link.known_as.clone().or_else(|| settings.tag.clone());
    let stream = stream_of(&known_as(link)?);
    let is_other = |other: &LinkSettings| {
        other.carrier == Carrier::Nats
            && (&other.address, known_as(other)) == (&link.address, known_as(link))
    };
    let what = if settings
        .links
        .iter()
        .any(|(other, settings)| other != tag && is_other(settings))
    {
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

/// The expected result of a rebind of this link.
pub fn to_rebind(room: &Room, tag: &str) -> Result<RebindResult> {
    check_known(room, tag)?;
    follow::route(room, limits::WRITER_WAIT)?;
    let state = state::committed(&room.dir)?;
    let out = state.links.out(tag);
    let (sent, confirmed) = out.map_or((0, 0), |out| (out.n, out.acked));
    // The other room may have less than it had confirmed, or more than this room has heard of.
    let dir = room.dir.sub(layout::link_in(tag)).ok();
    let far = dir
        .map(|dir| LinkEndState::read(&dir))
        .transpose()?
        .flatten()
        .and_then(|far| far.came);
    let there = far
        .filter(|came| out.is_some_and(|out| *out.stream == *came.stream))
        .map_or(confirmed, |came| came.n);
    Ok(RebindResult {
        tag: tag.to_owned(),
        again: sent.saturating_sub(there),
        confirmed,
    })
}

/// Starts both streams of a link again.
pub fn rebind(room: &Room, tag: &str) -> Result<RecordedLinkChange> {
    check_known(room, tag)?;
    let seq = record(room, tag, "rebind")?.seq;
    let waiting = waiting(room, tag)?;
    Ok(RecordedLinkChange {
        tag: tag.to_owned(),
        seq,
        waiting,
        server_cleanup: None,
    })
}

/// Returns true if a link has this tag.
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
