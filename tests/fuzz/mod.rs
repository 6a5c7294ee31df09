//! Fuzzing: what each target of `fuzz/` does with an input, and an ordinary test that replays every input that is kept.
//!
//! The targets are run by libFuzzer: `fuzz/run` says how. What it finds is kept in `fuzz/corpus`, and the test `replay`
//! gives all of it, and all that `seeds` makes of the fixtures, to the same functions.

mod address;
mod log;
mod message;
mod outbox;
mod place;
mod registry;
mod replay;
mod seeds;
mod settings;
