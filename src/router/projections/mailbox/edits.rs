//! Text of people and agents in the files of the mail: blocks in the form of a message, changed status lines, and
//! other text.
//!
//! A block begins with a line such as `## 2026-11-21T10:30:00Z · from:alice · to:bob · type:question · ref:src/a.rs`.
//! Its text continues until the next block, a status line or a line of the router.

use crate::base::hash::{hash, hex};
use crate::disk::Meta;
use crate::log::state::RoomState;
use crate::message::object;
use crate::message::status::CopyStatus;
use crate::room::registry::{Agent, Registry};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The digits of a digest that identify a message in a file of the mail.
const WRITTEN_ID: usize = 24;

/// The beginning of a status line.
const STATUS: &str = "→ status:";
/// The beginning of the line with the check.
const CHECK: &str = "mailbag writes this file, and keeps and reports other text. Check: ";
/// The types of blocks without an effect besides delivery, and the types of their messages.
const TYPES: [(&str, &str); 6] = [
    ("msg", "message"),
    ("message", "message"),
    ("task", "task"),
    ("question", "question"),
    ("answer", "answer"),
    ("relay", "relay"),
];

/// A message that an agent wrote into a file.
#[derive(Debug, PartialEq)]
pub(super) struct WrittenMessage {
    /// Its sender.
    pub(super) sender: String,
    /// Its fields.
    pub(super) fields: Map<String, Value>,
}

/// The content of a file besides the router's own text.
#[derive(Debug, Default, PartialEq)]
pub(super) struct MailFileEdits {
    /// Messages and acknowledgements.
    pub(super) messages: Vec<WrittenMessage>,
    /// Whether there is other text. Then the file is kept.
    pub(super) has_other: bool,
}

/// A file of the mail.
pub(super) struct MailFile<'a> {
    /// Its path in the room.
    pub(super) path: &'a str,
    /// The owner of the listed unread mail. `None` for the mail of all.
    pub(super) agent: Option<&'a str>,
    /// Its owner and its permissions.
    pub(super) meta: Meta,
}

/// The text of a file with its check. `body` is everything after the title.
pub(super) fn with_check(title: &str, body: &str) -> String {
    let rest = format!("{title}\n\n{body}");
    format!("{title}\n\n{CHECK}{}\n\n{body}", check(rest.lines()))
}

/// A status line.
pub(super) fn status_line(status: Option<CopyStatus>) -> String {
    format!("  {STATUS}{}", status.map_or("unread", CopyStatus::as_str))
}

/// The digest of the router's own text. Blank lines and status lines do not count.
fn check<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let own = lines.filter(|line| !line.trim().is_empty() && !is_status(line));
    hex(&hash(
        own.flat_map(|line| [line, "\n"])
            .collect::<String>()
            .as_bytes(),
    ))[..12]
        .to_owned()
}

fn is_status(line: &str) -> bool {
    line.trim_start().starts_with(STATUS)
}

/// Reads a file that was changed after this router wrote it.
pub(super) fn read_edits(
    file: &MailFile<'_>,
    text: &str,
    registry: &Registry,
    state: &RoomState,
) -> MailFileEdits {
    let mut edits = MailFileEdits::default();
    let (mut own, mut stated, mut noted) = (Vec::new(), None, None);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(header) = line.strip_prefix("## ") {
            let mut body = Vec::new();
            while let Some(next) =
                lines.next_if(|next| !next.starts_with("## ") && !is_own(next) && !is_status(next))
            {
                body.push(next);
            }
            lines.next_if(|next| is_status(next));
            match read_block(file, header, body.join("\n").trim(), registry) {
                Some(message) => edits.messages.push(message),
                None => edits.has_other = true,
            }
        } else if let Some(digest) = line.strip_prefix(CHECK) {
            edits.has_other |= stated.replace(digest.trim_end()).is_some();
        } else {
            if is_status(line) {
                match noted
                    .take()
                    .map(|seq| read_status(file, seq, line, registry, state))
                {
                    Some(Ok(ack)) => edits.messages.extend(ack),
                    _ => edits.has_other = true,
                }
            } else if let Some(seq) = number(line) {
                noted = Some(seq);
            }
            own.push(line);
        }
    }
    edits.has_other |= stated != Some(&*check(own.into_iter()));
    edits
}

/// Returns true if a file contains only the router's text.
pub(super) fn is_unchanged(text: &str) -> bool {
    let stated = text.lines().find_map(|line| line.strip_prefix(CHECK));
    stated
        == Some(&*check(
            text.lines().filter(|line| !line.starts_with(CHECK)),
        ))
}

/// Returns true for a line of the router, which ends a block.
fn is_own(line: &str) -> bool {
    number(line).is_some() || line.starts_with("# ") || line.starts_with(CHECK)
}

/// The number of the message in a line.
fn number(line: &str) -> Option<u64> {
    let (digits, _) = line.strip_prefix("- #")?.split_once(' ')?;
    digits.parse().ok()
}

/// The agent that may write this file under its own name.
fn writer<'a>(file: &MailFile<'_>, name: &str, registry: &'a Registry) -> Option<&'a Agent> {
    let agent = registry
        .find(name)
        .filter(|agent| !agent.is_retired() && *agent.id != *crate::message::id::HUMAN)?;
    agent
        .uid
        .is_none_or(|uid| uid == file.meta.uid)
        .then_some(agent)
}

fn read_block(
    file: &MailFile<'_>,
    header: &str,
    body: &str,
    registry: &Registry,
) -> Option<WrittenMessage> {
    let mut fields: BTreeMap<&str, &str> = BTreeMap::new();
    let mut parts = header.split(" · ").map(str::trim).peekable();
    let at = parts
        .next_if(|part| !part.starts_with("from:"))
        .unwrap_or_default();
    for part in parts {
        let (key, value) = part.split_once(':')?;
        let is_known = ["from", "to", "type", "ref", "status"].contains(&key);
        if !is_known || fields.insert(key, value.trim()).is_some() {
            return None;
        }
    }
    let agent = writer(file, fields.get("from")?, registry)?;
    let kind = fields.get("type").copied().unwrap_or("msg");
    let (_, kind) = TYPES.iter().find(|(word, _)| *word == kind)?;
    let is_new = fields.get("status").is_none_or(|status| *status == "sent");
    let to = fields
        .get("to")
        .filter(|to| !to.is_empty() && is_new && !body.is_empty())?;
    let to: Vec<&str> = to.split(',').map(str::trim).collect();
    let about = fields
        .get("ref")
        .filter(|about| !["", "—", "-"].contains(about));
    Some(WrittenMessage {
        sender: agent.id.to_string(),
        fields: object(
            json!({"id": name_of(file, &[header, body]), "to": to, "type": kind,
            "body": body,
            "metadata": {"written_in": file.path, "written_at": at, "ref": about}}),
        ),
    })
}

/// The acknowledgement of a changed status line, or `None` if the line is unchanged. Fails for a line with other
/// text.
fn read_status(
    file: &MailFile<'_>,
    seq: u64,
    line: &str,
    registry: &Registry,
    state: &RoomState,
) -> Result<Option<WrittenMessage>, ()> {
    let words = line.trim_start().strip_prefix(STATUS).unwrap_or_default();
    let words = words
        .split('·')
        .map(|part| part.split_whitespace().next().unwrap_or_default());
    let mut highest: Option<CopyStatus> = None;
    for word in words {
        let status = match word {
            "unread" | "sent" | "accepted" | "delivered" | "announced" => continue,
            word => CopyStatus::of_ack(word).ok_or(())?,
        };
        highest = highest
            .filter(|before| before.rank() >= status.rank())
            .or(Some(status));
    }
    let Some(status) = highest else {
        return Ok(None);
    };
    let known = file
        .agent
        .and_then(|agent| state.mailboxes.status(agent, seq));
    if known.is_some_and(|known| known.rank() >= status.rank()) {
        return Ok(None);
    }
    let agent = file
        .agent
        .and_then(|agent| writer(file, agent, registry))
        .ok_or(())?;
    let id = name_of(file, &[&seq.to_string(), status.as_str()]);
    Ok(Some(WrittenMessage {
        sender: agent.id.to_string(),
        fields: object(json!({"id": id, "type": "ack", "refs": [format!("#{seq}")],
            "status": status.as_str()})),
    }))
}

/// The id of a message. The same text in the same file always gets the same id, so that repetitions after a kill are
/// duplicates.
fn name_of(file: &MailFile<'_>, parts: &[&str]) -> String {
    let text: String = parts.iter().flat_map(|part| ["\0", part]).collect();
    format!(
        "written-{}",
        &hex(&hash(format!("{}{text}", file.path).as_bytes()))[..WRITTEN_ID]
    )
}
