//! The setting `links`: the links of this room to other rooms.

use super::nats::{NatsAddress, NatsSettings};
use super::ssh::SshAddress;
use super::values::{read_budget, read_file, read_replicas, read_word};
use crate::base::json_text::parse_word;
use crate::message::address::{PREFIXES, is_prefix, reserved};
use crate::message::id;
use crate::room::checked::checked;
use crate::room::registry::AddressKind;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A link, as the settings describe it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "LinkFields")]
pub struct LinkSettings {
    /// The carrier of the mail.
    pub carrier: Carrier,
    /// Where the other room is, in the form of the carrier.
    pub address: String,
    /// This room's tag in the other room. By default it is this room's own tag.
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    pub known_as: Option<String>,
    /// The addresses of this room that its mail may have.
    pub accept: Vec<AddressKind>,
    /// The budget of all its senders together.
    #[serde(skip_serializing_if = "LinkBudget::is_default")]
    pub budget: LinkBudget,
    /// Settings of a link over NATS.
    #[serde(flatten)]
    pub nats: NatsSettings,
    /// Whether the person did not agree that this room writes into the other one, on the same machine.
    #[serde(skip)]
    pub is_withheld: bool,
}

/// The budget of a link, where it differs from the budget of a sender of this room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinkBudget {
    /// The limit of its messages in a window.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "read_budget"
    )]
    pub messages: Option<u32>,
    /// The limit of copies of its messages in a window.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "read_budget"
    )]
    pub copies: Option<u32>,
}

impl LinkBudget {
    /// Returns true if the link has no budget of its own.
    pub fn is_default(&self) -> bool {
        *self == LinkBudget::default()
    }
}

/// The carrier of mail to another room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Carrier {
    /// The router itself, into a directory of this machine or of a mount.
    Dir,
    /// The system's SSH client.
    Ssh,
    /// The servers of a NATS cluster. Both rooms connect to them.
    Nats,
    /// None of this room: the other room connects.
    None,
}

/// The addresses that are accepted by default.
const DEFAULT: [AddressKind; 2] = [AddressKind::Agents, AddressKind::Roles];

impl Carrier {
    /// The carrier with this name.
    pub fn parse(word: &str) -> Option<Carrier> {
        parse_word(word)
    }

    /// Returns true if it connects to other machines.
    pub fn connects(self) -> bool {
        matches!(self, Carrier::Ssh | Carrier::Nats)
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Carrier::Dir => "dir",
            Carrier::Ssh => "ssh",
            Carrier::Nats => "nats",
            Carrier::None => "none",
        }
    }
}

impl LinkSettings {
    /// A link that accepts the default addresses.
    pub fn new(carrier: Carrier, address: &str) -> LinkSettings {
        LinkSettings {
            carrier,
            address: address.to_owned(),
            known_as: None,
            accept: DEFAULT.to_vec(),
            budget: LinkBudget::default(),
            nats: NatsSettings::default(),
            is_withheld: false,
        }
    }
}

/// The keys of a link, before they are checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkFields {
    #[serde(default = "default_carrier", deserialize_with = "read_word")]
    carrier: Carrier,
    #[serde(default)]
    address: String,
    #[serde(rename = "as", default, deserialize_with = "read_known_as")]
    known_as: Option<String>,
    #[serde(default = "default_accept", deserialize_with = "read_accept")]
    accept: Vec<AddressKind>,
    #[serde(default)]
    budget: LinkBudget,
    #[serde(default, deserialize_with = "read_file")]
    credentials: Option<String>,
    #[serde(default, deserialize_with = "read_file")]
    ca: Option<String>,
    #[serde(default, deserialize_with = "read_replicas")]
    replicas: Option<u8>,
}

impl TryFrom<LinkFields> for LinkSettings {
    type Error = &'static str;

    fn try_from(fields: LinkFields) -> Result<LinkSettings, &'static str> {
        let nats = NatsSettings {
            credentials: fields.credentials,
            ca: fields.ca,
            replicas: fields.replicas,
        };
        if fields.carrier != Carrier::Nats && nats != NatsSettings::default() {
            return Err("expected `credentials`, `ca` and `replicas` only for the carrier `nats`");
        }
        let address = &fields.address;
        let (is_valid, wanted) = match fields.carrier {
            Carrier::Dir => (
                is_path(address),
                "expected an address such as \"../po/.mailbag\"",
            ),
            Carrier::Ssh => (
                SshAddress::parse(address).is_some(),
                "expected an address such as \"po:/srv/po/.mailbag\"",
            ),
            Carrier::Nats => (
                NatsAddress::parse(address).is_some(),
                "expected an address such as \"nats://po:4222\"",
            ),
            Carrier::None => (
                address.is_empty(),
                "expected no address for the carrier `none`",
            ),
        };
        if !is_valid {
            return Err(wanted);
        }
        Ok(LinkSettings {
            carrier: fields.carrier,
            address: fields.address,
            known_as: fields.known_as,
            accept: fields.accept,
            budget: fields.budget,
            nats,
            is_withheld: false,
        })
    }
}

fn default_carrier() -> Carrier {
    Carrier::Dir
}

fn default_accept() -> Vec<AddressKind> {
    DEFAULT.to_vec()
}

checked! {
    read_tag: String, |tag| is_tag(tag), format!(
        "a name of letters, digits, . _ -, not reserved, and none of {}",
        PREFIXES.join(", ")
    );
    read_known_as: String, |tag| is_tag(tag), "a tag such as \"fit\"";
    read_accept: Vec<AddressKind>, |_| true, "an array of \"agents\", \"roles\", \"all\", \"topics\", \"human\"";
}

/// Reads the links. Two tags must differ in more than letter case.
pub(super) fn read_links<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, LinkSettings>, D::Error> {
    let links = BTreeMap::<String, LinkSettings>::deserialize(deserializer)?;
    let lower: BTreeSet<String> = links.keys().map(|tag| tag.to_ascii_lowercase()).collect();
    if lower.len() == links.len() && links.keys().all(|tag| is_tag(tag)) {
        Ok(links)
    } else {
        Err(D::Error::custom(
            "expected a table of links such as { po = { address = \"../po/.mailbag\" } }",
        ))
    }
}

/// Returns true if a room can have this tag.
pub fn is_tag(text: &str) -> bool {
    id::is_name(text) && !is_prefix(text) && reserved(text).is_none()
}

fn is_path(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('-') && !text.contains(char::is_control)
}
