//! Records a commit of an agent: a message of type `status` to a conversation, usually without recipients.
//!
//! A report of the agent itself is the smallest record of a commit: it needs no new kind of record, an agent without the
//! program can write it as a file, and only owners of its files get a copy.

use super::send::{self, MessageDraft, OutboxMessage};
use crate::base::error::Result;
use crate::base::limits;
use crate::base::sanitize;
use crate::query::guard::{self, OwnedFile};
use crate::query::identity::AgentIdentity;
use crate::room::Room;
use serde_json::{Map, Value, json};

/// The conversation that shows commits.
pub const CHANNEL: &str = "commits";

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitCommit {
    /// The full id.
    pub id: String,
    /// The branch, unless the head is detached.
    pub branch: Option<String>,
    /// The repository, unless it is the room's own.
    pub repository: Option<String>,
    /// The subject line.
    pub subject: String,
}

/// Writes the report to the agent's outbox. The owners of its files get a copy.
pub fn record(
    room: &Room,
    agent: &str,
    commit: &GitCommit,
    owned: &[OwnedFile],
) -> Result<OutboxMessage> {
    let short = commit.id.get(..10).unwrap_or(&commit.id);
    let branch = commit
        .branch
        .as_deref()
        .map(|branch| format!(" on {branch}"))
        .unwrap_or_default();
    let subject = format!("commit {short}{branch}: {}", commit.subject);
    let named = [
        ("branch", &commit.branch),
        ("repository", &commit.repository),
    ];
    let mut metadata = Map::from_iter([("commit".to_owned(), json!(commit.id))]);
    metadata.extend(
        named
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), Value::from(value.clone()?)))),
    );
    let registry = room.registry()?;
    let to: Vec<String> = guard::owners(owned)
        .into_iter()
        .filter(|owner| registry.has_active(owner))
        .map(str::to_owned)
        .collect();
    let body = (!owned.is_empty()).then(|| {
        format!(
            "The commit changes files that you own:\n{}",
            guard::lines(owned).join("\n")
        )
    });
    if !owned.is_empty() {
        metadata.insert(
            "guard_bypassed".to_owned(),
            json!(owned.iter().take(limits::GUARD_LINES).collect::<Vec<_>>()),
        );
    }
    let draft = MessageDraft {
        to,
        body,
        kind: Some("status".into()),
        channel: Some(CHANNEL.into()),
        subject: Some(sanitize::brief(&subject, limits::SUBJECT)),
        raw_metadata: metadata,
        ..MessageDraft::default()
    };
    send::send(room, &AgentIdentity::verified(agent, "the commit"), draft)
}
