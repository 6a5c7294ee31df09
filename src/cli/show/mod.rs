//! Showing: the only printer, and the forms that several commands share.

pub(super) mod frame;
pub(super) mod output;
pub(super) mod row;
pub(super) mod table;
pub(super) mod waiting;
