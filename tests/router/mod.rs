//! The running router: dropped files arrive complete and once, from every sender and in every way.

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
