//! The limits that several files share. A limit with one user is in the file of its user.
//!
//! Sizes are in bytes and times are [`Duration`]s unless a name says otherwise. If one limit depends on another, a
//! `const` assertion checks the pair at compile time.

mod carriers;
mod claims;
mod context;
mod decisions;
mod intake;
mod links;
mod names;
mod waits;
mod waking;
mod web;
mod worklog;

pub use carriers::*;
pub use claims::*;
pub use context::*;
pub use decisions::*;
pub use intake::*;
pub use links::*;
pub use names::*;
pub use waits::*;
pub use waking::*;
pub use web::*;
pub use worklog::*;

use std::time::Duration;

/// The longest file name on common file systems.
pub const FILE_NAME: usize = 255;
/// The longest name of an agent, role, topic, channel, capability, alias or tag.
pub const NAME: usize = 64;
/// The longest message id.
pub const MESSAGE_ID: usize = 128;
/// The longest display name of an agent (ASCII letters).
pub const DISPLAY_NAME: usize = 12;
/// The length of the accept time in a file name: `20261121T103000.123456Z`.
pub const STAMP: usize = 23;

/// The length of a delivered file's name: `<accepted-at>-<from>-<id>.json`.
const DELIVERED_NAME: usize = STAMP + 1 + NAME + 1 + MESSAGE_ID + ".json".len();
const _: () = assert!(DELIVERED_NAME <= FILE_NAME);

/// The digits of the largest sequence number or pickup number.
pub const SEQ_DIGITS: usize = 20;
/// The largest sequence number that a file name or a copy can show. Every JSON reader keeps it exactly; a larger one was
/// written by hand.
pub const SEQ_MOST: u64 = (1 << 53) - 1;

/// The default size limit of a message file.
pub const MESSAGE_BYTES: u64 = 1 << 20;
/// The highest size limit of a message file that the settings may set.
pub const MESSAGE_BYTES_MOST: u64 = 64 << 20;
/// The largest file that `send --attach` embeds in a message. A larger file is only referenced.
pub const ATTACH_BYTES: u64 = 256 << 10;
const _: () = assert!(ATTACH_BYTES < MESSAGE_BYTES);
/// The largest `registry.json` or `settings.toml`.
pub const REGISTRY_BYTES: u64 = 64 << 20;
/// The largest configuration file of an agent client that mailbag edits. Some clients keep their history in the same
/// file.
pub const CLIENT_FILE_BYTES: u64 = 64 << 20;
/// The size of the hook's output that installation reads in its test. Claude Code accepts no more.
pub const HOOK_SAYS: u64 = 10_000;
/// The deepest nesting of JSON. It is serde_json's limit, repeated here for the error message.
pub const JSON_DEPTH: usize = 128;

/// The most lines of a file with one message per line.
pub const LINES: usize = 1000;
/// The most copies of the messages of such a file together.
pub const FILE_COPIES: usize = 10_000;

/// The most messages in one batch.
pub const BATCH_MESSAGES: usize = 1024;
/// A batch takes no further message once its messages have this many bytes.
pub const BATCH_BYTES: u64 = 8 << 20;
/// A batch takes further files while they have at most this many copies together. A file with more is a batch of its own.
pub const BATCH_COPIES: usize = 1024;
/// The number of files that the router takes from one outbox before it continues with the next outbox.
pub const TURN: usize = 64;
const _: () = assert!(TURN * 16 <= BATCH_MESSAGES);

/// After a log segment exceeds this size, the next batch starts a new segment.
pub const SEGMENT_BYTES: u64 = 8 << 20;
/// A new snapshot is written when the log has grown by this many bytes.
pub const SNAPSHOT_BYTES: u64 = 1 << 20;
const _: () = assert!(SNAPSHOT_BYTES <= SEGMENT_BYTES);
/// The entries of the index that are kept in the state. Each command that needs the state reads them.
pub const RECENT_ENTRIES: usize = 32_768;

/// The most files in one pack of the archive.
pub const PACK_FILES: usize = 16_384;
/// The compression level of the archive, on zstd's scale.
pub const PACK_LEVEL: i32 = 9;
/// The largest file that the archive accepts: a delivered copy of the largest message.
pub const PACK_FILE_BYTES: u64 = MESSAGE_BYTES_MOST * 2;

/// The largest number of files and directories that are synced one by one, as for a lone message to one recipient. For
/// more, the whole file system is synced. That was faster on ext4 and on btrfs.
pub const SYNC_ONE_BY_ONE: usize = 6;

/// The largest size of a file with one line of the router: `spool/tip`, `spool/boot`.
pub const NOTE_BYTES: u64 = 4 << 10;
/// The number of bytes that a reader of the log's end reads first.
pub const TAIL_LOOK: u64 = 64 << 10;

/// The registry or the settings may be invalid for this time while a program saves the file.
pub const BEING_SAVED: Duration = Duration::from_millis(500);
/// How often a file that is being saved is read again.
pub const READS_OF_SAVED: u32 = 10;
/// The router records settled messages when it is idle for this time.
pub const IDLE: Duration = Duration::from_secs(1);
/// The router collects observed receipts for this time before it records them together.
pub const RECEIPTS: Duration = Duration::from_millis(40);
/// The most receipts of a record. Each command that needs the state reads the record that the snapshot ends with.
pub const RECEIPTS_OF_RECORD: usize = 10_000;
/// The largest accepted difference between the file system's clock and the machine's clock.
pub const CLOCKS_APART: Duration = Duration::from_secs(10);

/// The longest budget window that the settings may set.
pub const BUDGET_WINDOW_MOST: Duration = Duration::from_secs(24 * 3600);
/// The largest budget that the settings may set.
pub const BUDGET_MOST: u32 = 1_000_000;

/// An agent that was active within this time is online.
pub const ONLINE: Duration = Duration::from_secs(5 * 60);
/// The shortest interval between two writes of `claims.json`.
pub const CLAIMS: Duration = Duration::from_millis(200);
/// The largest `claims.json`.
pub const CLAIMS_BYTES: u64 = 64 << 20;
/// The number of characters that are kept of an agent's current activity.
pub const REPORT_TEXT: usize = 200;
/// The largest number of agents in `metadata.waiting_for`.
pub const WAITING_FOR: usize = 64;

/// The time that a starting router, or a requested pass, waits for passes of other programs.
pub const LOCK_WAIT: Duration = Duration::from_secs(30);
/// The time that a command waits for another program's pass. It is short because the command has other work to do.
pub const PASS_WAIT: Duration = Duration::from_secs(1);
const _: () = assert!(PASS_WAIT.as_secs() < LOCK_WAIT.as_secs());
/// The time that a process waits for the lock on the session files. A hook has five seconds in all.
pub const SESSIONS_WAIT: Duration = Duration::from_secs(2);
/// The time that a process waits for the lock on the registry or on a shared inbox.
pub const EDIT_WAIT: Duration = Duration::from_secs(10);
/// The longest time that a backup may pause the router.
pub const PAUSE: Duration = Duration::from_secs(60 * 60);
/// The time that a router waits for a backup. It is longer than the time limit of a backup.
pub const PAUSE_WAIT: Duration = Duration::from_secs(PAUSE.as_secs() + 10 * 60);
/// The longest interval between two attempts to take a lock.
pub const LOCK_LOOK: Duration = Duration::from_millis(16);
/// The default time without calls until a session loses its agent.
pub const SESSION_LEASE: Duration = Duration::from_secs(30 * 60);
/// The longest id of a client's session.
pub const SESSION_ID: usize = 128;
/// The largest session file.
pub const SESSION_BYTES: u64 = 64 << 10;
/// The number of parent processes that are searched for a client.
pub const ANCESTORS: usize = 16;
/// The longest text about mail that a hook gives a client, in characters. The lowest limit of a client is 10,000.
pub const BRIEFING: usize = 1500;
/// The longest hint how to read the announced mail.
pub const BRIEFING_HINT: usize = 200;
const _: () = assert!(BRIEFING_HINT * 4 < BRIEFING);
/// The number of characters of a subject in the text about mail that a hook gives a client.
pub const BRIEFING_SUBJECT: usize = 80;
/// The largest small file of a session or a user, such as its edits or the decision key.
pub const LEASE_BYTES: u64 = 64 << 10;
/// The age of an unlocked draft in an outbox that a killed command left.
pub const DRAFT_AGE: Duration = Duration::from_secs(600);
/// How often a waiting command checks whether the router has ended, and whether its own reader has ended.
pub const TAKE_OVER: Duration = Duration::from_secs(2);
/// The longest subject in characters, as in the schema.
pub const SUBJECT: usize = 1000;
/// The number of characters of a message on a line of `follow`.
pub const FOLLOW_CHARS: usize = 400;
/// The number of characters of a subject or body in the router's own subjects.
pub const TITLE: usize = 80;
/// The number of items of a list in a sentence; the others are counted.
pub const IN_SENTENCE: usize = 5;
/// The number of problems that are reported for one message.
pub const PROBLEMS: usize = 20;
/// The largest corrected example of a problem, as JSON without spaces.
pub const EXAMPLE_BYTES: usize = 2 << 10;
const _: () = assert!(PROBLEMS * EXAMPLE_BYTES < MESSAGE_BYTES as usize);

/// The number of characters of all bodies in one result of a tool or of `read --all`. Clients cut longer results, or do not give them to the model.
pub const BODIES_SHOWN: usize = 16_000;
/// The most messages that an MCP tool shows.
pub const TOOL_MESSAGES: usize = 50;
/// The most agents that an MCP tool lists.
pub const TOOL_AGENTS: usize = 100;
/// The longest line that the MCP server accepts: a call with a message of the largest size, three bytes for each byte. A client
/// that writes only ASCII needs two to three bytes for each byte of another character.
pub const TOOL_LINE_BYTES: usize = 3 * MESSAGE_BYTES_MOST as usize + (64 << 10);
/// The most concurrent calls of `wait_for_message`. Each uses a thread, and one of the 128 watchers that most systems
/// allow per user.
pub const TOOL_WAITS: usize = 64;
/// The most threads for tool calls.
pub const TOOL_THREADS: usize = 512;
const _: () = assert!(TOOL_WAITS * 2 <= TOOL_THREADS);

/// The largest output of `git`, in bytes.
pub const GIT_BYTES: u64 = 64 << 20;
/// The time limit of a hook. After it, a commit or an edit passes, with a note.
pub const GUARD_TIME: Duration = Duration::from_secs(5);
/// The number of files of other agents that the guard lists one by one.
pub const GUARD_LINES: usize = 10;
/// The time that the guard remembers a notice to a session.
pub const TOLD: Duration = Duration::from_secs(86_400);
/// The number of notices that the guard remembers.
pub const TOLD_ENTRIES: usize = 500;
/// The time that the guard waits for another process that records a notice.
pub const TOLD_WAIT: Duration = Duration::from_millis(50);
