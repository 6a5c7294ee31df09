//! Limits of the page.

/// The number of event streams that the page serves. Further requests are rejected.
pub const WEB_STREAMS: usize = 32;
/// The largest body of a request: a message of the largest size, with the escapes of a form.
pub const WEB_BODY_BYTES: usize = 3 * super::MESSAGE_BYTES_MOST as usize + (64 << 10);
/// The largest body of a request to enter.
pub const WEB_ENTER_BYTES: usize = 4096;
/// The KiB of unread events of all streams together; more only for a single record.
pub const WEB_STREAM_KIB: u32 = 32 << 10;
/// The number of timeline entries that a page shows first, and loads in one step.
pub const PAGE_ENTRIES: usize = 50;
/// The number of characters of a body in the timeline.
pub const PAGE_PREVIEW: usize = 160;
/// The number of search results on the page.
pub const PAGE_FOUND: usize = 200;
