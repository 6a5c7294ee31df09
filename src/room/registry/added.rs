//! The names that features add to a registry.

use crate::base::json_text::parse_word;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A name for several addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// Its name.
    pub name: String,
    /// Its address, `lane:<name>`.
    pub address: String,
    /// The addresses of its owners, as written.
    pub owners: Vec<String>,
}

/// The rooms that addresses can lead to, by their tags, each with the kinds of addresses here that its mail may have.
pub type OtherRooms = BTreeMap<String, Vec<AddressKind>>;

/// A kind of address that mail from another room may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AddressKind {
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

impl AddressKind {
    /// The kind with this name.
    pub fn parse(word: &str) -> Option<AddressKind> {
        parse_word(word)
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            AddressKind::Agents => "agents",
            AddressKind::Roles => "roles",
            AddressKind::All => "all",
            AddressKind::Topics => "topics",
            AddressKind::Human => "human",
        }
    }
}
