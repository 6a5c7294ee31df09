//! Showing: the only printer, and the forms that several commands share.

mod fit;
pub(super) mod frame;
pub(super) mod newest;
pub(super) mod output;
pub(super) mod progress;
pub(super) mod row;
pub(super) mod table;
pub(super) mod waiting;
