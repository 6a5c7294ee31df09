//! Demonstrates mailbag in a temporary room.

use super::agent::{self, AgentFields};
use super::follow;
use super::send::{self, MessageDraft};
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::layout;
use crate::query::identity::AgentIdentity;
use crate::query::inbox::{self, InboxMessage};
use crate::room::Room;
use serde::Serialize;
use std::path::Path;

/// The agents: id, role, display name.
const AGENTS: [(&str, &str, &str); 5] = [
    ("planner", "planner", "Sintra"),
    ("engineer_1", "engineer", "Porto"),
    ("engineer_2", "engineer", "Evora"),
    ("writer", "writer", "Tavira"),
    ("reviewer", "reviewer", "Lagos"),
];

/// The messages: sender, recipient, body, and explanation.
const MESSAGES: [(&str, &str, &str, &str); 4] = [
    (
        "planner",
        "engineer_1",
        "Which port does the test server use?",
        "to one",
    ),
    (
        "planner",
        "all",
        "We freeze the interface at noon.",
        "to all",
    ),
    (
        "writer",
        "all_engineers",
        "Please look over the chapter on errors.",
        "to a role",
    ),
    (
        "reviewer",
        "engineer_*",
        "Two findings, both in the parser.",
        "to a wildcard",
    ),
];

/// The result of the demo.
#[derive(Debug, Serialize)]
pub struct DemoResult {
    /// The steps, in order.
    pub steps: Vec<DemoStep>,
    /// The room's files.
    pub tree: Vec<String>,
    /// Every agent's inbox.
    pub inboxes: Vec<DemoInbox>,
}

/// One step.
#[derive(Debug, Serialize)]
pub struct DemoStep {
    /// The explanation.
    pub explanation: &'static str,
    /// The command line.
    pub command: String,
}

/// One agent's inbox.
#[derive(Debug, Serialize)]
pub struct DemoInbox {
    /// The agent.
    pub agent: String,
    /// Its unread mail.
    pub mail: Vec<InboxMessage>,
}

/// Creates a room with five agents, sends four messages, and drops one that is rejected.
pub fn demo(directory: &Path) -> Result<DemoResult> {
    let (room, _) = Room::init(directory)?;
    for (id, role, name) in AGENTS {
        let fields = AgentFields {
            role: Some(role.into()),
            name: Some(name.into()),
            ..AgentFields::default()
        };
        agent::add(&room, &[id.to_owned()], &fields)?;
    }
    let mut steps = Vec::new();
    for (from, to, body, explanation) in MESSAGES {
        let draft = MessageDraft {
            to: vec![to.into()],
            body: Some(body.into()),
            ..MessageDraft::default()
        };
        send::send(&room, &AgentIdentity::verified(from, "the demo"), draft)?;
        steps.push(DemoStep {
            explanation,
            command: format!("mailbag send '{to}' '{body}' --as {from}"),
        });
    }
    steps.push(mistake(&room)?);
    follow::route(&room, limits::WRITER_WAIT)?;
    let agents = AGENTS.iter().map(|(id, ..)| (*id).to_owned());
    let inboxes = agents
        .map(|agent| {
            Ok(DemoInbox {
                mail: inbox::list(&room, &agent)?,
                agent,
            })
        })
        .collect::<Result<_>>()?;
    Ok(DemoResult {
        steps,
        tree: tree(directory),
        inboxes,
    })
}

/// Drops a file by hand, as an agent without the program would, with a misspelled recipient.
fn mistake(room: &Room) -> Result<DemoStep> {
    const TEXT: &str = r#"{"to": "enginer_1", "body": "8080, I think"}"#;
    let file = layout::outbox("reviewer").join("hello.json");
    room.dir.replace(&file, TEXT.as_bytes())?;
    let command = format!("echo '{TEXT}' > {}", file.display());
    Ok(DemoStep {
        explanation: "to a misspelled name: the message is rejected, and the sender is notified",
        command,
    })
}

/// The files of a room, each indented below its directory.
fn tree(directory: &Path) -> Vec<String> {
    let below = walkdir::WalkDir::new(directory)
        .min_depth(1)
        .sort_by_file_name();
    let entries = below
        .into_iter()
        .filter_entry(|entry| entry.file_name() != "spool" && entry.file_name() != ".gitignore")
        .flatten();
    entries
        .map(|entry| {
            let mark = if entry.file_type().is_dir() { "/" } else { "" };
            format!(
                "{}{}{mark}",
                "  ".repeat(entry.depth() - 1),
                entry.file_name().to_string_lossy()
            )
        })
        .collect()
}
