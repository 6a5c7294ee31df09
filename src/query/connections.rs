//! Connections that a room would make to other rooms, and whether the user allowed them.

use crate::room::consent::LinkConnection;
use crate::room::key_file::KeyFile;
use crate::room::settings::Settings;
use serde::Serialize;

/// A connection to another room.
#[derive(Debug, Clone, Serialize)]
pub struct ConnectionTrust {
    /// The connection.
    #[serde(flatten)]
    pub connection: LinkConnection,
    /// Whether the user allowed it.
    pub trusted: bool,
}

/// All connections of a room to other machines, each with the user's decision. A link within a machine needs none: it
/// reaches only rooms that the user can write, and their settings decide.
pub fn connections(
    settings: &Settings,
    is_trusted: &dyn Fn(&LinkConnection) -> bool,
) -> Vec<ConnectionTrust> {
    let connects = settings
        .links
        .iter()
        .filter(|(_, link)| link.carrier.connects());
    let connections = connects.map(|(tag, link)| LinkConnection {
        link: tag.clone(),
        carrier: link.carrier.as_str().to_owned(),
        address: link.address.clone(),
        known_as: settings.known_as(link).map(str::to_owned),
        credentials: link.nats.credentials.as_deref().map(KeyFile::look),
        ca: link.nats.ca.as_deref().map(KeyFile::look),
    });
    connections
        .map(|connection| ConnectionTrust {
            trusted: is_trusted(&connection),
            connection,
        })
        .collect()
}
