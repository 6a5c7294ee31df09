//! Durable file operations, and the only raw file calls of the program.
//!
//! In: a path from [`layout`], and bytes. Out: files. The comment of each operation says which crashes its result
//! survives.
//!
//! Every operation works relative to a [`Dir`], an open directory of the room, and follows no symbolic link below it.
//! So an agent cannot lead the router out of the room with a link in its own directories. Differences between operating
//! systems are in `system`.
//!
//! The meaning of a file does not belong here, nor do the rules for its access.

mod append;
mod barrier;
mod copy;
mod directory;
mod draft;
pub mod fs;
mod file;
pub mod git;
mod power_cut_safety;
pub mod layout;
pub mod process_ancestry;
mod locks;
pub mod machine;
pub mod mounts;
mod note;
pub mod terminal;
mod outside;
mod own;
pub mod paths;
mod owner;
mod pinned;
mod real;
pub mod root;

pub use append::{AppendFile, forget};
pub use barrier::Barrier;
pub use copy::{CopyResult, copy};
pub use directory::{Dir, events_work, has_stable_inodes};
pub use draft::DraftFile;
pub use file::File;
pub use fs::{DirectoryEntry, Meta, ReadLeaseResult};
pub use locks::{LockFile, is_locked};
pub use note::NoteFile;
pub use outside::UserFile;
pub use own::UserDirectory;
pub use owner::owner_of;
pub use pinned::SharedFileContent;
pub use power_cut_safety::{PowerCutSafety, keeps};
pub use real::{can_sync_all, linux_calls};
