//! The projections: what follows from the log, for whoever wants to read it. Each can be deleted at any time, and is
//! made again.

pub mod channels;
pub mod roster;
