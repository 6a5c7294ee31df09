//! Limits of links to other rooms.

/// The largest file with the state of a link.
pub const LINK_STATE_MOST: u64 = 64 << 10;
/// The number of agents that a room reports to the other room.
pub const ROSTER_OF_LINK: usize = 200;
const _: () = assert!(ROSTER_OF_LINK * 250 < LINK_STATE_MOST as usize);
/// The number of items that a carrier brings before the room has committed the previous ones.
pub const ITEMS_AHEAD: u64 = 10_000;
/// The number of items that are sent again when a link starts again.
pub const ITEMS_AGAIN: usize = 200_000;
/// The number of them in one record. To make an item, its record is read.
pub const ITEMS_OF_RECORD: usize = 100;
/// The largest message that crosses a link, in bytes of its item. Every carrier takes an item with it.
pub const CROSSING_BYTES: u64 = 3 << 20;
/// The size of attached files that cross with a message, in bytes.
pub const ENCLOSED_BYTES: u64 = super::ATTACH_BYTES;
const _: () = assert!(ENCLOSED_BYTES < CROSSING_BYTES);
/// The most receipts of an item. A receipt has at most 160 bytes: an agent's id, a status and a number.
pub const RECEIPTS_OF_ITEM: usize = 5_000;
const _: () =
    assert!(CROSSING_BYTES + 160 * RECEIPTS_OF_ITEM as u64 + ITEM_MORE <= super::FRAME_BYTES);
/// The number of receipts above which an item takes no receipts of further records.
pub const RECEIPTS_TOGETHER: usize = 1_000;
const _: () = assert!(RECEIPTS_TOGETHER <= RECEIPTS_OF_ITEM);
/// The number of bytes of an item in addition to a message of the largest size. JSON may escape a byte with six.
pub const ITEM_MORE: u64 = 64 << 10;
