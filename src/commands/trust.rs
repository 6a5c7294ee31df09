//! Trust: shows a room's links, and records or revokes the user's consent.

use crate::base::error::{Error, Result};
use crate::base::written_path::write_path;
use crate::disk::paths::PathQuestions;
use crate::query::connections::{ConnectionTrust, connections};
use crate::room::actor::require_person;
use crate::room::consent::{self, KnownRoom, KnownRooms, RoomIdentity};
use crate::room::settings::{GuardedSetting, link_key};
use crate::room::{self, Room};
use serde::Serialize;
use std::path::{Path, PathBuf};

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
    let (identity, known) = (room.identity()?, KnownRooms::read()?);
    // Consent without the links of a room would look like consent to them.
    let settings = room.settings()?;
    let links = connections(&settings, &|connection| {
        known.agrees_to(&identity, &connection.as_setting())
    });
    Ok(RoomTrust {
        links,
        settings: settings.withheld,
        recorded_in: consent::file()?,
        identity,
    })
}

/// Records consent: the open connections may be made, and the withheld settings take effect.
pub fn agree(trust: &RoomTrust) -> Result<()> {
    require_person(CONSENT)?;
    let links = trust.open_links().map(|link| link.connection.as_setting());
    let settings: Vec<GuardedSetting> = links.chain(trust.settings.iter().cloned()).collect();
    consent::agree(&trust.identity, &settings)
}

/// The action of these functions, for [`require_person`].
const CONSENT: &str = "change consent";

/// Records consent for a link that the person has just set.
pub fn agree_to_link(room: &Room, tag: &str) -> Result<()> {
    let settings = room.settings()?;
    let withheld = settings.withheld.iter();
    let within_machine = withheld
        .filter(|setting| setting.key == link_key(tag))
        .cloned();
    let to_another = connections(&settings, &|_| false).into_iter();
    let to_another = to_another
        .filter(|link| link.connection.link == tag)
        .map(|link| link.connection.as_setting());
    match within_machine.chain(to_another).next() {
        Some(setting) => {
            require_person(CONSENT)?;
            consent::agree(&room.identity()?, &[setting])
        }
        None => Ok(()),
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
    rooms.retain(|room| !room.agreed.is_empty());
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
