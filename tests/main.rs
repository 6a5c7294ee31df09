//! The one integration binary: every test of the whole runs the real program on real directories.

mod messages;
mod addresses;
