//! Every path of a room, by function: the only place that joins path segments.
//!
//! Paths are relative to the room, for use with a [`crate::disk::Dir`] of the room; that way no path can lead out of
//! it. File names that carry fields separate them with `~`, which no name and no number contains.

use crate::clock::Stamp;
use crate::limits;
use std::path::{Path, PathBuf};

/// The room's directory where nothing else is said.
pub const ROOM: &str = ".mailbag";
/// Who may send and be written to; people's.
pub const REGISTRY: &str = "registry.json";
/// How this room behaves; people's.
pub const SETTINGS: &str = "settings.toml";
/// The directory of outboxes.
pub const OUTBOXES: &str = "outbox";
/// The directory of inboxes.
pub const INBOXES: &str = "inbox";
/// The directory of routed originals.
pub const SENT: &str = "sent";
/// The directory of refused files.
pub const REJECTED: &str = "rejected";
/// The log's segments.
pub const LOG: &str = "log";
/// The router's own directory.
pub const SPOOL: &str = "spool";
/// Messages taken from outboxes, not yet retired.
pub const CLAIM: &str = "spool/claim";
/// Copies written, not yet delivered.
pub const STAGE: &str = "spool/stage";
/// What recovery could not place and did not dare to remove.
pub const QUARANTINE: &str = "spool/quarantine";
/// Held by the router.
pub const LOCK: &str = "spool/lock";
/// Held by whoever edits the registry.
pub const REGISTRY_LOCK: &str = "spool/registry.lock";
/// The room's id, as in the log.
pub const ROOM_ID: &str = "spool/room";
/// A cache of the fold over the log.
pub const CHECKPOINT: &str = "spool/checkpoint";
/// What waits and why, written by the router for `status`.
pub const WAITING: &str = "spool/waiting.json";
/// Keeps the room out of version control.
pub const GITIGNORE: &str = ".gitignore";
/// The directories that every room has.
pub const DIRECTORIES: [&str; 9] = [OUTBOXES, INBOXES, SENT, REJECTED, LOG, SPOOL, CLAIM, STAGE, "context"];

/// Where an agent drops its messages.
pub fn outbox(agent: &str) -> PathBuf {
    Path::new(OUTBOXES).join(agent)
}

/// Where an agent finds its unread mail.
pub fn inbox(agent: &str) -> PathBuf {
    Path::new(INBOXES).join(agent)
}

/// Where an agent's read mail goes.
pub fn seen(agent: &str) -> PathBuf {
    inbox(agent).join("seen")
}

/// Where the originals of an agent's routed messages go.
pub fn sent(agent: &str) -> PathBuf {
    Path::new(SENT).join(agent)
}

/// Where an agent's refused messages go.
pub fn rejected(agent: &str) -> PathBuf {
    Path::new(REJECTED).join(agent)
}

/// The file name of the log's segment of that number, counted from 1.
pub fn segment(number: u32) -> String {
    format!("{number:08}.ndjson")
}

/// The number in a segment's file name.
pub fn segment_number(name: &str) -> Option<u32> {
    let digits = name.strip_suffix(".ndjson")?;
    (digits.len() == 8 && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().ok())?
}

/// The name of a delivered file: in a listing, the order of acceptance.
pub fn delivered(at: Stamp, from: &str, id: &str) -> String {
    format!("{}-{from}-{id}.json", at.file_name())
}

/// The name of a claim: its number, the outbox it came from, and what is kept of its file name.
pub fn claim(number: u64, agent: &str, original: &std::ffi::OsStr) -> String {
    format!("{number}~{agent}~{}", kept(&original.to_string_lossy()))
}

/// What a claim's name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimName<'a> {
    /// Its number, which only names the file.
    pub number: u64,
    /// The outbox it came from.
    pub agent: &'a str,
    /// What was kept of the sender's file name.
    pub original: &'a str,
}

/// Reads the name of a claim; `None` for a file that is none, such as one behind whose number no other could follow.
pub fn read_claim(name: &str) -> Option<ClaimName<'_>> {
    let mut parts = name.splitn(3, '~');
    let number = parts.next()?.parse().ok().filter(|number| *number <= limits::CLAIM_MOST)?;
    Some(ClaimName { number, agent: parts.next()?, original: parts.next()? })
}

/// The name of a retired message in `sent/` or `rejected/`.
pub fn retired(seq: u64, original: &str) -> String {
    format!("{seq}~{original}")
}

/// The number in a retired message's name.
pub fn read_retired(name: &str) -> Option<u64> {
    name.split_once('~')?.0.parse().ok()
}

/// The name of the explanation beside a refused message.
pub fn explanation(seq: u64, original: &str) -> String {
    format!("{seq}~{}.error.json", original.strip_suffix(".json").unwrap_or(original))
}

/// The name of a staged copy: its record, the claim it was made from (0 for none), and whom it is for.
pub fn staged(seq: u64, claim: u64, agent: &str) -> String {
    format!("{seq}~{claim}~{agent}")
}

/// The name of a staged explanation of a refusal.
pub fn staged_explanation(seq: u64, claim: u64) -> String {
    format!("{seq}~{claim}~!error")
}

/// Reads a staged file's name: record and claim.
pub fn read_staged(name: &str) -> Option<(u64, u64)> {
    let mut parts = name.splitn(3, '~');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Could this file in an outbox be a message? Names that start with a dot or don't end in `.json` are left alone.
pub fn is_message_file(name: &std::ffi::OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    !bytes.starts_with(b".") && bytes.ends_with(b".json")
}

/// What is kept of a sender's file name: no control or direction characters, no separators, cut at a character
/// boundary, with its `.json` at the end.
fn kept(name: &str) -> String {
    let stem = name.strip_suffix(".json").unwrap_or(name);
    let mut kept: String = stem.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let mut cut = kept.len().min(limits::KEPT_NAME - ".json".len());
    while !kept.is_char_boundary(cut) {
        cut -= 1;
    }
    kept.truncate(cut);
    kept + ".json"
}

fn is_plain(c: char) -> bool {
    let invisible =
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    !c.is_control() && c != '/' && c != '\u{fffd}' && !invisible
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_name_gives_back_what_was_put_in() {
        let name = claim(7, "alice", std::ffi::OsStr::new("2026~x.json"));
        assert_eq!(read_claim(&name), Some(ClaimName { number: 7, agent: "alice", original: "2026~x.json" }));
    }

    #[test]
    fn a_name_of_255_bytes_still_fits_with_everything_added() {
        let long = "é".repeat(125) + ".json";
        let name = claim(limits::CLAIM_MOST, &"a".repeat(64), std::ffi::OsStr::new(&long));
        assert!(name.len() <= limits::FILE_NAME, "{}", name.len());
        let original = read_claim(&name).map(|c| c.original.to_owned()).unwrap_or_default();
        assert!(explanation(u64::MAX, &original).len() <= limits::FILE_NAME);
        assert!(original.ends_with("é.json"));
    }

    #[test]
    fn newlines_and_direction_marks_do_not_survive_in_a_name() {
        assert_eq!(kept("a\nb\u{202e}c.json"), "a_b_c.json");
    }
}
