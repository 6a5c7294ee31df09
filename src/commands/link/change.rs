//! Removes a link: a message of the human, which the router records.

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
use crate::room::settings::{Carrier, Settings, stream_of, token};
use serde::Serialize;
use serde_json::{Map, Value};

/// A link that the router has removed.
#[derive(Debug, Serialize)]
pub struct RemovedLink {
    /// The tag of the other room.
    pub tag: String,
    /// The number of the record.
    pub seq: u64,
    /// The number of unconfirmed items, which are given up.
    pub waiting: usize,
    /// The command that adds the link again.
    pub add_again: String,
    /// The command of the NATS client that removes the data of a removed link from the servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cleanup: Option<String>,
}

/// Removes a link from the log, and then from the settings. With `bounce`, the senders of unconfirmed items are
/// notified.
pub fn remove(room: &Room, tag: &str, bounce: bool) -> Result<RemovedLink> {
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
    let settings = room.settings()?;
    let add_again = settings
        .links
        .get(tag)
        .map_or_else(String::new, |link| links::add_command(tag, link));
    let server_cleanup = server_cleanup_command(&settings, tag);
    edit(room, false, |text| table::take_out(text, tag))?;
    trust::agree_after_link(room, tag, &settings)?;
    Ok(RemovedLink {
        tag: tag.to_owned(),
        seq,
        waiting,
        add_again,
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
