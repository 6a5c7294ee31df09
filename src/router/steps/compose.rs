//! Texts of the router: explanations of rejections, bounces and notices.

use super::batch_message::{BatchMessage, MessageRejection, MessageRuling, SourceLine};
use crate::base::clock::Stamp;
use crate::base::error::Problem;
use crate::base::hash::Hash;
use crate::base::sanitize;
use crate::message::print::pretty;
use crate::message::record::{Facts, MessageName, RouterAction};
use crate::message::{Message, id, object};
use crate::router::parts::NoticeText;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The name and the text of a message for its record.
pub(super) fn recorded(message: &Message, digest: Hash) -> (MessageName, Box<RawValue>) {
    let name = MessageName {
        from: message.from().into(),
        id: message.id().to_owned(),
        digest,
    };
    let text = serde_json::value::to_raw_value(message.fields());
    (name, text.expect("a message has only text keys"))
}

/// The effect of a message of this type on the registry.
pub(super) fn act(message: &Message) -> Option<RouterAction> {
    let act = match message.kind() {
        "subscribe" => RouterAction::Subscribe,
        "unsubscribe" => RouterAction::Unsubscribe,
        _ => return None,
    };
    message.text("topic").map(|topic| act(topic.to_owned()))
}

impl NoticeText {
    fn message(&self) -> Message {
        own(
            self.kind,
            &self.to,
            &self.subject,
            &self.body,
            self.more.clone(),
        )
    }

    /// The letter of this notice, with the changes that its record makes.
    pub(super) fn letter(self, facts: Facts) -> BatchMessage<MessageRuling> {
        BatchMessage::own(MessageRuling::Notice {
            message: Box::new(self.message()),
            about: self.about,
            to: self.to,
            facts: Box::new(facts),
        })
    }
}

/// A message of the router.
fn own(
    kind: &str,
    to: &[Arc<str>],
    subject: &str,
    body: &str,
    more: Map<String, Value>,
) -> Message {
    let to = if let [one] = to {
        json!(one)
    } else {
        json!(to)
    };
    let mut fields = object(
        json!({"id": id::mint(), "from": id::MAILBAG, "to": to, "type": kind,
        "subject": subject, "body": body}),
    );
    fields.extend(more);
    Message::from_fields(fields).expect("it has every field that a message needs")
}

/// The message that reports a rejected file to its sender, with the reasons.
pub(super) fn bounce(
    agent: &str,
    original: &str,
    source: Option<&SourceLine>,
    kept: &str,
    MessageRejection {
        problems, id: sent, ..
    }: &MessageRejection,
) -> Message {
    // The sender chooses the name of a file, and this is mail of the router.
    let (name, place) = (sanitize::line(original), sanitize::line(kept));
    let (what, kind) = match source {
        Some(source) => (format!("Line {} of {name}", source.line), "line is kept in"),
        None => (name.to_string(), "file is kept as"),
    };
    let mut body = format!("{what} was not delivered to anyone:\n");
    for problem in problems {
        body += &format!("- {problem}\n");
    }
    for example in problems
        .iter()
        .filter_map(|problem| problem.example.as_ref())
    {
        body += &format!("Corrected: {example}\n");
    }
    body += &format!("The {kind} {place}; fix it and drop it again under the same name.");
    let mut metadata = json!({"file": original, "rejected": kept, "problems": problems});
    if let Some(source) = source {
        metadata["line"] = source.line.into();
    }
    own(
        "error",
        &[agent.into()],
        &format!("rejected: {}", codes(problems)),
        &body,
        object(json!({"in_reply_to": sent, "metadata": metadata})),
    )
}

/// Like [`bounce`], for a message from another room.
pub(super) fn far_bounce(
    sender: &Arc<str>,
    here: &str,
    MessageRejection {
        problems, id: sent, ..
    }: &MessageRejection,
) -> Message {
    let what = sent
        .as_deref()
        .map_or_else(|| "A message".to_owned(), |id| format!("The message {id}"));
    let mut body = format!("{what} was not delivered to anyone in {here}:\n");
    for problem in problems {
        body += &format!("- {problem}\n");
    }
    own(
        "error",
        std::slice::from_ref(sender),
        &format!("rejected: {}", codes(problems)),
        &body,
        object(json!({"in_reply_to": sent, "metadata": {"problems": problems}})),
    )
}

/// The `.error.json` beside a rejected file, or in the place of a rejected line.
pub(super) fn explanation(
    agent: &str,
    original: &str,
    source: Option<&SourceLine>,
    seq: u64,
    at: Stamp,
    problems: &[Problem],
) -> Vec<u8> {
    let code = problems.first().map_or("rejected", |problem| &problem.code);
    let mut explained = json!({
        "code": code,
        "agent": agent,
        "file": original,
        "seq": seq,
        "rejected_at": at.to_string(),
        "problems": problems,
    });
    if let Some(SourceLine { line, text, .. }) = source {
        (explained["line"], explained["text"]) =
            ((*line).into(), String::from_utf8_lossy(text).into());
    }
    (pretty(&explained, 0) + "\n").into_bytes()
}

fn codes(problems: &[Problem]) -> String {
    let mut codes: Vec<String> = problems
        .iter()
        .map(|problem| problem.code.replace('_', " "))
        .collect();
    codes.dedup();
    codes.join(", ")
}
