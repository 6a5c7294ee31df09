//! Sends a message: checks it as the router does, and writes a file to the sender's outbox.

use super::attach;
use super::check::{MessageChecker, too_large};
use crate::base::clock::Stamp;
use crate::base::error::{Error, Problem, Result};
use crate::base::written_path::write_path;
use crate::disk;
use crate::disk::layout;
use crate::disk::machine::here;
use crate::log::lookup::{self, LoggedMessage};
use crate::log::{self, LogPosition};
use crate::message::address::{Address, quoted};
use crate::message::reference::Reference;
use crate::message::{DECISION, LINK, Message, id};
use crate::query::identity::{self, AgentIdentity};
use crate::query::reach::AnnouncementTime;
use crate::query::time;
use crate::room::actor::{Actor, DECIDE, require_person};
use crate::room::registry::{Agent, Registry};
use crate::room::repository::subject_of;
use crate::room::resolve::{Recipient, ResolvedRecipients};
use crate::room::settings::{SenderAdmission, Settings};
use crate::room::{Room, inbox};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// The advice for an error that occurs after the message was written to the outbox.
pub const WRITTEN: &str = "do not send it again";

/// A message as the caller specifies it.
#[derive(Debug, Default, Clone)]
pub struct MessageDraft {
    /// Addresses.
    pub to: Vec<String>,
    /// Whether the paths of `owner:` addresses are read like the paths of a command, from the working directory.
    /// Otherwise they are relative to the project, as in a dropped file.
    pub paths_from_here: bool,
    /// The text.
    pub body: Option<String>,
    /// Whether the body was the last word of the command line, where a further address may have been meant.
    pub body_is_last_word: bool,
    /// Subject.
    pub subject: Option<String>,
    /// Type.
    pub kind: Option<String>,
    /// `low`, `normal`, `high`, `urgent` or `P0` to `P3`.
    pub priority: Option<String>,
    /// Thread.
    pub thread: Option<String>,
    /// Reference to the answered message.
    pub reply_to: Option<String>,
    /// The answered message as the value of `in_reply_to`, if the caller has resolved it; `reply_to` is then empty.
    pub in_reply_to: Option<String>,
    /// Accept time of the answered message, if the caller has resolved it.
    pub answers: Option<Stamp>,
    /// References to related messages.
    pub refs: Vec<String>,
    /// Related messages that the caller has resolved.
    pub raw_refs: Vec<String>,
    /// For an ack: the new status.
    pub status: Option<String>,
    /// Files to attach.
    pub attachments: Vec<PathBuf>,
    /// Whether the file paths come from an untrusted text, such as a model's tool call.
    pub permitted_only: bool,
    /// Attachments that are already built.
    pub raw_attachments: Vec<Value>,
    /// Expiry time.
    pub expires: Option<String>,
    /// The channel.
    pub channel: Option<String>,
    /// Whether the sender expects an answer.
    pub requires_response: bool,
    /// Requested action.
    pub action: Option<String>,
    /// Metadata as text.
    pub metadata: Vec<(String, String)>,
    /// Metadata with other JSON values.
    pub raw_metadata: Map<String, Value>,
    /// Further fields of messages about claims and approvals, such as `claims` and `options`.
    pub fields: Map<String, Value>,
}

impl MessageDraft {
    /// Returns true if the draft has nothing that a recipient could read.
    pub fn is_empty(&self) -> bool {
        let body = self.body.as_deref().unwrap_or_default();
        body.is_empty() && self.subject.is_none() && self.attachments.is_empty()
    }
}

/// A message that was written to the outbox.
#[derive(Debug, Serialize)]
pub struct OutboxMessage {
    /// Message id.
    pub id: String,
    /// The file, relative to the room.
    #[serde(serialize_with = "write_path")]
    pub file: PathBuf,
    /// The recipients at the time of writing.
    #[serde(skip)]
    pub recipients: Vec<Recipient>,
    /// The addresses that reached no agent at that time.
    #[serde(skip)]
    pub unreached: Vec<Problem>,
    /// The end of the log before the message was written.
    #[serde(skip)]
    pub since: LogPosition,
    /// Whether hooks announce the message.
    #[serde(skip)]
    pub announcement: AnnouncementTime,
    /// Names of files that were copied into the message.
    #[serde(skip)]
    pub copied: Vec<String>,
}

impl OutboxMessage {
    /// The sender.
    pub fn sender(&self) -> &str {
        let outbox = self.file.parent().and_then(Path::file_name);
        outbox.and_then(|agent| agent.to_str()).unwrap_or_default()
    }

    /// The first part of an error that occurs after the message was written.
    pub fn written(&self) -> String {
        format!("message {} was written to {}", self.id, self.file.display())
    }

    pub(super) fn written_but(&self, e: &Error) -> Error {
        let why = match e {
            Error::Sync { source, .. } => source.to_string(),
            e => e.to_string(),
        };
        Error::Done {
            what: self.written(),
            reason: format!("it could not be synced to disk, so a power cut can lose it: {why}"),
            fix: WRITTEN.into(),
        }
    }
}

/// The addresses of a draft in the form of a message, where the path of an `owner:` address is relative to the project.
pub(super) fn addresses(room: &Room, draft: &MessageDraft) -> Result<Vec<String>> {
    if !draft.paths_from_here {
        return Ok(draft.to.clone());
    }
    let mut addresses = Vec::new();
    for (at, address) in draft.to.iter().enumerate() {
        let path = address
            .split_once(':')
            .filter(|(kind, _)| kind.eq_ignore_ascii_case("owner"))
            .map(|(_, path)| path);
        addresses.push(match path {
            Some(path) => owner_address(room, path).map_err(|e| bad_address(e, address, at))?,
            None => address.clone(),
        });
    }
    Ok(addresses)
}

/// The address of the owner of a path, as `mailbag claims` reads the path.
fn owner_address(room: &Room, path: &str) -> Result<String> {
    let subject = subject_of(room, &here()?, path)?;
    Ok(Address::Owner(subject.to_string()).to_string())
}

/// The error of an `owner:` address at this position of `to`.
fn bad_address(e: Error, address: &str, at: usize) -> Error {
    let Error::Rejected(mut problems) = e else {
        return e;
    };
    for problem in &mut problems {
        "bad_address".clone_into(&mut problem.code);
        problem.place = format!("/to/{at}");
        problem.what = format!("{} is not an address: {}", quoted(address), problem.what);
    }
    Error::Rejected(problems)
}

/// Writes a message to its sender's outbox and marks the answered message as read. The file is durable when this returns.
pub fn send(room: &Room, who: &AgentIdentity, draft: MessageDraft) -> Result<OutboxMessage> {
    prepare(room, who, draft)?.put(room)
}

/// A checked message.
pub(super) struct PreparedMessage {
    pub(super) sent: OutboxMessage,
    pub(super) message: Message,
    text: String,
    answers: Option<Stamp>,
}

impl PreparedMessage {
    /// Puts the message into the outbox, durable.
    pub(super) fn put(self, room: &Room) -> Result<OutboxMessage> {
        self.write(room)?.put(room, self)
    }

    /// Writes the message to the outbox under a temporary name, not yet durable.
    pub(super) fn write(&self, room: &Room) -> Result<TemporaryOutboxFile> {
        let outbox = room
            .dir
            .make(self.sent.file.parent().unwrap_or(&self.sent.file))?;
        let name = layout::message_file(&self.sent.id);
        let draft = disk::DraftFile::write(&outbox, &layout::unsent(&name), self.text.as_bytes())?;
        Ok(TemporaryOutboxFile { draft, name })
    }

    /// Marks the answered message as read. The message was sent, so a failure here must not look like a failure to send.
    fn mark_answered(&self, room: &Room) {
        if let Some(at) = self.answers {
            inbox::mark_copy_seen(&room.dir, self.sent.sender(), at)
                .map(drop)
                .unwrap_or_else(|e| tracing::warn!("{e}"));
        }
    }
}

/// A message under a temporary name in its outbox. Dropping it removes the file.
pub(super) struct TemporaryOutboxFile {
    draft: disk::DraftFile,
    name: String,
}

impl TemporaryOutboxFile {
    /// Makes the message durable and gives it its name.
    pub(super) fn put(self, room: &Room, message: PreparedMessage) -> Result<OutboxMessage> {
        let trouble = self.draft.put_synced(&self.name)?;
        message.mark_answered(room);
        match trouble {
            None => Ok(message.sent),
            Some(e) => Err(message.sent.written_but(&e)),
        }
    }

    /// Gives a durable message file its name. A power cut can still remove the name.
    pub(super) fn place(self, room: &Room, message: &PreparedMessage) -> Result<()> {
        self.draft.place(&self.name)?;
        message.mark_answered(room);
        Ok(())
    }
}

/// Checks a message without sending it.
pub fn check(room: &Room, who: &AgentIdentity, draft: MessageDraft) -> Result<()> {
    prepare(room, who, draft).map(|_| ())
}

/// Builds and checks a message.
pub(super) fn prepare(
    room: &Room,
    who: &AgentIdentity,
    draft: MessageDraft,
) -> Result<PreparedMessage> {
    let (registry, settings) = (room.registry()?, room.settings()?);
    let sender = sender_id(&registry, &settings, who)?;
    if draft.body_is_last_word {
        refuse_address_as_body(&registry, &draft)?;
    }
    let words = match &draft.body {
        Some(body) if draft.body_is_last_word => Some((draft.to.clone(), body.clone())),
        _ => None,
    };
    let to = addresses(room, &draft)?;
    let draft = MessageDraft { to, ..draft };
    let id = id::mint();
    let (fields, answers) = compose(room, &settings, &sender, &id, draft)?;
    let copied = copied(&fields);
    let text = serde_json::to_string_pretty(&fields).unwrap_or_default() + "\n";
    if text.len() as u64 > settings.message_bytes {
        return Err(Error::Rejected(vec![too_large(
            text.len() as u64,
            settings.message_bytes,
        )]));
    }
    let checked = MessageChecker::of(room, &registry, &sender).value(Value::Object(fields));
    let (message, resolved) =
        checked.map_err(|problems| Error::Rejected(unquoted(problems, words)))?;
    check_person(&message)?;
    let file = layout::dropped(&sender, &id);
    let since = match log::end(&room.dir) {
        // A user who may not read the log does not follow it.
        Err(e) if e.errno() == Some(libc::EACCES) => log::START,
        since => since?,
    };
    let ResolvedRecipients {
        recipients,
        unreached,
    } = resolved.unwrap_or_default();
    let sent = OutboxMessage {
        id,
        file,
        recipients,
        unreached,
        since,
        announcement: AnnouncementTime::of(message.kind(), message.priority()),
        copied,
    };
    Ok(PreparedMessage {
        sent,
        message,
        text,
        answers,
    })
}

/// Some messages of the human act as the person.
fn check_person(message: &Message) -> Result<()> {
    if message.from() != id::HUMAN {
        return Ok(());
    }
    match message.kind() {
        DECISION => require_person(DECIDE),
        LINK => require_person("change links"),
        "release" if message.text("of").is_some() => {
            require_person("release the claims of others as human")
        }
        _ => Ok(()),
    }
}

fn copied(fields: &Map<String, Value>) -> Vec<String> {
    let attached = fields
        .get("attachments")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let copied = attached.filter(|attachment| attachment.get("content").is_some());
    copied
        .filter_map(|attachment| Some(attachment.get("name")?.as_str()?.to_owned()))
        .collect()
}

/// The sender's id, if the router reads its outbox.
pub fn sender_id(registry: &Registry, settings: &Settings, who: &AgentIdentity) -> Result<String> {
    match who.in_registry(registry) {
        Ok(agent) => match retired(agent) {
            Some(problem) => Err(Error::Rejected(vec![problem])),
            None => Ok(agent.id.to_string()),
        },
        // An open room registers new senders, except for a name that differs from a registered one only in letter case.
        Err(e) => {
            let is_new = id::is_name(&who.name) && registry.find_position(&who.name).is_none();
            if settings.admission == SenderAdmission::Open && is_new {
                Ok(who.name.clone())
            } else {
                Err(e)
            }
        }
    }
}

fn retired(agent: &Agent) -> Option<Problem> {
    if !agent.is_retired() {
        return None;
    }
    let id = &agent.id;
    let what = format!("agent {id} is retired, so the router does not read its outbox");
    let fix = format!("run `mailbag agent set {id} --status offline`");
    Some(Problem::new("retired_sender", what).fix(fix))
}

/// Adds a hint if an address after the first is invalid: it may be the beginning of an unquoted body.
fn unquoted(mut problems: Vec<Problem>, words: Option<(Vec<String>, String)>) -> Vec<Problem> {
    let Some((to, body)) = words else {
        return problems;
    };
    let first = problems
        .iter()
        .filter_map(position_in_to)
        .min()
        .filter(|first| (1..to.len()).contains(first));
    let Some(first) = first else { return problems };
    let (to, body) = (
        to[..first].join(" "),
        [&to[first..], &[body]].concat().join(" "),
    );
    let whole = format!("mailbag send {to} '{}'", body.replace('\'', r"'\''"));
    if let Some(problem) = problems
        .iter_mut()
        .find(|problem| position_in_to(problem) == Some(first))
    {
        let other = std::mem::take(&mut problem.fix);
        problem.fix = format!(
            "if {} is the body, put it in quotation marks: `{whole}`",
            quoted(&body)
        );
        problem.fix += &if other.is_empty() {
            other
        } else {
            format!("; otherwise {other}")
        };
    }
    problems
}

/// The position of the address that has the problem.
fn position_in_to(problem: &Problem) -> Option<usize> {
    problem.place.strip_prefix("/to/")?.parse().ok()
}

/// Rejects `send bob carol`: carol may be a second recipient, with the body forgotten.
fn refuse_address_as_body(registry: &Registry, draft: &MessageDraft) -> Result<()> {
    let body = draft.body.as_deref().unwrap_or_default();
    let names_somebody = match Address::parse(body) {
        Ok(Address::Word(word)) => registry.find(&word).is_some(),
        Ok(Address::At(word)) => {
            registry.find(&word).is_some() || registry.with_role(&word).is_some()
        }
        Ok(Address::All) => body.starts_with('@'),
        Ok(Address::Role(role) | Address::Any(role)) => registry
            .with_role(&role)
            .or_else(|| registry.with_role(role.strip_suffix('s')?))
            .is_some(),
        Ok(Address::Topic(topic)) => !registry.with_topic(&topic).is_empty(),
        Ok(Address::Capability(capability)) => registry.with_capability(&capability).is_some(),
        _ => false,
    };
    if !names_somebody {
        return Ok(());
    }
    let to = draft.to.join(" ");
    Err(Error::usage(
        format!(
            "the body is missing: the last word, {}, is an address in this room",
            quoted(body)
        ),
        format!(
            "to send to both, run `mailbag send {to} {body} BODY` (BODY may be ''); to send the word itself, run \
            `echo {body} | mailbag send {to} -`"
        ),
    ))
}

/// The fields of a message, and the accept time of the answered message.
fn compose(
    room: &Room,
    settings: &Settings,
    sender: &str,
    id: &str,
    draft: MessageDraft,
) -> Result<(Map<String, Value>, Option<Stamp>)> {
    let answered = draft
        .reply_to
        .map(|text| resolve(room, sender, &text))
        .transpose()?;
    let mut refs = draft
        .refs
        .into_iter()
        .map(|text| related(room, sender, text))
        .collect::<Result<Vec<_>>>()?;
    let (in_reply_to, answers) = match answered {
        Some((name, past)) => (Some(name), Stamp::parse(&past.accepted_at)),
        None => (draft.in_reply_to, draft.answers),
    };
    refs.extend(draft.raw_refs);
    // A client lets its sessions send without a question, so only a person may name just any file.
    let is_permitted_only = !draft.attachments.is_empty()
        && (draft.permitted_only || *Actor::of_this_process() != Actor::Person);
    let attach = if is_permitted_only {
        attach::attach_permitted
    } else {
        attach::attach
    };
    let named = draft
        .attachments
        .iter()
        .map(|file| attach(room, settings, file));
    let attachments: Vec<Value> = draft
        .raw_attachments
        .into_iter()
        .map(Ok)
        .chain(named)
        .collect::<Result<_>>()?;
    let expires = draft.expires.as_deref().map(time::future).transpose()?;
    let mut metadata = draft.raw_metadata;
    metadata.extend(
        draft
            .metadata
            .into_iter()
            .map(|(key, value)| (key, Value::from(value))),
    );
    let to = match draft.to.as_slice() {
        // The mentions in the body count, or the channel alone.
        [] => None,
        [one] => Some(json!(one)),
        many => Some(json!(many)),
    };
    let fields = [
        ("id", Some(json!(id))),
        ("timestamp", Some(json!(Stamp::now().to_string()))),
        ("from", Some(json!(sender))),
        ("to", to),
        (
            "type",
            Some(json!(draft.kind.as_deref().unwrap_or("message"))),
        ),
        ("priority", draft.priority.map(Value::from)),
        ("channel", draft.channel.map(Value::from)),
        ("thread_id", draft.thread.map(Value::from)),
        ("in_reply_to", in_reply_to.map(Value::from)),
        ("status", draft.status.map(Value::from)),
        ("refs", (!refs.is_empty()).then(|| json!(refs))),
        (
            "requires_response",
            draft.requires_response.then_some(Value::Bool(true)),
        ),
        ("action", draft.action.map(Value::from)),
        ("expires_at", expires.map(|at| json!(at.to_string()))),
        ("subject", draft.subject.map(Value::from)),
        (
            "body",
            draft.body.filter(|body| !body.is_empty()).map(Value::from),
        ),
        (
            "attachments",
            (!attachments.is_empty()).then_some(Value::Array(attachments)),
        ),
        (
            "metadata",
            (!metadata.is_empty()).then_some(Value::Object(metadata)),
        ),
    ];
    let fields = fields
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Ok((fields.chain(draft.fields).collect(), answers))
}

/// Resolves a reference: the value for `in_reply_to` or `refs`, and the message.
fn resolve(room: &Room, sender: &str, reference: &str) -> Result<(String, LoggedMessage)> {
    let past = lookup::one_of(&room.dir, &identity::viewer(room, sender)?, reference)?;
    let name = if reference.contains('/') {
        past.name()
    } else {
        past.id.clone()
    };
    Ok((name, past))
}

/// The value for `refs`. A text that names no message is kept, because it can name a file, a commit or a task.
fn related(room: &Room, sender: &str, text: String) -> Result<String> {
    if Reference::parse(&text).is_none() {
        return Ok(text);
    }
    match resolve(room, sender, &text) {
        Ok((name, _)) => Ok(name),
        Err(Error::NotFound { .. }) if !text.starts_with('#') => Ok(text),
        Err(e) => Err(e),
    }
}
