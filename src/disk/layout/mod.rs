//! Every path of a room, by function: the only place that joins path segments.
//!
//! Paths are relative to the room, for use with a [`crate::disk::Dir`] of the room; that way no path can lead out of
//! it. File names that carry fields separate them with `~`, which no name and no number contains.

mod clients;
mod copies;
mod drops;
mod holds;
mod packs;

pub use clients::*;
pub use copies::*;
pub use drops::*;
pub use holds::*;
pub use packs::*;

use crate::base::clock::Stamp;
use crate::base::{limits, sanitize};
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
/// What the cleanup job packed, in a directory for each month.
pub const ARCHIVE: &str = "archive";
/// The directory of conversations.
pub const CHANNELS: &str = "channels";
/// The file, in a channel's directory, that holds its conversation.
pub const CONVERSATION: &str = "messages.ndjson";
/// Who is there, in the room's directory; a link to it stands beside each conversation.
pub const ROSTER: &str = "roster.json";
/// What the links beside conversations hold.
pub const ROSTER_FROM_CHANNEL: &str = "../../roster.json";
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
/// What stands behind the log's last whole batch, on its way to the quarantine.
pub const QUARANTINE_DRAFT: &str = ".tmp-log";
/// Held by the router.
pub const LOCK: &str = "spool/lock";
/// Held, beside the lock, by a router that goes on: its lock, and no number of a process, says that it routes.
pub const ROUTING: &str = "spool/routing.lock";
/// Held by a router that is to run, so that one which only routes while it waits for something else hands over.
pub const WANTED: &str = "spool/wanted";
/// Held by whoever edits the registry.
pub const REGISTRY_LOCK: &str = "spool/registry.lock";
/// Held by the cleanup job; names the pack whose sources it is removing.
pub const ARCHIVE_LOCK: &str = "spool/archive.lock";
/// The router's note of where the committed log ends.
pub const COMMITTED: &str = "spool/committed";
/// The room's id, as in the log.
pub const ROOM_ID: &str = "spool/room";
/// Stands after a sync failed, until the conversations were looked through for holes.
pub const SUSPECT: &str = "spool/suspect";
/// A cache of the state over the log.
pub const CHECKPOINT: &str = "spool/checkpoint";
/// A checkpoint that the cleanup job is writing.
pub const CHECKPOINT_DRAFT: &str = "spool/.tmp-checkpoint";
/// What waits and why, written by the router for `status`.
pub const WAITING: &str = "spool/waiting.json";
/// Which session of which client speaks for each agent, a file each.
pub const SESSIONS: &str = "sessions";
/// In `sessions/`, how an agent's inbox stood when a hook had nothing to tell.
pub fn looked(agent: &str) -> String {
    format!(".{agent}.looked")
}

/// Held in `sessions/` by whoever changes one of its files.
pub const SESSIONS_LOCK: &str = ".lock";
/// When each client's hooks last ran, a file each.
pub const FIRED: &str = "sessions/fired";
/// Keeps the room out of version control.
pub const GITIGNORE: &str = ".gitignore";
/// The directories that every room has.
pub const DIRECTORIES: [&str; 9] = [OUTBOXES, INBOXES, SENT, REJECTED, LOG, SPOOL, CLAIM, STAGE, "context"];

/// The name of the file that says which session speaks for an agent.
pub fn session(agent: &str) -> String {
    format!("{agent}.json")
}

/// The agent that a session's file is about; `None` for another file.
pub fn read_session(name: &std::ffi::OsStr) -> Option<&str> {
    let agent = name.to_str()?.strip_suffix(".json")?;
    crate::message::id::is_name(agent).then_some(agent)
}

/// Held in `sessions/` by whoever waits behind an agent that has stopped.
pub fn vigil(agent: &str) -> String {
    format!(".{agent}.vigil")
}

/// The name of the file that says when a client's hook last ran.
pub fn fired(client: &str, event: &str) -> String {
    format!("{client}.{event}.json")
}

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

/// The name of the directory, in an inbox, of mail that was handed out to one of several consumers.
pub const TAKEN: &str = "taken";

/// Where mail stands that was handed out to one of several consumers of an inbox, and is not done yet.
pub fn taken(agent: &str) -> PathBuf {
    inbox(agent).join(TAKEN)
}

/// A taken message.
pub fn taken_file(agent: &str, name: &std::ffi::OsStr) -> PathBuf {
    taken(agent).join(name)
}

/// Where an agent's mail goes whose time passed while it was unread, or that was withdrawn.
pub fn expired(agent: &str) -> PathBuf {
    inbox(agent).join("expired")
}

/// Where there is a marker for each message that its reader was told of.
pub fn announced(agent: &str) -> PathBuf {
    inbox(agent).join(".announced")
}

/// Held in `taken/` by whoever changes a lease.
pub const TAKEN_LOCK: &str = ".lock";

/// The name of the file beside a taken message that says whose it is until when; `None` if the message's own name leaves
/// no room for it.
pub fn lease(name: &std::ffi::OsStr) -> Option<std::ffi::OsString> {
    let mut lease = std::ffi::OsString::from(".");
    lease.push(name);
    lease.push(".lease");
    (lease.len() <= limits::FILE_NAME).then_some(lease)
}

/// The message that a lease's file name belongs to; `None` for a file that is no lease.
pub fn leased(name: &std::ffi::OsStr) -> Option<std::ffi::OsString> {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let message = name.as_bytes().strip_prefix(b".")?.strip_suffix(b".lease")?;
    Some(std::ffi::OsString::from_vec(message.to_vec()))
}

/// Where the originals of an agent's routed messages go.
pub fn sent(agent: &str) -> PathBuf {
    Path::new(SENT).join(agent)
}

/// Where an agent's refused messages go.
pub fn rejected(agent: &str) -> PathBuf {
    Path::new(REJECTED).join(agent)
}

/// Where a channel's conversation stands.
pub fn channel(name: &str) -> PathBuf {
    Path::new(CHANNELS).join(name)
}

/// A channel's conversation: one line a message.
pub fn conversation(channel: &str) -> PathBuf {
    self::channel(channel).join(CONVERSATION)
}

/// The name of lines that somebody else wrote into a channel's conversation, where they are kept. It has no number in
/// front, by which a routed file is known.
pub fn cut_out(channel: &str, digest: &str) -> String {
    format!("channel-{channel}-{digest}.ndjson")
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

/// The accept time in a delivered file's name, which no other message has.
pub fn read_delivered(name: &std::ffi::OsStr) -> Option<Stamp> {
    let stamp = name.to_str()?.get(..limits::STAMP + 1)?.strip_suffix('-')?;
    Stamp::read_file_name(stamp)
}

/// Something in a directory of the room.
pub fn below(directory: &Path, name: &std::ffi::OsStr) -> PathBuf {
    directory.join(name)
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

/// How the name of an explanation ends.
pub const EXPLAINED: &str = ".error.json";

/// The name of the explanation beside a refused message.
pub fn explanation(seq: u64, original: &str) -> String {
    format!("{seq}~{}", explaining(original))
}

/// The sender's file name in a retired message's name.
pub fn read_original(name: &str) -> Option<&str> {
    Some(name.split_once('~')?.1)
}

/// The name of the explanation of one line of a file that holds a message a line.
pub fn explanation_of_line(seq: u64, original: &str, line: u32) -> String {
    format!("{seq}~{}.line{line}{EXPLAINED}", split_suffix(original).0)
}

/// Where a refused line is kept, with the reason.
pub fn refused_line(agent: &str, seq: u64, original: &str, line: u32) -> PathBuf {
    rejected(agent).join(explanation_of_line(seq, original, line))
}

/// The name of a file's explanation, which stands beside it.
pub fn explaining(name: &str) -> String {
    format!("{}{EXPLAINED}", split_suffix(name).0)
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

/// The `n`th further name for a file whose name is taken: `x.json`, `x~2.json`, and so on. It is no longer than a name may
/// be.
pub fn further(name: &std::ffi::OsStr, n: u32) -> std::ffi::OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let bytes = name.as_bytes();
    let stem = bytes.strip_suffix(ONE.as_bytes()).unwrap_or(bytes);
    let end = format!("~{n}{}", if stem.len() < bytes.len() { ONE } else { "" });
    let kept = &stem[..stem.len().min(limits::FILE_NAME - end.len())];
    std::ffi::OsString::from_vec([kept, end.as_bytes()].concat())
}

/// Could this file in an outbox be a message, or hold several? Names that start with a dot or end in neither `.json`
/// nor `.ndjson` are left alone.
pub fn is_message_file(name: &std::ffi::OsStr) -> bool {
    is_mail_file(name) || is_lines_file(name)
}

/// Could this file in an inbox be mail?
pub fn is_mail_file(name: &std::ffi::OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    !bytes.starts_with(b".") && bytes.ends_with(ONE.as_bytes())
}

/// Does this file in an outbox hold a message a line?
pub fn is_lines_file(name: &std::ffi::OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    !bytes.starts_with(b".") && bytes.ends_with(LINES.as_bytes())
}

/// The end of the name of a file that is one message.
const ONE: &str = ".json";
/// The end of the name of a file that holds a message a line.
const LINES: &str = ".ndjson";

/// A sender's file name without its end, and that end.
fn split_suffix(name: &str) -> (&str, &'static str) {
    match (name.strip_suffix(LINES), name.strip_suffix(ONE)) {
        (Some(stem), _) => (stem, LINES),
        (None, stem) => (stem.unwrap_or(name), ONE),
    }
}

/// What is kept of a sender's file name: no control or direction characters, no separators, cut at a character
/// boundary, with its `.json` or `.ndjson` at the end.
fn kept(name: &str) -> String {
    let (stem, suffix) = split_suffix(name);
    let mut kept: String = stem.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let mut cut = kept.len().min(limits::KEPT_NAME - suffix.len());
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
        let name = claim(limits::CLAIM_MOST, &"a".repeat(64), std::ffi::OsStr::new(&("é".repeat(124) + ".ndjson")));
        let original = read_claim(&name).map(|c| c.original.to_owned()).unwrap_or_default();
        assert!(original.ends_with("é.ndjson") && name.len() <= limits::FILE_NAME, "{name}");
        assert!(explanation_of_line(u64::MAX, &original, u32::MAX).len() <= limits::FILE_NAME);
    }

    #[test]
    fn newlines_and_direction_marks_do_not_survive_in_a_name() {
        assert_eq!(kept("a\nb\u{202e}c.json"), "a_b_c.json");
    }
}
