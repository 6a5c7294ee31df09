//! Every path of a room. No other module joins path segments.
//!
//! Paths are relative to the room, for use with a [`crate::disk::Dir`] of the room, so no path can lead out of it. File
//! names with several fields separate them with `~`, which occurs in no name and no number.

mod clients;
mod copies;
mod drops;
mod links;
mod packs;
mod rejections;
mod sessions;

pub use clients::*;
pub use copies::*;
pub use drops::*;
pub use links::*;
pub use packs::*;
pub use rejections::*;
pub use sessions::*;

use crate::base::clock::Stamp;
use crate::base::process;
use crate::base::{limits, sanitize};
use std::path::{Path, PathBuf};

/// The largest pickup number. The router never reaches it; a larger number in a file name was written by hand, and
/// would make the counter overflow.
const CLAIM_MOST: u64 = u64::MAX / 2;
const _: () = assert!(CLAIM_MOST < u64::MAX - limits::BATCH_MESSAGES as u64);
/// The length of a sender's file name that is kept after `<seq>~<agent>~`. It leaves space for `.error.json`.
const KEPT_NAME: usize =
    limits::FILE_NAME - limits::SEQ_DIGITS - 1 - limits::NAME - 1 - ".error.json".len();
const _: () = assert!(KEPT_NAME >= 128);

/// The default name of the room's directory.
pub const ROOM: &str = ".mailbag";
/// The registry of agents. People edit it.
pub const REGISTRY: &str = "registry.json";
/// The settings of the room. People edit it.
pub const SETTINGS: &str = "settings.toml";
/// The directory of outboxes.
pub const OUTBOXES: &str = "outbox";
/// The directory of inboxes.
pub const INBOXES: &str = "inbox";
/// The directory of routed originals.
pub const SENT: &str = "sent";
/// The directory of rejected files.
pub const REJECTED: &str = "rejected";
/// The directory of archived files, with a directory for each month.
pub const ARCHIVE: &str = "archive";
/// The roster in the room's directory. Each conversation has a link to it.
pub const ROSTER: &str = "roster.json";
/// The claims and their owners.
pub const CLAIMS: &str = "claims.json";
/// Items that need an agent or the person.
pub const PENDING: &str = "pending.json";
/// The directory of the log's segments.
pub const LOG: &str = "log";
/// The router's own directory.
pub const SPOOL: &str = "spool";
/// Messages that were picked up and not yet retired.
pub const CLAIM: &str = "spool/claim";
/// Files that another program put into [`CLAIM`] after their messages were recorded.
pub const ASIDE: &str = "spool/aside";
/// Copies that were staged and not yet delivered.
pub const STAGE: &str = "spool/stage";
/// The router's lock.
pub const LOCK: &str = "spool/lock";
/// The lock of a starting router. A command that routes while it waits then hands over.
pub const WANTED: &str = "spool/wanted";
/// The lock for changes of the registry.
pub const REGISTRY_LOCK: &str = "spool/registry.lock";
/// The archiver's lock. It names a pack while its sources are removed.
pub const ARCHIVE_LOCK: &str = "spool/archive.lock";
/// The last synced record of the log, written by the router.
pub const TIP: &str = "spool/tip";
/// The id of the room, as in the log.
pub const ROOM_ID: &str = "spool/room";
/// The id of the boot if the last router ended cleanly since then. Another content while a router runs.
pub const BOOT: &str = "spool/boot";
/// A new file for the newest segment. In [`LOG`].
pub const SEGMENT_DRAFT: &str = ".tmp-segment";
/// The beginning of the path of a file beside the room.
pub const OUTSIDE: &str = "../";
/// A cached state of the log.
pub const SNAPSHOT: &str = "spool/snapshot";
/// A snapshot that the archiver is writing.
pub const ARCHIVED_SNAPSHOT_DRAFT: &str = "spool/.tmp-snapshot";
/// The index of the log: the numbers of the records that name a message or a thread.
pub const INDEX: &str = "log/index";
/// An index that the router is writing.
pub const INDEX_DRAFT: &str = "log/.tmp-index";
/// An index that the archiver is writing.
pub const ARCHIVED_INDEX_DRAFT: &str = "log/.tmp-archived-index";
/// Pending messages with the reasons, written by the router for `status`.
pub const WAITING: &str = "spool/waiting.json";
/// The name of the same file in the spool.
pub const WAITING_NAME: &str = "waiting.json";
/// The session files: one file per agent, which names the session that speaks for the agent.
pub const SESSIONS: &str = "sessions";
/// The lock in `sessions/` for changes of its files.
pub const SESSIONS_LOCK: &str = ".lock";
/// The last run times of each client's hooks, in one file per hook.
pub const FIRED: &str = "sessions/fired";
/// Excludes the room from version control.
pub const GITIGNORE: &str = ".gitignore";
/// The prefix of the name of [`clock_file`].
const CLOCK: &str = ".clock.";
/// The directories of every room.
pub const DIRECTORIES: [&str; 9] = [
    OUTBOXES, INBOXES, SENT, REJECTED, LOG, SPOOL, CLAIM, STAGE, "context",
];

/// The temporary file of the router for the time of the file system. In [`SPOOL`].
pub fn clock_file() -> String {
    format!("{CLOCK}{}", process::id())
}

/// Returns true if this is a temporary file that only the holder of the router's lock writes in [`SPOOL`].
pub fn is_spool_draft(name: &str) -> bool {
    name.starts_with(CLOCK) || name.starts_with('.') && name.ends_with(".tmp")
}

/// Returns true if this is a temporary file for the registry, which is written with [`REGISTRY_LOCK`].
pub fn is_registry_draft(name: &str) -> bool {
    name.starts_with(".registry.json.") && name.ends_with(".tmp")
}

/// Returns true if this is a temporary file for a file that a command makes once.
pub fn is_command_draft(name: &str) -> bool {
    let Some(file) = name.strip_prefix('.').filter(|name| name.ends_with(".tmp")) else {
        return false;
    };
    file.starts_with(GITIGNORE)
}

/// The name of the file with the last run time of a client's hook.
pub fn fired(client: &str, event: &str) -> String {
    format!("{client}.{event}.json")
}

/// An agent's outbox, or the incoming items of a link.
pub fn outbox(agent: &str) -> PathBuf {
    link_of(agent).map_or_else(|| Path::new(OUTBOXES).join(agent), link_in)
}

/// An agent's inbox, with its unread mail.
pub fn inbox(agent: &str) -> PathBuf {
    Path::new(INBOXES).join(agent)
}

/// An agent's read mail.
pub fn seen(agent: &str) -> PathBuf {
    inbox(agent).join("seen")
}

/// The directory in an inbox for taken mail, if several programs share the inbox.
pub const TAKEN: &str = "taken";

/// Mail of a shared inbox that a program has taken and not completed.
pub fn taken(agent: &str) -> PathBuf {
    inbox(agent).join(TAKEN)
}

/// Mail that expired unread or was withdrawn.
pub fn expired(agent: &str) -> PathBuf {
    inbox(agent).join("expired")
}

/// The markers of announced messages.
pub fn announced(agent: &str) -> PathBuf {
    inbox(agent).join(".announced")
}

/// The originals of an agent's routed messages.
pub fn sent(agent: &str) -> PathBuf {
    Path::new(SENT).join(agent)
}

/// An agent's rejected messages.
pub fn rejected(agent: &str) -> PathBuf {
    Path::new(REJECTED).join(agent)
}

/// The file name of a log segment, counted from 1.
pub fn segment(number: u32) -> String {
    format!("{number:08}.ndjson")
}

/// The number in a segment's file name.
pub fn segment_number(name: &str) -> Option<u32> {
    let digits = name.strip_suffix(".ndjson")?;
    (digits.len() == 8 && digits.bytes().all(|b| b.is_ascii_digit()))
        .then(|| digits.parse().ok())?
}

/// The bytes that the log had from a byte of a segment on when a person gave its end up. In [`LOG`].
pub fn given_up(segment: u32, offset: u64) -> String {
    format!("given-up-{segment:08}-{offset}")
}

/// The name of a delivered file. Sorted by name, delivered files are in the order of acceptance.
pub fn delivered(at: Stamp, from: &str, id: &str) -> String {
    // A colon is not allowed in the names of some file systems.
    format!("{}-{}-{id}.json", at.file_name(), from.replace(':', "."))
}

/// The agent with the inbox of this file.
pub fn inbox_owner(file: &Path) -> Option<&str> {
    file.strip_prefix(INBOXES)
        .ok()?
        .components()
        .next()?
        .as_os_str()
        .to_str()
}

/// Returns true for the directory with an agent's unread mail.
pub fn is_inbox(directory: &Path) -> bool {
    directory.parent() == Some(Path::new(INBOXES))
}

/// The accept time in the name of a delivered file. It is unique.
pub fn read_delivered(name: &std::ffi::OsStr) -> Option<Stamp> {
    let stamp = name.to_str()?.get(..limits::STAMP + 1)?.strip_suffix('-')?;
    Stamp::read_file_name(stamp)
}

/// A path in a directory of the room.
pub fn below(directory: &Path, name: &std::ffi::OsStr) -> PathBuf {
    directory.join(name)
}

/// The name of a picked-up file: its number, its outbox, and the kept part of its original name.
pub fn claim(number: u64, agent: &str, original: &std::ffi::OsStr) -> String {
    format!("{number}~{agent}~{}", kept(&original.to_string_lossy()))
}

/// The fields in the name of a picked-up file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpoolFileName<'a> {
    /// Its number, which is only part of the name.
    pub number: u64,
    /// The outbox that it was picked up from.
    pub agent: &'a str,
    /// The kept part of the sender's file name.
    pub original: &'a str,
}

/// Reads the name of a picked-up file. `None` for another file, and for a number that is too large.
pub fn read_claim(name: &str) -> Option<SpoolFileName<'_>> {
    let mut parts = name.splitn(3, '~');
    let number = parts
        .next()?
        .parse()
        .ok()
        .filter(|number| *number <= CLAIM_MOST)?;
    Some(SpoolFileName {
        number,
        agent: parts.next()?,
        original: parts.next()?,
    })
}

/// The name of a retired message in `sent/` or `rejected/`.
pub fn retired(seq: u64, original: &str) -> String {
    format!("{seq}~{original}")
}

/// The number in the name of a retired message.
pub fn read_retired(name: &str) -> Option<u64> {
    name.split_once('~')?.0.parse().ok()
}

/// The sender's file name in the name of a retired message.
pub fn read_original(name: &str) -> Option<&str> {
    Some(name.split_once('~')?.1)
}

/// The name of a staged copy: its record, its pickup number (0 for none), and its recipient.
pub fn staged(seq: u64, claim: u64, agent: &str) -> String {
    format!("{seq}~{claim}~{agent}")
}

/// The name of a staged explanation of a rejection.
pub fn staged_explanation(seq: u64, claim: u64) -> String {
    format!("{seq}~{claim}~!error")
}

/// The record and the pickup number in the name of a staged file.
pub fn read_staged(name: &str) -> Option<(u64, u64)> {
    let mut parts = name.splitn(3, '~');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// The `n`th alternative for a file name that is already used: `x.json`, `x~2.json`, and so on. It is never too long
/// for a file name.
pub fn further(name: &std::ffi::OsStr, n: u32) -> std::ffi::OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let bytes = name.as_bytes();
    let stem = bytes.strip_suffix(ONE.as_bytes()).unwrap_or(bytes);
    let end = format!("~{n}{}", if stem.len() < bytes.len() { ONE } else { "" });
    let kept = &stem[..stem.len().min(limits::FILE_NAME - end.len())];
    std::ffi::OsString::from_vec([kept, end.as_bytes()].concat())
}

/// Returns true for the files of a room that people edit.
pub fn is_edited(path: &Path) -> bool {
    path.ends_with(SETTINGS) || path.ends_with(REGISTRY)
}

/// Returns true if a file in an outbox with this name can contain messages. It does not start with a dot, and it ends in
/// `.json` or `.ndjson`.
pub fn is_message_file(name: &std::ffi::OsStr) -> bool {
    is_mail_file(name) || is_lines_file(name)
}

/// Returns true if a file in an inbox with this name can be mail.
pub fn is_mail_file(name: &std::ffi::OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    !bytes.starts_with(b".") && bytes.ends_with(ONE.as_bytes())
}

/// Returns true if a file in an inbox can have an ending that its reader gave it: `x.done.json`, `x~2.json`.
pub fn can_be_renamed(name: &std::ffi::OsStr) -> bool {
    let name = name.to_string_lossy();
    let stem = name.strip_suffix(ONE).unwrap_or(&name);
    let end = stem.rsplit_once('.').map_or("", |(_, end)| end);
    stem.contains('~') || !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Returns true if a file in an outbox with this name has one message per line.
pub fn is_lines_file(name: &std::ffi::OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    !bytes.starts_with(b".") && bytes.ends_with(LINES.as_bytes())
}

/// The suffix of a file with one message.
const ONE: &str = ".json";
/// The suffix of a file with one message per line.
const LINES: &str = ".ndjson";

/// A sender's file name, split into stem and suffix.
fn split_suffix(name: &str) -> (&str, &'static str) {
    match (name.strip_suffix(LINES), name.strip_suffix(ONE)) {
        (Some(stem), _) => (stem, LINES),
        (None, stem) => (stem.unwrap_or(name), ONE),
    }
}

/// The kept part of a sender's file name: without control characters, direction marks and separators, cut at a
/// character boundary, with its suffix `.json` or `.ndjson`.
fn kept(name: &str) -> String {
    let (stem, suffix) = split_suffix(name);
    let mut kept: String = stem
        .chars()
        .map(|c| if is_plain(c) { c } else { '_' })
        .collect();
    let mut cut = kept.len().min(KEPT_NAME - suffix.len());
    while !kept.is_char_boundary(cut) {
        cut -= 1;
    }
    kept.truncate(cut);
    kept + suffix
}

fn is_plain(c: char) -> bool {
    !c.is_control() && c != '/' && c != '\u{fffd}' && !sanitize::is_never_seen(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_name_gives_back_what_was_put_in() {
        let name = claim(7, "alice", std::ffi::OsStr::new("2026~x.json"));
        assert_eq!(
            read_claim(&name),
            Some(SpoolFileName {
                number: 7,
                agent: "alice",
                original: "2026~x.json"
            })
        );
    }

    #[test]
    fn a_name_of_255_bytes_still_fits_with_everything_added() {
        let long = "é".repeat(125) + ".json";
        let name = claim(CLAIM_MOST, &"a".repeat(64), std::ffi::OsStr::new(&long));
        assert!(name.len() <= limits::FILE_NAME, "{}", name.len());
        let original = read_claim(&name)
            .map(|c| c.original.to_owned())
            .unwrap_or_default();
        assert!(explanation(u64::MAX, &original).len() <= limits::FILE_NAME);
        assert!(original.ends_with("é.json"));
        let name = claim(
            CLAIM_MOST,
            &"a".repeat(64),
            std::ffi::OsStr::new(&("é".repeat(124) + ".ndjson")),
        );
        let original = read_claim(&name)
            .map(|c| c.original.to_owned())
            .unwrap_or_default();
        assert!(
            original.ends_with("é.ndjson") && name.len() <= limits::FILE_NAME,
            "{name}"
        );
        assert!(explanation_of_line(u64::MAX, &original, u32::MAX).len() <= limits::FILE_NAME);
    }

    #[test]
    fn newlines_and_direction_marks_do_not_survive_in_a_name() {
        assert_eq!(kept("a\nb\u{202e}c.json"), "a_b_c.json");
    }
}
