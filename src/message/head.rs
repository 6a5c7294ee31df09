//! The head of an accepted message: the fields that the state needs, without a copy.

use super::{DEFAULT_CHANNEL, Message, MessageActor, Priority, QUESTION, behaviour};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The fields of an accepted message that the state needs.
#[derive(Debug, Deserialize)]
pub struct MessageHead<'a> {
    #[serde(borrow, default)]
    channel: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    priority: Cow<'a, str>,
    #[serde(borrow, default)]
    thread_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    in_reply_to: Option<Cow<'a, str>>,
    #[serde(default)]
    attachments: Option<IgnoredAny>,
    #[serde(default)]
    requires_response: bool,
}

/// The thread and the reference of a message that its answers can share.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationKeys {
    /// Its thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The message that it names in `in_reply_to`, which is the `correlation_id` of another format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation: Option<String>,
}

impl<'a> MessageHead<'a> {
    /// The head of this message.
    pub fn of(message: &'a Message) -> MessageHead<'a> {
        let (channel, kind) = (Some(message.channel().into()), message.kind().into());
        let text = |field| message.text(field).map(Cow::Borrowed);
        MessageHead {
            channel,
            kind,
            priority: message.priority().as_str().into(),
            thread_id: text("thread_id"),
            in_reply_to: text("in_reply_to"),
            attachments: message.fields().get("attachments").map(|_| IgnoredAny),
            requires_response: message.wants_answer(),
        }
    }

    /// Returns true if the message has attachments.
    pub fn has_attachments(&self) -> bool {
        self.attachments.is_some()
    }

    /// The thread and the reference that its answers can share.
    pub fn shares(&self) -> ConversationKeys {
        let [thread, correlation] =
            [&self.thread_id, &self.in_reply_to].map(|text| text.as_deref().map(str::to_owned));
        ConversationKeys {
            thread,
            correlation,
        }
    }

    /// Returns true for a message with the highest priority.
    pub fn is_urgent(&self) -> bool {
        self.priority() == Priority::Urgent
    }

    /// The message's type.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The message's priority.
    pub fn priority(&self) -> Priority {
        Priority::from_word(&self.priority)
    }

    /// Returns true if its sender wants an answer.
    pub fn wants_answer(&self) -> bool {
        self.requires_response || self.kind == QUESTION
    }

    /// The channel. `None` for a message to the router only.
    pub fn channel(&self) -> Option<&str> {
        let is_shown = behaviour(&self.kind).acted_on_by != Some(MessageActor::Router);
        is_shown.then(|| self.channel.as_deref().unwrap_or(DEFAULT_CHANNEL))
    }

    /// The channel and the type. `None` for a message to the router only.
    pub fn shown(self) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
        let shown = behaviour(&self.kind).acted_on_by != Some(MessageActor::Router);
        shown.then(|| {
            (
                self.channel.unwrap_or(Cow::Borrowed(DEFAULT_CHANNEL)),
                self.kind,
            )
        })
    }
}
