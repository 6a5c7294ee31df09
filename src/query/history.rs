//! Messages as stored in the log, limited to the messages that the asker may see. List, thread, search and reply build on this.

pub use crate::log::lookup::{LoggedMessage, Viewer};

use crate::base::clock::Stamp;
use crate::base::error::{Error, Result, did_you_mean};
use crate::disk::{Dir, layout};
use crate::features::channels;
use crate::log::{LogPosition, START, find, lookup, state};
use crate::message::address::quoted;
use crate::message::{DEFAULT_CHANNEL, TYPES, id};
use crate::query::closed::ClosedMessages;
use crate::query::identity::{self, mailbox};
use crate::query::time;
use crate::room::registry::Registry;
use crate::room::{Room, inbox};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::sync::Arc;

/// The message with this number.
pub fn message(room: &Room, seq: u64) -> Result<LoggedMessage> {
    lookup::one_of(&room.dir, &Viewer::ALL, &format!("#{seq}"))
}

/// A message filter as the user wrote it. In the query of a web address, it has the names of the options of `mailbag list`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct MessageCriteria {
    /// Id of the agent that asks.
    #[serde(skip)]
    pub asker: Option<String>,
    /// From this sender.
    pub from: Option<String>,
    /// Delivered to this agent.
    pub to: Option<String>,
    /// Of this type.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// In this channel.
    pub channel: Option<String>,
    /// Accepted at this time or later.
    pub since: Option<String>,
    /// Accepted before this time.
    pub until: Option<String>,
    /// Still unread by `to`, or by the asker.
    #[serde(skip)]
    pub unread: bool,
    /// The sender expects an answer.
    #[serde(skip)]
    pub requires_response: bool,
}

/// A message filter with every name and time resolved.
#[derive(Clone)]
pub struct MessageFilter {
    viewer: Viewer,
    from: Option<Viewer>,
    to: Option<Viewer>,
    kind: Option<String>,
    channel: Option<String>,
    since: Option<Stamp>,
    until: Option<Stamp>,
    unread: Option<BTreeSet<OsString>>,
    requires_response: bool,
    /// The messages that their senders closed, at the time of the filter.
    pub(super) closed: Arc<ClosedMessages>,
}

impl MessageFilter {
    /// Resolves the names and times. An unknown name is an error, because the filter would never match.
    pub fn new(room: &Room, asked: MessageCriteria) -> Result<MessageFilter> {
        if let Some(kind) = &asked.kind {
            check_type(kind)?;
        }
        let registry = room.registry()?;
        let state = match asked.channel.as_deref() {
            Some(channel) if channel != DEFAULT_CHANNEL => {
                let state = state::committed(&room.dir)?;
                check_channel(channel, channels::of(&state).keys().map(|name| &**name))?;
                Some(state)
            }
            _ => state::committed(&room.dir).ok(),
        };
        let closed = Arc::new(ClosedMessages::of(&room.dir, state));
        let agent = |name: Option<&String>| name.map(|name| who(room, &registry, name)).transpose();
        let own_viewer =
            |agent: &str| identity::own_viewer_after(&registry, agent, closed.renames());
        let time = |text: Option<String>| text.as_deref().map(time::past).transpose();
        let (from, mut to) = (agent(asked.from.as_ref())?, agent(asked.to.as_ref())?);
        let mut unread = None;
        if asked.unread {
            let whose = to.take().or_else(|| asked.asker.clone()).ok_or_else(|| {
                Error::usage(
                    "cannot list unread mail: no agent given",
                    "pass --to AGENT or --as AGENT",
                )
            })?;
            let names = inbox::unread_with_taken(&room.dir, &whose)?;
            unread = Some(names.into_iter().collect());
            to = Some(whose);
        }
        Ok(MessageFilter {
            viewer: asked
                .asker
                .as_deref()
                .map_or(Viewer::ALL, |asker| own_viewer(asker).with_all_of_human()),
            from: from.as_deref().map(own_viewer),
            to: to.as_deref().map(own_viewer),
            kind: asked.kind,
            channel: asked.channel,
            since: time(asked.since)?,
            until: time(asked.until)?,
            unread,
            requires_response: asked.requires_response,
            closed,
        })
    }

    /// The part of the log that can hold matching messages.
    pub fn span(&self, room: &Dir) -> Result<(LogPosition, Option<LogPosition>)> {
        // File names in an inbox begin with the accept time, so the first one bounds the search.
        let unread = self
            .unread
            .as_ref()
            .and_then(|names| layout::read_delivered(names.first()?));
        let since = self.since.max(unread);
        let from = since.map_or(Ok(START), |at| find::since(room, at))?;
        Ok((
            from,
            self.until.map(|at| find::since(room, at)).transpose()?,
        ))
    }

    /// A text that every matching line contains. Agent names need no JSON escapes.
    pub fn sieve(&self) -> Option<String> {
        let only_name = |viewer: &Option<Viewer>| Some(viewer.as_ref()?.only_name()?.to_owned());
        let agent = only_name(&self.from).map(|from| format!("\"from\":\"{from}\""));
        let agent = agent.or_else(|| only_name(&self.to).map(|to| format!("\"{to}\"")));
        let kind = || {
            self.kind
                .as_ref()
                .map(|kind| format!("\"type\":\"{kind}\""))
        };
        let own = || self.viewer.only_name().map(|agent| format!("\"{agent}\""));
        agent.or_else(own).or_else(kind)
    }

    /// Whether a message matches.
    pub fn fits(&self, past: &LoggedMessage) -> bool {
        let is =
            |wanted: &Option<String>, has: &str| wanted.as_ref().is_none_or(|wanted| wanted == has);
        self.from.as_ref().is_none_or(|from| from.sent(past))
            && is(&self.kind, &past.kind)
            && is(&self.channel, &past.channel)
            && (past.requires_response || !self.requires_response)
            && self.to.as_ref().is_none_or(|to| to.received(past))
            && self.viewer.see(past)
            && self
                .since
                .is_none_or(|since| Stamp::parse(&past.accepted_at).is_some_and(|at| at >= since))
            && self
                .until
                .is_none_or(|until| Stamp::parse(&past.accepted_at).is_some_and(|at| at < until))
            && self
                .unread
                .as_ref()
                .is_none_or(|names| names.contains(&file_name(past)))
    }
}

/// The file name of each delivered copy.
fn file_name(past: &LoggedMessage) -> OsString {
    layout::delivered(
        Stamp::parse(&past.accepted_at).unwrap_or_default(),
        &past.from,
        &past.id,
    )
    .into()
}

fn who(room: &Room, registry: &Registry, name: &str) -> Result<String> {
    if name == id::MAILBAG {
        return Ok(name.to_owned());
    }
    mailbox(room, registry, name)
}

/// Fails if no known channel has this name. The default channel exists before its first message.
fn check_channel<'a>(channel: &str, known: impl Iterator<Item = &'a str> + Clone) -> Result<()> {
    if channel == DEFAULT_CHANNEL || known.clone().any(|name| name == channel) {
        return Ok(());
    }
    let fix = did_you_mean(channel, known).unwrap_or_else(|| {
        "`mailbag who --channel` lists the channels; a message with the field `channel` creates one".into()
    });
    Err(Error::not_found(
        format!("no channel {}", quoted(channel)),
        fix,
    ))
}

/// Rejects a type that no message can have.
pub(crate) fn check_type(kind: &str) -> Result<()> {
    if TYPES.contains(&kind) || kind.starts_with("x-") {
        return Ok(());
    }
    let fix = did_you_mean(kind, TYPES.iter().copied()).unwrap_or_else(|| {
        "`mailbag generate schema` lists the types; custom types begin with x-".into()
    });
    Err(Error::usage(
        format!("{} is not a message type", quoted(kind)),
        fix,
    ))
}
