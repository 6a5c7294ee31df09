//! Limits of links to other rooms.

/// The largest file in which a room says how far it is with a link.
pub const LINK_STATE_MOST: u64 = 64 << 10;
/// How many items a carrier brings to a room that has not committed those before them.
pub const ITEMS_AHEAD: u64 = 10_000;
/// How many items are sent again when a link is bound anew.
pub const ITEMS_AGAIN: usize = 10_000;
/// How many bytes an item may have besides a message of the largest size. JSON may escape a byte with six.
pub const ITEM_MORE: u64 = 64 << 10;
