//! The one integration binary: every test of the whole runs the real program on real directories.

mod addresses;
mod bad_input;
mod cli;
mod docs;
mod frozen;
mod hostile;
mod licences;
mod messages;
mod protocol;
mod router;
mod sweep;
mod tidy;
mod town;
mod watching;
mod world;
