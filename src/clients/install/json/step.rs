//! Ways into a JSON value.

use serde_json::Value;

/// A step into a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::clients::install) enum JsonStep {
    Key(&'static str),
    At(usize),
}

impl From<&'static str> for JsonStep {
    fn from(key: &'static str) -> JsonStep {
        JsonStep::Key(key)
    }
}

impl From<usize> for JsonStep {
    fn from(index: usize) -> JsonStep {
        JsonStep::At(index)
    }
}

/// The value at the end of a way, if it is there.
pub(in crate::clients::install) fn look<'v>(
    value: &'v Value,
    at: &[JsonStep],
) -> Option<&'v Value> {
    at.iter().try_fold(value, |value, step| match step {
        JsonStep::Key(key) => value.get(key),
        JsonStep::At(n) => value.get(n),
    })
}
