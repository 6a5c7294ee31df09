//! Changes of ownership, as records of the log have them.

use crate::base::text::listed;
use crate::message::object;
use crate::message::record::EventKind;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A change of ownership. A message is named `<sender>/<id>`, subjects are in their normal form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimChange {
    /// The sender owns these subjects. Subjects that it owned before are renewed.
    Grant(ClaimTerms),
    /// An agent no longer owns these subjects.
    Release {
        /// The agent.
        of: Arc<str>,
        /// The subjects.
        claims: Vec<String>,
    },
    /// The sender offers these subjects to another agent, and owns them until that agent accepts.
    Offer {
        /// The other agent.
        to: Arc<str>,
        /// The subjects.
        claims: Vec<String>,
    },
    /// The recipient of the offer in this message owns its subjects.
    Accept {
        /// The message.
        offer: String,
    },
    /// The offer in this message is closed.
    Decline {
        /// The message.
        offer: String,
    },
    /// An agent was renamed: its claims and offers now belong to the agent with the new name.
    Rename {
        /// The name so far.
        of: Arc<str>,
        /// The agent.
        to: Arc<str>,
        /// The records of unread copies, if the agent also had its own copy of the message.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        twice: Vec<u64>,
    },
}

/// The terms of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimTerms {
    /// The subjects.
    pub claims: Vec<String>,
    /// Lifetime of the claim after the owner's last activity, in seconds.
    pub lease: u64,
    /// The purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
}

/// The status of an offer.
const OFFERED: &str = "offered";

/// The renaming of an agent.
#[derive(Debug, Clone, Copy)]
pub struct AgentRenaming<'c> {
    /// The name so far.
    pub of: &'c Arc<str>,
    /// The agent.
    pub to: &'c Arc<str>,
    /// The records of unread copies, if the agent also had its own copy of the message.
    pub twice: &'c [u64],
}

impl ClaimChange {
    /// The renaming that moves claims to another name.
    pub fn renaming(&self) -> Option<AgentRenaming<'_>> {
        match self {
            ClaimChange::Rename { of, to, twice } => Some(AgentRenaming { of, to, twice }),
            _ => None,
        }
    }

    /// Returns true if it offers claims to another agent.
    pub fn is_offer(&self) -> bool {
        matches!(self, ClaimChange::Offer { .. })
    }

    /// A short form of the change: `src/auth/** · granted`. `None` for a change of the router,
    /// because its notice has the text.
    pub fn summary(&self) -> Option<String> {
        let (what, status) = match self {
            ClaimChange::Grant(terms) => (listed(&terms.claims), "granted"),
            ClaimChange::Release { claims, .. } => (listed(claims), "released"),
            ClaimChange::Offer { claims, .. } => (listed(claims), OFFERED),
            ClaimChange::Accept { offer } => (format!("offer {offer}"), "accepted"),
            ClaimChange::Decline { offer } => (format!("offer {offer}"), "declined"),
            ClaimChange::Rename { .. } => return None,
        };
        Some(format!("{what} · {status}"))
    }

    /// The kind of the event, and its fields. The record has this kind, and `actor` made the change.
    pub(crate) fn event(&self, record: EventKind, actor: &str) -> (String, Map<String, Value>) {
        let (word, fields) = match self {
            ClaimChange::Grant(terms) => (
                "granted",
                json!({"claims": terms.claims, "purpose": terms.purpose}),
            ),
            ClaimChange::Release { of, claims, .. } if record == EventKind::Notice => {
                ("lapsed", json!({"of": of, "claims": claims}))
            }
            ClaimChange::Release { of, claims, .. } if **of != *actor => {
                ("overridden", json!({"of": of, "claims": claims}))
            }
            ClaimChange::Release { claims, .. } => ("released", json!({"claims": claims})),
            ClaimChange::Offer { to, claims } => ("offered", json!({"to": to, "claims": claims})),
            ClaimChange::Accept { offer } => ("accepted", json!({"offer": offer})),
            ClaimChange::Decline { offer } => ("declined", json!({"offer": offer})),
            ClaimChange::Rename { of, to, .. } => ("renamed", json!({"of": of, "to": to})),
        };
        (format!("claim.{word}"), object(fields))
    }
}

/// Like [`ClaimChange::summary`], from `delivery.claim` of a copy.
pub fn summary_of_copy(copy: &Map<String, Value>) -> Option<String> {
    let outcome = copy.get("delivery")?.get("claim")?;
    let claims = outcome
        .get("claims")?
        .as_array()?
        .iter()
        .filter_map(Value::as_str);
    let claims: Vec<String> = claims.map(str::to_owned).collect();
    Some(format!(
        "{} · {}",
        listed(&claims),
        outcome.get("status")?.as_str()?
    ))
}

/// How an offer that is not open is shown.
pub const OFFER_ENDED: &str = "offer ended";

/// Returns true if `delivery.claim` of a copy says that the message offers claims.
pub fn is_offer_copy(copy: &Map<String, Value>) -> bool {
    let outcome = copy
        .get("delivery")
        .and_then(|delivery| delivery.get("claim"));
    outcome.is_some_and(|outcome| outcome["status"] == OFFERED)
}

/// Writes a lease in seconds as text, such as `4h`, for `#[serde(with = …)]`.
pub mod lease {
    use crate::base::clock::{span, span_text};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use std::borrow::Cow;
    use std::time::Duration;

    /// Writes it.
    pub fn serialize<S: Serializer>(seconds: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&span_text(Duration::from_secs(*seconds)))
    }

    /// Reads it.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        let text = Cow::<'de, str>::deserialize(from)?;
        let lease = span(&text).ok_or_else(|| D::Error::custom("not a duration"))?;
        Ok(lease.as_secs())
    }
}
