//! Links to other rooms: delivery progress, problems, and known agents of the other rooms.

use super::pending::age;
use super::status::blocked::{BlockedPath, blocked_links};
use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::base::text::{count_of, quoted, shell_path, shell_word};
use crate::disk::layout;
use crate::disk::paths::PathQuestions;
use crate::log;
use crate::log::state::{self, RoomState};
use crate::message::id;
use crate::room::links::{LinkEndState, ReportedAgent, link_fix, open_other, tag_of_room};
use crate::room::settings::{Carrier, LinkSettings, Settings, is_tag};
use crate::room::{self, Room, RouterMode};
use memchr::memmem;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The size of the end of the log that is searched for agents of other rooms, in bytes.
const HEARD_IN: u64 = 8 << 20;

/// A link in the settings.
#[derive(Debug, Serialize)]
pub struct ConfiguredLink {
    /// The tag of the other room.
    pub tag: String,
    /// Its settings.
    #[serde(flatten)]
    pub settings: LinkSettings,
}

/// A link and its delivery progress.
#[derive(Debug, Serialize)]
pub struct LinkStatus {
    /// The tag of the other room.
    pub tag: String,
    /// Its settings. Absent if they are gone, while its mail is still in the log.
    #[serde(flatten)]
    pub settings: Option<LinkSettings>,
    /// Number of items sent to the other room: messages and receipts.
    pub sent: u64,
    /// Number of items that the other room has confirmed.
    pub confirmed: u64,
    /// Number of items that wait for its confirmation.
    pub waiting: usize,
    /// When the oldest of them was accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest: Option<String>,
    /// Number of items received from the other room.
    pub received: u64,
    /// Problems.
    pub problems: Vec<BlockedPath>,
}

/// An agent of another room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KnownRemoteAgent {
    /// Its address, such as `po:Sintra`.
    pub id: String,
    /// Its display name, if its room told it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its role, if its room told it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// When a message or a receipt of it arrived last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_arrival: Option<String>,
}

impl KnownRemoteAgent {
    /// Returns true if this address has its display name, as in `po:Sintra`.
    pub fn is_called(&self, address: &str) -> bool {
        let name = self.name.as_deref().zip(id::tag_of(&self.id));
        name.is_some_and(|(name, tag)| id::far(tag, name).eq_ignore_ascii_case(address))
    }
}

/// The links in the settings.
pub fn list(room: &Room) -> Result<Vec<ConfiguredLink>> {
    Ok(room
        .settings()?
        .links
        .into_iter()
        .map(|(tag, settings)| ConfiguredLink { tag, settings })
        .collect())
}

/// All links, or one of them.
pub fn links(room: &Room, tag: Option<&str>) -> Result<Vec<LinkStatus>> {
    let (settings, state) = (room.settings()?, state::committed(&room.dir)?);
    let mut links = of_state(room, &settings, &state);
    let Some(tag) = tag else { return Ok(links) };
    links.retain(|link| link.tag == tag);
    if links.is_empty() {
        Err(unknown(&settings, tag))
    } else {
        Ok(links)
    }
}

/// Why a link has stopped, as the router of this room reported it, without the repair.
pub fn stopped(room: &Room, tag: &str) -> Option<String> {
    let state = layout::link_state(tag);
    let blocked = blocked_links(room)
        .into_iter()
        .find(|blocked| Path::new(&blocked.path) == state)?;
    let why = blocked
        .reason
        .strip_suffix(&link_fix(tag))
        .map(|why| why.trim_end_matches("; ").to_owned());
    Some(why.unwrap_or(blocked.reason))
}

/// The error for a tag without a link.
pub fn unknown(settings: &Settings, tag: &str) -> Error {
    let known: Vec<&str> = settings.links.keys().map(String::as_str).collect();
    let fix = match known.as_slice() {
        [] => "`mailbag link add` adds one".to_owned(),
        known => format!("the links are {}", known.join(", ")),
    };
    Error::not_found(format!("there is no link {}", quoted(tag)), fix)
}

/// All links by this state.
pub fn of_state(room: &Room, settings: &Settings, state: &RoomState) -> Vec<LinkStatus> {
    let mut links: BTreeMap<&str, LinkStatus> = BTreeMap::new();
    for (tag, link) in &settings.links {
        links.insert(tag, LinkStatus::new(tag, Some(link.clone())));
    }
    for (tag, known) in state.links.iter() {
        let link = links
            .entry(tag)
            .or_insert_with(|| LinkStatus::new(tag, None));
        (link.sent, link.confirmed) = known.out.as_ref().map_or((0, 0), |out| (out.n, out.acked));
        link.received = known.came.as_ref().map_or(0, |came| came.n);
        link.waiting = known.waiting().count();
        link.oldest = known
            .waiting()
            .next()
            .map(|oldest| Stamp::from_micros(oldest.at).to_string());
    }
    if links.is_empty() {
        return Vec::new();
    }
    let mut blocked = blocked_links(room);
    let mut links: Vec<LinkStatus> = links.into_values().collect();
    for link in &mut links {
        let is_ours =
            |blocked: &BlockedPath| Path::new(&blocked.path).starts_with(layout::link(&link.tag));
        link.problems
            .extend(blocked.extract_if(.., |blocked| is_ours(blocked)));
        link.look(room, settings);
    }
    links.retain(|link| link.settings.is_some() || link.waiting > 0);
    links
}

impl LinkStatus {
    fn new(tag: &str, settings: Option<LinkSettings>) -> LinkStatus {
        let (sent, confirmed, waiting, oldest, received, problems) = (0, 0, 0, None, 0, Vec::new());
        LinkStatus {
            tag: tag.to_owned(),
            settings,
            sent,
            confirmed,
            waiting,
            oldest,
            received,
            problems,
        }
    }

    /// Returns true if it holds mail or has problems.
    pub fn is_down(&self) -> bool {
        !self.problems.is_empty()
    }

    /// Adds problems that the router has not noticed.
    fn look(&mut self, room: &Room, own: &Settings) {
        if self.settings.as_ref().is_some_and(|link| link.is_withheld) {
            self.problems.clear();
        }
        if !self.problems.is_empty() {
            return;
        }
        let since = self
            .oldest
            .clone()
            .unwrap_or_else(|| Stamp::now().to_string());
        let status = format!("mailbag link status {}", self.tag);
        let Some(link) = &self.settings else {
            let fix = format!("mailbag link add {} ADDRESS", self.tag);
            return self.add(
                format!(
                    "the link is gone from {}, but its mail waits",
                    layout::SETTINGS
                ),
                since,
                fix,
            );
        };
        let address = &link.address;
        let other = match link.carrier {
            Carrier::Dir => Some(open_other(&self.tag, link)),
            Carrier::Ssh | Carrier::Nats | Carrier::None => None,
        };
        match &other {
            Some(Err(e)) => return self.add(e.to_string(), since, status),
            Some(Ok(other)) if their_link(room, link, other).is_ok_and(|back| back.is_none()) => {
                let fix = link_back(room, own, other);
                return self.add("the other room has no link to this one".into(), since, fix);
            }
            _ => {}
        }
        let oldest = self.oldest.as_deref().and_then(Stamp::parse);
        if oldest.is_none_or(|at| at.after(limits::LINK_LATE) >= Stamp::now()) {
            return;
        }
        let what = format!(
            "the other room has not confirmed {} for {}",
            count_of(self.waiting, "item"),
            age(&since)
        );
        match other {
            Some(Ok(other)) if has_no_router(&other) => {
                let fix = format!("mailbag --room {} run", shell_word(address));
                self.add(format!("{what}: no router runs there"), since, fix);
            }
            _ => self.add(what, since, status),
        }
    }

    fn add(&mut self, reason: String, since: String, fix: String) {
        let path = layout::link_out(&self.tag).display().to_string();
        self.problems.push(BlockedPath {
            path,
            reason,
            since,
            fix,
        });
    }
}

/// Returns true if the other room certainly has no continuous router.
fn has_no_router(room: &Room) -> bool {
    match room.running_router() {
        Ok(None) => true,
        Ok(Some(holder)) => holder.mode == RouterMode::Pass,
        Err(_) => false,
    }
}

/// The tag of this room in the other room, if the other room is on this machine and has a link to this one.
pub fn their_link(room: &Room, link: &LinkSettings, other: &Room) -> Result<Option<String>> {
    Ok(tag_of_room(
        &other.settings()?,
        &room.dir.meta()?,
        link.known_as.as_deref(),
    )
    .map(str::to_owned))
}

/// The command that adds a link back. The other room chooses the tag. This room suggests the setting `tag` of the other room, or
/// the name of its project.
pub fn link_back(room: &Room, settings: &Settings, other: &Room) -> String {
    let here = room
        .dir
        .path()
        .real_path()
        .unwrap_or_else(|_| room.dir.path().to_path_buf());
    let project = project(&here);
    let is_free = |tag: &&str| {
        let taken = other.settings().is_ok_and(|far| {
            far.links
                .keys()
                .any(|known| known.eq_ignore_ascii_case(tag))
        });
        is_tag(tag) && !taken
    };
    let name = project.file_name().and_then(|name| name.to_str());
    let tag = settings
        .tag
        .as_deref()
        .filter(is_free)
        .or(name.filter(is_free))
        .unwrap_or("TAG");
    let there = shell_path(other.dir.path());
    format!(
        "mailbag --room {there} link add {tag} {}",
        shell_path(&project)
    )
}

/// The command that adds a link with these settings, except its budget.
pub fn add_command(tag: &str, link: &LinkSettings) -> String {
    let LinkSettings {
        carrier,
        address,
        known_as,
        accept,
        nats,
        ..
    } = link;
    let mut words = vec![format!("mailbag link add {tag}")];
    if !address.is_empty() {
        words.push(shell_word(address));
    }
    let accept: Vec<_> = accept.iter().map(|kind| kind.as_str()).collect();
    let replicas = nats.replicas.map(|replicas| replicas.to_string());
    for (option, value) in [
        ("--carrier", Some(carrier.as_str())),
        ("--accept", Some(&*accept.join(","))),
        ("--known-as", known_as.as_deref()),
        ("--credentials", nats.credentials.as_deref()),
        ("--ca", nats.ca.as_deref()),
        ("--replicas", replicas.as_deref()),
    ] {
        words.extend(value.map(|value| format!("{option} {}", shell_word(value))));
    }
    words.join(" ")
}

/// The project of a room, or the room if it is not below one.
fn project(room: &Path) -> PathBuf {
    let parent = room.parent().filter(|parent| room::below(parent) == room);
    parent.unwrap_or(room).to_path_buf()
}

/// The agents of other rooms: reported by their rooms, or mentioned in the last part of the log.
pub fn remote(room: &Room) -> Result<Vec<KnownRemoteAgent>> {
    let links = room.settings()?.links;
    let mut remote: BTreeMap<String, KnownRemoteAgent> = BTreeMap::new();
    for tag in links.keys() {
        let state = room
            .dir
            .sub_if_exists(layout::link_in(tag))
            .and_then(|dir| dir.map_or(Ok(None), |dir| LinkEndState::read(&dir)));
        let far = match state {
            Ok(Some(far)) => far,
            Ok(None) => continue,
            Err(e) => {
                tracing::warn!("the agents of the link {tag} are unknown: {e}");
                continue;
            }
        };
        for ReportedAgent { id, name, role } in far
            .agents
            .iter()
            .take(limits::ROSTER_OF_LINK)
            .filter(|agent| agent.is_valid())
            .cloned()
        {
            let id = id::far(tag, &id);
            remote.insert(
                id.clone(),
                KnownRemoteAgent {
                    id,
                    name,
                    role,
                    last_arrival: None,
                },
            );
        }
    }
    if links.is_empty() {
        return Ok(Vec::new());
    }
    for (id, at) in heard(room)? {
        remote
            .entry(id.clone())
            .or_insert_with(|| KnownRemoteAgent {
                id: id.clone(),
                name: None,
                role: None,
                last_arrival: None,
            })
            .last_arrival = Some(at);
    }
    Ok(remote.into_values().collect())
}

/// The agents that were heard of, and when.
fn heard(room: &Room) -> Result<BTreeMap<String, String>> {
    let arrived = memmem::Finder::new(b"\"arrived\":{");
    let mut heard: BTreeMap<String, String> = BTreeMap::new();
    for line in log::lines(&room.dir, log::before_end(&room.dir, HEARD_IN)?)? {
        let line = line?;
        if arrived.find(&line.bytes).is_none() {
            continue;
        }
        let Ok(record) = line.record() else {
            continue;
        };
        let Some(arrived) = record.arrived() else {
            continue;
        };
        let receipts = arrived
            .receipts
            .iter()
            .map(|receipt| id::far(&arrived.link, &receipt.agent));
        let from = record
            .from()
            .map(ToString::to_string)
            .filter(|from| id::tag_of(from).is_some() && id::is_sender(from));
        for agent in receipts.chain(from) {
            heard.insert(agent, record.at.clone());
        }
    }
    Ok(heard)
}
