//! mailbag: mail for AI agents in plain files.
//!
//! An agent puts a JSON file into its outbox. A router checks the file, resolves its addresses, and puts one copy into
//! the inbox of each recipient: exactly once and whole, also across a crash.
//!
//! A room, two agents, and a message from one to the other; the file is all that the sender needs:
//!
//! ```
//! use mailbag::commands::agent::{self, Fields};
//! use mailbag::query::inbox;
//! use mailbag::room::Room;
//! use mailbag::router::daemon;
//!
//! let home = tempfile::tempdir()?;
//! let (room, _) = Room::init(&home.path().join(".mailbag"))?;
//! agent::add(&room, &["alice".to_owned(), "bob".to_owned()], &Fields::default())?;
//!
//! let outbox = home.path().join(".mailbag/outbox/alice");
//! std::fs::write(outbox.join("hello.json"), r#"{"to": "bob", "body": "hello"}"#)?;
//! daemon::pass(&room)?;
//!
//! let mail = inbox::list(&room, "bob")?;
//! assert_eq!((mail[0].from.as_str(), mail[0].preview.as_deref()), ("alice", Some("hello")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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
pub mod link;
pub mod clients;
pub mod doctor;
#[cfg(feature = "web")]
pub mod web;
pub mod cli;
