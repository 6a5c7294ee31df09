//! Every limit of the program, beside the related limits.
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

/// The valid accept times in microseconds since 1970. The last one leaves a year of valid file names, so that accept
/// times can still increase.
pub const CLOCK: std::ops::RangeInclusive<i64> = 1_000..=253_370_764_800_000_000;

/// The length of a delivered file's name: `<accepted-at>-<from>-<id>.json`.
const DELIVERED_NAME: usize = STAMP + 1 + NAME + 1 + MESSAGE_ID + ".json".len();
const _: () = assert!(DELIVERED_NAME <= FILE_NAME);

/// The digits of the largest sequence number or pickup number.
pub const SEQ_DIGITS: usize = 20;
/// The largest sequence number that a file name or a copy can show. Every JSON reader keeps it exactly; a larger one was
/// written by hand.
pub const SEQ_MOST: u64 = (1 << 53) - 1;
/// The most lost messages in one record of an accepted gap.
pub const GAP_MESSAGES: usize = 1_000;
/// The largest pickup number. The router never reaches it; a larger number in a file name was written by hand, and
/// would make the counter overflow.
pub const CLAIM_MOST: u64 = u64::MAX / 2;
const _: () = assert!(CLAIM_MOST < u64::MAX - BATCH_MESSAGES as u64);
/// The length of a sender's file name that is kept after `<seq>~<agent>~`. It leaves space for `.error.json`.
pub const KEPT_NAME: usize = FILE_NAME - SEQ_DIGITS - 1 - NAME - 1 - ".error.json".len();
const _: () = assert!(KEPT_NAME >= 128);

/// The default size limit of a message file.
pub const MESSAGE_BYTES: u64 = 1 << 20;
/// The highest size limit of a message file that the settings may set.
pub const MESSAGE_BYTES_MOST: u64 = 64 << 20;
/// The largest file that `send --attach` embeds in a message. A larger file is only referenced.
pub const ATTACH_BYTES: u64 = 256 << 10;
const _: () = assert!(ATTACH_BYTES < MESSAGE_BYTES);
/// The largest `registry.json` or `settings.toml`.
pub const REGISTRY_BYTES: u64 = 64 << 20;
/// The largest `charter.md`. It is text that a person reads.
pub const CHARTER_BYTES: u64 = 64 << 10;
/// The largest configuration file of an agent client that mailbag edits. Some clients keep their history in the same
/// file.
pub const CLIENT_FILE_BYTES: u64 = 64 << 20;
/// The largest of them that a hook parses.
pub const SETTINGS_PARSED: u64 = 128 << 10;
const _: () = assert!(SETTINGS_PARSED < CLIENT_FILE_BYTES);
/// The time limit of a hook. Installation tests the hook with this limit, and configures the clients with it.
pub const HOOK_TIME: Duration = Duration::from_secs(5);
/// The size of the hook's output that installation reads in its test. Claude Code accepts no more.
pub const HOOK_SAYS: u64 = 10_000;
/// The deepest nesting of JSON. It is serde_json's limit, repeated here for the error message.
pub const JSON_DEPTH: usize = 128;

/// The most lines of a file with one message per line.
pub const LINES: usize = 1000;

/// The most messages in one batch.
pub const BATCH_MESSAGES: usize = 2048;
/// A batch takes no further message once its messages have this many bytes.
pub const BATCH_BYTES: u64 = 8 << 20;
/// The most copies in one batch on the fastest disk. A message with more copies is a batch of its own.
pub const BATCH_COPIES: usize = 16_384;
/// The lower bound of the copy limit, on the slowest disk.
pub const BATCH_COPIES_LEAST: usize = 256;
/// The copy limit at the start, before the router has measured the disk.
pub const BATCH_COPIES_FIRST: usize = 512;
const _: () =
    assert!(BATCH_COPIES_LEAST <= BATCH_COPIES_FIRST && BATCH_COPIES_FIRST <= BATCH_COPIES);
/// The target duration of a batch. Mail that arrives during one batch is delivered by the next one, so it waits at most
/// two batches.
pub const BATCH_TIME: Duration = Duration::from_millis(250);
const _: () = assert!(BATCH_TIME.as_millis() * 2 < 1000);
/// The time limit for writing the copies of a batch. After it, the remaining lines of files wait for the next batch. A
/// disk can become ten times slower from one batch to the next.
pub const STAGE_TIME: Duration = Duration::from_millis(150);
const _: () = assert!(STAGE_TIME.as_millis() < BATCH_TIME.as_millis());
/// The number of files that the router takes from one outbox before it continues with the next outbox.
pub const TURN: usize = 64;
const _: () = assert!(TURN * 16 <= BATCH_MESSAGES);

/// After a log segment exceeds this size, the next batch starts a new segment.
pub const SEGMENT_BYTES: u64 = 64 << 20;
/// A new checkpoint is written when the log has grown by this many bytes.
pub const CHECKPOINT_BYTES: u64 = 1 << 20;
const _: () = assert!(CHECKPOINT_BYTES <= SEGMENT_BYTES);
/// The most ids in a checkpoint of a small room. Each command that needs the state reads them.
pub const RECENT_IDS: usize = 8192;
/// In a large room, the index of ids is written again when this share of its entries is new.
pub const RECENT_IDS_SHARE: usize = 128;
/// The entries of the index of relations that are kept in memory.
pub const RECENT_RELATIONS: usize = 65_536;
/// The index finds ids by this number of bytes at their beginning.
pub const BEGINNING_BYTES: usize = 8;
/// The most positions that the index gives for a beginning. More of them are searched in the log.
pub const BEGINNING_PLACES: usize = 1024;
/// The number of outboxes that must be found empty before this is written down for later passes.
pub const EMPTY_OUTBOXES: usize = 256;
/// Two changes of a directory within this time can have the same time.
pub const COARSE_CLOCK: Duration = Duration::from_secs(1);
/// The largest checkpoint that is read.
pub const CHECKPOINT_MOST: u64 = 2 << 30;

/// The most files in one pack of the archive.
pub const PACK_FILES: usize = 16_384;
/// The compression level of the archive, on zstd's scale.
pub const PACK_LEVEL: i32 = 9;
/// The largest file that the archive accepts: a delivered copy of the largest message.
pub const PACK_FILE_BYTES: u64 = MESSAGE_BYTES_MOST * 2;
/// The smallest shared text that is compressed when it is old. Compressing smaller files saves little space.
pub const ARTIFACT_BYTES: u64 = 64 << 10;
/// The most skipped files in the list of one archiver run.
pub const PACK_LEFT: usize = 20;

/// The largest number of files and directories that are synced one by one, as for a lone message to one recipient. For
/// more, the whole file system is synced. That was faster on ext4 and on btrfs.
pub const SYNC_ONE_BY_ONE: usize = 6;
/// The largest number of files that are written back one by one before the log is synced. For more, the whole file
/// system is synced.
pub const WRITE_BACK_ONE_BY_ONE: usize = 16;

/// The largest size of `spool/committed`.
pub const NOTE_BYTES: u64 = 4 << 10;
/// The number of messages that are looked up to report that a reference is ambiguous.
pub const BEGINNINGS: usize = 64;
/// The number of bytes that a reader of the log's end reads first.
pub const TAIL_LOOK: u64 = 64 << 10;
/// The number of bytes at the end of a conversation that are searched for its last lines. For more lines, all of it is read.
pub const CONVERSATION_END: u64 = 16 << 20;
/// The number of bytes that are read first to find the end of the committed log in a room without `spool/committed`.
pub const COMMITTED_LOOK: u64 = 64 << 10;
/// The number of alternative names that are tried if the name of a file is already used.
pub const FURTHER_NAMES: u32 = 1000;
/// The most messages that a command locks while it shows them. Each lock is an open file.
pub const HELD_MESSAGES: usize = 256;

/// How often a command that follows a conversation checks it for new lines.
pub const FOLLOW: Duration = Duration::from_millis(100);
/// The router records settled messages when it is idle for this time.
pub const IDLE: Duration = Duration::from_secs(1);
/// The router collects observed receipts for this time before it records them together.
pub const RECEIPTS: Duration = Duration::from_millis(40);
/// The most receipts of a record. Each command that needs the state reads the record that the checkpoint ends with.
pub const RECEIPTS_OF_RECORD: usize = 10_000;
/// The largest accepted difference between the file system's clock and the machine's clock.
pub const CLOCKS_APART: Duration = Duration::from_secs(10);
/// The shortest interval between two equal warnings of the router.
pub const WARN_AGAIN: Duration = Duration::from_secs(60);
/// The number of remembered warnings above which the router forgets the ones older than a minute.
pub const WARNINGS: usize = 1024;
/// The interval of checks of the registry and the settings without file events. A valid change takes effect within 2 s.
pub const RELOAD: Duration = Duration::from_secs(1);

/// The shortest budget window that the settings may set.
pub const BUDGET_WINDOW_LEAST: Duration = Duration::from_secs(1);
/// The longest budget window that the settings may set.
pub const BUDGET_WINDOW_MOST: Duration = Duration::from_secs(24 * 3600);
/// The largest budget that the settings may set.
pub const BUDGET_MOST: u32 = 1_000_000;
/// The number of replies that the router remembers to detect reply loops. When it has more, it forgets all and starts
/// again.
pub const HOPS: usize = 1 << 16;

/// An agent that was active within this time is online.
pub const ONLINE: Duration = Duration::from_secs(5 * 60);
/// An agent that was active within this time is idle.
pub const IDLE_PRESENCE: Duration = Duration::from_secs(3600);
const _: () = assert!(ONLINE.as_secs() < IDLE_PRESENCE.as_secs());
/// The router collects changes of the roster for this time before it writes the roster.
pub const ROSTER: Duration = Duration::from_secs(1);
/// The shortest interval between two writes of `claims.json`.
pub const CLAIMS: Duration = Duration::from_millis(200);
/// The largest number of log bytes that a reader must read after `claims.json` while a router runs.
pub const CLAIMS_BEHIND: u64 = 256 << 10;
/// The largest `claims.json`.
pub const CLAIMS_BYTES: u64 = 64 << 20;
/// The number of characters that are kept of an agent's current activity.
pub const REPORT_TEXT: usize = 200;
/// The largest number of agents in `metadata.waiting_for`.
pub const WAITING_FOR: usize = 64;

/// The time that a command waits for another command that records consent.
pub const TRUST_WAIT: Duration = Duration::from_secs(5);
/// The largest file of a service.
pub const SERVICE_BYTES: u64 = 64 << 10;
/// The number of characters of a project's name in the name of its service.
pub const SERVICE_NAME: usize = 40;
/// The time that a starting router, or a requested pass, waits for passes of other programs.
pub const LOCK_WAIT: Duration = Duration::from_secs(30);
/// The time that a command waits for another program's pass. It is short because the command has other work to do.
pub const PASS_WAIT: Duration = Duration::from_secs(1);
const _: () = assert!(PASS_WAIT.as_secs() < LOCK_WAIT.as_secs());
/// The time that a process waits for the lock on the session files. A hook has five seconds in all.
pub const SESSIONS_WAIT: Duration = Duration::from_secs(2);
const _: () = assert!(SESSIONS_WAIT.as_secs() * 2 < HOOK_TIME.as_secs());
/// The time that a process waits for the lock on the registry or on a shared inbox.
pub const EDIT_WAIT: Duration = Duration::from_secs(10);
/// The longest time that a backup may pause the router.
pub const PAUSE: Duration = Duration::from_secs(60 * 60);
/// The time that a router waits for a backup. It is longer than the time limit of a backup.
pub const PAUSE_WAIT: Duration = Duration::from_secs(PAUSE.as_secs() + 10 * 60);
/// The longest interval between two attempts to take a lock.
pub const LOCK_LOOK: Duration = Duration::from_millis(16);
/// The default lease duration of a message that was taken from a shared inbox.
pub const LEASE: Duration = Duration::from_secs(10 * 60);
/// The default time without calls until a session loses its agent.
pub const SESSION_LEASE: Duration = Duration::from_secs(30 * 60);
/// The number of remembered sessions that lost an agent and are not notified yet.
pub const LOST: usize = 16;
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
/// The number of characters of a subject in this text.
pub const BRIEFING_SUBJECT: usize = 80;
/// The longest id in a text. For a longer id the text has the number of the message: a UUID costs more than the rest of
/// the line.
pub const BRIEFING_ID: usize = 16;
/// That text shows the age of messages that are older.
pub const BRIEFING_FRESH: Duration = Duration::from_secs(10 * 60);
/// The number of messages in the text at the start of a session.
pub const BRIEFING_NEWEST: usize = 5;
/// The number of senders with a count in the text.
pub const BRIEFING_SENDERS: usize = 5;
/// The number of the newest unread messages that a hook reads.
pub const BRIEFING_LOOK: usize = 500;
/// If an inbox has more unread messages than this, hooks read it again only after it has changed.
pub const LISTED_AGAIN: usize = 100;
/// If an inbox has more unread messages than this, hooks find new mail in the log, and list the inbox rarely.
pub const LISTED_EACH_TIME: usize = 10_000;
/// The time that a hook uses the listing of such an inbox.
pub const LISTED_FOR: Duration = Duration::from_secs(10 * 60);
/// The size of the log that it reads for this.
pub const LISTED_LOG: u64 = 4 << 20;
/// The largest stored listing: [`BRIEFING_LOOK`] file names.
pub const LISTED_BYTES: u64 = 256 << 10;
/// The largest input of a hook. It contains the output of a client's tools.
pub const HOOK_BYTES: u64 = 64 << 20;
/// The largest lease file of a taken message.
pub const LEASE_BYTES: u64 = 64 << 10;
/// The age of an unlocked draft in an outbox that a killed command left.
pub const DRAFT_AGE: Duration = Duration::from_secs(600);
/// The directory levels below an inbox that recovery searches for a copy that is also staged.
pub const INBOX_DEPTH: usize = 8;
/// How often a waiting command checks whether the router has ended, and whether its own reader has ended.
pub const TAKE_OVER: Duration = Duration::from_secs(2);
/// The output of an ended command is complete if its background processes are silent for this time.
pub const LEFT_RUNNING: Duration = Duration::from_secs(2);
/// The longest subject in characters, as in the schema.
pub const SUBJECT: usize = 1000;
/// The time that a program waits for its own suspension, because the signal can arrive later.
pub const SUSPENDING: Duration = Duration::from_millis(50);
/// How often such a program looks whether all output was shown before.
pub const SETTLING: usize = 10;
/// The number of warnings that are kept while a command has the terminal.
pub const KEPT_WARNINGS: usize = 20;
/// The number of invalid lines of a command's output that are reported one by one.
pub const WRONG_LINES: usize = 20;
/// The number of characters of a message on a line of `follow`.
pub const FOLLOW_CHARS: usize = 400;
/// The number of characters of a subject or body in the router's own subjects.
pub const TITLE: usize = 80;
/// The number of items of a list in a sentence; the others are counted.
pub const IN_SENTENCE: usize = 5;
/// The number of bytes of a delivered file that a listing reads: all short fields, and the start of the body.
pub const HEAD_BYTES: u64 = 32 << 10;
/// The default number of messages that `inbox` shows, newest first.
pub const INBOX_SHOWN: usize = 50;
/// The number of similar names in an error.
pub const SUGGESTIONS: usize = 3;
/// The number of messages in an ack about messages that were read in a read-only inbox.
pub const SEEN_REFS: usize = 100;
/// The number of problems that are reported for one message.
pub const PROBLEMS: usize = 20;
/// The largest corrected example of a problem, as JSON without spaces.
pub const EXAMPLE_BYTES: usize = 2 << 10;
const _: () = assert!(PROBLEMS * EXAMPLE_BYTES < MESSAGE_BYTES as usize);
/// The time of expiry in an example, from now.
pub const EXAMPLE_EXPIRY: Duration = Duration::from_secs(60 * 60);

/// The number of characters of a body that the MCP tool `fetch_inbox` shows before it explains how to get the rest.
pub const BODY_SHOWN: usize = 4000;
/// The number of characters of all bodies together. Clients cut longer results, or do not give them to the model.
pub const BODIES_SHOWN: usize = 16_000;
const _: () = assert!(BODY_SHOWN <= BODIES_SHOWN);
/// The number of characters of any other field that it shows.
pub const FIELD_SHOWN: usize = 300;
/// The number of characters of each body that `get_thread` shows.
pub const THREAD_BODY_SHOWN: usize = 1000;
/// The most messages that an MCP tool shows.
pub const TOOL_MESSAGES: usize = 50;
/// The most agents that an MCP tool lists.
pub const TOOL_AGENTS: usize = 100;
/// The most concurrent calls of `wait_for_message`. Each uses a thread, and one of the 128 watchers that most systems
/// allow per user.
pub const TOOL_WAITS: usize = 64;
/// The most threads for tool calls.
pub const TOOL_THREADS: usize = 512;
const _: () = assert!(TOOL_WAITS * 2 <= TOOL_THREADS);
/// The default waiting time of `wait_for_message`.
pub const TOOL_WAIT: Duration = Duration::from_secs(30);
/// The longest waiting time of `wait_for_message`. Clients cancel a tool call after a minute.
pub const TOOL_WAIT_MOST: Duration = Duration::from_secs(50);
const _: () =
    assert!(TOOL_WAIT.as_secs() <= TOOL_WAIT_MOST.as_secs() && TOOL_WAIT_MOST.as_secs() < 60);

/// The time limit of a git command that mailbag runs.
pub const GIT_TIME: Duration = Duration::from_secs(10);
/// The largest output of such a command, in bytes.
pub const GIT_BYTES: u64 = 64 << 20;
/// The most rooms of a user in the record of rooms.
pub const CREATED_ROOMS: usize = 1000;
/// The bytes of a room that a hook may read. A room of usual size needs less than a hundredth.
pub const HOOK_READS: u64 = 128 << 20;
/// The time limit of a git hook in total. After it, the commit passes.
pub const GUARD_TIME: Duration = Duration::from_secs(5);
/// The most directory entries in one search for hard links.
pub const HARD_LINK_NAMES: usize = 20_000;
/// The number of files of other agents that the guard lists one by one.
pub const GUARD_LINES: usize = 10;
/// The time that the guard remembers a notice to a session.
pub const TOLD: Duration = Duration::from_secs(86_400);
/// The number of notices that it remembers.
pub const TOLD_ENTRIES: usize = 500;
/// The time that it waits for another process that records a notice.
pub const TOLD_WAIT: Duration = Duration::from_millis(50);
