//! Limits of links to other rooms.

/// The largest file in which a room says how far it is with a link.
pub const LINK_STATE_MOST: u64 = 64 << 10;
/// Of how many agents a room tells the other one.
pub const ROSTER_OF_LINK: usize = 200;
const _: () = assert!(ROSTER_OF_LINK * 250 < LINK_STATE_MOST as usize);
/// How many items a carrier brings to a room that has not committed those before them.
pub const ITEMS_AHEAD: u64 = 10_000;
/// How many items are sent again when a link starts again.
pub const ITEMS_AGAIN: usize = 200_000;
/// How many of them one record has. To make an item, its record is read.
pub const ITEMS_OF_RECORD: usize = 100;
/// The largest message that crosses a link, in bytes of its item. Every carrier takes an item with it.
pub const CROSSING_BYTES: u64 = 3 << 20;
/// How many bytes of attached files cross with a message.
pub const ENCLOSED_BYTES: u64 = super::ATTACH_BYTES;
const _: () = assert!(ENCLOSED_BYTES < CROSSING_BYTES);
/// The most receipts of an item. A receipt has at most 160 bytes: an agent's id, a status and a number.
pub const RECEIPTS_OF_ITEM: usize = 5_000;
const _: () = assert!(CROSSING_BYTES + 160 * RECEIPTS_OF_ITEM as u64 + ITEM_MORE <= super::FRAME_BYTES);
/// An item with so many receipts has no more of other records.
pub const RECEIPTS_TOGETHER: usize = 1_000;
const _: () = assert!(RECEIPTS_TOGETHER <= RECEIPTS_OF_ITEM);
/// How many bytes an item may have besides a message of the largest size. JSON may escape a byte with six.
pub const ITEM_MORE: u64 = 64 << 10;
