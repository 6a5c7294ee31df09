//! Trust: shows a room's links, and records or revokes the user's consent.

use crate::base::error::{Error, Result};
use crate::base::written_path::write_path;
use crate::disk::paths::PathQuestions;
use crate::room::actor::require_person;
use crate::room::consent::{self, KnownRoom, KnownRooms, RoomIdentity};
use crate::room::settings::{GuardedSetting, LinkConnection, Settings, link_key};
use crate::room::{self, Room};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A connection to another room.
#[derive(Debug, Clone, Serialize)]
pub struct ConnectionTrust {
    /// The connection.
    #[serde(flatten)]
    pub connection: LinkConnection,
    /// Whether the user allowed it.
    pub trusted: bool,
}

/// A room and the user's consent.
#[derive(Debug, Serialize)]
pub struct RoomTrust {
    /// The room.
    #[serde(flatten)]
    pub identity: RoomIdentity,
    /// The links to other rooms that it would use.
    pub links: Vec<ConnectionTrust>,
    /// The settings that do not take effect without consent.
    pub settings: Vec<GuardedSetting>,
    /// The hash of all that leads out of the room.
    #[serde(skip)]
    outward: Option<String>,
    /// The file that records consent.
    #[serde(serialize_with = "write_path")]
    pub recorded_in: PathBuf,
}

impl RoomTrust {
    /// The links without consent.
    pub fn open_links(&self) -> impl Iterator<Item = &ConnectionTrust> {
        self.links.iter().filter(|link| !link.trusted)
    }
}

/// Inspects the room at a directory, or the one found from there, without using it.
pub fn look(asked: Option<&Path>, from: &Path) -> Result<RoomTrust> {
    let room = Room::open(&place(asked, from)?)?;
    let settings = room.settings()?;
    let links = LinkConnection::of(&settings).into_iter();
    Ok(RoomTrust {
        identity: room.identity()?,
        links: links
            .map(|connection| ConnectionTrust {
                connection,
                trusted: settings.is_agreed,
            })
            .collect(),
        outward: settings.outward,
        settings: settings.withheld,
        recorded_in: consent::file()?,
    })
}

/// Records consent: the open connections may be made, and the withheld settings take effect.
pub fn agree(trust: &RoomTrust) -> Result<()> {
    require_person(CONSENT)?;
    match &trust.outward {
        Some(outward) => consent::agree(&trust.identity, outward),
        None => Ok(()),
    }
}

/// The action of these functions, for [`require_person`].
const CONSENT: &str = "change consent";

/// Keeps consent after the person has set or removed a link. Consent is for all that leads out of the room together, so it
/// is not recorded if something else had no consent before.
pub fn agree_after_link(room: &Room, tag: &str, before: &Settings) -> Result<()> {
    let (settings, key) = (room.settings()?, link_key(tag));
    let had_consent = before.open().iter().all(|setting| setting.key == key);
    match &settings.outward {
        Some(outward) if had_consent && !settings.open().is_empty() => {
            require_person(CONSENT)?;
            consent::agree(&room.identity()?, outward)
        }
        _ => Ok(()),
    }
}

/// Revokes all consent for a room, which may no longer exist.
pub fn revoke(asked: Option<&Path>, from: &Path) -> Result<Vec<KnownRoom>> {
    require_person(CONSENT)?;
    let named = asked.map(|asked| from.join(asked));
    let found = place(asked, from).ok();
    let mut paths = Vec::new();
    for path in [named, found].into_iter().flatten() {
        let real = path.real_path().unwrap_or_else(|_| path.clone());
        for path in [path, real] {
            paths.push(consent::path_text(&room::below(&path))?);
            paths.push(consent::path_text(&path)?);
        }
    }
    let revoked = consent::revoke(&paths)?;
    if revoked.is_empty() {
        let shown = paths.first().map_or("here", String::as_str);
        return Err(Error::not_found(
            format!("no consent is recorded for a room at {shown}"),
            "`mailbag trust --list` shows all consent",
        ));
    }
    Ok(revoked)
}

/// All consent of the user.
pub fn list() -> Result<Vec<KnownRoom>> {
    let mut rooms = KnownRooms::read()?.rooms;
    rooms.retain(|room| room.agreed.is_some());
    Ok(rooms)
}

/// Finds a room: at the given directory or from there, or from the working directory.
fn place(asked: Option<&Path>, from: &Path) -> Result<PathBuf> {
    match asked.map(|asked| from.join(asked)) {
        Some(path) if room::is_room(&path) => Ok(path),
        Some(path) => room::find(None, &path),
        None => room::find(None, from),
    }
}
