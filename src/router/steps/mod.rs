//! The steps of a message, in order. Each takes the result of the step before, which no other code can make, and the
//! parts of the router that it may touch.

pub mod ack;
pub(crate) mod availability;
pub(crate) mod batch_message;
pub(super) mod check;
pub(super) mod commit;
mod compose;
pub(super) mod deliver;
pub(super) mod effects;
mod items;
pub(super) mod judge;
mod numbering;
pub(super) mod pickup;
pub(super) mod read;
pub(super) mod retire;
pub(super) mod stage;
mod streams;
mod unreached;
