//! The spellings of fields and values, from the notes of the schema. `mailbag generate schema dialects` prints them, and
//! the protocol shows them.

use crate::message::FIELDS;
use crate::message::status::CopyStatus;
use crate::message::table::{MESSAGE, NameRejection, OtherNames, OtherWords};
use std::collections::HashMap;
use std::sync::LazyLock;

/// The entry of `metadata` with the name that the body had in `payload`, if it is another name.
pub const PAYLOAD_FIELD: &str = "payload_field";

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

/// The meaning of a name that is not written as the canonical field.
#[derive(Clone, Copy)]
pub(super) struct NameMeaning {
    /// The canonical field. For a name that means several fields or none: the name.
    pub(super) field: &'static str,
    pub(super) spelling: &'static OtherNames,
}

/// The meanings of all names, by the folded name.
static MEANINGS: LazyLock<HashMap<String, NameMeaning>> = LazyLock::new(|| {
    static FIELD: LazyLock<OtherNames> = LazyLock::new(OtherNames::default);
    let mut meanings = HashMap::new();
    for (field, spelling) in spellings() {
        let names = spelling.names.iter();
        meanings.extend(names.map(|name| (fold(name), NameMeaning { field, spelling })));
    }
    let spelling = &*FIELD;
    let fields = FIELDS.iter();
    meanings.extend(fields.map(|field| (fold(field), NameMeaning { field, spelling })));
    meanings
});

/// The other names of each field, and the names that stand for several fields or none.
fn spellings() -> impl Iterator<Item = (&'static str, &'static OtherNames)> {
    let of_fields = MESSAGE.properties.iter().flat_map(|(field, schema)| {
        let names = schema.note.names.iter();
        names.map(|names| (field.as_str(), names))
    });
    let others = MESSAGE.note.names.iter();
    of_fields.chain(others.map(|names| (names.names[0].as_str(), names)))
}

/// The meaning of a name in a message of this type. `None` for a name of the sender's own.
pub(super) fn meaning(name: &str, kind: &str) -> Option<NameMeaning> {
    find_meaning(name).filter(|meaning| has_meaning(meaning.field, kind))
}

/// Returns true if a name has a meaning in messages of any type.
pub(super) fn has_any_meaning(name: &str) -> bool {
    find_meaning(name).is_some()
}

/// The field that a name means in messages of every type. `None` for a rejected name.
pub(super) fn field(name: &str) -> Option<&'static str> {
    let meaning = meaning(name, "").filter(|meaning| meaning.spelling.rejected.is_none());
    meaning.map(|meaning| meaning.field)
}

/// The field to write in place of a rejected name.
pub fn meant_field(name: &str) -> Option<&'static str> {
    let NameMeaning { field, spelling } = find_meaning(name)?;
    let other = spelling.rejected.as_ref()?.field.as_deref();
    Some(other.unwrap_or(field))
}

/// The field of an attachment that another name means.
pub(super) fn attachment_field(name: &str) -> Option<&'static str> {
    let attachment = MESSAGE.property("attachments")?.items.as_ref()?;
    let mut fields = attachment.properties.iter();
    let field = fields.find(|(_, field)| {
        let mut names = field.note.names.iter().flat_map(|one| &one.names);
        names.any(|known| known == name)
    });
    field.map(|(field, _)| field.as_str())
}

fn find_meaning(name: &str) -> Option<NameMeaning> {
    const LONGEST: usize = 40;
    let mut own = ["x-", "x_", "_"].iter();
    if name.len() > LONGEST || own.any(|start| name.starts_with(start)) {
        return None;
    }
    MEANINGS.get(&fold(name)).copied()
}

fn has_meaning(field: &str, kind: &str) -> bool {
    MESSAGE.property(field).is_none_or(|schema| {
        let types = &schema.note.types;
        types.is_empty() || types.iter().any(|known| known == kind)
    })
}

/// A name without letter case, `-` and `_`.
fn fold(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '-' | '_' | ' '))
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

/// A canonical value.
pub(super) struct CanonicalValue {
    pub(super) value: &'static str,
    /// True if the word that was sent says more.
    pub(super) kept: bool,
}

/// The canonical value, if a field's value is a word in another spelling.
pub(super) fn value(field: &str, word: &str) -> Option<CanonicalValue> {
    const LONGEST: usize = 40;
    let schema = MESSAGE.property(field)?;
    let canonical = schema.words();
    if canonical.contains(&word) || word.len() > LONGEST {
        return None;
    }
    let folded = fold(word);
    let mut others = schema.note.values.iter();
    let other = others.find(|other| other.words.iter().any(|word| fold(word) == folded));
    if let Some(OtherWords { value, kept, .. }) = other {
        return Some(CanonicalValue { value, kept: *kept });
    }
    let value = canonical.into_iter().find(|value| fold(value) == folded)?;
    Some(CanonicalValue { value, kept: false })
}

/// The table as Markdown.
pub fn published() -> String {
    let mut rows = vec![row(
        "a field or a name of this table in another letter case, with `-`, or without `_`: `threadId`",
        "the field",
    )];
    for (
        field,
        OtherNames {
            names,
            note,
            rejected,
            ..
        },
    ) in spellings()
    {
        let read = match rejected {
            Some(NameRejection { fix, .. }) => format!("rejected: {fix}"),
            None if names[0] == field => note.clone(),
            None if note.is_empty() => code([field]),
            None => format!("{}; {note}", code([field])),
        };
        rows.push(row(&code(names), &read));
    }
    rows.push(row(
        "an object in place of a recipient: `{\"id\": \"bob\", …}`",
        "its `id`, else its `name`, else `all_` and its `role`",
    ));
    for (field, schema) in &MESSAGE.properties {
        for OtherWords { words, value, kept } in &schema.note.values {
            let kept = if *kept {
                format!("; the word is kept in `metadata.{field}`")
            } else {
                String::new()
            };
            let read = format!("{}{kept}", code([value]));
            rows.push(row(&format!("{field} {}", code(words)), &read));
        }
    }
    for (word, status) in CopyStatus::OTHER_WORDS {
        let written = format!("status in an `ack` {}", code([word]));
        rows.push(row(&written, &code([status.as_str()])));
    }
    let head = [row("written", "read as"), "|---|---|".to_owned()];
    head.into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}

fn code(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let names = names.into_iter().map(|name| format!("`{}`", name.as_ref()));
    names.collect::<Vec<_>>().join(" ")
}

fn row(written: &str, read: &str) -> String {
    format!("| {written} | {read} |")
}
