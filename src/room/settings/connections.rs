//! Connections to other rooms, as the settings have them.

use super::{GuardedSetting, Settings, link_key};
use crate::room::key_file::KeyFile;
use serde::Serialize;

/// A connection to another room: all values that decide the target of mail, and its sender there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<KeyFile>,
    /// The file with the certificates that the other side's certificate must come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<KeyFile>,
}

impl LinkConnection {
    /// The connections of a room to other machines. A link within a machine is none: it reaches only rooms that the user
    /// can write, and their settings decide.
    pub fn of(settings: &Settings) -> Vec<LinkConnection> {
        let links = settings.links.iter();
        links
            .filter(|(_, link)| link.carrier.connects())
            .map(|(tag, link)| LinkConnection {
                link: tag.clone(),
                carrier: link.carrier.as_str().to_owned(),
                address: link.address.clone(),
                known_as: settings.known_as(link).map(str::to_owned),
                credentials: link.nats.credentials.as_deref().map(KeyFile::look),
                ca: link.nats.ca.as_deref().map(KeyFile::look),
            })
            .collect()
    }

    /// The connection as a setting that leads out of the room.
    pub fn as_setting(&self) -> GuardedSetting {
        GuardedSetting {
            key: link_key(&self.link),
            value: serde_json::to_string(self).expect("plain data"),
        }
    }
}
