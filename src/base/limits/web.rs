//! Limits of the page.

use std::time::Duration;

/// How many open connections the page serves. Further ones are closed at once.
pub const WEB_CONNECTIONS: usize = 128;
/// How many streams of events the page serves. Further requests for one are refused.
pub const WEB_STREAMS: usize = 32;
/// How many threads read the room for requests, beside one for each stream of events. Other requests wait.
pub const WEB_THREADS: usize = 8;
/// How long a client may take for the head of a request, also between two requests of a connection.
pub const WEB_HEAD: Duration = Duration::from_secs(5);
/// How long a form may take, with what it does.
pub const WEB_FORM: Duration = Duration::from_secs(60);
/// The largest body of a request: a message of the largest size, with the escapes of a form.
pub const WEB_BODY_BYTES: usize = 3 * super::MESSAGE_BYTES_MOST as usize + (64 << 10);
/// How long streams of events are silent at most.
pub const WEB_BEAT: Duration = Duration::from_secs(15);
/// How long the page waits between two looks at a room whose log gives no file events.
pub const WEB_LOOK: Duration = Duration::from_secs(2);
/// How many records a stream of events reads at once, and how many parts it keeps for a slow reader.
pub const WEB_STREAM_RECORDS: usize = 64;
/// See [`WEB_STREAM_RECORDS`].
pub const WEB_STREAM_PARTS: usize = 4;
/// How many entries of the timeline a page shows first, and loads at once.
pub const PAGE_ENTRIES: usize = 50;
/// How many records are read for one part of the timeline.
pub const PAGE_RECORDS: u64 = 20_000;
/// How many characters of a body the timeline shows.
pub const PAGE_PREVIEW: usize = 400;
/// How many results of a search the page shows.
pub const PAGE_FOUND: usize = 200;
/// How long the page waits after a wrong password. All who try a password wait together.
pub const WRONG_PASSWORD: Duration = Duration::from_secs(1);
/// How many notes about what was done are kept for the next page.
pub const PAGE_NOTES: usize = 64;
/// How many messages or events an answer for programs has.
pub const API_MESSAGES: usize = 1000;
