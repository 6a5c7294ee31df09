//! The router, running: what is dropped arrives, whole and once, whoever dropped it and however.

mod addressing;
mod arriving;
mod clock;
mod crowds;
mod living;
mod obstacles;
mod order;
mod renaming;
mod stalled;
mod unreached;
