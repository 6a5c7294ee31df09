//! The durable verbs on files, and the only user of raw file calls.
//!
//! In: a path from [`layout`], bytes. Out: files that survive what each verb's comment says they survive.
//!
//! Every verb works relative to a [`Dir`], an open directory of the room, and follows no symbolic link below it, so
//! that nothing that an agent makes in its own directories leads the router out of the room. What differs between
//! operating systems is in `system`. A [`failpoint`] disables one protection in test builds.
//!
//! What does not belong here: what a file means, when a file is due, and who may have it.

mod access;
mod append;
mod barrier;
mod board;
mod copy;
mod directory;
mod draft;
pub mod failpoint;
mod head;
mod keeps;
pub mod layout;
mod listing;
mod locks;
pub mod machine;
mod outside;
mod own;
mod owner;
mod system;

pub use access::{Readers, may_give};
pub use append::{Append, forget, rewrite};
pub use barrier::{Barrier, Durability};
pub use board::Board;
pub use copy::{Copy, copy};
pub use directory::{Dir, Meta, events_work, file_meta, lease};
pub use draft::{Draft, put};
pub use keeps::{Keeps, keeps};
pub use listing::{Entry, Listing};
pub use outside::Outside;
pub use own::Own;
pub use system::Lease;
