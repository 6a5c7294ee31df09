//! The one table of spellings: other names and values that are read, and names that are rejected. `mailbag generate schema
//! dialects` prints it, and the protocol shows it.

use super::{FieldOrigins, pointer_segment};
use crate::message::FIELDS;
use crate::message::status::CopyStatus;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::LazyLock;

/// How the value of a field is converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueConversion {
    /// Unchanged, under the canonical name.
    Same,
    /// A list, or one item.
    List,
    /// Unchanged, but `null` means all agents.
    Recipient,
    /// Further recipients.
    Copies,
    /// Text becomes the body. In an object, `text` or `body` becomes the body, and the rest becomes `metadata.content`.
    /// In a list of text blocks, the texts become the body; a list with other blocks is also kept in
    /// `metadata.content`.
    Content,
    /// Text becomes the body. Of an object, `text`, `body` or `content` becomes the body, `subject` the subject, and
    /// the rest is moved into `metadata`, with the field of the body in [`PAYLOAD_FIELD`]. A list becomes `metadata.payload`.
    Payload,
    /// References, single or as `{id}`. If one item is not a reference, such as a URL, all items are also kept in
    /// `metadata.links`.
    Links,
    /// Canonical fields are moved out of an object. The rest of the object, or one of the words in
    /// [`ROUTES`], is kept in `metadata.routing`.
    Routing,
}
use ValueConversion::*;

/// The entry of `metadata` with the name that the body had in `payload`, if it is another name.
pub const PAYLOAD_FIELD: &str = "payload_field";

/// Other names of a field.
pub(super) struct FieldSpelling {
    pub(super) field: &'static str,
    pub(super) reading: ValueConversion,
    names: &'static [&'static str],
    /// More about the value, for the published table.
    note: &'static str,
}

const fn same(field: &'static str, names: &'static [&'static str]) -> FieldSpelling {
    FieldSpelling {
        field,
        reading: Same,
        names,
        note: "",
    }
}

const fn read(
    field: &'static str,
    reading: ValueConversion,
    names: &'static [&'static str],
    note: &'static str,
) -> FieldSpelling {
    FieldSpelling {
        field,
        reading,
        names,
        note,
    }
}

const SPELLINGS: &[FieldSpelling] = &[
    same("id", &["event_id"]),
    same(
        "timestamp",
        &["t", "ts", "created_at", "created", "sent_at"],
    ),
    same(
        "from",
        &["sender", "sender_id", "sender_name", "from_agent", "actor"],
    ),
    read("to", Recipient, &["to_agent"], "`null` means `all`"),
    same(
        "to",
        &[
            "addressed",
            "to_agents",
            "recipient",
            "recipients",
            "receiver",
            "receivers",
            "addressee",
            "addressees",
            "target",
            "targets",
            "target_agent",
            "target_agents",
            "send_to",
        ],
    ),
    read(
        "to",
        Copies,
        &["cc"],
        "these agents are added to the others",
    ),
    same("type", &["event_type", "kind", "message_type", "msg_type"]),
    same("subject", &["title", "subj"]),
    read(
        "body",
        Content,
        &["content", "message", "text", "msg", "body_md"],
        "for an object its `text` or `body`, with the rest in `metadata.content`; for text blocks their texts",
    ),
    read(
        "body",
        Payload,
        &["payload"],
        "for an object its `text`, `body` or `content`, and its `subject`, with the rest in `metadata`, with the name of the \
         body in `payload_field` if it is not `body`",
    ),
    same("thread_id", &["conversation_id", "conversation", "thread"]),
    same("in_reply_to", &["correlation_id", "in_response_to"]),
    read(
        "refs",
        Links,
        &["links"],
        "items that are not references stay in `metadata.links`",
    ),
    read(
        "refs",
        List,
        &["ref", "reference", "references"],
        "one, or a list",
    ),
    read("attachments", List, &["attachment"], "one, or a list"),
    same("priority", &["importance", "urgency", "prio"]),
    same(
        "requires_response",
        &[
            "response_required",
            "requires_reply",
            "reply_required",
            "needs_response",
            "needs_reply",
            "expects_response",
            "expects_reply",
        ],
    ),
    same("expires_at", &["expires", "expiry", "expiration"]),
    same("metadata", &["meta"]),
    read(
        "routing",
        Routing,
        &["routing"],
        "the fields `to channel priority thread_id in_reply_to project_id topic expires_at requires_response` in it; the \
         rest, or one of the words `direct role broadcast topic`, goes to `metadata.routing`; a word that contradicts \
         the recipients is rejected",
    ),
];

/// Values of dialects, and the canonical values.
const VALUES: &[(&str, &[&str], &str)] = &[
    ("type", &["msg"], "message"),
    ("type", &["complete"], "completed"),
    ("type", &["dependency"], "blocked"),
    ("type", &["artifact"], "announcement"),
    ("priority", &["P0", "critical"], "urgent"),
    ("priority", &["P1"], "high"),
    ("priority", &["P2", "medium"], "normal"),
    ("priority", &["P3"], "low"),
];

/// Types of other tools with the nearest type. The word itself is kept in `metadata.type`.
const NEAR_TYPES: &[(&str, &str)] = &[
    ("review_request", "review"),
    ("review_response", "feedback"),
    ("todo", "task"),
    ("brainstorm", "message"),
];

/// The valid words for `routing`. They repeat information that the recipients already give.
pub(super) const ROUTES: [&str; 4] = ["direct", "role", "broadcast", "topic"];

/// The fields that `routing` can contain.
pub(super) const ROUTED: &[&str] = &[
    "to",
    "channel",
    "priority",
    "thread_id",
    "in_reply_to",
    "project_id",
    "topic",
    "expires_at",
    "requires_response",
];

/// Names that could mean several things: each with its correct form.
const REJECTED: &[(&[&str], &str, &str)] = &[
    (&["bcc"], "cc", "every agent can read who got a message"),
    (
        &["reply_to"],
        "in_reply_to",
        "it names the message that this one answers; an answer is always sent to the sender",
    ),
    (
        &["message_id", "msg_id"],
        "id",
        "or name another message in in_reply_to or refs",
    ),
    (&["ttl"], "expires_at", "it takes a time"),
    (
        &["parent_id", "parent_message_id"],
        "in_reply_to",
        "it names the message that this one answers",
    ),
    (
        &["to_role", "target_role", "recipient_role"],
        "to",
        "a role is all_engineers, any_engineer or @engineer",
    ),
];

/// The fields with a meaning in messages of these types only. In other messages they are the sender's own.
const OF_TYPES: &[(&str, &[&str])] = &[
    ("claims", &["claim", "release", "handoff"]),
    ("lease", &["claim"]),
    ("wait", &["claim"]),
    ("of", &["release"]),
    ("options", &["approval"]),
    ("deadline", &["approval"]),
    ("on_deadline", &["approval"]),
    ("option", &["decision"]),
    ("digest", &["decision"]),
    ("signature", &["approval", "decision"]),
    ("link", &["link"]),
    ("topic", &["subscribe", "unsubscribe"]),
    ("status", &["ack"]),
];

/// Names that ask for a later delivery, which does not exist.
const LATER: [&str; 12] = [
    "deliver_after",
    "deliver_at",
    "deliver_in",
    "not_before",
    "send_after",
    "send_at",
    "defer",
    "defer_until",
    "scheduled_for",
    "scheduled_at",
    "delay",
    "remind_at",
];

/// Names that are one letter away from a field or from another name of a field, and words of their own.
const OTHER_WORDS: [&str; 13] = [
    "form",
    "typo",
    "stats",
    "states",
    "contest",
    "contents",
    "prefs",
    "factions",
    "receive",
    "received",
    "receives",
    "preference",
    "preferences",
];
/// The least length of a name in the table, without `_`, for a name with one other letter to be a slip.
const LONG_NAME: usize = 8;

/// The meaning of a name that is not a field.
#[derive(Clone, Copy)]
pub(super) enum DialectField {
    /// Another name of a field.
    Field(&'static str, ValueConversion),
    /// Rejected: the field to write instead, and a remark.
    Instead(&'static str, &'static str),
    /// Rejected: a later delivery.
    Later,
}

/// The fields, each with its folded name.
static FOLDED_FIELDS: LazyLock<Vec<(String, &'static str)>> =
    LazyLock::new(|| FIELDS.iter().map(|field| (fold(field), *field)).collect());

/// The meanings of all other names, by the folded name.
static MEANINGS: LazyLock<HashMap<String, DialectField>> = LazyLock::new(|| {
    let mut meanings: HashMap<_, _> = LATER
        .iter()
        .map(|name| (fold(name), DialectField::Later))
        .collect();
    for (names, field, remark) in REJECTED {
        meanings.extend(
            names
                .iter()
                .map(|name| (fold(name), DialectField::Instead(field, remark))),
        );
    }
    for FieldSpelling {
        field,
        reading,
        names,
        ..
    } in SPELLINGS
    {
        meanings.extend(
            names
                .iter()
                .map(|name| (fold(name), DialectField::Field(field, *reading))),
        );
    }
    meanings
});

/// The meaning of a name in a message of this type. `None` for a name of the sender's own.
pub(super) fn meaning(name: &str, kind: &str) -> Option<DialectField> {
    find_meaning(name, |field| has_meaning(field, kind))
}

/// Returns true if a name has a meaning in messages of any type.
pub(super) fn has_any_meaning(name: &str) -> bool {
    find_meaning(name, |_| true).is_some()
}

/// The field that a name means in messages of every type. `None` for a rejected name.
pub(super) fn field(name: &str) -> Option<&'static str> {
    match known(&folded(name)?, |field| has_meaning(field, ""))? {
        DialectField::Field(field, _) => Some(field),
        DialectField::Instead(..) | DialectField::Later => None,
    }
}

fn find_meaning(name: &str, has_meaning: impl Fn(&str) -> bool) -> Option<DialectField> {
    let folded = folded(name)?;
    known(&folded, &has_meaning)
        .or_else(|| near(&folded, has_meaning).map(|field| DialectField::Instead(field, "")))
}

/// The folded name. `None` for a name that is always the sender's own.
fn folded(name: &str) -> Option<String> {
    const LONGEST: usize = 40;
    let is_own = name.len() > LONGEST
        || ["x-", "x_", "_"]
            .iter()
            .any(|start| name.starts_with(start));
    if is_own { None } else { Some(fold(name)) }
}

/// The meaning of a name that is a field or in the table.
fn known(folded: &str, has_meaning: impl Fn(&str) -> bool) -> Option<DialectField> {
    let field = FOLDED_FIELDS
        .iter()
        .find(|(known, _)| known == folded)
        .filter(|(_, field)| has_meaning(field));
    field
        .map(|(_, field)| DialectField::Field(field, Same))
        .or_else(|| MEANINGS.get(folded).copied())
}

/// A message with the right names of fields.
pub struct CorrectedNames {
    /// The message with the fields that rejected names stand for, unless it has these fields already.
    pub message: Value,
    /// The fields with a value from another name.
    pub moved: FieldOrigins,
}

/// The message with the right names. `None` if no name is rejected.
pub(super) fn with_right_names(fields: &Map<String, Value>, kind: &str) -> Option<CorrectedNames> {
    let right_name = |key: &str| match meaning(key, kind) {
        Some(DialectField::Instead(field, _)) => Some(field),
        _ => None,
    };
    let mut corrected = fields.clone();
    let wrong: Vec<(&String, &str)> = fields
        .keys()
        .filter_map(|key| Some((key, right_name(key)?)))
        .collect();
    let mut moved = FieldOrigins::new();
    for (key, field) in &wrong {
        let value = corrected.shift_remove(*key).unwrap_or_default();
        if !corrected.contains_key(*field) {
            corrected.insert((*field).to_owned(), value);
            moved.push((format!("/{field}"), format!("/{}", pointer_segment(key))));
        }
    }
    let message = Value::Object(corrected);
    (!wrong.is_empty()).then_some(CorrectedNames { message, moved })
}

fn has_meaning(field: &str, kind: &str) -> bool {
    OF_TYPES
        .iter()
        .find(|(name, _)| *name == field)
        .is_none_or(|(_, kinds)| kinds.contains(&kind))
}

/// The field with a similar name: at most one other letter in a field of four to ten letters, two in a longer field.
fn near(folded: &str, has_meaning: impl Fn(&str) -> bool) -> Option<&'static str> {
    const SHORTEST: usize = 4;
    const LONG: usize = 11;
    if OTHER_WORDS.contains(&folded) {
        return None;
    }
    let is_near = |field: &str| {
        let most = if field.len() < LONG { 1 } else { 2 };
        // A plural or singular is a word of its own.
        field.len() >= SHORTEST
            && folded.len().abs_diff(field.len()) <= most
            && folded.trim_end_matches('s') != field.trim_end_matches('s')
            && strsim::osa_distance(folded, field) <= most
    };
    let fields = FOLDED_FIELDS.iter().filter(|(_, field)| has_meaning(field));
    let others = MEANINGS.iter().filter_map(|(name, meaning)| match meaning {
        DialectField::Field(field, _) if name.len() >= LONG_NAME => Some((&**name, *field)),
        _ => None,
    });
    fields
        .map(|(name, field)| (&**name, *field))
        .chain(others)
        .filter(|(known, _)| is_near(known))
        .map(|(known, field)| (strsim::osa_distance(folded, known), field))
        .min()
        .map(|(_, field)| field)
}

/// A name without letter case, `-` and `_`.
fn fold(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '-' | '_' | ' '))
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

/// The canonical value, if a field's value is a word in another spelling.
pub(super) fn value(field: &str, word: &str, canonical: &[&'static str]) -> Option<&'static str> {
    const LONGEST: usize = 40;
    if canonical.contains(&word) || word.len() > LONGEST {
        return None;
    }
    let folded = fold(word);
    let others = VALUES.iter().filter(|(of, ..)| *of == field);
    let near = if field == "type" { NEAR_TYPES } else { &[] };
    let known = canonical.iter().map(|value| (*value, *value));
    let words = others.flat_map(|(_, words, value)| words.iter().map(move |word| (*word, *value)));
    words
        .chain(near.iter().copied())
        .chain(known)
        .find(|(word, _)| fold(word) == folded)
        .map(|(_, value)| value)
}

/// Returns true if this word for a type says more than the canonical type.
pub(super) fn is_near_type(word: &str) -> bool {
    NEAR_TYPES
        .iter()
        .any(|(other, _)| fold(other) == fold(word))
}

/// The table as Markdown.
pub fn published() -> String {
    let code = |names: &[&str]| {
        names
            .iter()
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let mut rows = vec![row(
        "a field or a name of this table in another letter case, with `-`, or without `_`: `threadId`",
        "the field",
    )];
    for FieldSpelling {
        field, names, note, ..
    } in SPELLINGS
    {
        let field = if names.contains(field) {
            String::new()
        } else {
            code(&[field])
        };
        let joint = if field.is_empty() || note.is_empty() {
            ""
        } else {
            "; "
        };
        rows.push(row(&code(names), &format!("{field}{joint}{note}")));
    }
    let identity = "its `id`, else its `name`, else `all_` and its `role`";
    rows.push(row(
        "an object in place of a recipient: `{\"id\": \"bob\", …}`",
        identity,
    ));
    for (field, words, value) in VALUES {
        rows.push(row(&format!("{field} {}", code(words)), &code(&[value])));
    }
    for (word, status) in CopyStatus::OTHER_WORDS {
        rows.push(row(
            &format!("status in an `ack` {}", code(&[word])),
            &code(&[status.as_str()]),
        ));
    }
    for (word, value) in NEAR_TYPES {
        rows.push(row(
            &format!("type {}", code(&[word])),
            &format!("{}; the word is kept in `metadata.type`", code(&[value])),
        ));
    }
    for (names, field, remark) in REJECTED {
        rows.push(row(
            &code(names),
            &format!("rejected: write {}; {remark}", code(&[field])),
        ));
    }
    rows.push(row(
        &code(&LATER),
        "rejected: a message is delivered immediately",
    ));
    let near = format!(
        "a name one letter away from a field of four letters or more, such as `boddy`, or from a name of this table of \
         eight or more, or two from one of eleven; not a plural or singular, not a name that begins with `x-`, `x_` or \
         `_`, and not {}",
        code(&OTHER_WORDS)
    );
    rows.push(row(&near, "rejected, with the name of the field"));
    let head = [row("written", "read as"), "|---|---|".to_owned()];
    head.into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}

fn row(written: &str, read: &str) -> String {
    format!("| {written} | {read} |")
}
