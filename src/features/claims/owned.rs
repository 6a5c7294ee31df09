//! An owned subject, and an open offer, as `claims.json` and the commands have them.

use super::change::lease;
use crate::base::rfc3339;
use crate::message::subject::ClaimSubject;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// An owned subject. Times are in microseconds since 1970 and printed as RFC 3339.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnedClaim {
    /// The subject.
    pub subject: ClaimSubject,
    /// The owner.
    pub owner: Arc<str>,
    /// The number of the record that granted it.
    pub seq: u64,
    /// The time of the grant.
    #[serde(with = "rfc3339")]
    pub since: i64,
    /// The time of the grant or of the last renewal.
    #[serde(with = "rfc3339")]
    pub renewed: i64,
    /// The life of the claim after the owner's last activity, such as `4h`.
    #[serde(with = "lease")]
    pub lease: u64,
    /// The purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
}

/// An open offer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimOffer {
    /// The message, as `<sender>/<id>`.
    pub offer: String,
    /// The owner.
    pub from: Arc<str>,
    /// The agent that can accept it.
    pub to: Arc<str>,
    /// The subjects.
    pub subjects: Vec<ClaimSubject>,
    /// The number of the message's record.
    pub seq: u64,
    /// The time of the message.
    #[serde(with = "rfc3339")]
    pub since: i64,
}
