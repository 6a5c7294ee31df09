//! What the router does beside the mail: receipts, deadlines, reloads of the configuration, and stray files.

pub(super) mod deadlines;
pub(super) mod receipts;
pub(super) mod reload;
pub(super) mod strays;
