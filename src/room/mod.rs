//! The files of a room, except the log: one file or folder here for each part of the room.
//!
//! In: an open directory. Out: the registry, the settings, the recipients of an address, the files in outboxes, the
//! unread mail in inboxes, the sessions of agents, and the archive.
//!
//! Each module is the only one that knows the format of its part. [`Room`] opens, finds and creates a room. A [`RouterLock`]
//! gives the right to change it.
//!
//! This does not belong here: the order of changes (`router`, `commands`), and the log (`log`).

pub mod actor;
pub mod carriers;
mod checked;
mod choice;
pub mod consent;
pub mod inbox;
pub mod key_file;
pub mod links;
mod lock;
mod open;
pub mod outbox;
mod owner;
mod place;
mod progress;
pub mod registry;
pub mod repository;
pub mod resolve;
pub mod sessions;
pub mod settings;
pub mod signs;
pub mod spool;
mod trusted;
mod turn;
mod whole;

pub use choice::{competing_room, reason};
pub use lock::{LockAttempt, RouterHolder, RouterLock, RouterMode};
pub(crate) use open::is_edited;
pub use open::{
    ROOM_VARIABLES, Room, RoomCreation, below, check_expanded, check_not_a_link, check_path,
    default_place, find, is_room, named_by_environment, take_owner,
};
pub use progress::StalledRouter;
pub use turn::{RoomTurn, pause};
