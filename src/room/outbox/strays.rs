//! Names in an outbox, or beside the outboxes, that will never be taken: what they are, and what mends them.

use crate::base::clock::Stamp;
use crate::base::limits;
use crate::disk::{Dir, layout};
use rustix::fs::FileType;
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

/// Something that stands where mail is dropped and is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stray {
    /// Where it stands, relative to the room.
    pub place: String,
    /// Since when it has stood like that.
    pub since: Stamp,
    /// Why it is not taken.
    pub why: &'static str,
    /// The command that mends it, to be given in the room.
    pub cure: String,
}

/// Looks at a name in an agent's outbox. `None` for what may become a message, and for what changed a moment ago: it may
/// be a draft under a name of its own.
pub fn stray(room: &Dir, agent: &str, name: &OsStr, age: Duration) -> Option<Stray> {
    if layout::is_message_file(name) || name.as_encoded_bytes().starts_with(b".") {
        return None;
    }
    let outbox = layout::outbox(agent);
    let meta = room.sub(&outbox).ok()?.stat(name).ok().flatten()?;
    let since = Stamp::from_micros((meta.changed / 1000) as i64);
    if since.after(age) > Stamp::now() {
        return None;
    }
    let (outbox, name) = (outbox.display().to_string(), name.to_string_lossy());
    let place = format!("{outbox}/{name}");
    let (why, cure) = if meta.kind == FileType::Directory {
        ("a directory in an outbox is not looked into", format!("mv {place}/*.json {outbox}/"))
    } else {
        let cure = format!("mv {place} {outbox}/{}", renamed(&name));
        ("its name ends neither in .json nor in .ndjson, in lower case", cure)
    };
    // A name that a shell would take apart is for a person to type.
    let is_plain = place.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+:@%=,".contains(c));
    Some(Stray { cure: if is_plain { cure } else { format!("ls -la {outbox}") }, place, since, why })
}

fn renamed(name: &str) -> String {
    let (stem, end) = name.rsplit_once('.').unwrap_or((name, ""));
    let end = if end.eq_ignore_ascii_case("ndjson") || end.eq_ignore_ascii_case("jsonl") { "ndjson" } else { "json" };
    format!("{stem}.{end}")
}

/// What mends a file that lies beside the outboxes: a move into that of the agent that it names as its sender, if one is
/// registered under that name.
pub fn cure_beside(room: &Dir, place: &str, is_agent: impl Fn(&str) -> bool) -> String {
    let read = || {
        let message: Value = serde_json::from_slice(&room.read(place, limits::MESSAGE_BYTES).ok()??).ok()?;
        let from = message.get("from")?.as_str()?.trim_start_matches('@').to_owned();
        is_agent(&from).then_some(from)
    };
    match read() {
        Some(from) => format!("mv {place} {}/", layout::outbox(&from).display()),
        None => format!("ls -la {}", layout::OUTBOXES),
    }
}

/// The names in this directory that may be strays, a bounded number of them.
pub fn strays_in(room: &Dir, directory: &Path) -> Vec<OsString> {
    let Ok(listing) = room.sub(directory).and_then(|dir| dir.list()) else { return Vec::new() };
    let names = listing.flatten().map(|entry| entry.name);
    names.filter(|name| !layout::is_message_file(name)).take(limits::STRAYS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_mended_by_its_end_alone() {
        let mended = ["a.txt", "b.JSON", "c.NDJSON", "d.jsonl", "e"].map(renamed);
        assert_eq!(mended, ["a.json", "b.json", "c.ndjson", "d.ndjson", "e.json"]);
    }
}
