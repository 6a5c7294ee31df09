//! Consent: the connections that a person agreed to make, and the settings that lead out of a room.
//!
//! Consent is recorded outside all rooms, so that a room cannot grant it itself.

use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::disk::{Dir, Meta, UserDirectory, layout};
use crate::room::key_file::KeyFile;
use crate::room::settings::GuardedSetting;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The format version of the file.
const VERSION: u32 = 1;

/// The identity of a room. Another room at the same path has another identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomIdentity {
    /// The path without links.
    pub path: String,
    /// The room's id, if it can be read.
    pub room: Option<String>,
}

/// The consent for one room.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoomConsent {
    /// The room.
    #[serde(flatten)]
    pub identity: RoomIdentity,
    /// The time of the consent.
    pub since: String,
    /// The links that the room may use to connect to others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<TrustedLink>,
    /// The settings that may take effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<GuardedSetting>,
}

/// A connection to another room: all values that decide the target of mail, and its sender there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkConnection {
    /// The tag of the other room.
    pub link: String,
    /// The carrier.
    pub carrier: String,
    /// Where the other room is.
    pub address: String,
    /// This room's tag in the other room.
    #[serde(rename = "as")]
    pub known_as: Option<String>,
    /// The file with the credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<KeyFile>,
    /// The file with the certificates that the other side's certificate must come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<KeyFile>,
}

/// A connection that may be made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrustedLink {
    /// The connection.
    #[serde(flatten)]
    pub connection: LinkConnection,
    /// The time of the consent.
    pub since: String,
}

/// All recorded consent.
#[derive(Debug, Serialize, Deserialize)]
pub struct ConsentList {
    version: u32,
    /// The consent for each room.
    pub rooms: Vec<RoomConsent>,
}

impl ConsentList {
    /// Reads the record. Without a file it is empty.
    pub fn read() -> Result<ConsentList> {
        match UserDirectory::open(&directory()?)? {
            Some(own) => read(&own),
            None => Ok(ConsentList::none()),
        }
    }

    fn none() -> ConsentList {
        ConsentList {
            version: VERSION,
            rooms: Vec::new(),
        }
    }

    /// The consent for this room, if there is one.
    pub fn of(&self, identity: &RoomIdentity) -> Option<&RoomConsent> {
        self.rooms
            .iter()
            .find(|consent| consent.identity == *identity)
    }

    /// Returns true if this setting of the room may take effect with exactly this value.
    pub fn agrees_to_setting(&self, identity: &RoomIdentity, setting: &GuardedSetting) -> bool {
        self.of(identity)
            .is_some_and(|consent| consent.settings.contains(setting))
    }

    /// Returns true if this room may make exactly this connection.
    pub fn agrees_to_link(&self, identity: &RoomIdentity, connection: &LinkConnection) -> bool {
        self.of(identity).is_some_and(|consent| {
            consent
                .links
                .iter()
                .any(|agreed| agreed.connection == *connection)
        })
    }
}

/// Records consent for a room, for these links and for these settings. Durable after it
/// returns.
pub fn agree(
    identity: &RoomIdentity,
    links: &[LinkConnection],
    settings: &[GuardedSetting],
) -> Result<()> {
    change(|consents| {
        let now = Stamp::now().to_string();
        // Consent for an earlier room at the same path is removed.
        let (here, elsewhere) = std::mem::take(&mut consents.rooms)
            .into_iter()
            .partition(|consent: &RoomConsent| consent.identity.path == identity.path);
        consents.rooms = elsewhere;
        let known = here
            .into_iter()
            .find(|consent: &RoomConsent| consent.identity == *identity);
        let mut consent = known.unwrap_or_else(|| RoomConsent {
            identity: identity.clone(),
            since: now.clone(),
            links: Vec::new(),
            settings: Vec::new(),
        });
        for connection in links {
            // The present consent for a tag is the only one.
            consent
                .links
                .retain(|agreed| agreed.connection.link != connection.link);
            consent.links.push(TrustedLink {
                connection: connection.clone(),
                since: now.clone(),
            });
        }
        for setting in settings {
            // The present consent for a key is the only one.
            consent.settings.retain(|agreed| agreed.key != setting.key);
            consent.settings.push(setting.clone());
        }
        consents.rooms.push(consent);
    })
}

/// Revokes all consent for the rooms at these paths, and returns it.
pub fn revoke(paths: &[String]) -> Result<Vec<RoomConsent>> {
    let mut revoked = Vec::new();
    change(|consents| {
        let (gone, kept) = std::mem::take(&mut consents.rooms)
            .into_iter()
            .partition(|consent: &RoomConsent| paths.contains(&consent.identity.path));
        (revoked, consents.rooms) = (gone, kept);
    })?;
    Ok(revoked)
}

/// The version of the record: a change of it can change the settings of a room.
pub fn version() -> Option<Meta> {
    Dir::open(&directory().ok()?)
        .ok()?
        .stat(layout::TRUST)
        .ok()?
}

/// The path of the record.
pub fn file() -> Result<PathBuf> {
    Ok(layout::trust_file(&directory()?))
}

pub(super) fn directory() -> Result<PathBuf> {
    layout::trust_directory().ok_or_else(|| {
        Error::usage(
            "no directory for recorded consent is known",
            format!(
                "set HOME, or {} to an absolute path",
                layout::TRUST_DIRECTORY
            ),
        )
    })
}

fn change(edit: impl FnOnce(&mut ConsentList)) -> Result<()> {
    let own = UserDirectory::make(&directory()?)?;
    let _held = own.hold(layout::TRUST_LOCK)?;
    let mut consents = read(&own)?;
    edit(&mut consents);
    let text = serde_json::to_string_pretty(&consents).expect("plain data") + "\n";
    own.replace(layout::TRUST, text.as_bytes())
}

fn read(own: &UserDirectory) -> Result<ConsentList> {
    let Some(bytes) = own.read(layout::TRUST, limits::REGISTRY_BYTES)? else {
        return Ok(ConsentList::none());
    };
    let what = match serde_json::from_slice::<ConsentList>(&bytes) {
        Ok(consents) if consents.version == VERSION => return Ok(consents),
        Ok(ConsentList { version, .. }) => {
            format!("has version {version}, but this program supports {VERSION}")
        }
        Err(e) => format!("cannot be read: {e}"),
    };
    Err(Error::state(
        file().unwrap_or_default(),
        what,
        "move it to another place; mailbag then asks for consent again",
    ))
}

/// The recorded form of a path. A path that is not UTF-8 is an error, because it could be confused with another.
pub fn path_text(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        Error::usage(
            format!(
                "the path {} is not UTF-8, so no room can be there",
                path.display()
            ),
            "rename the directory, or name another place with --room DIR",
        )
    })
}
