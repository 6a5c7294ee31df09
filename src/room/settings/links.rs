//! The setting `links`: the rooms to which this room has a link.

use super::nats::{NatsAddress, NatsSettings};
use super::ssh::SshAddress;
use super::values::{integer, shown};
use crate::base::limits;
use crate::message::address::{is_prefix, reserved};
use crate::message::id;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use toml::de::DeValue;

/// A description of a valid value.
pub(super) const WANTED: &str =
    "a table of links such as { po = { address = \"../po/.mailbag\" } }";

/// A link, as the settings describe it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LinkSettings {
    /// What brings the mail there.
    pub carrier: Carrier,
    /// Where the other room is, in the form of the carrier.
    pub address: String,
    /// The tag by which the other room knows this one. By default it is this room's own tag.
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    pub known_as: Option<String>,
    /// Which addresses of this room its mail may have.
    pub accept: Vec<Accept>,
    /// How many of its messages are taken in a window, if it is not `sender_budget` of the room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender_budget: Option<u32>,
    /// How many copies its messages may make in a window, if it is not `copies_budget` of the room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copies_budget: Option<u32>,
    /// What only a link over NATS has.
    #[serde(flatten)]
    pub nats: NatsSettings,
    /// Whether the person did not agree that this room writes into the other one, on the same machine.
    #[serde(skip)]
    pub is_withheld: bool,
}

/// What brings mail to another room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Carrier {
    /// The router itself, into a directory of this machine or of a mount.
    Dir,
    /// The system's SSH client.
    Ssh,
    /// The servers of a NATS cluster, to which both rooms connect.
    Nats,
    /// None of this room: the other room connects.
    None,
}

/// A kind of address that mail from another room may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Accept {
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
pub type LinkTags = BTreeMap<String, Vec<Accept>>;

/// What is accepted unless the settings say otherwise.
const DEFAULT: [Accept; 2] = [Accept::Agents, Accept::Roles];

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

    /// Does it connect to other machines?
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

impl Accept {
    const WORDS: [(&'static str, Accept); 5] = [
        ("agents", Accept::Agents),
        ("roles", Accept::Roles),
        ("all", Accept::All),
        ("topics", Accept::Topics),
        ("human", Accept::Human),
    ];

    /// The kind with this name.
    pub fn parse(word: &str) -> Option<Accept> {
        Accept::WORDS
            .into_iter()
            .find(|(known, _)| *known == word)
            .map(|(_, accept)| accept)
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        Accept::WORDS
            .into_iter()
            .find(|(_, accept)| *accept == self)
            .map_or("", |(word, _)| word)
    }
}

impl LinkSettings {
    /// A link with the default of what is accepted.
    pub fn new(carrier: Carrier, address: &str) -> LinkSettings {
        let (address, accept, nats) = (
            address.to_owned(),
            DEFAULT.to_vec(),
            NatsSettings::default(),
        );
        LinkSettings {
            carrier,
            address,
            known_as: None,
            accept,
            sender_budget: None,
            copies_budget: None,
            nats,
            is_withheld: false,
        }
    }

    /// The link as an inline table of TOML.
    pub fn show(&self) -> String {
        let accept: Vec<String> = self
            .accept
            .iter()
            .map(|accept| shown(accept.as_str()))
            .collect();
        let (carrier, accept) = (shown(self.carrier.as_str()), accept.join(", "));
        let address = Some(&self.address).filter(|address| !address.is_empty());
        let NatsSettings {
            credentials,
            ca,
            replicas,
        } = &self.nats;
        let texts = [
            ("address", address),
            ("as", self.known_as.as_ref()),
            ("credentials", credentials.as_ref()),
            ("ca", ca.as_ref()),
        ];
        let texts = texts
            .into_iter()
            .filter_map(|(key, text)| Some(format!(", {key} = {}", shown(text?))));
        let replicas = replicas.map(|n| format!(", replicas = {n}"));
        let more: String = texts.chain(replicas).collect();
        let budgets: String = self
            .budgets()
            .map(|(key, most)| format!(", {key} = {most}"))
            .collect();
        format!("{{ carrier = {carrier}{more}, accept = [{accept}]{budgets} }}")
    }

    /// The budgets of its own, with their keys.
    pub fn budgets(&self) -> impl Iterator<Item = (&'static str, u32)> {
        let both = [
            ("sender_budget", self.sender_budget),
            ("copies_budget", self.copies_budget),
        ];
        both.into_iter()
            .filter_map(|(key, most)| Some((key, most?)))
    }

    fn read(value: &DeValue<'_>) -> Option<LinkSettings> {
        let mut read = LinkSettings::new(Carrier::Dir, "");
        for (key, value) in value.as_table()? {
            let value = value.get_ref();
            match key.get_ref().as_ref() {
                "carrier" => read.carrier = Carrier::parse(value.as_str()?)?,
                "address" => {
                    read.address = value.as_str().filter(|text| is_address(text))?.to_owned()
                }
                "as" => read.known_as = Some(value.as_str().filter(|tag| is_tag(tag))?.to_owned()),
                "accept" => {
                    let words = value
                        .as_array()?
                        .iter()
                        .map(|word| Accept::parse(word.get_ref().as_str()?));
                    read.accept = words.collect::<Option<_>>()?;
                }
                "sender_budget" => read.sender_budget = Some(budget(value)?),
                "copies_budget" => read.copies_budget = Some(budget(value)?),
                key => read.nats.read(key, value)?,
            }
        }
        let is_valid = match read.carrier {
            Carrier::Dir => !read.address.is_empty(),
            Carrier::Ssh => SshAddress::parse(&read.address).is_some(),
            Carrier::Nats => NatsAddress::parse(&read.address).is_some(),
            Carrier::None => read.address.is_empty(),
        };
        let has_its_own = read.carrier == Carrier::Nats || read.nats == NatsSettings::default();
        (is_valid && has_its_own).then_some(read)
    }
}

fn budget(value: &DeValue<'_>) -> Option<u32> {
    integer(value)
        .and_then(|n| u32::try_from(n).ok())
        .filter(|n| *n <= limits::BUDGET_MOST)
}

/// Can a room have this tag?
pub fn is_tag(text: &str) -> bool {
    id::is_name(text) && !is_prefix(text) && reserved(text).is_none()
}

// An address that begins with a dash would be an option of the SSH client.
fn is_address(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('-') && !text.contains(char::is_control)
}

/// Reads the table. `None` if it is not valid.
pub(super) fn read(value: &DeValue<'_>) -> Option<BTreeMap<String, LinkSettings>> {
    let mut links = BTreeMap::<String, LinkSettings>::new();
    for (tag, link) in value.as_table()? {
        let tag = tag.get_ref().as_ref();
        let is_twice = links.keys().any(|known| known.eq_ignore_ascii_case(tag));
        links.insert(
            Some(tag).filter(|tag| is_tag(tag) && !is_twice)?.to_owned(),
            LinkSettings::read(link.get_ref())?,
        );
    }
    Some(links)
}

/// The value as TOML.
pub(super) fn show(links: &BTreeMap<String, LinkSettings>) -> String {
    let links: Vec<String> = links
        .iter()
        .map(|(tag, link)| format!("{} = {}", shown(tag), link.show()))
        .collect();
    if links.is_empty() {
        String::new()
    } else {
        format!("{{ {} }}", links.join(", "))
    }
}
