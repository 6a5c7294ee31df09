//! mailbag: mail for AI agents in plain files.
//!
//! An agent puts a JSON file into its outbox. A router checks the file, resolves its addresses, and puts one copy into
//! the inbox of each recipient: exactly once and whole, also across a crash.
//!
//! A room, two agents, and a message from one to the other; the file is all that the sender needs:
//!
//! ```
//! use mailbag::agent::{self, AgentFields};
//! use mailbag::{Room, inbox, pass};
//!
//! let home = tempfile::tempdir()?;
//! let (room, _) = Room::init(&home.path().join(".mailbag"))?;
//! agent::add(&room, &["alice".to_owned(), "bob".to_owned()], &AgentFields::default())?;
//!
//! let outbox = home.path().join(".mailbag/outbox/alice");
//! std::fs::write(outbox.join("hello.json"), r#"{"to": "bob", "body": "hello"}"#)?;
//! pass(&room)?;
//!
//! let mail = inbox::list(&room, "bob")?;
//! assert_eq!((mail[0].from.as_str(), mail[0].preview.as_deref()), ("alice", Some("hello")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The items below are the library. The other modules are public for the tests, benches and fuzz targets of this
//! repository, and may change in every release.
//!
//! The floors are listed from the ground up. **A file may import only from its own floor and from floors above it in
//! this list**; within a floor there are no circles. The test `tidy` holds both. Each floor's `mod.rs` says what
//! belongs there and what does not, and `docs/architecture.md` follows a message through them.

#![warn(clippy::match_bool, clippy::needless_for_each)]

#[doc(hidden)]
pub mod base;
#[doc(hidden)]
pub mod message;
#[doc(hidden)]
pub mod disk;
#[doc(hidden)]
pub mod log;
#[doc(hidden)]
pub mod room;
#[doc(hidden)]
pub mod router;
#[doc(hidden)]
pub mod features;
#[doc(hidden)]
pub mod query;
#[doc(hidden)]
pub mod commands;
#[doc(hidden)]
pub mod link;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod clients;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod doctor;
#[cfg(feature = "web")]
#[doc(hidden)]
pub mod web;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;

pub use base::error::{Error, Problem, Result};
pub use commands::{agent, send};
pub use query::{identity, inbox, list, search, status, thread};
pub use room::Room;
pub use router::daemon::{PassResult, pass};
