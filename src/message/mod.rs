//! Messages: from bytes to a checked message, and from records to the lines of the log.
//!
//! In: the bytes of a dropped file. Out: a valid [`Message`], or all problems of the file. Addresses, ids, mentions and
//! references are parsed here. A [`record`] is a line of the log.
//!
//! All results depend only on the input.
//!
//! This does not belong here: file calls (`disk`), the registry and the recipients of an address
//! (`room`), the delivery of a message (`router`).

pub mod address;
pub mod carried;
mod checked;
pub mod copy;
pub mod dialects;
pub(crate) mod event;
pub mod gap;
mod head;
pub mod id;
pub mod mentions;
mod name;
pub(crate) mod print;
mod priority;
pub mod record;
pub mod reference;
pub mod schema;
pub mod status;
pub mod status_line;
pub mod subject;
mod table;
pub mod title;
mod types;

pub use checked::{
    DEFAULT_CHANNEL, Message, ROUTERS_OWN, is_decision, is_offer, object, texts, unknown,
    wants_answer,
};
pub(crate) use checked::{digest_of, field, text_field, text_items};
pub use head::ConversationKeys;
pub use priority::Priority;
pub use table::{Answered, FIELDS, MessageActor, TYPES, TypeBehaviour, TypeSenders, behaviour};
pub(crate) use types::is_session_event;
use types::is_valid_type;
pub use types::{
    ALL_CLAIMS, APPROVAL, DECISION, ESCALATION, LINK, MILESTONE, QUESTION, is_announced,
};
