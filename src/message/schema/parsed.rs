//! What the bytes of a file can turn out to be.

use crate::base::error::Problem;
use crate::base::limits;
use serde_json::Value;

/// How deep a message may nest: less than what serde_json reads, since a record of the log and the `metadata` of
/// other spellings put a few levels around what was sent, and have to be read again.
pub const DEPTH: usize = limits::JSON_DEPTH - 16;
const _: () = assert!(DEPTH < limits::JSON_DEPTH);

/// What the bytes of a file are.
#[derive(Debug)]
pub enum Parsed {
    /// JSON, whole.
    Value(Value),
    /// Empty, or it ends too early: its writer may not be done. The problem is what it is refused with once it has
    /// stood still.
    Unfinished(Problem),
    /// Not JSON, whatever may still be added.
    Bad(Problem),
}

/// Why JSON that is well formed is refused while it is being read.
pub(super) enum Refusal {
    Duplicate(String),
    Depth,
    Number(String),
    Key(String),
}
