//! The files of links: the state of each room, and the items between the rooms.
//!
//! A carrier mirrors `out/` of one room into `in/` of the other: `state.json`, and the items that the other room does not
//! have. It decides nothing: each router judges the state of the other room, and takes only the next item.

use crate::base::error::{Error, Result};
use crate::base::hash::Hash;
use crate::base::limits;
use crate::disk::{Dir, Meta, layout};
use crate::log::state::{IncomingStream, LinkState, LinkStates};
use crate::message::address::is_display_name;
use crate::message::id;
use crate::room::Room;
use crate::room::registry::{Agent, Registry};
use crate::room::settings::{Carrier, LinkSettings, Settings};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

/// The next step for a stopped link.
pub fn link_fix(link: &str) -> String {
    format!(
        "compare both rooms, then remove the link with `mailbag link remove {link} --bounce` in both, and add it again"
    )
}

/// The state of one link that a room reports to the other room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkEndState {
    /// The id of the room.
    pub room: String,
    /// The items from the other room that it has committed.
    #[serde(rename = "in")]
    pub came: Option<IncomingStream>,
    /// The items that it has sent.
    pub out: Option<SentStream>,
    /// Its agents, if it reports them.
    #[serde(default, skip_serializing_if = "no_agents")]
    pub agents: Arc<[ReportedAgent]>,
}

/// An agent of the other room, as that room reports it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedAgent {
    /// Its id in its room.
    pub id: Arc<str>,
    /// Its display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
}

/// The stream of items that a room has sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentStream {
    /// The id of the stream.
    pub stream: Arc<str>,
    /// The number of the last item.
    pub n: u64,
    /// The number of the last item that the other room has confirmed.
    pub acked: u64,
}

impl LinkEndState {
    /// The state of this room for one link.
    pub fn of(room: &str, link: Option<&LinkState>, agents: Arc<[ReportedAgent]>) -> LinkEndState {
        let out = link
            .and_then(|link| link.out.as_ref())
            .map(|out| SentStream {
                stream: out.stream.clone(),
                n: out.n,
                acked: out.acked,
            });
        LinkEndState {
            room: room.to_owned(),
            came: link.and_then(|link| link.came.clone()),
            out,
            agents,
        }
    }

    /// The text of the file.
    pub fn text(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec_pretty(self).unwrap_or_default();
        text.push(b'\n');
        text
    }

    /// Returns true if the room lacks items of `sender` that it had confirmed.
    pub fn lacks_confirmed(&self, sender: &LinkEndState) -> bool {
        sender.out.as_ref().is_some_and(|out| match &self.came {
            None => out.acked > 0,
            Some(came) => came.stream != out.stream || came.n < out.acked,
        })
    }

    /// Reads the file in one of a link's directories. `None` if it is missing or damaged, as it can be after a power cut.
    pub fn read(dir: &Dir) -> Result<Option<LinkEndState>> {
        let bytes = dir.read(layout::LINK_STATE, limits::LINK_STATE_MOST)?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }
}

fn no_agents(agents: &Arc<[ReportedAgent]>) -> bool {
    agents.is_empty()
}

/// The agents that this room reports to other rooms: the first ones that mail to `all` reaches.
pub fn roster(registry: &Registry) -> Arc<[ReportedAgent]> {
    let first = registry.everybody().iter().take(limits::ROSTER_OF_LINK);
    first
        .map(|at| ReportedAgent::of(registry.at(*at)))
        .collect()
}

impl ReportedAgent {
    fn of(agent: &Agent) -> ReportedAgent {
        ReportedAgent {
            id: agent.id.clone(),
            name: agent.name.clone(),
            role: agent.role.clone(),
        }
    }

    /// Returns true if the id, the display name and the role are valid.
    pub fn is_valid(&self) -> bool {
        id::is_name(&self.id)
            && self.name.as_deref().is_none_or(is_display_name)
            && self.role.as_deref().is_none_or(id::is_name)
    }
}

/// The other room's state of the stream to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemoteStreamState {
    /// Nothing new.
    Nothing,
    /// It has committed all items up to this number.
    Acked(u64),
    /// It does not match the items that this room has sent.
    Stopped(String),
}

/// Judges the state of the other room. `digest` reads the digest of a waiting item from the log.
pub fn judge(
    links: &LinkStates,
    tag: &str,
    far: &LinkEndState,
    digest: impl FnOnce(u64) -> Result<Option<Hash>>,
) -> Result<RemoteStreamState> {
    let out = links.out(tag);
    let (out, came) = match (out, &far.came) {
        (None, None) => return Ok(RemoteStreamState::Nothing),
        (None, Some(_)) => {
            return stopped(format!(
                "the room {tag} continues mail that this room does not know of"
            ));
        }
        (Some(out), None) if out.acked == 0 => return Ok(RemoteStreamState::Nothing),
        (Some(out), None) => {
            return stopped(format!(
                "the room {tag} has lost the {} items that it had",
                out.acked
            ));
        }
        (Some(out), Some(came)) => (out, came),
    };
    if came.stream != out.stream {
        return stopped(format!(
            "the room {tag} expects the items of another stream"
        ));
    }
    if came.n < out.acked {
        return stopped(format!(
            "the room {tag} has {} items, and had {}: it is an older copy",
            came.n, out.acked
        ));
    }
    if came.n > out.n {
        let what = format!(
            "the room {tag} has {} items, and this room sent {}: this room is an older copy",
            came.n, out.n
        );
        return stopped(what);
    }
    if came.n == out.acked {
        return Ok(RemoteStreamState::Nothing);
    }
    match digest(came.n)? {
        Some(digest) if digest == came.digest => Ok(RemoteStreamState::Acked(came.n)),
        _ => stopped(format!(
            "item {} in the room {tag} differs from the item that this room sent",
            came.n
        )),
    }
}

fn stopped(what: String) -> Result<RemoteStreamState> {
    Ok(RemoteStreamState::Stopped(what))
}

/// The other room of a link within this machine. Fails if the person did not agree to the link.
pub fn open_other(tag: &str, link: &LinkSettings) -> Result<Room> {
    if !link.is_withheld {
        return Room::open(Path::new(&link.address));
    }
    Err(Error::untrusted(
        format!("you have not agreed to the link {tag} to {}", link.address),
        "`mailbag trust` shows it and asks",
    ))
}

/// The tag of a link from another room on this machine, with these settings, to the room with this directory. In a
/// container the other room may have a path for this room that does not exist here: then it is the link with the tag
/// `known_as`.
pub fn tag_of_room<'s>(
    settings: &'s Settings,
    own: &Meta,
    known_as: Option<&str>,
) -> Option<&'s str> {
    for (tag, link) in &settings.links {
        if directory_meta(&link.address).is_ok_and(|meta| meta.is_same_file(own)) {
            return Some(tag);
        }
    }
    let (tag, link) = settings.links.get_key_value(known_as?)?;
    let is_missing = directory_meta(&link.address).is_err_and(|e| e.is_missing());
    (link.carrier == Carrier::Dir && is_missing).then_some(tag)
}

fn directory_meta(path: &str) -> Result<Meta> {
    Dir::open(Path::new(path))?.meta()
}

/// The names of all items in one of a link's directories, with their numbers, in order.
pub fn items(dir: &Dir) -> Result<Vec<(u64, OsString)>> {
    let mut items = Vec::new();
    for entry in dir.list()? {
        let name = entry?.name;
        items.extend(layout::read_item(&name).map(|n| (n, name)));
    }
    items.sort_unstable();
    Ok(items)
}
