//! Work of the router besides mail: receipts, deadlines, loops, reloads of the configuration, stale agents, and stray files.

pub(super) mod deadlines;
pub(super) mod loops;
pub(super) mod receipts;
mod reload;
mod stale;
mod strays;
