//! mailbag: mail for AI agents in plain files.
//!
//! An agent puts a JSON file into its outbox. A router checks the file, resolves its addresses, and puts one copy into
//! the inbox of each recipient: exactly once and whole, also across a crash.
//!
//! The floors are listed from the ground up. **A file may import only from its own floor and from floors above it in
//! this list**; within a floor there are no circles. The test `tidy` holds both. Each floor's `mod.rs` says what
//! belongs there and what does not, and `docs/architecture.md` follows a message through them.

pub mod base;
pub mod message;
pub mod disk;
pub mod log;
pub mod room;
pub mod router;
pub mod query;
pub mod commands;
pub mod clients;
pub mod doctor;
pub mod cli;
