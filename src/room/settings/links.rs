//! The setting `links`: the links of this room to other rooms.

use super::nats::{self, NatsAddress, NatsSettings};
use super::ssh::SshAddress;
use super::values::{read_checked, read_own_budget, read_word};
use crate::message::address::{is_prefix, reserved};
use crate::message::id;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A link, as the settings describe it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LinkSettings {
    /// The carrier of the mail.
    pub carrier: Carrier,
    /// Where the other room is, in the form of the carrier.
    pub address: String,
    /// This room's tag in the other room. By default it is this room's own tag.
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    pub known_as: Option<String>,
    /// The addresses of this room that its mail may have.
    pub accept: Vec<AcceptedAddress>,
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
        deserialize_with = "read_own_budget"
    )]
    pub messages: Option<u32>,
    /// The limit of copies of its messages in a window.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "read_own_budget"
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

/// A kind of address that mail from another room may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AcceptedAddress {
    /// Agents by name.
    Agents,
    /// `all_<role>` and `any_<role>`.
    Roles,
    /// `all` and patterns such as `*`.
    All,
    /// Topics, capabilities, lanes and owners of claims.
    Topics,
    /// The human.
    Human,
}

/// The tags of links, each with the kinds of addresses that mail from there may have.
pub type LinkTags = BTreeMap<String, Vec<AcceptedAddress>>;

/// The addresses that are accepted by default.
const DEFAULT: [AcceptedAddress; 2] = [AcceptedAddress::Agents, AcceptedAddress::Roles];

impl Carrier {
    const WORDS: [(&'static str, Carrier); 4] = [
        ("dir", Carrier::Dir),
        ("ssh", Carrier::Ssh),
        ("nats", Carrier::Nats),
        ("none", Carrier::None),
    ];

    /// The carrier with this name.
    pub fn parse(word: &str) -> Option<Carrier> {
        Carrier::WORDS
            .into_iter()
            .find(|(known, _)| *known == word)
            .map(|(_, carrier)| carrier)
    }

    /// Returns true if it connects to other machines.
    pub fn connects(self) -> bool {
        matches!(self, Carrier::Ssh | Carrier::Nats)
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        Carrier::WORDS
            .into_iter()
            .find(|(_, carrier)| *carrier == self)
            .map_or("", |(word, _)| word)
    }
}

impl AcceptedAddress {
    const WORDS: [(&'static str, AcceptedAddress); 5] = [
        ("agents", AcceptedAddress::Agents),
        ("roles", AcceptedAddress::Roles),
        ("all", AcceptedAddress::All),
        ("topics", AcceptedAddress::Topics),
        ("human", AcceptedAddress::Human),
    ];

    /// The kind with this name.
    pub fn parse(word: &str) -> Option<AcceptedAddress> {
        AcceptedAddress::WORDS
            .into_iter()
            .find(|(known, _)| *known == word)
            .map(|(_, accept)| accept)
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        AcceptedAddress::WORDS
            .into_iter()
            .find(|(_, accept)| *accept == self)
            .map_or("", |(word, _)| word)
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
    accept: Vec<AcceptedAddress>,
    #[serde(default)]
    budget: LinkBudget,
    #[serde(default, deserialize_with = "nats::read_file")]
    credentials: Option<String>,
    #[serde(default, deserialize_with = "nats::read_file")]
    ca: Option<String>,
    #[serde(default, deserialize_with = "nats::read_replicas")]
    replicas: Option<u8>,
}

impl<'de> Deserialize<'de> for LinkSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LinkSettings, D::Error> {
        let fields = LinkFields::deserialize(deserializer)?;
        LinkSettings::try_from(fields).map_err(D::Error::custom)
    }
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
        match fields.carrier {
            Carrier::Dir if !is_path(address) => {
                return Err("expected an address such as \"../po/.mailbag\"");
            }
            Carrier::Ssh if SshAddress::parse(address).is_none() => {
                return Err("expected an address such as \"po:/srv/po/.mailbag\"");
            }
            Carrier::Nats if NatsAddress::parse(address).is_none() => {
                return Err("expected an address such as \"nats://po:4222\"");
            }
            Carrier::None if !address.is_empty() => {
                return Err("expected no address for the carrier `none`");
            }
            _ => {}
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

fn default_accept() -> Vec<AcceptedAddress> {
    DEFAULT.to_vec()
}

fn read_accept<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<AcceptedAddress>, D::Error> {
    let words = AcceptedAddress::WORDS.map(|(word, _)| format!("\"{word}\""));
    let wanted = format!("an array of {}", words.join(", "));
    read_checked(deserializer, |_| true, &wanted)
}

fn read_known_as<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let wanted = "a tag such as \"fit\"";
    read_checked(deserializer, |tag: &String| is_tag(tag), wanted).map(Some)
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
