//! What the router does beside the mail: receipts, presence, deadlines, files of people that changed, and trying again.

pub(super) mod backoff;
pub(super) mod deadlines;
pub(super) mod presence;
pub(super) mod receipts;
pub(super) mod reload;
pub(super) mod strays;
