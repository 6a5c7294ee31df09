//! A file system in memory that knows the results of a crash.
//!
//! In: the calls of the program, through [`mailbag::disk::fs::Fs`]. Out: for each point between two calls, every disk that
//! there can be after a kill or a power cut at that point.
//!
//! A [`Machine`] keeps the disk at its last settled point and a list of steps, one for each call that changes something.
//! `state` does the steps, and knows which of them are durable. `fates` decides what becomes of the others. `files` are
//! the calls.

mod calls;
mod disk;
mod fates;
mod files;
mod fingerprint;
mod handles;
mod itself;
mod machine;
mod outside;
mod paths;
mod per_directory;
mod random;
mod replay;
mod state;
mod watched;

pub(crate) use calls::{Call, CallName, Control, ControlKind, ERRORS, Failure};
pub(crate) use fates::Fate;
pub(crate) use machine::{Crash, Machine};
pub(crate) use outside::Node;
pub(crate) use random::Random;
pub(crate) use watched::watched;
