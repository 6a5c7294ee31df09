//! The result of parsing a file.

use crate::base::error::Problem;
use crate::base::limits;
use serde_json::Value;

/// The deepest nesting of a message. It is less than serde_json's limit, because a log record and the `metadata` of
/// dialects add a few levels.
pub(super) const DEPTH: usize = limits::JSON_DEPTH - 16;
const _: () = assert!(DEPTH < limits::JSON_DEPTH);

/// The result of parsing a file.
#[derive(Debug)]
pub enum ParsedFile {
    /// Complete JSON.
    Value(Value),
    /// Empty or incomplete: the writer may not have finished. If the file does not change, it is rejected with this
    /// problem.
    Unfinished(Problem),
    /// Not JSON, even if more text is added.
    Bad(Problem),
}

/// Why valid JSON is rejected during parsing.
pub(super) enum ParseRejection {
    Duplicate(String),
    Depth,
    Number(String),
    Key(String),
}
