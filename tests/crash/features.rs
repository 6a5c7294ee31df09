//! Messages of each type that changes the state of a room.

mod approvals;
mod claims;
mod names;
mod receipts;
