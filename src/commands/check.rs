//! Checking messages as the router would, without sending them.

use super::{attach, files};
use crate::base::clock::Stamp;
use crate::base::error::{Error, Problem, Result};
use crate::base::limits;
use crate::disk::layout;
use crate::disk::paths::PathQuestions;
use crate::log::{lookup, state};
use crate::message::address::{Address, quoted};
use crate::message::schema::{self, ParsedFile};
use crate::message::{Message, id, mentions};
use crate::query::candidates::RoomAvailability;
use crate::query::identity;
use crate::room::Room;
use crate::room::actor::reject_agent;
use crate::room::outbox::{self, FileCompleteness, FileContent};
use crate::room::registry::Registry;
use crate::room::resolve::{
    self, Availability, Recipient, ResolvedRecipients, UnknownAvailability,
};
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The result for one file or line.
#[derive(Debug, Default, Serialize)]
pub struct MessageCheck {
    /// The file as given; `-` for standard input; none for a message on the command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, for a file with one message per line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Whether the router would accept it.
    pub ok: bool,
    /// All problems.
    pub problems: Vec<Problem>,
    /// Recipients, if they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipients: Option<Vec<Recipient>>,
    /// The addresses that reach no agent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreached: Vec<Problem>,
    /// Mentions and addressing of an acceptable message.
    #[serde(flatten)]
    pub said: Option<MessageMentions>,
}

/// A message and, with a registry, the agents that it reaches; or all problems.
type CheckedMessage = Result<(Message, Option<ResolvedRecipients>), Vec<Problem>>;

impl MessageCheck {
    fn new(file: &str, line: Option<u32>, checked: CheckedMessage) -> MessageCheck {
        let mut check = MessageCheck {
            file: Some(file.to_owned()),
            line,
            ok: checked.is_ok(),
            ..MessageCheck::default()
        };
        match checked {
            Err(problems) => check.problems = problems,
            Ok((message, resolved)) => {
                check.said = Some(MessageMentions::of(&message));
                if let Some(resolved) = resolved {
                    check.recipients = Some(resolved.recipients);
                    check.unreached = resolved.unreached;
                }
            }
        }
        check
    }
}

/// Mentions and addressing of a message.
#[derive(Debug, Serialize)]
pub struct MessageMentions {
    /// The mentions in the body, each once.
    pub mentions: Vec<String>,
    /// The body without mentions.
    pub text: String,
    /// Whether it addresses all agents, or all agents of a role.
    pub broadcast: bool,
}

impl MessageMentions {
    /// The mentions and addressing of this message.
    pub fn of(message: &Message) -> MessageMentions {
        let body = message.text("body").unwrap_or_default();
        let broadcast = message
            .addresses()
            .iter()
            .any(|to| matches!(Address::parse(to), Ok(Address::All | Address::Role(_))));
        MessageMentions {
            mentions: mentions::mentions(body),
            text: mentions::without_mentions(body),
            broadcast,
        }
    }
}

/// Input to check.
pub enum CheckInput {
    /// A file.
    File(PathBuf),
    /// Bytes from standard input.
    Bytes(Vec<u8>),
}

/// Checks files and bytes. With a sender and a room, also resolves the recipients.
pub fn check(
    inputs: Vec<CheckInput>,
    room: Option<&Room>,
    sender: Option<&str>,
) -> Result<Vec<MessageCheck>> {
    let registry = match (room, sender) {
        (Some(room), Some(_)) => Some(room.registry()?),
        _ => None,
    };
    let most = room
        .map(Room::settings)
        .transpose()?
        .unwrap_or_default()
        .message_bytes;
    let judge = MessageChecker::new(room, registry.as_ref(), sender)?;
    let checked: Vec<Vec<MessageCheck>> = inputs
        .into_iter()
        .map(|input| one(&judge, input, most))
        .collect::<Result<_>>()?;
    Ok(checked.into_iter().flatten().collect())
}

/// Checks a file: one result, or one for each line of a file with one message per line.
fn one(judge: &MessageChecker<'_>, input: CheckInput, most: u64) -> Result<Vec<MessageCheck>> {
    let (file, lines, bytes) = match input {
        CheckInput::Bytes(bytes) => ("-".to_owned(), false, Ok(bytes)),
        CheckInput::File(path) => {
            let lines = path.file_name().is_some_and(layout::is_lines_file);
            (path.display().to_string(), lines, content(&path)?)
        }
    };
    let bytes = match bytes {
        Ok(bytes) if bytes.len() as u64 > most => Err(vec![too_large(bytes.len() as u64, most)]),
        bytes => bytes,
    };
    let bytes = match bytes {
        Ok(bytes) => bytes,
        Err(problems) => return Ok(vec![MessageCheck::new(&file, None, Err(problems))]),
    };
    if !lines {
        return Ok(vec![MessageCheck::new(&file, None, judge.bytes(&bytes))]);
    }
    Ok(match outbox::read_lines(&bytes) {
        FileCompleteness::Yes(FileContent::One(content))
        | FileCompleteness::NotYet(FileContent::One(content)) => {
            vec![MessageCheck::new(&file, None, judge.content(content))]
        }
        FileCompleteness::Yes(FileContent::Lines(lines))
        | FileCompleteness::NotYet(FileContent::Lines(lines)) => lines
            .into_iter()
            .map(|line| MessageCheck::new(&file, Some(line.number), judge.content((&line).into())))
            .collect(),
    })
}

/// Reads a file. A file that cannot be a message is a result, not an error.
fn content(path: &Path) -> Result<Result<Vec<u8>, Vec<Problem>>> {
    match attach::read(&files::find(path)?, limits::MESSAGE_BYTES_MOST) {
        Ok(bytes) => Ok(Ok(bytes)),
        Err(Error::State { what, .. }) => Ok(Err(vec![
            Problem::new("not_a_file", format!("the file {what}")).fix("write a regular file"),
        ])),
        Err(e) => Err(e),
    }
}

/// The files for a command-line argument: the file itself, or if it does not exist, the matches of the pattern. An agent may
/// name none, because a client lets it send messages without a question.
pub fn expand(name: &str) -> Result<Vec<PathBuf>> {
    reject_agent("check files by their names; a session passes one by `--file -`")?;
    let path = PathBuf::from(name);
    if path.is_there() {
        return Ok(vec![path]);
    }
    let mut found = Vec::new();
    if name.contains(['*', '?', '[']) {
        let paths = glob::glob(name).map_err(|e| {
            Error::usage(
                format!("invalid pattern {}: {}", quoted(name), e.msg),
                "use * ? [ab] or **",
            )
        })?;
        found.extend(
            paths
                .filter_map(Result::ok)
                .filter(|path| path.leads_to_file()),
        );
    }
    if found.is_empty() {
        return Err(Error::not_found(
            format!("no file {}", quoted(name)),
            "pass a file, a quoted pattern such as 'drafts/*.json', or - for standard input",
        ));
    }
    Ok(found)
}

/// The checks of the router's steps 4 and 5, for one sender.
pub struct MessageChecker<'a> {
    room: Option<&'a Room>,
    registry: Option<&'a Registry>,
    sender: Option<String>,
    display_name: Option<String>,
}

impl<'a> MessageChecker<'a> {
    /// For a sender. With a registry, the sender must be registered. Without a sender, each message's own `from` counts.
    pub fn new(
        room: Option<&'a Room>,
        registry: Option<&'a Registry>,
        sender: Option<&str>,
    ) -> Result<MessageChecker<'a>> {
        let agent = match (registry, sender) {
            (Some(registry), Some(name)) => Some(identity::registered(registry, name, None)?),
            _ => None,
        };
        let display_name = agent.and_then(|agent| agent.name.clone());
        let sender = agent
            .map(|agent| agent.id.to_string())
            .or_else(|| sender.map(str::to_owned));
        Ok(MessageChecker {
            room,
            registry,
            sender,
            display_name,
        })
    }

    /// For a sender by id, who need not be registered.
    pub fn of(room: &'a Room, registry: &'a Registry, sender: &str) -> MessageChecker<'a> {
        let display_name = registry.agent(sender).and_then(|agent| agent.name.clone());
        MessageChecker {
            room: Some(room),
            registry: Some(registry),
            sender: Some(sender.to_owned()),
            display_name,
        }
    }

    fn content(&self, content: Result<Value, Problem>) -> CheckedMessage {
        match content {
            Ok(value) => self.value(value),
            Err(problem) => Err(self.with_example(vec![problem], &Value::Null)),
        }
    }

    fn bytes(&self, bytes: &[u8]) -> CheckedMessage {
        self.content(match schema::parse(bytes) {
            ParsedFile::Value(value) => Ok(value),
            ParsedFile::Bad(problem) | ParsedFile::Unfinished(problem) => Err(problem),
        })
    }

    /// Checks a parsed message.
    pub fn value(&self, value: Value) -> CheckedMessage {
        self.check(value.clone())
            .map_err(|problems| self.with_example(problems, &value))
    }

    fn with_example(&self, mut problems: Vec<Problem>, sent: &Value) -> Vec<Problem> {
        let check = |value| self.check(value).map(drop);
        let asker = |reference: &str| {
            let (room, sender) = (self.room?, self.sender.as_deref()?);
            let viewer = identity::viewer(room, sender).ok()?;
            let references = [reference.to_owned()];
            let state = state::committed(&room.dir).ok()?;
            let found = lookup::find_typed(&state.indexed(&room.dir), &viewer, &references).ok()?;
            let (asked, _) = found.into_iter().next()?.ok()?;
            (*asked.from != *sender).then(|| asked.from.to_string())
        };
        schema::keep_example(&mut problems, sent, check, asker);
        problems
    }

    fn check(&self, value: Value) -> CheckedMessage {
        let said = value
            .get("from")
            .and_then(Value::as_str)
            .map(|from| from.strip_prefix('@').unwrap_or(from));
        let sender = match (&self.sender, said) {
            (Some(sender), _) => sender.clone(),
            (None, Some(said)) => said.to_owned(),
            (None, None) => id::HUMAN.to_owned(),
        };
        let names: Vec<&str> = self.display_name.as_deref().into_iter().collect();
        let message = schema::check_as(value, &sender, &names, Stamp::now())?;
        let resolved = self
            .registry
            .map(|registry| self.resolve(registry, &sender, &message))
            .transpose()?;
        Ok((message, resolved))
    }

    fn resolve(
        &self,
        registry: &Registry,
        sender: &str,
        message: &Message,
    ) -> Result<ResolvedRecipients, Vec<Problem>> {
        let mut seen = self
            .room
            .map(|room| RoomAvailability::quick(room, registry));
        let mut nobody = UnknownAvailability;
        let standing: &mut dyn Availability = match &mut seen {
            Some(seen) => seen,
            None => &mut nobody,
        };
        resolve::resolve_message(registry, sender, message, standing)
    }
}

/// The problem of a message that is larger than the room allows.
pub fn too_large(bytes: u64, most: u64) -> Problem {
    let what = format!("the message has {bytes} bytes; the maximum is {most}");
    let fix = "move the content to a file below the room's context/ and attach that, or raise `message_bytes` in settings.toml";
    Problem::new("too_large", what).fix(fix)
}
