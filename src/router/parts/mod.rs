//! The parts of a router. Each part keeps its fields private, and a step gets only the parts that it may touch.

mod budget;
mod charter;
mod config;
mod gates;
mod progress;
mod intake;
mod journal;
mod leases;
mod links;
mod notices;
mod pending;
mod receipts;
mod renames;
mod share;
mod storage;
mod wakes;

pub use journal::Tally;

pub(super) use budget::Delay;
pub(super) use config::Config;
pub(super) use gates::{Gates, WaitingMail, is_argued_out, is_left_to_human};
pub(super) use intake::Intake;
pub(super) use journal::{Journal, Lines};
pub(super) use leases::Leases;
pub(super) use links::Links;
pub(super) use notices::{Notice, Notices};
pub(super) use pending::{Pending, claim_item};
pub(super) use progress::Progress;
pub(super) use receipts::Receipts;
pub(super) use renames::{Rename, Renames};
pub(super) use share::{Batch, Cut, Late, ParsedPiece, Piece, Space, Stop, Unranked};
pub(super) use storage::Storage;
pub(super) use wakes::Wakes;
