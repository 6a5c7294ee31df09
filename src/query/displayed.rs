//! An open approval as a person reads it before deciding: the number, the digest, and the complete text.

use crate::base::error::{Error, Result};
use crate::base::hash::hex;
use crate::base::sanitize;
use crate::base::text::quoted;
use crate::disk::layout;
use crate::features::approvals::{self, NamedApproval, OpenApproval, decision};
use crate::log::{find, state};
use crate::message::id;
use crate::message::reference::ReferenceResolution;
use crate::message::{FIELDS, Message, unknown};
use crate::room::Room;
use serde_json::{Map, Value, json};

/// Fields that the first lines of the text contain.
const NAMED: [&str; 5] = ["id", "from", "type", "options", "body"];

/// An open approval with its text. A decision is bound to the digest, so every face that lets a person decide shows
/// [`DisplayedApproval::text`] in full and sends the digest.
#[derive(Debug, Clone)]
pub struct DisplayedApproval {
    /// The number of the approval.
    pub seq: u64,
    /// The message of the approval, as `<sender>/<id>`.
    pub approval: String,
    /// The options.
    pub options: Vec<String>,
    /// The digest of the message, in hexadecimal: SHA-256 of all its fields.
    pub digest: String,
    /// All fields of the message as source text: one line for each short field, and long texts with `| ` before each line.
    /// Safe to show; never shortened.
    pub text: String,
}

impl DisplayedApproval {
    /// Reads the open approval that a reference names: `12`, `#12`, an id, or `<sender>/<id>`.
    pub fn read(room: &Room, reference: &str) -> Result<DisplayedApproval> {
        let open = open(room, reference)?;
        DisplayedApproval::of_record(room, open.seq, &open.digest)
    }

    /// Reads the approval with this number and digest from the log, as an item of `pending` names it. Reads no state.
    pub fn of_record(room: &Room, seq: u64, digest: &str) -> Result<DisplayedApproval> {
        let record = find::record_by_seq(&room.dir, seq)?;
        let fields = record.and_then(|record| record.message_fields());
        let message = fields
            .and_then(Message::from_fields)
            .filter(|message| hex(&message.digest()) == digest);
        let message = message.ok_or_else(|| {
            Error::state(
                room.dir.at(layout::LOG),
                format!("has no approval #{seq} with the digest {digest}"),
                "run `mailbag log verify`",
            )
        })?;
        let (approval, options) = (
            id::full_name(message.from(), message.id()),
            decision::options(message.fields()),
        );
        let text = text(&approval, seq, &options, message.fields());
        Ok(DisplayedApproval {
            seq,
            approval,
            options,
            digest: digest.to_owned(),
            text,
        })
    }
}

/// The open approval that a reference names. If it is closed, the error names the outcome.
pub fn open(room: &Room, reference: &str) -> Result<OpenApproval> {
    let state = state::committed(&room.dir)?;
    match approvals::of(&state).find(reference) {
        ReferenceResolution::One(NamedApproval::Open(open)) => Ok(open.clone()),
        ReferenceResolution::One(NamedApproval::Closed(decided)) => {
            Err(Error::NotGranted(vec![decided.decided_already("")]))
        }
        ReferenceResolution::Several(several) => Err(Error::usage(
            format!("{} names {} approvals", quoted(reference), several.len()),
            "write SENDER/ID, or the number as #12",
        )),
        ReferenceResolution::None => Err(Error::not_found(
            format!("there is no open approval {}", quoted(reference)),
            "`mailbag pending` lists open approvals",
        )),
    }
}

fn text(approval: &str, seq: u64, options: &[String], fields: &Map<String, Value>) -> String {
    let mut text = format!("approval #{seq} {}\n", sanitize::line(approval));
    add(&mut text, "options", &json!(options));
    let known = FIELDS.iter().filter(|name| !NAMED.contains(name));
    for (name, value) in known.filter_map(|name| Some((name, fields.get(*name)?))) {
        add(&mut text, name, value);
    }
    if let Some(own) = unknown(fields) {
        add(&mut text, "fields", &own);
    }
    if let Some(body) = fields.get("body") {
        add(&mut text, "body", body);
    }
    text
}

/// Adds a field. Each line of a long value has a mark, so that no line of a sender looks like a field.
fn add(text: &mut String, name: &str, value: &Value) {
    let source = match value {
        Value::String(source) => source.clone(),
        Value::Array(items) if items.iter().all(|item| !item.is_object()) => value.to_string(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    if name != "body" && !source.contains('\n') {
        text.push_str(&format!("{name}: {}\n", sanitize::line(&source)));
        return;
    }
    text.push_str(&format!("{name}:\n"));
    for line in source.split('\n') {
        text.push_str(&format!(
            "| {}\n",
            sanitize::line(line.trim_end_matches('\r'))
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_has_every_field_in_full_and_no_line_of_a_sender_looks_like_a_field() {
        let long = "x".repeat(100_000);
        let message = json!({
            "id": "d", "from": "alice", "to": "human", "type": "approval", "subject": "Bash: ls",
            "body": format!("ls\noptions: [\"no\"]\n{long}; curl | sh\u{202e}"), "Options": ["x"],
            "metadata": {"a": "b\nbody:"}, "attachments": [{"name": "n", "content": "c"}]
        });
        let text = text(
            "alice/d",
            7,
            &["yes".into(), "no".into()],
            message.as_object().expect("an object"),
        );
        let own: Vec<&str> = text
            .lines()
            .filter(|line| !line.starts_with("| "))
            .collect();
        let lines = [
            "approval #7 alice/d",
            "options: [\"yes\",\"no\"]",
            "to: human",
            "subject: Bash: ls",
        ];
        assert_eq!(
            own,
            [
                &lines[..],
                &["attachments:", "metadata:", "fields:", "body:"]
            ]
            .concat()
        );
        assert!(
            text.contains("| options: [\"no\"]\n")
                && text.contains(&format!("| {long}; curl | sh\\u{{202e}}\n"))
        );
        assert!(
            text.contains("|   \"a\": \"b\\nbody:\"\n") && text.contains("|   \"Options\": [\n"),
            "{text}"
        );
    }
}
