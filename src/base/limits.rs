//! Every bound of the program, each beside the bound it has to fit.
//!
//! Sizes are in bytes and times in [`Duration`]s unless a name says otherwise. Where one bound only makes sense next
//! to another, a `const` assertion says so, and a change that breaks the pair does not compile.

use std::time::Duration;

/// The longest file name that the common file systems take.
pub const FILE_NAME: usize = 255;
/// The longest name of an agent, role, topic, channel, capability, alias or tag.
pub const NAME: usize = 64;
/// The longest message id.
pub const MESSAGE_ID: usize = 128;
/// The longest display name of an agent (ASCII letters).
pub const DISPLAY_NAME: usize = 12;
/// `20261121T103000.123456Z`: how the accept time stands in a file name.
pub const STAMP: usize = 23;

/// The accept times that the clock may give, in microseconds since 1970: a millisecond behind the first, and a year before
/// the last that stands in a file name in its order, which leaves room to count on from it.
pub const CLOCK: std::ops::RangeInclusive<i64> = 1_000..=253_370_764_800_000_000;

/// `<accepted-at>-<from>-<id>.json`, the name of a delivered file.
const DELIVERED_NAME: usize = STAMP + 1 + NAME + 1 + MESSAGE_ID + ".json".len();
const _: () = assert!(DELIVERED_NAME <= FILE_NAME);

/// The digits of the largest sequence or claim number.
pub const SEQ_DIGITS: usize = 20;
/// The largest claim number. Nobody makes so many: a larger one in a name was written by hand, and counting on from it
/// would overflow.
pub const CLAIM_MOST: u64 = u64::MAX / 2;
const _: () = assert!(CLAIM_MOST < u64::MAX - BATCH_MESSAGES as u64);
/// What of a sender's file name is kept after `<seq>~<agent>~`, with room for `.error.json` behind it.
pub const KEPT_NAME: usize = FILE_NAME - SEQ_DIGITS - 1 - NAME - 1 - ".error.json".len();
const _: () = assert!(KEPT_NAME >= 128);

/// The largest message file, where the settings don't say otherwise.
pub const MESSAGE_BYTES: u64 = 1 << 20;
/// The largest message file that the settings may allow.
pub const MESSAGE_BYTES_MOST: u64 = 64 << 20;
/// The largest file that `send --attach` copies into a message; larger ones are named, not copied.
pub const ATTACH_BYTES: u64 = 256 << 10;
const _: () = assert!(ATTACH_BYTES < MESSAGE_BYTES);
/// The largest `registry.json` or `settings.toml`.
pub const REGISTRY_BYTES: u64 = 64 << 20;
/// The largest file of an agent client that is changed. Some keep their whole history in one.
pub const CLIENT_FILE_BYTES: u64 = 64 << 20;
/// How long the hook may take when it is tried at its installation, which is what the clients are told to give it.
pub const HOOK_TIME: Duration = Duration::from_secs(5);
/// The most that is kept of what the hook says when it is tried: what Claude Code takes at most.
pub const HOOK_SAYS: u64 = 10_000;
/// How deep JSON may nest; serde_json's own bound, stated here so that the error can name it.
pub const JSON_DEPTH: usize = 128;

/// The most lines of a file that holds a message a line.
pub const LINES: usize = 1000;

/// The most messages in one batch.
pub const BATCH_MESSAGES: usize = 2048;
/// A batch takes no further message once this much has been read into it.
pub const BATCH_BYTES: u64 = 8 << 20;
/// The most copies of one batch, on the fastest disk. One message may have more; then it is a batch of its own.
pub const BATCH_COPIES: usize = 16_384;
/// The bound on the copies of a batch never falls below this, on the slowest disk.
pub const BATCH_COPIES_LEAST: usize = 256;
/// The bound that a router starts with, before it knows its disk.
pub const BATCH_COPIES_FIRST: usize = 2048;
const _: () = assert!(BATCH_COPIES_LEAST <= BATCH_COPIES_FIRST && BATCH_COPIES_FIRST <= BATCH_COPIES);
/// How long a batch should take. Mail that arrives during one batch is delivered by the next, so the wait is at most two.
pub const BATCH_TIME: Duration = Duration::from_millis(250);
const _: () = assert!(BATCH_TIME.as_millis() * 2 < 1000);
/// How many files of one outbox are claimed before the next outbox has its turn.
pub const TURN: usize = 64;
const _: () = assert!(TURN * 16 <= BATCH_MESSAGES);

/// A log segment that has grown past this is followed by a new one at the next batch.
pub const SEGMENT_BYTES: u64 = 64 << 20;
/// A checkpoint is written once the log has grown by this much since the last one.
pub const CHECKPOINT_BYTES: u64 = 16 << 20;
const _: () = assert!(CHECKPOINT_BYTES <= SEGMENT_BYTES);
/// A checkpoint larger than this is not read: a hundred million ids.
pub const CHECKPOINT_MOST: u64 = 2 << 30;

/// The most files in one pack of the archive.
pub const PACK_FILES: usize = 16_384;
/// How hard the archive is packed: zstd's own scale.
pub const PACK_LEVEL: i32 = 9;
/// The largest file that is packed: a delivered copy of the largest message.
pub const PACK_FILE_BYTES: u64 = MESSAGE_BYTES_MOST * 2;
/// A shared text of this size or more is compressed once it is old; of a smaller one little would be won.
pub const ARTIFACT_BYTES: u64 = 64 << 10;
/// How many of the files that were left alone a run of the cleanup job names.
pub const PACK_LEFT: usize = 20;

/// Up to this many files and directories are synced one by one; beyond it, the whole file system at once.
pub const SYNC_ONE_BY_ONE: usize = 12;

/// The most that the router's note of the committed log holds.
pub const NOTE_BYTES: u64 = 4 << 10;
/// So many messages whose ids begin alike are looked up, to say that a reference is ambiguous.
pub const BEGINNINGS: usize = 64;
/// How far back a reader of the log's end looks at first.
pub const TAIL_LOOK: u64 = 64 << 10;
/// How far back the end of the committed log is first looked for in a room without that note.
pub const COMMITTED_LOOK: u64 = 64 << 10;
/// How many further names are tried for a file whose name is taken.
pub const FURTHER_NAMES: u32 = 1000;
/// How many messages a command holds while it shows them, so that no other shows them too: each is an open file.
pub const HELD_MESSAGES: usize = 256;

/// How long an unfinished file has to stand still, by the monotonic clock, before it counts as what it is.
pub const STAND_STILL: Duration = Duration::from_secs(2);
/// How often every outbox is looked at where file events can be trusted.
pub const SWEEP_TRUSTED: Duration = Duration::from_secs(30);
/// How often every outbox is looked at where they cannot.
pub const SWEEP_UNTRUSTED: Duration = Duration::from_secs(2);
/// How often a command that follows a conversation looks at it.
pub const FOLLOW: Duration = Duration::from_millis(100);
/// How long nothing may happen before the router records what is settled.
pub const IDLE: Duration = Duration::from_secs(1);
/// How long what was seen to leave an inbox waits to be written together with more of its kind.
pub const RECEIPTS: Duration = Duration::from_millis(40);
/// How far the clocks of the file system and of this machine may differ.
pub const CLOCKS_APART: Duration = Duration::from_secs(10);
/// The first wait before what failed for a passing reason is tried again.
pub const RETRY_FIRST: Duration = Duration::from_millis(250);
/// The longest such wait.
pub const RETRY_MOST: Duration = Duration::from_secs(15);
const _: () = assert!(RETRY_MOST.as_millis() < SWEEP_TRUSTED.as_millis());
/// How long a file that will never be taken stands in an outbox before its agent is told: it may be a draft.
pub const STRAY: Duration = Duration::from_secs(60);
/// How many such files of one agent are looked at, and told of at all.
pub const STRAYS: usize = 20;
/// How often the router's own log says at most that the same thing waits.
pub const SAY_AGAIN: Duration = Duration::from_secs(60);
/// How many things it remembers to have said, before it forgets those of more than a minute ago.
pub const SAID: usize = 1024;
/// How often the registry and the settings are looked at when no event came; a valid change takes effect within 2 s.
pub const RELOAD: Duration = Duration::from_secs(1);

/// How long a question, or an urgent message, may stay unanswered, where the settings don't say otherwise.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(30 * 60);
/// How many answers to answers a conversation may have in a window, where the settings don't say otherwise: agents that
/// think need some seconds for each, so only programs that answer each other at once come to more.
pub const LOOP_HOPS: u32 = 30;
/// The window in which budgets are counted, where the settings don't say otherwise.
pub const BUDGET_WINDOW: Duration = Duration::from_secs(60);
/// How many messages one sender may send in a `budget_window`, where the settings don't say otherwise: 100 a second.
pub const SENDER_BUDGET: u32 = 6000;
/// How many copies they may come to: a thousand a second.
pub const COPIES_BUDGET: u32 = 60_000;
const _: () = assert!(LINES * 6 <= SENDER_BUDGET as usize && COPIES_BUDGET <= BUDGET_MOST);
/// The shortest that the settings may give.
pub const BUDGET_WINDOW_LEAST: Duration = Duration::from_secs(1);
/// The longest that the settings may give.
pub const BUDGET_WINDOW_MOST: Duration = Duration::from_secs(24 * 3600);
/// The largest budget that the settings may give.
pub const BUDGET_MOST: u32 = 1_000_000;
const _: () = assert!(BUDGET_WINDOW.as_secs() <= BUDGET_WINDOW_MOST.as_secs() && LOOP_HOPS <= BUDGET_MOST);
/// How many answers the router remembers to see who answers whom; when there are more, it forgets them all, and begins
/// to count anew.
pub const HOPS: usize = 1 << 16;

/// Who was seen within this time is online.
pub const ONLINE: Duration = Duration::from_secs(5 * 60);
/// Who was seen within this time is idle.
pub const AWAY: Duration = Duration::from_secs(3600);
const _: () = assert!(ONLINE.as_secs() < AWAY.as_secs());
/// Who leaves its mail unread for this long is stale, where the settings don't say otherwise.
pub const STALE_AFTER: Duration = Duration::from_secs(6 * 3600);
/// How long what changes in the roster waits to be written together with more of its kind.
pub const ROSTER: Duration = Duration::from_secs(1);
/// How many characters are kept of what an agent says that it does.
pub const DOING: usize = 200;
/// How many agents one may say that it waits for.
pub const WAITING_FOR: usize = 64;

/// How long a command waits for another that records what a person agreed to.
pub const TRUST_WAIT: Duration = Duration::from_secs(5);
/// How long a router that is to run, or a pass that was asked for, waits for others' passes over the room to end.
pub const LOCK_WAIT: Duration = Duration::from_secs(30);
/// How long a command waits for one pass of another: it has something else to do.
pub const PASS_WAIT: Duration = Duration::from_secs(1);
const _: () = assert!(PASS_WAIT.as_secs() < LOCK_WAIT.as_secs());
/// How long whoever changes a session's file waits for another that does: hooks have five seconds in all.
pub const SESSIONS_WAIT: Duration = Duration::from_secs(2);
const _: () = assert!(SESSIONS_WAIT.as_secs() * 2 < HOOK_TIME.as_secs());
/// How long whoever changes the registry, or takes mail from a shared inbox, waits for another that does.
pub const EDIT_WAIT: Duration = Duration::from_secs(10);
/// How long a backup may hold the router still.
pub const STILL: Duration = Duration::from_secs(60 * 60);
/// How long a router waits for a backup, which gives up before.
pub const STILL_WAIT: Duration = Duration::from_secs(STILL.as_secs() + 10 * 60);
/// The longest pause between two looks at a lock that somebody else holds.
pub const LOCK_LOOK: Duration = Duration::from_millis(16);
/// How long a message that was taken from a shared inbox is its taker's, where nothing else is said.
pub const LEASE: Duration = Duration::from_secs(10 * 60);
/// How long a session that makes no calls still holds its agent, where the settings don't say otherwise.
pub const SESSION_LEASE: Duration = Duration::from_secs(30 * 60);
/// How many sessions that lost an agent are remembered until they are told.
pub const LOST: usize = 16;
/// The longest id of a client's session.
pub const SESSION_ID: usize = 128;
/// The largest file that says which session speaks for an agent.
pub const SESSION_BYTES: u64 = 64 << 10;
/// How far up the processes above are looked at for a client.
pub const ANCESTORS: usize = 16;
/// How many lines hooks give an agent in an `announce_window`, where the settings don't say otherwise.
pub const ANNOUNCE_BUDGET: u32 = 30;
/// The time that they are counted in.
pub const ANNOUNCE_WINDOW: Duration = Duration::from_secs(3600);
/// The longest text about mail that a hook gives a client, in characters. The smallest cap of a client is 10,000.
pub const BRIEFING: usize = 1500;
/// How many characters of a subject stand in it.
pub const BRIEFING_SUBJECT: usize = 80;
/// A longer id of a message is told by its number instead: a UUID costs more than the rest of the line.
pub const BRIEFING_ID: usize = 16;
/// How many messages are named when a session starts.
pub const BRIEFING_NEWEST: usize = 5;
/// How many senders are named with a number.
pub const BRIEFING_SENDERS: usize = 5;
/// How many of the newest unread messages a hook looks into.
pub const BRIEFING_LOOK: usize = 500;
/// In an inbox with more unread mail than this, hooks look again only once something has changed there.
pub const LISTED_AGAIN: usize = 1000;
const _: () = assert!(BRIEFING_LOOK <= LISTED_AGAIN);
/// The largest input of a hook: what a client's tools gave back stands in it.
pub const HOOK_BYTES: u64 = 64 << 20;
/// How often whoever waits behind a session looks whether it still lives.
pub const VIGIL: Duration = Duration::from_secs(2);
/// How old a session's last call may get while somebody waits behind it.
pub const VIGIL_RENEWS: Duration = Duration::from_secs(5 * 60);
const _: () = assert!(VIGIL_RENEWS.as_secs() < SESSION_LEASE.as_secs());
/// How often an agent is woken at most, where its entry in the registry doesn't say otherwise.
pub const WAKE_EVERY: Duration = Duration::from_secs(60);
/// How many times an answer in a conversation may wake an agent at once in as many times its `every`.
pub const WAKE_ANSWERS: u32 = 10;
/// How long the program may take that wakes it, where nothing else is said.
pub const WAKE_WITHIN: Duration = Duration::from_secs(30);
/// How long it may take at most.
pub const WAKE_WITHIN_MOST: Duration = Duration::from_secs(10 * 60);
const _: () = assert!(WAKE_WITHIN.as_secs() <= WAKE_WITHIN_MOST.as_secs());
/// How long new mail waits for more before its reader is woken.
pub const WAKE_COALESCE: Duration = Duration::from_secs(1);
/// How long no further mail may come before mail that comes together counts as complete.
pub const WAKE_QUIET: Duration = Duration::from_millis(200);
const _: () = assert!(WAKE_QUIET.as_millis() < WAKE_COALESCE.as_millis());
/// How long after its last hook an agent counts as at work: its next hook tells it, and it is not woken.
pub const AT_WORK: Duration = Duration::from_secs(2 * 60);
/// The same for a session that its own background hook wakes: it takes such a wake in the middle of a turn as well.
pub const VIGIL_AT_WORK: Duration = Duration::from_secs(10);
/// How long after the start of a session the hook of that start may still be announcing its mail.
pub const STARTING: Duration = Duration::from_secs(2);
/// How long the background hook of a new session waits for that of the session before it in the same process to end.
pub const VIGIL_HANDOVER: Duration = Duration::from_secs(6);
const _: () = assert!(VIGIL_HANDOVER.as_secs() > 2 * VIGIL.as_secs());
/// How much is kept of what such a program prints.
pub const WAKE_OUTPUT: usize = 4 << 10;
/// The largest file that says who has taken a message.
pub const LEASE_BYTES: u64 = 64 << 10;
/// How old a draft in an outbox has to be, beside not being locked, to be what a killed command left.
pub const DRAFT_AGE: Duration = Duration::from_secs(600);
/// How deep below an inbox recovery looks for a copy that it finds staged too.
pub const INBOX_DEPTH: usize = 8;
/// How often whoever waits looks whether the router that did the work has ended, and whether its own reader has gone.
pub const TAKE_OVER: Duration = Duration::from_secs(2);
/// How long nothing may come from what a command left running behind it before its output counts as ended.
pub const LEFT_RUNNING: Duration = Duration::from_secs(2);
/// How many characters a subject may have: the schema says the same.
pub const SUBJECT: usize = 1000;
/// How many wrong lines of a command's output are told one by one.
pub const WRONG_LINES: usize = 20;
/// How many characters of a message `follow` shows in its line.
pub const FOLDED: usize = 400;
/// How many characters of a subject or a body the router repeats in a subject of its own.
pub const TITLE: usize = 80;
/// How much of a delivered file a listing reads: all its short fields, and the beginning of its body.
pub const HEAD_BYTES: u64 = 32 << 10;
/// How many messages `inbox` shows where nothing else is said: the newest.
pub const INBOX_SHOWN: usize = 50;
/// How many near misses a refusal names.
pub const SUGGESTIONS: usize = 3;
/// How many problems of one message are reported.
pub const PROBLEMS: usize = 20;
/// The largest corrected example that a problem carries, as JSON without blanks.
pub const EXAMPLE_BYTES: usize = 2 << 10;
const _: () = assert!(PROBLEMS * EXAMPLE_BYTES < MESSAGE_BYTES as usize);

/// How many characters of a body the MCP server's `fetch_inbox` shows before it says how to get the rest.
pub const BODY_SHOWN: usize = 4000;
/// How many characters of all bodies it shows at once; clients cut longer results, or keep them from the model.
pub const BODIES_SHOWN: usize = 16_000;
const _: () = assert!(BODY_SHOWN <= BODIES_SHOWN);
/// How many characters of any other field of a message it shows.
pub const FIELD_SHOWN: usize = 300;
/// How many characters of each body `get_thread` shows.
pub const THREAD_BODY_SHOWN: usize = 1000;
/// How many messages a tool of the MCP server shows at most.
pub const TOOL_MESSAGES: usize = 50;
/// How many agents it lists.
pub const TOOL_AGENTS: usize = 100;
/// How many calls of its `wait_for_message` may wait at once: each holds a thread, and one of the 128 watchers that most
/// systems allow a user.
pub const TOOL_WAITS: usize = 64;
/// How many threads it may have for calls of tools.
pub const TOOL_THREADS: usize = 512;
const _: () = assert!(TOOL_WAITS * 2 <= TOOL_THREADS);
/// How long its `wait_for_message` waits where nothing else is said.
pub const TOOL_WAIT: Duration = Duration::from_secs(30);
/// The longest that it waits: clients give up on a tool after a minute.
pub const TOOL_WAIT_MOST: Duration = Duration::from_secs(50);
const _: () = assert!(TOOL_WAIT.as_secs() <= TOOL_WAIT_MOST.as_secs() && TOOL_WAIT_MOST.as_secs() < 60);
/// How long it looks what the router that runs makes of a message that was just sent.
pub const TOOL_SENT: Duration = Duration::from_secs(2);
