//! The settings of a sweep's room, and of its agents.

/// Makes batches so small that the lines of a file don't fit into one.
pub(crate) const BATCH_COPIES: &str = "MAILBAG_TEST_BATCH_COPIES";
/// Reduces the receipts of a record.
pub(crate) const RECEIPTS_OF_RECORD: &str = "MAILBAG_TEST_RECEIPTS_OF_RECORD";
/// The time limit for writing the copies of a batch.
pub(crate) const STAGE_MS: &str = "MAILBAG_TEST_STAGE_MS";

/// The settings of a sweep's room.
#[derive(Debug, Clone, Default)]
pub(crate) struct Setting {
    pub(crate) seed: u64,
    /// The first router watches the room until a signal ends it, and sees all letters; otherwise it makes one pass, as all
    /// later routers do.
    pub(crate) stays: bool,
    /// An agent joins while mail is in transit.
    pub(crate) late: bool,
    /// An agent reads nothing, and gets another name while mail is in transit: the agent with that name reads all.
    pub(crate) joins: bool,
    /// The power may go: senders drop by rename alone, so that no letter is lost before it was dropped.
    pub(crate) power: bool,
    /// The power is cut on a file system that keeps no order. A staged copy can be durable there although the pickup is
    /// undone. It looks like a copy with a lost record, so recovery puts it aside.
    pub(crate) unordered: bool,
    /// When the power is back, recipients touch nothing until a router has started. If they remove a file before that, the
    /// router can't know of, and delivers it again if the power cut left it both its names.
    pub(crate) waits_for_router: bool,
    /// Recipients sync their inboxes, as a careful mail program does.
    pub(crate) syncs_inboxes: bool,
    /// The environment of the program.
    pub(crate) env: Vec<(&'static str, String)>,
    /// A program puts its own files where the router is about to deliver.
    pub(crate) squatters: bool,
    /// The room has the files that people read: the worklog and the mailbox beside it, and the queues in it.
    pub(crate) worklog: bool,
    /// The archiver runs at the same time. It drops ids, so no letter is dropped again.
    pub(crate) archives: bool,
}
