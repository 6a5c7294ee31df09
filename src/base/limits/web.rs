//! Limits of the page.

use std::time::Duration;

/// The largest number of open connections of the page. A further one takes the place of the oldest one that has not entered.
pub const WEB_CONNECTIONS: usize = 128;
/// The number of event streams that the page serves. Further requests are rejected.
pub const WEB_STREAMS: usize = 32;
/// The number of event streams of programs among them.
pub const WEB_STREAMS_OF_PROGRAMS: usize = 24;
/// The number of threads that read the room for requests, in addition to one for each event stream. Other requests
/// wait.
pub const WEB_THREADS: usize = 8;
/// The time limit for the head of a request, and between two requests of a connection.
pub const WEB_HEAD: Duration = Duration::from_secs(5);
/// The time limit of a form, with its action.
pub const WEB_FORM: Duration = Duration::from_secs(60);
/// The largest body of a request: a message of the largest size, with the escapes of a form.
pub const WEB_BODY_BYTES: usize = 3 * super::MESSAGE_BYTES_MOST as usize + (64 << 10);
/// The largest body of a request to enter.
pub const WEB_ENTER_BYTES: usize = 4096;
/// The longest time without progress of a client that reads an answer. The connection then ends.
pub const WEB_UNREAD: Duration = Duration::from_secs(20);
/// The time that a browser stays signed in.
pub const WEB_ENTERED: Duration = Duration::from_secs(30 * 24 * 3600);
/// The largest number of known browsers of a room. A further one takes the place of the oldest one.
pub const WEB_BROWSERS: usize = 64;
/// The largest file with the state of a page: [`WEB_BROWSERS`] entries of less than 256 bytes.
pub const WEB_STATE_BYTES: u64 = 64 << 10;
/// The longest silence of an event stream.
pub const WEB_BEAT: Duration = Duration::from_secs(15);
/// The interval of the page's reads of a room without file events of the log.
pub const WEB_LOOK: Duration = Duration::from_secs(2);
/// The largest number of records in one part of a stream of events.
pub const WEB_STREAM_RECORDS: usize = 64;
/// The bytes of records that a follower of the log reads in one step; more only for a single record.
pub const FOLLOWED_BYTES: usize = 256 << 10;
/// The KiB of unread events of all streams together; more only for a single record.
pub const WEB_STREAM_KIB: u32 = 32 << 10;
/// The number of timeline entries that a page shows first, and loads in one step.
pub const PAGE_ENTRIES: usize = 50;
/// The number of records that are read for one part of the timeline.
pub const PAGE_RECORDS: u64 = 20_000;
/// The number of characters of a body in the timeline.
pub const PAGE_PREVIEW: usize = 160;
/// The bytes of items with their text in the list of items that need the person. Later items have only a title.
pub const PAGE_WHOLE: usize = 16 << 10;
/// The longest text of an item in the list of items that need the person.
pub const PAGE_ITEM_TEXT: usize = 8 << 10;
/// The smallest number of equal reports that become one row.
pub const PAGE_GROUP: usize = 3;
/// The number of reports that such a row lists.
pub const PAGE_GROUPED: usize = 20;
/// The number of agents beside a list.
pub const PAGE_AGENTS: usize = 24;
/// The number of messages of a conversation.
pub const PAGE_THREAD: usize = 50;
/// The bytes of a message in a conversation. The rest is on the page of the message.
pub const PAGE_BODY: usize = 32 << 10;
/// The longest text of an approval that the page displays. A longer one is decided in a terminal.
pub const PAGE_SOURCE: usize = 256 << 10;
/// The number of search results on the page.
pub const PAGE_FOUND: usize = 200;
/// The time between two guesses of a password that come from one source.
pub const GUESS_PACE: Duration = Duration::from_millis(250);
/// The longest wait of a guess for its turn. Other guesses are rejected.
pub const GUESS_WAIT: Duration = Duration::from_secs(20);
/// The largest number of sources with waiting guesses.
pub const GUESS_SOURCES: usize = 1024;
/// The number of messages or events in an answer for programs.
pub const API_MESSAGES: usize = 1000;
