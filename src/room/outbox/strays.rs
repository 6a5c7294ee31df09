//! Names in or beside the outboxes that the router never takes: the reason, and the command that corrects it.

use crate::base::clock::Stamp;
use crate::base::limits;
use crate::base::text::{shell_path, shell_word};
use crate::disk::{Dir, layout};
use rustix::fs::FileType;
use serde_json::Value;
use std::ffi::OsStr;
use std::time::Duration;

/// A file that is not mail, in a place for mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrayFile {
    /// Its path relative to the room.
    pub place: String,
    /// The time of its last change.
    pub since: Stamp,
    /// Why it is not taken.
    pub reason: &'static str,
    /// The command that corrects it.
    pub fix: String,
}

/// Examines a name in an agent's outbox. `None` if it may become a message, or if it changed a moment ago: it may be a
/// draft.
pub fn stray(room: &Dir, agent: &str, name: &OsStr, age: Duration) -> Option<StrayFile> {
    if layout::is_message_file(name) || name.as_encoded_bytes().starts_with(b".") {
        return None;
    }
    let outbox = layout::outbox(agent);
    let meta = room.sub(&outbox).ok()?.stat(name).ok().flatten()?;
    let since = meta.changed_at();
    if since.is_within(age, Stamp::now()) {
        return None;
    }
    let place = format!("{}/{}", outbox.display(), name.to_string_lossy());
    let file = room.at(&place);
    let (file, outbox) = (file.to_string_lossy(), shell_path(&room.at(&outbox)));
    let (reason, fix) = match meta.kind {
        FileType::Directory => (
            "directories in an outbox are ignored",
            format!("mv -n {}/*.json {outbox}/", shell_word(&file)),
        ),
        FileType::RegularFile => (
            "its name does not end in .json or .ndjson (lower case)",
            match renamed(&file) {
                Some(renamed) => format!("mv -n {} {}", shell_word(&file), shell_word(&renamed)),
                None => format!("ls -la {outbox}"),
            },
        ),
        _ => ("it is not a regular file", format!("ls -la {outbox}")),
    };
    // A name with such characters is left for a person to type.
    let is_lossy = place
        .chars()
        .any(|c| c.is_control() || c == char::REPLACEMENT_CHARACTER);
    Some(StrayFile {
        fix: if is_lossy {
            format!("ls -la {outbox}")
        } else {
            fix
        },
        place,
        since,
        reason,
    })
}

/// The path with an ending that makes the file a message. The whole name is kept, so that two files stay two. `None` for
/// a name that a sender does not give to a message: an editor's backup or lock, an unfinished download, or a document.
fn renamed(path: &str) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let (_, ending) = name.rsplit_once('.')?;
    match &*ending.to_ascii_lowercase() {
        "json" | "txt" => Some(format!("{path}.json")),
        "ndjson" | "jsonl" => Some(format!("{path}.ndjson")),
        _ => None,
    }
}

/// The command for a file beside the outboxes: it moves the file to the outbox of the agent in its `from`, if that
/// agent is registered.
pub fn fix_beside(room: &Dir, place: &str, is_agent: impl Fn(&str) -> bool) -> String {
    match read_sender(room, place).filter(|from| is_agent(from)) {
        Some(from) => format!(
            "mv -n {} {}/",
            shell_path(&room.at(place)),
            shell_path(&room.at(layout::outbox(&from)))
        ),
        None => format!("ls -la {}", shell_path(&room.at(layout::OUTBOXES))),
    }
}

fn read_sender(room: &Dir, place: &str) -> Option<String> {
    let bytes = room.read(place, limits::MESSAGE_BYTES).ok()??;
    let message: Value = serde_json::from_slice(&bytes).ok()?;
    let from = message.get("from")?.as_str()?;
    Some(from.trim_start_matches('@').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corrected_name_is_new_and_has_the_right_ending() {
        let names = ["o/a.txt", "o/b.JSON", "o/c.NDJSON", "o/d.jsonl"];
        assert_eq!(
            names.map(renamed),
            [
                "o/a.txt.json",
                "o/b.JSON.json",
                "o/c.NDJSON.ndjson",
                "o/d.jsonl.ndjson"
            ]
            .map(|name| Some(name.to_owned()))
        );
        for name in [
            "plan.json~",
            "plan.json.bak",
            "a.part",
            "a.json.crdownload",
            "a.filepart",
            "a.lock",
            "a.swx",
            "a.tmp",
            "4913",
            "Thumbs.db",
            "README.md",
            "Makefile",
        ] {
            assert_eq!(renamed(name), None, "{name}");
        }
    }
}
