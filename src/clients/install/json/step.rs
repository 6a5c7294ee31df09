//! Ways into a JSON value.

use serde_json::Value;

/// A step into a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::clients::install) enum Step {
    Key(&'static str),
    At(usize),
}

impl From<&'static str> for Step {
    fn from(key: &'static str) -> Step {
        Step::Key(key)
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Step {
        Step::At(index)
    }
}

/// The value at the end of a way, if it is there.
pub(in crate::clients::install) fn look<'v>(value: &'v Value, at: &[Step]) -> Option<&'v Value> {
    at.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::At(n) => value.get(n),
    })
}
