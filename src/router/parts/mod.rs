//! The parts of a router. Each part keeps its fields private, and a step gets only the parts that it may touch.

mod budget;
mod config;
mod due_deadlines;
mod progress;
mod intake;
mod journal;
mod links;
mod notices;
mod pending;
mod receipts;
mod renames;
mod batch_space;
mod storage;

pub use journal::RouterTotals;

pub(super) use batch_space::{BatchSpace, FileMessage, FileMessages};
pub(super) use budget::MessageDelay;
pub(super) use config::apply_subscription;
pub(crate) use config::{LaneWatch, RoomConfig};
pub(super) use due_deadlines::{DeadlineOf, DueDeadlines, WaitingMail};
pub(super) use intake::MailIntake;
pub(crate) use journal::Journal;
pub(super) use links::LinkAcknowledgements;
pub(crate) use notices::{NoticeQueue, NoticeText};
pub(crate) use pending::PendingWork;
pub(super) use pending::{claim_item, inbox_item};
pub(super) use progress::DeliveryProgress;
pub(super) use receipts::ObservedReceipts;
pub(super) use renames::{AgentRename, RenameRetry};
pub(super) use storage::RouterStorage;
