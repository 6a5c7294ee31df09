//! Limits of links to other rooms.

/// The largest file with the state of a link.
pub const LINK_STATE_MOST: u64 = 64 << 10;
/// The number of agents that a room reports to the other room.
pub const ROSTER_OF_LINK: usize = 200;
const _: () = assert!(ROSTER_OF_LINK * 250 < LINK_STATE_MOST as usize);
/// The most receipts of an item. A receipt has at most 160 bytes: an agent's id, a status and a number.
pub const RECEIPTS_OF_ITEM: usize = 5_000;
/// The number of bytes of an item in addition to a message of the largest size. JSON may escape a byte with six.
pub const ITEM_MORE: u64 = 64 << 10;
