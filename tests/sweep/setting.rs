//! What is special about the room of a sweep, and about the people in it.

/// Makes batches so small that the lines of a file don't fit into one.
pub(crate) const BATCH_COPIES: &str = "MAILBAG_TEST_BATCH_COPIES";
/// How long the router writes the copies of a batch.
pub(crate) const STAGE_MS: &str = "MAILBAG_TEST_STAGE_MS";

/// What is special about a room.
#[derive(Debug, Clone, Default)]
pub(crate) struct Setting {
    pub(crate) seed: u64,
    /// The first run is that of a router that watches the room until it is told to end, and sees all letters; else
    /// it makes one pass, as all later ones do.
    pub(crate) stays: bool,
    /// Somebody joins while mail is on its way.
    pub(crate) late: bool,
    /// Somebody reads nothing, and gets another name while mail is on its way: the agent of that name reads all.
    pub(crate) joins: bool,
    /// The power may go: senders drop by rename alone, so that no letter is lost before it was dropped.
    pub(crate) power: bool,
    /// The power goes on a file system that keeps no order. There a copy can be staged durably and the claim that it
    /// was made from undone: nobody can tell it from one whose record was lost, so recovery puts it aside.
    pub(crate) unordered: bool,
    /// The power goes on a file system with a journal that keeps all names in order.
    pub(crate) journal: bool,
    /// When the power is back, recipients touch nothing until a router has started. What they remove before that, the
    /// router can't know of, and delivers it again if the power cut left it both its names.
    pub(crate) waits_for_router: bool,
    /// Recipients sync their inboxes, as a careful mail program does.
    pub(crate) syncs_inboxes: bool,
    /// The environment of the program.
    pub(crate) env: Vec<(&'static str, String)>,
    /// Somebody puts files of his own where the router is about to deliver.
    pub(crate) squatters: bool,
    /// The room has the files that people read: the worklog and the mailbox beside it, and the queues in it.
    pub(crate) worklog: bool,
    /// Somebody archives meanwhile. Ids are forgotten then, so no letter comes again.
    pub(crate) archives: bool,
}
