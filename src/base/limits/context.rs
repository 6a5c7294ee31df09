//! The limits of the context that an agent gets.

/// The default budget, in tokens. A client takes 10,000 characters from a hook, and mail has precedence.
pub const CONTEXT_TOKENS: usize = 1000;
/// The smallest budget. It has room for the heading and the note about omitted parts.
pub const CONTEXT_LEAST: usize = 100;
const _: () =
    assert!(CONTEXT_TOKENS * BYTES_PER_TOKEN + super::BRIEFING < super::HOOK_SAYS as usize);
/// The largest budget of the command.
pub const CONTEXT_MOST: usize = 100_000;
/// A token has about four bytes. The exact number depends on the model.
pub const BYTES_PER_TOKEN: usize = 4;
/// The size of the log's end that is read for threads and decisions.
pub const CONTEXT_LOG: u64 = 4 << 20;
/// The most threads.
pub const CONTEXT_THREADS: usize = 10;
/// The most messages of a thread.
pub const CONTEXT_MESSAGES: usize = 5;
/// The most decisions.
pub const CONTEXT_DECISIONS: usize = 10;
/// The most shared files.
pub const CONTEXT_FILES: usize = 50;
/// The number of names below the context that are read.
pub const CONTEXT_LOOKS: usize = 2000;
/// The size of a shared file that is read for its first line.
pub const CONTEXT_HEAD: u64 = 1 << 10;
/// The longest text of a message, of the charter or of a file, in characters.
pub const CONTEXT_TEXT: usize = 240;
