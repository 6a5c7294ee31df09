//! Sending: one file into the sender's outbox, refused beforehand if the router would refuse it.

use super::attach;
use super::check::{Judge, too_large};
use crate::base::clock::Stamp;
use crate::base::error::{Error, Problem, Result};
use crate::disk;
use crate::disk::layout;
use crate::log::lookup::{self, Eyes, Pace, Past, Unclear};
use crate::message::address::{Address, quoted};
use crate::message::id;
use crate::query::identity::Who;
use crate::query::{status, time};
use crate::room::registry::{Agent, Registry};
use crate::room::resolve::Recipient;
use crate::room::settings::{Admission, Settings};
use crate::room::{Room, inbox};
use crate::router::daemon::{self, Passed};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// What not to do after an error once a message stands in its outbox.
pub const STANDS: &str = "don't send it again";

/// A message as the command line gives it.
#[derive(Debug, Default, Clone)]
pub struct Draft {
    /// Addresses.
    pub to: Vec<String>,
    /// The text.
    pub body: Option<String>,
    /// Did the body stand where a further address could have been meant?
    pub body_is_last_word: bool,
    /// What it is about.
    pub subject: Option<String>,
    /// Its type.
    pub kind: Option<String>,
    /// `low`, `normal`, `high`, `urgent` or `P0` to `P3`.
    pub priority: Option<String>,
    /// The conversation.
    pub thread: Option<String>,
    /// The message that it answers.
    pub reply_to: Option<String>,
    /// The same where it was looked up already, and `reply_to` is not given.
    pub in_reply_to: Option<String>,
    /// When the message was accepted that it answers, where that was looked up already.
    pub answers: Option<Stamp>,
    /// Messages that it is related to.
    pub refs: Vec<String>,
    /// The same as they are to be written, for whoever has looked them up.
    pub raw_refs: Vec<String>,
    /// Of an ack: how far the messages have come.
    pub status: Option<String>,
    /// Files that go with it.
    pub attachments: Vec<PathBuf>,
    /// Did words name them that somebody else may have written, such as a model's?
    pub permitted_only: bool,
    /// The same as they are to be written.
    pub raw_attachments: Vec<Value>,
    /// When it is of no use any more.
    pub expires: Option<String>,
    /// The channel.
    pub channel: Option<String>,
    /// The topic, of a message that says what to get.
    pub topic: Option<String>,
    /// Does its sender wait for an answer?
    pub requires_response: bool,
    /// What its recipients are asked to do.
    pub action: Option<String>,
    /// Anything else, by name.
    pub metadata: Vec<(String, String)>,
    /// The same as it is to be written, where it is more than text.
    pub raw_metadata: Map<String, Value>,
}

/// A message that stands in the outbox.
#[derive(Debug, Serialize)]
pub struct Sent {
    /// Its id.
    pub id: String,
    /// The file it was written as, relative to the room.
    pub file: PathBuf,
    /// Who it is for, as the registry stood when it was written.
    pub recipients: Vec<Recipient>,
    /// The names of the files whose content went into it.
    #[serde(skip)]
    pub copied: Vec<String>,
}

impl Sent {
    /// What stands there, for an error that comes after it.
    pub fn stands(&self) -> String {
        format!("the message {} stands in {}", self.id, self.file.display())
    }

    fn stands_although(&self, e: &Error) -> Error {
        let why = match e {
            Error::Sync { source, .. } => source.to_string(),
            e => e.to_string(),
        };
        Error::Done {
            what: self.stands(),
            why: format!("can't be made durable, so that a power cut can lose it: {why}"),
            cure: STANDS.into(),
        }
    }
}

/// Writes a message into the outbox of its sender. Once this has returned, a power cut doesn't lose it. The message that it
/// answers is marked as read.
pub fn send(room: &Room, who: &Who, draft: Draft) -> Result<Sent> {
    let Prepared { sent, text, sender, answers } = prepare(room, who, draft)?;
    let outbox = room.dir.make(sent.file.parent().unwrap_or(&sent.file))?;
    let name = layout::message_file(&sent.id);
    let trouble = disk::put(&outbox, &name, &layout::unsent(&name), text.as_bytes())?;
    if let Some(at) = answers {
        // It was sent: what goes wrong here must not be taken for a failure to send.
        inbox::mark_copy_seen(&room.dir, &sender, at).map(drop).unwrap_or_else(|e| tracing::warn!("{e}"));
    }
    match trouble {
        None => Ok(sent),
        Some(e) => Err(sent.stands_although(&e)),
    }
}

/// A message that may be sent.
struct Prepared {
    sent: Sent,
    text: String,
    sender: String,
    answers: Option<Stamp>,
}

/// Would this be sent? For who does something else first.
pub fn check(room: &Room, who: &Who, draft: Draft) -> Result<()> {
    prepare(room, who, draft).map(|_| ())
}

/// The message as it is to be written, if the router will take it.
fn prepare(room: &Room, who: &Who, draft: Draft) -> Result<Prepared> {
    let (registry, settings) = (room.registry()?, room.settings()?);
    let sender = sender_id(&registry, &settings, who)?;
    if draft.body_is_last_word {
        refuse_address_as_body(&registry, &draft)?;
    }
    let words = draft.body.clone().filter(|_| draft.body_is_last_word).map(|body| (draft.to.clone(), body));
    let id = id::mint();
    let (fields, answers) = compose(room, &settings, &sender, &id, draft)?;
    let copied = copied(&fields);
    let text = serde_json::to_string_pretty(&fields).unwrap_or_default() + "\n";
    if text.len() as u64 > settings.message_bytes {
        return Err(Error::Rejected(vec![too_large(text.len() as u64, settings.message_bytes)]));
    }
    let checked = Judge::of(room, &registry, &sender).value(Value::Object(fields));
    let (_, recipients) = checked.map_err(|problems| Error::Rejected(unquoted(problems, words)))?;
    let file = layout::dropped(&sender, &id);
    let sent = Sent { id, file, recipients: recipients.unwrap_or_default(), copied };
    Ok(Prepared { sent, text, sender, answers })
}

fn copied(fields: &Map<String, Value>) -> Vec<String> {
    let attached = fields.get("attachments").and_then(Value::as_array).into_iter().flatten();
    let copied = attached.filter(|attachment| attachment.get("content").is_some());
    copied.filter_map(|attachment| Some(attachment.get("name")?.as_str()?.to_owned())).collect()
}

/// Routes what waits, unless a router runs and does it.
pub fn route(room: &Room) -> Result<Passed> {
    daemon::pass(room)
}

/// Routes what waits, if anything does: for who only looks. A look at the outboxes costs less than to begin a pass, which
/// reads the state of the whole room.
pub fn route_waiting(room: &Room) -> Result<()> {
    if status::anything_pending(room)? {
        route(room)?;
    }
    Ok(())
}

/// The id under which to write, if the router will take what stands in its outbox.
pub fn sender_id(registry: &Registry, settings: &Settings, who: &Who) -> Result<String> {
    match who.in_registry(registry) {
        Ok(agent) => match retired(agent).or_else(|| wrong_owner(agent)) {
            Some(problem) => Err(Error::Rejected(vec![problem])),
            None => Ok(agent.id.to_string()),
        },
        // An open room registers whoever writes, but nobody who differs from somebody only by the letter case.
        Err(e) => {
            let is_new = id::is_name(&who.name) && registry.find_any_case(&who.name).is_none();
            if settings.admission == Admission::Open && is_new { Ok(who.name.clone()) } else { Err(e) }
        }
    }
}

fn retired(agent: &Agent) -> Option<Problem> {
    let problem = || Problem::new("retired_sender", format!("{} is retired, and its outbox is not routed", agent.id));
    agent.is_retired().then(|| problem().fix(format!("run `mailbag agent set {} --status offline`", agent.id)))
}

fn wrong_owner(agent: &Agent) -> Option<Problem> {
    let me = rustix::process::geteuid().as_raw();
    let owner = agent.uid.filter(|&uid| uid != me)?;
    let what = format!("{}'s messages must belong to user {owner}, and you are user {me}", agent.id);
    Some(Problem::new("wrong_owner", what).fix("send as that user, or change `uid` in registry.json"))
}

/// Refuses `send bob carol`, where carol may be the second recipient of a body that was forgotten.
/// Adds, where an address behind the first is none: that it may be the beginning of a body without quotation marks.
fn unquoted(mut problems: Vec<Problem>, words: Option<(Vec<String>, String)>) -> Vec<Problem> {
    let Some((to, body)) = words else { return problems };
    let place = |problem: &Problem| problem.place.strip_prefix("/to/")?.parse::<usize>().ok();
    let first = problems.iter().filter_map(place).min().filter(|first| (1..to.len()).contains(first));
    let Some(first) = first else { return problems };
    let (to, body) = (to[..first].join(" "), [&to[first..], &[body]].concat().join(" "));
    let whole = format!("mailbag send {to} '{}'", body.replace('\'', r"'\''"));
    if let Some(problem) = problems.iter_mut().find(|problem| place(problem) == Some(first)) {
        let other = std::mem::take(&mut problem.fix);
        problem.fix = format!("if {} is the body, put it in quotation marks: `{whole}`", quoted(&body));
        problem.fix += &if other.is_empty() { other } else { format!("; else {other}") };
    }
    problems
}

fn refuse_address_as_body(registry: &Registry, draft: &Draft) -> Result<()> {
    let body = draft.body.as_deref().unwrap_or_default();
    let names_somebody = match Address::parse(body) {
        Ok(Address::Word(word)) => registry.find(&word).is_some(),
        Ok(Address::At(word)) => registry.find(&word).is_some() || registry.with_role(&word).is_some(),
        Ok(Address::All) => body.starts_with('@'),
        Ok(Address::Role(role) | Address::Any(role)) => {
            registry.with_role(&role).or_else(|| registry.with_role(role.strip_suffix('s')?)).is_some()
        }
        Ok(Address::Topic(topic)) => !registry.with_topic(&topic).is_empty(),
        Ok(Address::Capability(capability)) => registry.with_capability(&capability).is_some(),
        _ => false,
    };
    if !names_somebody {
        return Ok(());
    }
    let to = draft.to.join(" ");
    Err(Error::Usage {
        what: format!("{} stands where the body does, and is an address here", quoted(body)),
        cure: format!(
            "for both as recipients write `mailbag send {to} {body} BODY`, with '' for no body; to send the word \
             itself, pipe it: `echo {body} | mailbag send {to} -`"
        ),
    })
}

/// The fields of a message, and when the message was accepted that it answers.
fn compose(
    room: &Room,
    settings: &Settings,
    sender: &str,
    id: &str,
    draft: Draft,
) -> Result<(Map<String, Value>, Option<Stamp>)> {
    let mut wanted = draft.refs.clone();
    wanted.extend(draft.reply_to.clone());
    let mut found = resolve(room, sender, &wanted)?;
    let answered = draft.reply_to.and_then(|_| found.pop());
    let mut refs: Vec<String> = found.into_iter().map(|(name, _)| name).collect();
    let (in_reply_to, answers) = match answered {
        Some((name, past)) => (Some(name), Stamp::parse(&past.accepted_at)),
        None => (draft.in_reply_to, draft.answers),
    };
    refs.extend(draft.raw_refs);
    let attach = if draft.permitted_only { attach::attach_permitted } else { attach::attach };
    let named = draft.attachments.iter().map(|file| attach(room, settings, file));
    let attachments: Vec<Value> = draft.raw_attachments.into_iter().map(Ok).chain(named).collect::<Result<_>>()?;
    let expires = draft.expires.as_deref().map(time::future).transpose()?;
    let mut metadata = draft.raw_metadata;
    metadata.extend(draft.metadata.into_iter().map(|(key, value)| (key, Value::from(value))));
    let to = match draft.to.as_slice() {
        // Then the mentions in the body are meant, or the channel alone.
        [] => None,
        [one] => Some(json!(one)),
        many => Some(json!(many)),
    };
    let fields = [
        ("id", Some(json!(id))),
        ("timestamp", Some(json!(Stamp::now().to_string()))),
        ("from", Some(json!(sender))),
        ("to", to),
        ("type", Some(json!(draft.kind.as_deref().unwrap_or("message")))),
        ("priority", draft.priority.map(Value::from)),
        ("channel", draft.channel.map(Value::from)),
        ("topic", draft.topic.map(Value::from)),
        ("thread_id", draft.thread.map(Value::from)),
        ("in_reply_to", in_reply_to.map(Value::from)),
        ("status", draft.status.map(Value::from)),
        ("refs", (!refs.is_empty()).then(|| json!(refs))),
        ("requires_response", draft.requires_response.then_some(Value::Bool(true))),
        ("action", draft.action.map(Value::from)),
        ("expires_at", expires.map(|at| json!(at.to_string()))),
        ("subject", draft.subject.map(Value::from)),
        ("body", draft.body.filter(|body| !body.is_empty()).map(Value::from)),
        ("attachments", (!attachments.is_empty()).then_some(Value::Array(attachments))),
        ("metadata", (!metadata.is_empty()).then_some(Value::Object(metadata))),
    ];
    let fields = fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
    Ok((fields, answers))
}

/// What to write into `in_reply_to` or `refs` for each reference, and the message that it means.
fn resolve(room: &Room, sender: &str, references: &[String]) -> Result<Vec<(String, Past)>> {
    let eyes = Eyes::of(sender);
    let found = lookup::find(&room.dir, None, &eyes, references, &mut Pace::default())?;
    let named = |(text, found): (&String, std::result::Result<lookup::Placed, Unclear>)| {
        let (past, _) = found.map_err(|unclear| unclear.error(&eyes, text))?;
        Ok((if text.contains('/') { past.name() } else { past.id.clone() }, past))
    };
    references.iter().zip(found).map(named).collect()
}
