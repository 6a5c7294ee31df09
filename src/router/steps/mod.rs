//! The ten steps of a message, in the order in which the router takes them, and what they share.

pub mod ack;
pub(super) mod budget;
pub(super) mod channels;
pub(super) mod check;
pub(super) mod compose;
pub(super) mod deliver;
pub(super) mod effects;
pub(super) mod lines;
pub(super) mod pickup;
pub(super) mod print;
pub(super) mod share;
pub(super) mod stage;
