//! Work of the router beside the mail: receipts, deadlines, loops, reloads of the configuration, stale agents, and stray
//! files.

pub(super) mod deadlines;
pub(super) mod loops;
pub(super) mod receipts;
pub(super) mod reload;
pub(super) mod stale;
pub(super) mod strays;
