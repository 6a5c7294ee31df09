//! Fuzzing: the functions of the targets in `fuzz/`, and an ordinary test that replays every kept
//! input.
//!
//! libFuzzer runs the targets (`fuzz/run`). Its finds are kept in `fuzz/corpus`. The test `replay`
//! passes them, and the inputs that `seeds` makes of the fixtures, to the same functions.

mod address;
mod log;
mod message;
pub(crate) mod outbox;
mod place;
mod registry;
mod replay;
mod seeds;
mod settings;
