//! Approvals and their decisions, as records of the log have them.

use crate::base::clock::{self, Stamp};
use crate::base::limits;
use crate::base::rfc3339;
use crate::base::text::listed;
use crate::message::{Priority, is_session_event, object, text_items};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A record's change of approvals and decisions. A message is named `<sender>/<id>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalChange {
    /// The message asks its recipients for a decision.
    Ask(ApprovalTerms),
    /// The sender decides the approval of this message.
    Decide {
        /// The message.
        approval: String,
        /// The chosen option.
        option: String,
        /// The question, in one line, so that the record alone shows the decision.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        title: String,
        /// The decision key that it pins in the room, if it is the first signed decision.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pin: Option<PinnedKey>,
    },
    /// The deadline of this approval passed, and closed it.
    Expire {
        /// The message.
        approval: String,
        /// The option that the asker named for this case. `None` if the approval is denied.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        option: Option<String>,
    },
    /// The sender withdraws or supersedes approvals that it asked for, with an ack.
    Withdraw {
        /// Their messages.
        approvals: Vec<String>,
    },
    /// The deadline of this approval passed, and further agents can decide it.
    Escalate {
        /// The message.
        approval: String,
        /// The further agents.
        to: Vec<Arc<str>>,
        /// The new deadline, in microseconds since 1970. `None` if there is none.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            with = "optional_time"
        )]
        deadline: Option<i64>,
    },
    /// The sender proposes something in this thread.
    Propose {
        /// The thread.
        thread: String,
        /// The proposal, in one line.
        title: String,
    },
    /// The sender objects to a proposal or objection in this thread.
    Object {
        /// The thread.
        thread: String,
        /// The objection, in one line.
        title: String,
    },
    /// The sender decides on the proposals of this thread.
    Settle {
        /// The thread.
        thread: String,
    },
    /// The supervisor is asked to decide on the proposals of this thread.
    Dispute {
        /// The thread.
        thread: String,
        /// When the human is asked, in microseconds since 1970.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            with = "optional_time"
        )]
        due: Option<i64>,
    },
}

/// The decision key of the person that is pinned in the room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedKey {
    /// The public key, in hexadecimal.
    pub key: String,
    /// The room, as signatures name it. A copy of the room needs its own pin.
    pub place: String,
}

/// The terms of an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalTerms {
    /// The question, in one line.
    pub title: String,
    /// The options. The first one lets the asker go on.
    pub options: Vec<String>,
    /// When it is decided at the latest, in microseconds since 1970.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "optional_time"
    )]
    pub deadline: Option<i64>,
    /// The outcome at the deadline.
    pub on_deadline: DeadlineOutcome,
    /// The priority of its message.
    #[serde(default, skip_serializing_if = "Priority::is_normal")]
    pub priority: Priority,
    /// True if a decision needs a signature.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub signed: bool,
    /// Agents that cannot decide, but get the decision.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tell: Vec<Arc<str>>,
    /// The thread of the proposals that it decides on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
}

impl ApprovalChange {
    /// The outcome that it brings, in few words: `alice/deploy-1 · yes`. `None` if it brings none.
    pub fn summary(&self) -> Option<String> {
        match self {
            ApprovalChange::Decide {
                approval, option, ..
            } => Some(outcome(approval, option)),
            ApprovalChange::Expire { approval, option } => {
                Some(outcome(approval, option.as_deref().unwrap_or(DENIED)))
            }
            ApprovalChange::Withdraw { approvals } => Some(outcome(&listed(approvals), WITHDRAWN)),
            _ => None,
        }
    }

    /// The kind of the event, and its fields. The kind of a disagreement is its session event, if its message has one of
    /// these types.
    pub(crate) fn event(&self, kind: String) -> (String, Map<String, Value>) {
        let of_thread = |event: &str, thread: &str| {
            let kind = if is_session_event(&kind) {
                kind.clone()
            } else {
                event.to_owned()
            };
            (kind, object(json!({"thread": thread})))
        };
        let (word, fields) = match self {
            ApprovalChange::Ask(terms) => (
                "asked",
                json!({"title": terms.title, "options": terms.options}),
            ),
            ApprovalChange::Decide {
                approval,
                option,
                title,
                ..
            } => (
                "decided",
                json!({"approval": approval, "option": option, "title": title}),
            ),
            ApprovalChange::Expire { approval, option } => {
                ("expired", json!({"approval": approval, "option": option}))
            }
            ApprovalChange::Withdraw { approvals } => {
                ("withdrawn", json!({"approvals": approvals}))
            }
            ApprovalChange::Escalate { approval, to, .. } => {
                ("escalated", json!({"approval": approval, "to": to}))
            }
            ApprovalChange::Propose { thread, .. } => return of_thread("proposal.created", thread),
            ApprovalChange::Object { thread, .. } => return of_thread("objection.raised", thread),
            ApprovalChange::Settle { thread } => return of_thread("decision.recorded", thread),
            ApprovalChange::Dispute { thread, .. } => {
                return of_thread("escalation.requested", thread);
            }
        };
        (format!("approval.{word}"), object(fields))
    }

    /// The question that a decision settles, in one line.
    pub fn question(&self) -> Option<&str> {
        match self {
            ApprovalChange::Decide { title, .. } if !title.is_empty() => Some(title),
            _ => None,
        }
    }
}

/// Like [`ApprovalChange::summary`], from `delivery.approval` of a copy.
pub fn summary_of_copy(copy: &Map<String, Value>) -> Option<String> {
    let about = copy.get("delivery")?.get("approval")?;
    let text = |field: &str| about.get(field).and_then(Value::as_str);
    Some(outcome(text("approval")?, text("option")?))
}

fn outcome(approval: &str, option: &str) -> String {
    format!("{approval} · {option}")
}

/// The outcome of an approval at its deadline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeadlineOutcome {
    /// It is denied.
    Deny,
    /// Further agents can decide.
    Escalate,
    /// This option is chosen.
    Option(String),
}

impl DeadlineOutcome {
    /// The word in a message.
    pub fn as_str(&self) -> &str {
        match self {
            DeadlineOutcome::Deny => DENY,
            DeadlineOutcome::Escalate => ESCALATE,
            DeadlineOutcome::Option(option) => option,
        }
    }
}

/// The value of `on_deadline` that denies.
pub const DENY: &str = "deny";
/// The value of `on_deadline` that lets further agents decide.
pub const ESCALATE: &str = "escalate";
/// The options of an approval that names none.
pub const OPTIONS: [&str; 2] = ["yes", "no"];
/// The status of an approval that was denied at its deadline.
pub const DENIED: &str = "denied";
/// The outcome of an approval that its asker withdrew.
pub const WITHDRAWN: &str = "withdrawn";

/// The options that a message names, or the default.
pub fn options(fields: &Map<String, Value>) -> Vec<String> {
    let named = text_items(fields, "options");
    let named: Vec<String> = named.map(|option| option.trim().to_owned()).collect();
    if named.is_empty() {
        OPTIONS.map(str::to_owned).to_vec()
    } else {
        named
    }
}

/// Returns the option for a word. Letter case only matters between options that differ only in
/// case.
pub fn option<'o>(options: &'o [String], word: &str) -> Option<&'o String> {
    let word = word.trim();
    let exact = options.iter().find(|option| *option == word);
    let lower = word.to_lowercase();
    exact.or_else(|| options.iter().find(|option| option.to_lowercase() == lower))
}

/// Parses `on_deadline` for these options. `None` if the word is invalid. No deadline chooses an option of a signed approval.
pub fn on_deadline(
    options: &[String],
    word: Option<&str>,
    signed: bool,
) -> Option<DeadlineOutcome> {
    let Some(word) = word else {
        return Some(DeadlineOutcome::Deny);
    };
    let options = if signed { &[] } else { options };
    match option(options, word) {
        Some(first) if options.first() == Some(first) => None,
        Some(option) => Some(DeadlineOutcome::Option(option.clone())),
        None if word == DENY => Some(DeadlineOutcome::Deny),
        None if word == ESCALATE => Some(DeadlineOutcome::Escalate),
        None => None,
    }
}

/// The time that a `deadline` means: a time, or a duration from now. `None` if it is neither.
pub fn deadline(text: &str, now: Stamp) -> Option<Stamp> {
    match clock::span(text) {
        Some(span) => (!span.is_zero() && span <= limits::DEADLINE_MOST).then(|| now.after(span)),
        None => Stamp::parse(text),
    }
}

/// Writes an optional time in microseconds since 1970 as RFC 3339 text, for `#[serde(with = …)]`.
mod optional_time {
    use super::rfc3339;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Rfc3339Time(#[serde(with = "rfc3339")] i64);

    pub(super) fn serialize<S: Serializer>(micros: &Option<i64>, to: S) -> Result<S::Ok, S::Error> {
        micros.map(Rfc3339Time).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
        Ok(Option::<Rfc3339Time>::deserialize(from)?.map(|Rfc3339Time(micros)| micros))
    }
}
