//! Text of people and agents in the files of the mail: blocks in the form of a message, changed status lines, and
//! other text.
//!
//! A block begins with a line such as `## 2026-11-21T10:30:00Z · from:alice · to:bob · type:question · ref:src/a.rs`.
//! Its text continues until the next such line or the end of the file. A block above a part of the router's text ends
//! there. No block is sent if the router's text is not complete: a block may contain the rest.

use crate::base::hash::{Hasher, hash, hex};
use crate::log::state::RoomState;
use crate::message::object;
use crate::message::status::CopyStatus;
use crate::room::registry::{Agent, Registry};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The digits of a digest that identify a message in a file of the mail.
const WRITTEN_ID: usize = 24;
/// The digits of the edition of a file.
const EDITION: usize = 12;
/// The digits of the digest in the line with the check.
const CHECK_DIGITS: usize = 12;

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
    /// The agents with a block that is not sent.
    pub(super) unsent: Vec<Arc<str>>,
    /// Whether there is other text. Then the file is kept.
    pub(super) has_other: bool,
    /// The edition of the next file.
    pub(super) next_edition: String,
}

/// A file of the mail.
pub(super) struct MailFile<'a> {
    /// Its path in the room.
    pub(super) path: &'a str,
    /// The owner of the listed unread mail. `None` for the mail of all.
    pub(super) agent: Option<&'a str>,
}

/// The router's own text of a file.
#[derive(PartialEq)]
pub(super) struct MailFileText {
    /// The first line.
    pub(super) title: String,
    /// Everything after the line with the check.
    pub(super) body: String,
}

impl MailFileText {
    /// The text with its check and the edition. A file gets a new edition when it is made again, and when blocks were taken
    /// from it, so that the id of a block differs from the id of an equal block in an earlier file.
    pub(super) fn with_check(&self, edition: &str) -> String {
        let MailFileText { title, body } = self;
        let check = check([title.as_str()].into_iter().chain(body.lines()));
        format!("{title}\n\n{CHECK}{check} {edition}\n\n{body}")
    }
}

/// A status line.
pub(super) fn status_line(status: Option<CopyStatus>) -> String {
    format!("  {STATUS}{}", status.map_or("unread", CopyStatus::as_str))
}

/// The digest of the router's own text. Blank lines and status lines do not count.
fn check<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut hasher = Hasher::default();
    for line in lines.filter(|line| is_checked(line)) {
        hasher.update(line);
        hasher.update("\n");
    }
    digits(hasher)
}

fn digits(hasher: Hasher) -> String {
    hex(&hasher.finish())[..CHECK_DIGITS].to_owned()
}

fn is_checked(line: &str) -> bool {
    !line.trim().is_empty() && !is_status(line)
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
    let mut parts = MailFileParts::read(text, BlockEnd::NextBlock);
    let mut is_whole = parts.begins_with_own_text();
    if !is_whole {
        let ended = MailFileParts::read(text, BlockEnd::OwnLine);
        if ended.has_only_own_text() {
            (parts, is_whole) = (ended, true);
        }
    }
    let mut edits = MailFileEdits {
        has_other: !parts.has_only_own_text(),
        next_edition: if parts.blocks.is_empty() && !parts.edition.is_empty() {
            parts.edition.to_owned()
        } else {
            new_edition()
        },
        ..MailFileEdits::default()
    };
    let mut copies: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for block in &parts.blocks {
        let copy = copies.entry((block.header, &block.body)).or_default();
        *copy += 1;
        let name = [parts.edition, block.header, &block.body, &copy.to_string()];
        let message = if is_whole {
            read_block(file, block, name_of(file, &name), registry)
        } else {
            None
        };
        match message {
            Some(message) => edits.messages.push(message),
            None => {
                edits.has_other = true;
                let sender = block.sender().and_then(|name| writer(name, registry));
                edits.unsent.extend(sender.map(|agent| agent.id.clone()));
            }
        }
    }
    for one in &parts.statuses {
        match one
            .seq
            .map(|seq| read_status(file, seq, one.line, registry, state))
        {
            Some(Ok(ack)) => edits.messages.extend(ack),
            _ => edits.has_other = true,
        }
    }
    edits
}

/// Returns true if a file contains only the router's text.
pub(super) fn is_unchanged(text: &str) -> bool {
    let parts = MailFileParts::read(text, BlockEnd::NextBlock);
    parts.blocks.is_empty() && parts.has_only_own_text()
}

/// The line that ends a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockEnd {
    /// The first line of the next block.
    NextBlock,
    /// As `NextBlock`, or a line of the router.
    OwnLine,
}

/// The text of a block in a file.
struct BlockText<'a> {
    /// Its first line, without the mark.
    header: &'a str,
    /// Its text.
    body: String,
}

impl<'a> BlockText<'a> {
    /// The name of its sender.
    fn sender(&self) -> Option<&'a str> {
        header_parts(self.header)
            .find_map(|part| part.strip_prefix("from:"))
            .map(str::trim)
    }
}

/// A status line, and the number of the message above it.
struct EditedStatus<'a> {
    seq: Option<u64>,
    line: &'a str,
}

/// The lines of a file.
#[derive(Default)]
struct MailFileParts<'a> {
    blocks: Vec<BlockText<'a>>,
    statuses: Vec<EditedStatus<'a>>,
    /// The lines outside blocks, without the line with the check.
    own: Vec<&'a str>,
    /// The digest in the line with the check.
    stated: Option<&'a str>,
    /// The edition in that line. Empty if there is none.
    edition: &'a str,
    /// Whether there are several lines with a check.
    has_more_checks: bool,
}

impl<'a> MailFileParts<'a> {
    fn read(text: &'a str, end: BlockEnd) -> MailFileParts<'a> {
        let (mut parts, mut noted) = (MailFileParts::default(), None);
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            if let Some(header) = block_header(line) {
                let mut body = Vec::new();
                while let Some(next) = lines.next_if(|next| {
                    block_header(next).is_none() && (end == BlockEnd::NextBlock || !is_own(next))
                }) {
                    body.push(next);
                }
                let end = body.iter().rposition(|line| is_checked(line));
                body.truncate(end.map_or(0, |last| last + 1));
                let body = body.join("\n").trim().to_owned();
                parts.blocks.push(BlockText { header, body });
            } else if let Some(check) = line.strip_prefix(CHECK) {
                let (digest, edition) = check.split_once(' ').unwrap_or((check, ""));
                parts.has_more_checks |= parts.stated.replace(digest.trim_end()).is_some();
                if is_edition(edition.trim_end()) {
                    parts.edition = edition.trim_end();
                }
            } else {
                if is_status(line) {
                    let seq = noted.take();
                    parts.statuses.push(EditedStatus { seq, line });
                } else if let Some(seq) = number(line) {
                    noted = Some(seq);
                }
                parts.own.push(line);
            }
        }
        parts
    }

    /// Returns true if the lines outside blocks are the router's text.
    fn has_only_own_text(&self) -> bool {
        !self.has_more_checks && self.stated == Some(&*check(self.own.iter().copied()))
    }

    /// Returns true if the lines outside blocks are the router's text, with or without other text after it. Then no
    /// block contains a part of the router's text.
    fn begins_with_own_text(&self) -> bool {
        let mut hasher = Hasher::default();
        for line in self.own.iter().filter(|line| is_checked(line)) {
            hasher.update(line);
            hasher.update("\n");
            if self.stated == Some(&*digits(hasher.clone())) {
                return !self.has_more_checks;
            }
        }
        false
    }
}

/// An edition that no earlier file had.
pub(super) fn new_edition() -> String {
    uuid::Uuid::new_v4().simple().to_string()[..EDITION].to_owned()
}

fn is_edition(text: &str) -> bool {
    text.len() == EDITION && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The fields of a block's first line. Other headings are text.
fn block_header(line: &str) -> Option<&str> {
    let header = line.strip_prefix("## ")?;
    header_parts(header)
        .any(|part| part.starts_with("from:"))
        .then_some(header)
}

fn header_parts(header: &str) -> impl Iterator<Item = &str> {
    header.split(" · ").map(str::trim)
}

/// Returns true for the beginning of a part of the router's text.
fn is_own(line: &str) -> bool {
    let is_summary = line.starts_with("- As of #") || line.contains(" unread message");
    number(line).is_some()
        || line.starts_with("# Mailbox")
        || line.starts_with("# To ")
        || line.starts_with(CHECK)
        || (is_summary && line.starts_with("- "))
}

/// The number of the message in a line.
fn number(line: &str) -> Option<u64> {
    let (digits, _) = line.strip_prefix("- #")?.split_once(' ')?;
    digits.parse().ok()
}

/// The agent that may write this file under its own name.
fn writer<'a>(name: &str, registry: &'a Registry) -> Option<&'a Agent> {
    registry
        .find(name)
        .filter(|agent| !agent.is_retired() && *agent.id != *crate::message::id::HUMAN)
}

fn read_block(
    file: &MailFile<'_>,
    block: &BlockText<'_>,
    id: String,
    registry: &Registry,
) -> Option<WrittenMessage> {
    let body = &*block.body;
    let mut fields: BTreeMap<&str, &str> = BTreeMap::new();
    let mut parts = header_parts(block.header).peekable();
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
    let agent = writer(block.sender()?, registry)?;
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
        fields: object(json!({"id": id, "to": to, "type": kind,
            "body": body,
            "metadata": {"written_in": file.path, "written_at": at, "ref": about}})),
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
        .and_then(|agent| writer(agent, registry))
        .ok_or(())?;
    let id = name_of(file, &[&seq.to_string(), status.as_str()]);
    Ok(Some(WrittenMessage {
        sender: agent.id.to_string(),
        fields: object(json!({"id": id, "type": "ack", "refs": [format!("#{seq}")],
            "status": status.as_str()})),
    }))
}

/// The id of a message. The same text in the same edition of a file always gets the same id, so that repetitions after a
/// kill are duplicates.
fn name_of(file: &MailFile<'_>, parts: &[&str]) -> String {
    let text: String = parts.iter().flat_map(|part| ["\0", part]).collect();
    format!(
        "written-{}",
        &hex(&hash(format!("{}{text}", file.path).as_bytes()))[..WRITTEN_ID]
    )
}
