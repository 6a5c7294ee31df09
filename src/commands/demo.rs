//! The whole thing once, in a room to throw away.

use super::agent::{self, Fields};
use super::send::{self, Draft};
use crate::base::error::Result;
use crate::disk::layout;
use crate::query::identity::Who;
use crate::query::inbox::{self, Mail};
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

/// The mail: from, to, body, and what it shows.
const LETTERS: [(&str, &str, &str, &str); 4] = [
    ("planner", "engineer_1", "Which port does the test server use?", "to one"),
    ("planner", "all", "We freeze the interface at noon.", "to all"),
    ("writer", "all_engineers", "Please look over the chapter on errors.", "to a role"),
    ("reviewer", "engineer_*", "Two findings, both in the parser.", "to a wildcard"),
];

/// What happened.
#[derive(Debug, Serialize)]
pub struct Demo {
    /// What was done, in order.
    pub steps: Vec<Step>,
    /// The room's files.
    pub tree: Vec<String>,
    /// What everybody got.
    pub inboxes: Vec<Got>,
}

/// One thing that was done.
#[derive(Debug, Serialize)]
pub struct Step {
    /// What it shows.
    pub shows: &'static str,
    /// As it would be typed.
    pub command: String,
}

/// What one agent got.
#[derive(Debug, Serialize)]
pub struct Got {
    /// Who.
    pub agent: String,
    /// Its unread mail.
    pub mail: Vec<Mail>,
}

/// Makes a room at a directory, five agents, four messages, and one that is refused.
pub fn demo(directory: &Path) -> Result<Demo> {
    let (room, _) = Room::init(directory)?;
    for (id, role, name) in AGENTS {
        let fields = Fields { role: Some(role.into()), name: Some(name.into()), ..Fields::default() };
        agent::add(&room, &[id.to_owned()], &fields)?;
    }
    let mut steps = Vec::new();
    for (from, to, body, shows) in LETTERS {
        let draft = Draft { to: vec![to.into()], body: Some(body.into()), ..Draft::default() };
        send::send(&room, &Who { name: from.into(), source: "the demo" }, draft)?;
        steps.push(Step { shows, command: format!("mailbag send '{to}' '{body}' --as {from}") });
    }
    steps.push(mistake(&room)?);
    send::route(&room)?;
    let agents = AGENTS.iter().map(|(id, ..)| (*id).to_owned());
    let inboxes = agents.map(|agent| Ok(Got { mail: inbox::list(&room, &agent)?, agent })).collect::<Result<_>>()?;
    Ok(Demo { steps, tree: tree(directory), inboxes })
}

/// A file dropped by hand, as an agent without the program would, to a name that is slightly wrong.
fn mistake(room: &Room) -> Result<Step> {
    const TEXT: &str = r#"{"to": "enginer_1", "body": "8080, I think"}"#;
    let file = layout::outbox("reviewer").join("hello.json");
    room.dir.replace(&file, TEXT.as_bytes())?;
    let command = format!("echo '{TEXT}' > {}", file.display());
    Ok(Step { shows: "to a name that is slightly wrong: refused, and the sender is told", command })
}

/// The files of a room, each indented below its directory.
fn tree(directory: &Path) -> Vec<String> {
    let below = walkdir::WalkDir::new(directory).min_depth(1).sort_by_file_name();
    let is_own = |entry: &walkdir::DirEntry| entry.file_name() == "spool" || entry.file_name() == ".gitignore";
    let entries = below.into_iter().filter_entry(|entry| !is_own(entry)).flatten();
    entries
        .map(|entry| {
            let mark = if entry.file_type().is_dir() { "/" } else { "" };
            format!("{}{}{mark}", "  ".repeat(entry.depth() - 1), entry.file_name().to_string_lossy())
        })
        .collect()
}
