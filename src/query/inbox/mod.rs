//! Reads mail from an inbox.

mod closing;
mod head;
mod origin;

pub use closing::{note_closed, note_ended_offers};
pub use origin::{PLACED_DIRECTLY, RECORD_LOST};

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::base::text::count_of;
use crate::base::written_path::write_path;
use crate::disk::{Dir, layout};
use crate::features::approvals::decision;
use crate::features::claims::change as claim;
use crate::log::lookup::{LoggedMessage, Viewer};
use crate::log::state::{self, RoomState};
use crate::message::title::first_line;
use crate::message::{Priority, event, wants_answer};
use crate::room::{Room, inbox};
use origin::{AuthorChecker, FileAuthor, ReadExtent};
use rustix::fs::FileType;
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most messages that a command locks while it shows them. Each lock is an open file.
const HELD_MESSAGES: usize = 256;
/// The number of bytes of a delivered file that a listing reads: all short fields, and the start of the body.
const HEAD_BYTES: u64 = 32 << 10;
/// The number of bytes that are shown of a file that is not mail.
const FOREIGN_BYTES: usize = 16 << 10;

/// One delivered message.
#[derive(Debug, Clone, Serialize)]
pub struct InboxMessage {
    /// Message id; empty if missing.
    pub id: String,
    /// Number of its record in the log.
    pub seq: Option<u64>,
    /// When it was accepted.
    pub accepted_at: String,
    /// Sender.
    pub from: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its priority.
    pub priority: Priority,
    /// Subject.
    pub subject: Option<String>,
    /// First line of the body.
    pub preview: Option<String>,
    /// Its change of claims or approvals, in few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// Thread.
    pub thread_id: Option<String>,
    /// Whether the sender expects an answer.
    pub requires_response: bool,
    /// The file, relative to the room.
    #[serde(serialize_with = "write_path")]
    pub file: PathBuf,
    /// Whether it was read before.
    pub seen: bool,
    /// True if it offers claims.
    #[serde(skip)]
    pub is_offer: bool,
    /// How the copy was closed, such as `superseded: replaced by #12`, or `offer ended`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<String>,
    /// Before this time it is not announced without request.
    #[serde(skip)]
    pub announce_after: Option<String>,
    /// Why the file can't be shown as a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Whether the file is truncated and was modified just now: an editor may still be writing it.
    #[serde(skip)]
    pub unfinished: bool,
    /// The system's error number, if the file could not be read. It stays unread, because its text was never shown.
    #[serde(skip)]
    pub unreadable: Option<i32>,
    /// The file's name.
    #[serde(skip)]
    pub name: OsString,
    /// The complete message, or the text of a file that is not a message.
    #[serde(skip)]
    pub content: Value,
}

/// A delivered message with all its fields, or a file that is not a message.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum FullInboxMessage<'a> {
    /// A message, with unknown fields of its sender: see `mailbag generate schema message`.
    Message(&'a Value),
    /// A file that is not a message.
    File {
        /// The file, relative to the room.
        file: Cow<'a, str>,
        /// Why it is not a message.
        problem: &'a str,
        /// Its text, or the beginning of a long text.
        text: Option<&'a str>,
    },
}

impl InboxMessage {
    /// Returns true if it is unread and its file could be read, so that it counts as read once it was shown.
    pub fn can_be_marked_seen(&self) -> bool {
        !self.seen && self.unreadable.is_none()
    }

    /// Returns true if this agent sent it, under its present name or a former one. Only mail with a record has a checked sender.
    pub fn is_from(&self, sender: &Viewer) -> bool {
        let from = Arc::from(self.from.as_str());
        self.seq.is_some_and(|seq| sender.had_name(&from, seq))
    }

    /// All of it, for programs.
    pub fn whole(&self) -> FullInboxMessage<'_> {
        match &self.problem {
            Some(problem) => FullInboxMessage::File {
                file: self.file.to_string_lossy(),
                problem,
                text: self.content.as_str(),
            },
            None => FullInboxMessage::Message(&self.content),
        }
    }

    /// A message from the log, for a recipient without its own copy.
    pub fn of_past(agent: &str, past: LoggedMessage) -> InboxMessage {
        let name = layout::delivered(
            Stamp::parse(&past.accepted_at).unwrap_or_default(),
            &past.from,
            &past.id,
        );
        let mut content = past.message;
        let to = content.insert("to".into(), agent.into());
        content.extend(to.map(|to| ("addressed_to".to_owned(), to)));
        content.insert(
            "delivery".into(),
            json!({"seq": past.seq, "accepted_at": past.accepted_at}),
        );
        InboxMessage {
            id: past.id,
            seq: Some(past.seq),
            accepted_at: past.accepted_at,
            from: past.from.to_string(),
            kind: past.kind,
            priority: past.priority,
            subject: past.subject,
            preview: past.preview,
            change: past.change,
            thread_id: past.thread_id,
            requires_response: past.requires_response,
            file: layout::below(&layout::seen(agent), name.as_ref()),
            seen: true,
            is_offer: past.is_offer,
            closed: None,
            announce_after: None,
            problem: None,
            unfinished: false,
            unreadable: None,
            name: name.into(),
            content: content.into(),
        }
    }
}

/// The file names of the unread mail of an agent that no program has taken, oldest first, with the accept times in them. No file is
/// opened.
pub fn names(room: &Room, agent: &str) -> Result<Vec<(OsString, Option<Stamp>)>> {
    Ok(with_times(inbox::unread(&room.dir, agent)?))
}

/// As [`names`], with the mail in `taken/`, which is also unread.
pub fn names_with_taken(room: &Room, agent: &str) -> Result<Vec<(OsString, Option<Stamp>)>> {
    Ok(with_times(inbox::unread_with_taken(&room.dir, agent)?))
}

fn with_times(names: Vec<OsString>) -> Vec<(OsString, Option<Stamp>)> {
    let names = names.into_iter();
    names
        .map(|name| {
            let at = layout::read_delivered(&name);
            (name, at)
        })
        .collect()
}

/// The number of an agent's unread messages. Messages in `taken/` count. Files that no router delivered do not, and neither do messages
/// that left the inbox, even if the log has no receipt for them yet. If the inbox cannot be read, the log's number counts.
pub(crate) fn unread_count(room: &Room, state: &RoomState, agent: &str) -> usize {
    let logged = state.mailboxes.count(agent);
    if logged == 0 {
        return 0;
    }
    count_files(room, state, agent).unwrap_or(logged)
}

fn count_files(room: &Room, state: &RoomState, agent: &str) -> Result<usize> {
    let names = inbox::unread_with_taken(&room.dir, agent)?;
    Ok(count_unread(room, &names, state, agent))
}

/// The number of these files that are unread messages of the agent.
fn count_unread(room: &Room, names: &[OsString], state: &RoomState, agent: &str) -> usize {
    let is_unread = |name: &&OsString| inbox::is_unread_copy(&room.dir, state, agent, name);
    names.iter().filter(is_unread).count()
}

/// The number of an agent's messages in `taken/`: they are unread, but a program has them.
pub fn taken_count(room: &Room, agent: &str) -> Result<usize> {
    let names = inbox::taken(&room.dir, agent)?;
    if names.is_empty() {
        return Ok(0);
    }
    // A sandbox may hide the log.
    let state = state::committed(&room.dir);
    Ok(state.map_or(names.len(), |state| {
        count_unread(room, &names, &state, agent)
    }))
}

/// States that there is nothing to read, and the number of messages in `taken/`, if there are any.
pub fn nothing_unread(room: &Room, agent: &str) -> Result<String> {
    Ok(match taken_count(room, agent)? {
        0 => "no unread messages".to_owned(),
        taken => format!(
            "no unread messages except {} in taken/",
            count_of(taken, "message")
        ),
    })
}

/// The unread mail of an agent, oldest first.
pub fn list(room: &Room, agent: &str) -> Result<Vec<InboxMessage>> {
    list_those(room, agent, &mut |_| true)
}

/// The unread mail of an agent with a file name that passes `wanted`, oldest first. Other files are not opened. `wanted` gets the
/// names in this order, because `fetch_inbox` counts them.
pub fn list_those(
    room: &Room,
    agent: &str,
    wanted: &mut dyn FnMut(&OsStr) -> bool,
) -> Result<Vec<InboxMessage>> {
    let mut names = inbox::unread(&room.dir, agent)?;
    names.retain(|name| wanted(name));
    let Some(mut files) = MailDirectory::open(room, layout::inbox(agent))? else {
        return Ok(Vec::new());
    };
    Ok(names.iter().filter_map(|name| files.load(name)).collect())
}

/// The newest unread messages of an agent, oldest first, then their number, and the number of all unread messages. Only
/// the head of each message is read: the body ends early, and the fields after it are missing. `since` leaves out
/// older messages, except files without an accept time in their names.
pub fn newest(
    room: &Room,
    agent: &str,
    most: usize,
    since: Option<Stamp>,
) -> Result<(Vec<InboxMessage>, usize, usize)> {
    let (mut names, unread) = inbox::newest(&room.dir, agent, most)?;
    names.retain(|name| {
        since.is_none() || layout::read_delivered(name).is_none_or(|at| Some(at) >= since)
    });
    Ok((heads(room, agent, &names)?, names.len(), unread))
}

/// The heads of the unread messages with these file names. Files that no longer exist are skipped.
pub fn heads(room: &Room, agent: &str, names: &[OsString]) -> Result<Vec<InboxMessage>> {
    let Some(mut files) = MailDirectory::open(room, layout::inbox(agent))? else {
        return Ok(Vec::new());
    };
    Ok(names.iter().filter_map(|name| files.head(name)).collect())
}

/// Reads the complete messages for these heads. Files that no longer exist are skipped.
pub fn whole(room: &Room, heads: &[InboxMessage]) -> Result<Vec<InboxMessage>> {
    let mut mails = Vec::new();
    for heads in heads.chunk_by(|one, next| one.file.parent() == next.file.parent()) {
        let directory = heads[0].file.parent().unwrap_or(&heads[0].file);
        let Some(mut files) = MailDirectory::open(room, directory.to_path_buf())? else {
            continue;
        };
        for head in heads {
            mails.extend(files.load(&head.name).map(|mail| InboxMessage {
                seen: head.seen,
                ..mail
            }));
        }
    }
    Ok(mails)
}

/// Up to `most` unread messages of an agent, oldest first, each locked for the caller. Messages that another process is
/// showing are skipped. Files that cannot be read are added, and do not count.
pub fn hold(room: &Room, agent: &str, most: usize) -> Result<MailHold> {
    let mut holding = MailHold::default();
    let names = inbox::unread(&room.dir, agent)?;
    let Some(mut files) = MailDirectory::open(room, layout::inbox(agent))? else {
        return Ok(holding);
    };
    let mut readable = 0;
    for name in names {
        if readable >= most {
            break;
        }
        if !holding.lock(room, agent, &name)? {
            holding.shown_elsewhere |= files.dir.stat(&name)?.is_some();
            continue;
        }
        if let Some(mail) = files.load(&name) {
            readable += usize::from(mail.unreadable.is_none());
            holding.mails.push(mail);
        }
    }
    Ok(holding)
}

impl MailHold {
    /// The messages of these that no other process is showing, each locked for the caller.
    pub fn of_found(room: &Room, agent: &str, mails: Vec<InboxMessage>) -> Result<MailHold> {
        let mut holding = MailHold::default();
        for mail in mails {
            if holding.lock(room, agent, &mail.name)? {
                holding.mails.push(mail);
            }
        }
        Ok(holding)
    }

    /// Locks a message. Returns false if another process has it. Beyond the bound, nothing is locked, and two processes may
    /// show the same message. That is better than not showing it.
    fn lock(&mut self, room: &Room, agent: &str, name: &OsStr) -> Result<bool> {
        if self.held.len() >= HELD_MESSAGES {
            return Ok(true);
        }
        let held = inbox::hold(&room.dir, agent, name)?;
        let is_ours = held.is_some();
        self.held.extend(held);
        Ok(is_ours)
    }

    /// Mail that other processes may also show.
    pub fn of(mails: Vec<InboxMessage>) -> MailHold {
        MailHold {
            mails,
            ..MailHold::default()
        }
    }
}

/// Mail that is about to be shown. While this value lives, no other `mailbag read` shows its unread messages.
#[derive(Debug, Default)]
pub struct MailHold {
    /// The messages.
    pub mails: Vec<InboxMessage>,
    /// Whether another process is showing further unread mail.
    pub shown_elsewhere: bool,
    held: Vec<inbox::MessageLock>,
}

/// The mail that an agent has read, with a file name that passes `wanted`, oldest first. Other files are not opened.
pub fn seen_those(
    room: &Room,
    agent: &str,
    wanted: &mut dyn FnMut(&OsStr) -> bool,
) -> Result<Vec<InboxMessage>> {
    let mut mails = in_directory(room, layout::seen(agent), wanted)?;
    for mail in &mut mails {
        mail.seen = true;
    }
    Ok(mails)
}

/// The mail in one directory of an agent with a file name that passes `wanted`, oldest first. `wanted` gets the names in any order.
fn in_directory(
    room: &Room,
    directory: PathBuf,
    wanted: &mut dyn FnMut(&OsStr) -> bool,
) -> Result<Vec<InboxMessage>> {
    let Some(mut files) = MailDirectory::open(room, directory)? else {
        return Ok(Vec::new());
    };
    let mut names = Vec::new();
    for entry in files.dir.list()? {
        let entry = entry?;
        let is_mail = entry.kind != FileType::Directory && layout::is_mail_file(&entry.name);
        if is_mail && wanted(&entry.name) {
            names.push(entry.name);
        }
    }
    names.sort_unstable();
    Ok(names.iter().filter_map(|name| files.load(name)).collect())
}

/// The files of one directory with mail.
struct MailDirectory<'r> {
    dir: Dir,
    /// The directory, relative to the room.
    directory: PathBuf,
    origins: AuthorChecker<'r>,
}

impl MailDirectory<'_> {
    /// `None` if the directory does not exist.
    fn open(room: &Room, directory: PathBuf) -> Result<Option<MailDirectory<'_>>> {
        let dir = room.dir.sub_if_exists(&directory)?;
        Ok(dir.map(|dir| MailDirectory {
            dir,
            directory,
            origins: AuthorChecker::new(room),
        }))
    }

    /// Reads the head of a message from a bounded part of the file. `None` if the file no longer exists.
    fn head(&mut self, name: &OsStr) -> Option<InboxMessage> {
        let mail = match self.dir.read_head(name, HEAD_BYTES) {
            Ok(None) => return None,
            Ok(Some((bytes, true))) => self.parse(name, &bytes),
            Ok(Some((bytes, false))) => match self.parse_beginning(name, &bytes) {
                Some(mail) => mail,
                None => self.load(name)?,
            },
            Err(_) => self.load(name)?,
        };
        Some(InboxMessage {
            content: Value::Null,
            ..mail
        })
    }

    /// Reads a file. `None` if it no longer exists.
    fn load(&mut self, name: &OsStr) -> Option<InboxMessage> {
        match self.dir.read(name, limits::MESSAGE_BYTES_MOST * 2) {
            Ok(bytes) => Some(self.parse(name, &bytes?)),
            Err(e) => Some(InboxMessage {
                unreadable: e.errno().filter(|number| can_hide_mail(*number)),
                ..self.not_mail(name, e.to_string(), &[])
            }),
        }
    }

    /// The message in a file, if the file is the copy of a record. The owner of an inbox may put any file there.
    fn parse(&mut self, name: &OsStr, bytes: &[u8]) -> InboxMessage {
        match serde_json::from_slice::<Value>(bytes) {
            Ok(value @ Value::Object(_)) => {
                let mail = InboxMessage::new(&self.directory, name, value);
                match self.origins.find(&mail, bytes, ReadExtent::Whole) {
                    FileAuthor::Router => mail,
                    FileAuthor::Other(problem) => self.not_mail(name, problem, bytes),
                }
            }
            Err(e) if e.is_eof() && is_fresh(&self.dir, name) => InboxMessage {
                unfinished: true,
                ..self.not_mail(name, "the file is incomplete".into(), bytes)
            },
            _ => self.not_mail(name, "the file is not a message".into(), bytes),
        }
    }

    /// The message in a file, without the end of its body and the fields after it. `None` if the complete file is
    /// needed.
    fn parse_beginning(&mut self, name: &OsStr, bytes: &[u8]) -> Option<InboxMessage> {
        // The router writes short fields before the body. Files that others put there may have them after it.
        let fields = head::fields(bytes).filter(|fields| fields.contains_key("delivery"))?;
        let mail = InboxMessage::new(&self.directory, name, Value::Object(fields));
        match self.origins.find(&mail, bytes, ReadExtent::Beginning) {
            FileAuthor::Router => Some(mail),
            FileAuthor::Other(_) => None,
        }
    }

    /// A file that is not mail, with its text: none of its fields counts.
    fn not_mail(&self, name: &OsStr, problem: String, bytes: &[u8]) -> InboxMessage {
        let shown = &bytes[..bytes.len().min(FOREIGN_BYTES)];
        let mut text = String::from_utf8_lossy(shown).into_owned();
        if shown.len() < bytes.len() {
            text += &format!("… ({} of {} bytes)", shown.len(), bytes.len());
        }
        let text = Value::from(text);
        InboxMessage {
            problem: Some(problem),
            ..InboxMessage::new(&self.directory, name, text)
        }
    }
}

impl InboxMessage {
    fn new(directory: &Path, name: &OsStr, content: Value) -> InboxMessage {
        let text = |field: &str| {
            content
                .get(field)
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        let delivery = |field: &str| {
            content
                .get("delivery")
                .and_then(|delivery| delivery.get(field))
        };
        InboxMessage {
            id: text("id").unwrap_or_default(),
            seq: delivery("seq").and_then(Value::as_u64),
            accepted_at: delivery("accepted_at")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            from: text("from").unwrap_or_default(),
            kind: text("type").unwrap_or_else(|| "message".into()),
            priority: Priority::from_field(content.get("priority")),
            subject: text("subject"),
            preview: text("body")
                .as_deref()
                .and_then(first_line)
                .map(str::to_owned),
            change: content.as_object().and_then(|copy| {
                claim::summary_of_copy(copy)
                    .or_else(|| decision::summary_of_copy(copy))
                    .or_else(|| event::summary_of_copy(copy))
            }),
            thread_id: text("thread_id"),
            requires_response: content.as_object().is_some_and(wants_answer),
            file: directory.join(name),
            seen: false,
            announce_after: delivery("announce_after")
                .and_then(Value::as_str)
                .map(str::to_owned),
            is_offer: content.as_object().is_some_and(claim::is_offer_copy),
            closed: None,
            problem: None,
            unfinished: false,
            unreadable: None,
            name: name.to_owned(),
            content,
        }
    }
}

/// Returns true if the file may be a message that another attempt can read. A link or a special file never is one.
fn can_hide_mail(number: i32) -> bool {
    !matches!(number, libc::ELOOP | libc::ENXIO)
}

fn is_fresh(dir: &Dir, name: &OsStr) -> bool {
    let modified = dir
        .stat(name)
        .ok()
        .flatten()
        .map_or(0, |meta| meta.modified / 1000);
    Stamp::from_micros(modified as i64).is_within(limits::UNCHANGED_FOR, Stamp::now())
}
