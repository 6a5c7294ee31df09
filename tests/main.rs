//! The one integration binary: every test of the whole runs the real program on real directories.

mod addresses;
mod bad_input;
mod cli;
mod docs;
mod frozen;
mod fuzz;
mod hostile;
mod licences;
mod messages;
mod model;
mod protocol;
mod router;
mod sweep;
mod tidy;
mod town;
mod world;
