//! mailbag: mail for AI agents on one machine, in plain files.
//!
//! An agent drops a JSON file into its outbox; a router checks it, works out who it is for, and puts one copy into
//! each recipient's inbox: once, whole, and even across a crash.
//!
//! The modules are listed from the ground up. **A file may import only what stands above it in this list**; the
//! test `tidy` holds that.

// Ground: nothing below.
pub mod limits;
pub mod error;
pub mod clock;

// Words: no I/O.
pub mod id;
pub mod reference;
pub mod client;
pub mod address;
pub mod visible;
pub mod mentions;
pub mod message;
pub mod spelling;
pub mod ladder;
pub mod schema;
pub mod record;

// Disk: the only users of raw file calls.
pub mod layout;
pub mod fault;
pub mod disk;

// Rooms: each owns one part of the room on disk.
pub mod settings;
pub mod registry;
pub mod consent;
pub mod resolve;
pub mod room;
pub mod log;
pub mod find;
pub mod fold;
pub mod lookup;
pub mod outbox;
pub mod spool;
pub mod inbox;
pub mod sessions;
pub mod archive;
pub mod projections;
pub mod notice;

// Story: the way of a message.
pub mod route;
pub mod recover;
pub mod daemon;

// Counter: what a person or an agent does, returning data, printing nothing.
pub mod actions;

// Faces: parse, call an action, show.
pub mod hooks;
pub mod mcp;
pub mod cli;
