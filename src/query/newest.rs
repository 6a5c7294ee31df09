//! The newest few of many, for lists with a bound.

use crate::base::error::Result;
use std::collections::VecDeque;

/// The last `most` values, in their order. Needs memory for these only.
pub fn last_of<T>(values: impl IntoIterator<Item = Result<T>>, most: usize) -> Result<Vec<T>> {
    let mut kept = VecDeque::new();
    for value in values {
        kept.push_back(value?);
        if kept.len() > most {
            kept.pop_front();
        }
    }
    Ok(kept.into())
}
