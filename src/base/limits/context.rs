//! The limits of the context that an agent gets.

/// The default budget, in tokens. A client takes 10,000 characters from a hook, and mail has precedence.
pub const CONTEXT_TOKENS: usize = 1000;
const _: () =
    assert!(CONTEXT_TOKENS * BYTES_PER_TOKEN + super::BRIEFING < super::HOOK_SAYS as usize);
/// A token has about four bytes. The exact number depends on the model.
pub const BYTES_PER_TOKEN: usize = 4;
/// The most threads in a context.
pub const CONTEXT_THREADS: usize = 10;
/// The longest text of a message, of the charter or of a file, in characters.
pub const CONTEXT_TEXT: usize = 240;
