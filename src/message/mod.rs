//! From bytes to a checked message, and from facts to the lines of the log.
//!
//! In: the bytes of a dropped file. Out: a [`Message`] that the schema let through, or every problem that it has.
//! Addresses, ids, mentions and references are parsed here; a [`record`] is how a fact is written into the log.
//!
//! Everything here is a function of its input.
//!
//! What does not belong here: file calls (`disk`), the registry and who an address reaches (`room`), what the router
//! does with a message (`router`).

pub mod address;
mod checked;
pub mod dialects;
pub mod id;
pub mod mentions;
pub mod record;
pub mod reference;
pub mod schema;
pub mod status;

pub use checked::{
    DEFAULT_CHANNEL, DEFAULT_PRIORITY, FIELDS, Message, PRIORITIES, RESERVED_TYPES, ROUTER_TYPES, ROUTERS_OWN, TYPES,
    may_go_to_channel_alone, unknown,
};
