//! Reads mail from an inbox.

mod head;
mod origin;

pub use origin::PLACED_DIRECTLY;

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::base::limits;
use crate::disk::{Dir, is_half_used, layout};
use crate::log::lookup::LoggedMessage;
use crate::message::{claim, decision};
use crate::room::{Room, inbox};
use origin::Extent;
use rustix::fs::FileType;
use serde::Serialize;
use serde_json::{Value, json};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// One delivered message.
#[derive(Debug, Clone, Serialize)]
pub struct Mail {
    /// Message id; empty if the file has none.
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
    pub priority: String,
    /// Subject.
    pub subject: Option<String>,
    /// First line of the body.
    pub preview: Option<String>,
    /// What it changed about claims or approvals, in few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// Thread.
    pub thread_id: Option<String>,
    /// Whether the sender expects an answer.
    pub requires_response: bool,
    /// The file, relative to the room.
    pub file: PathBuf,
    /// Whether it was read before.
    pub seen: bool,
    /// Why the file can't be shown as a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Whether the file is truncated and was modified just now: somebody may still be writing it by hand.
    #[serde(skip)]
    pub unfinished: bool,
    /// The file's name.
    #[serde(skip)]
    pub name: OsString,
    /// The complete message, or the text of a file that is not a message.
    #[serde(skip)]
    pub content: Value,
}

impl Mail {
    /// The complete message, or the problem of a file that is not mail.
    pub fn to_json(&self) -> Value {
        match &self.problem {
            Some(problem) => json!({"file": self.file.to_string_lossy(), "problem": problem, "text": self.content}),
            None => self.content.clone(),
        }
    }

    /// A message from the log, for a recipient whose own copy is archived or was removed.
    pub fn of_past(agent: &str, past: LoggedMessage) -> Mail {
        let name = layout::delivered(Stamp::parse(&past.accepted_at).unwrap_or_default(), &past.from, &past.id);
        let mut content = past.message;
        let to = content.insert("to".into(), agent.into());
        content.extend(to.map(|to| ("addressed_to".to_owned(), to)));
        content.insert("delivery".into(), json!({"seq": past.seq, "accepted_at": past.accepted_at}));
        Mail {
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
            problem: None,
            unfinished: false,
            name: name.into(),
            content: content.into(),
        }
    }
}

/// The unread mail of an agent, oldest first.
pub fn list(room: &Room, agent: &str) -> Result<Vec<Mail>> {
    list_those(room, agent, &mut |_| true)
}

/// The unread mail of an agent whose file name passes `wanted`, oldest first. Other files are not opened.
pub fn list_those(room: &Room, agent: &str, wanted: &mut dyn FnMut(&OsStr) -> bool) -> Result<Vec<Mail>> {
    let mut names = inbox::unread(&room.dir, agent)?;
    names.retain(|name| wanted(name));
    let Some(dir) = open(room, layout::inbox(agent))? else { return Ok(Vec::new()) };
    Ok(names.iter().filter_map(|name| load(room, &dir, &layout::inbox(agent), name)).collect())
}

/// The newest unread messages of an agent, oldest first, then how many these are, and how many are unread in all. Only
/// the head of each message is read: the body ends early, and the fields after it are missing. `since` leaves out
/// those that were accepted before, but no file whose name has no accept time.
pub fn newest(room: &Room, agent: &str, most: usize, since: Option<Stamp>) -> Result<(Vec<Mail>, usize, usize)> {
    let (mut names, unread) = inbox::newest(&room.dir, agent, most)?;
    names.retain(|name| since.is_none() || layout::read_delivered(name).is_none_or(|at| Some(at) >= since));
    Ok((heads(room, agent, &names)?, names.len(), unread))
}

/// The heads of the unread messages with these file names. Files that no longer exist are skipped.
pub fn heads(room: &Room, agent: &str, names: &[OsString]) -> Result<Vec<Mail>> {
    let (dir, place) = (open(room, layout::inbox(agent))?, layout::inbox(agent));
    let Some(dir) = dir else { return Ok(Vec::new()) };
    // A hook can check a limited number of files, so the newest come first.
    let newest_first = names.iter().rev();
    let mut heads: Vec<Mail> = newest_first.filter_map(|name| head(room, &dir, &place, name)).collect();
    heads.reverse();
    Ok(heads)
}

/// Reads the complete messages for these heads. Files that no longer exist are skipped.
pub fn whole(room: &Room, heads: &[Mail]) -> Result<Vec<Mail>> {
    let mut mails = Vec::new();
    for head in heads {
        let directory = head.file.parent().unwrap_or(&head.file).to_path_buf();
        let dir = open(room, directory.clone())?;
        let mail = dir.and_then(|dir| load(room, &dir, &directory, &head.name));
        mails.extend(mail.map(|mail| Mail { seen: head.seen, ..mail }));
    }
    Ok(mails)
}

/// Up to `most` unread messages of an agent, oldest first, each locked for the caller. Messages that another process is
/// showing are skipped.
pub fn hold(room: &Room, agent: &str, most: usize) -> Result<Holding> {
    let mut holding = Holding::default();
    let names = inbox::unread(&room.dir, agent)?;
    let Some(dir) = open(room, layout::inbox(agent))? else { return Ok(holding) };
    for name in names {
        if holding.mails.len() >= most {
            break;
        }
        // Beyond the bound, two processes may show the same message. That is better than not showing it.
        let held = match holding.held.len() < limits::HELD_MESSAGES {
            true => inbox::hold(&room.dir, agent, &name)?,
            false => None,
        };
        if held.is_none() && holding.held.len() < limits::HELD_MESSAGES {
            holding.shown_elsewhere |= dir.stat(&name)?.is_some();
            continue;
        }
        holding.held.extend(held);
        holding.mails.extend(load(room, &dir, &layout::inbox(agent), &name));
    }
    Ok(holding)
}

impl Holding {
    /// Mail that other processes may show too.
    pub fn of(mails: Vec<Mail>) -> Holding {
        Holding { mails, ..Holding::default() }
    }
}

/// Mail that is about to be shown. While this value lives, no other `mailbag read` shows its unread messages.
#[derive(Debug, Default)]
pub struct Holding {
    /// The messages.
    pub mails: Vec<Mail>,
    /// Whether another process is showing further unread mail.
    pub shown_elsewhere: bool,
    held: Vec<inbox::Held>,
}

/// Mail that an agent has read, oldest first.
pub fn seen(room: &Room, agent: &str) -> Result<Vec<Mail>> {
    in_directory(room, layout::seen(agent), true)
}

/// The mail in one directory of an agent, oldest first.
pub fn in_directory(room: &Room, directory: PathBuf, seen: bool) -> Result<Vec<Mail>> {
    let Some(dir) = open(room, directory.clone())? else { return Ok(Vec::new()) };
    let mut names = Vec::new();
    for entry in dir.list()? {
        let entry = entry?;
        if entry.kind != FileType::Directory && layout::is_mail_file(&entry.name) {
            names.push(entry.name);
        }
    }
    names.sort_unstable();
    let mails = names.iter().filter_map(|name| load(room, &dir, &directory, name));
    Ok(mails.map(|mail| Mail { seen, ..mail }).collect())
}

fn open(room: &Room, directory: PathBuf) -> Result<Option<Dir>> {
    match room.dir.sub(directory) {
        Err(e) if e.errno() == Some(libc::ENOENT) => Ok(None),
        dir => dir.map(Some),
    }
}

/// Reads the head of a message from a bounded part of the file.
fn head(room: &Room, dir: &Dir, directory: &Path, name: &OsStr) -> Option<Mail> {
    let mail = match dir.read_head(name, limits::HEAD_BYTES) {
        Ok(None) => return None,
        Ok(Some((bytes, true))) => check_origin(room, parse(dir, directory, name, &bytes), &bytes, Extent::Whole),
        // The router writes short fields before the body. Files that others put there may have them after it.
        Ok(Some((bytes, false))) => match head::fields(&bytes).filter(|fields| fields.contains_key("delivery")) {
            Some(fields) => {
                let mail = Mail::new(directory, name, Value::Object(fields));
                check_origin(room, mail, &bytes, Extent::Beginning)
            }
            None => load(room, dir, directory, name)?,
        },
        Err(_) => load(room, dir, directory, name)?,
    };
    Some(Mail { content: Value::Null, ..mail })
}

/// Reads a file of an inbox. `None` if it no longer exists.
fn load(room: &Room, dir: &Dir, directory: &Path, name: &OsStr) -> Option<Mail> {
    Some(match dir.read(name, limits::MESSAGE_BYTES_MOST * 2) {
        Ok(bytes) => {
            let bytes = bytes?;
            check_origin(room, parse(dir, directory, name, &bytes), &bytes, Extent::Whole)
        }
        Err(e) => Mail { problem: Some(e.to_string()), ..Mail::new(directory, name, Value::Null) },
    })
}

/// Replaces a message that the log does not confirm by its text: none of its fields counts.
fn check_origin(room: &Room, mail: Mail, bytes: &[u8], extent: Extent) -> Mail {
    let problem = match &mail.problem {
        // A name with these words is no agent's name, so the mail counts for no sender.
        None if is_half_used() => {
            let from = format!("{} (sender not checked)", mail.from);
            return Mail { from, ..mail };
        }
        None => origin::find_problem(room, &mail, extent),
        Some(_) => None,
    };
    match problem {
        None => mail,
        Some(_) => {
            let text = Value::from(String::from_utf8_lossy(bytes));
            let directory = mail.file.parent().unwrap_or(&mail.file);
            Mail { problem, ..Mail::new(directory, &mail.name, text) }
        }
    }
}

/// Parses a file of an inbox. The owner may put any file there, so a file that is not a message becomes a problem.
fn parse(dir: &Dir, directory: &Path, name: &OsStr, bytes: &[u8]) -> Mail {
    let (problem, unfinished) = match serde_json::from_slice::<Value>(bytes) {
        Ok(value @ Value::Object(_)) => return Mail::new(directory, name, value),
        Err(e) if e.is_eof() && is_fresh(dir, name) => ("the file is incomplete", true),
        _ => ("the file is not a message", false),
    };
    let text = Value::from(String::from_utf8_lossy(bytes));
    Mail { problem: Some(problem.into()), unfinished, ..Mail::new(directory, name, text) }
}

impl Mail {
    fn new(directory: &Path, name: &OsStr, content: Value) -> Mail {
        let text = |field: &str| content.get(field).and_then(Value::as_str).map(str::to_owned);
        let delivery = |field: &str| content.get("delivery").and_then(|delivery| delivery.get(field));
        let first_line = |body: String| body.lines().map(str::trim).find(|l| !l.is_empty()).map(str::to_owned);
        Mail {
            id: text("id").unwrap_or_default(),
            seq: delivery("seq").and_then(Value::as_u64),
            accepted_at: delivery("accepted_at").and_then(Value::as_str).unwrap_or_default().to_owned(),
            from: text("from").unwrap_or_default(),
            kind: text("type").unwrap_or_else(|| "message".into()),
            priority: text("priority").unwrap_or_else(|| crate::message::DEFAULT_PRIORITY.into()),
            subject: text("subject"),
            preview: text("body").and_then(first_line),
            change: content
                .as_object()
                .and_then(|c| claim::summary_of_copy(c).or_else(|| decision::summary_of_copy(c))),
            thread_id: text("thread_id"),
            requires_response: content.get("requires_response").and_then(Value::as_bool).unwrap_or_default(),
            file: directory.join(name),
            seen: false,
            problem: None,
            unfinished: false,
            name: name.to_owned(),
            content,
        }
    }
}

fn is_fresh(dir: &Dir, name: &OsStr) -> bool {
    let modified = dir.stat(name).ok().flatten().map_or(0, |meta| meta.modified / 1000);
    Stamp::from_micros(modified as i64).is_within(limits::UNCHANGED_FOR, Stamp::now())
}
