//! Modules for all other folders: limits, errors, time, hashes, threads, and text made safe to show.
//!
//! In: nothing. Out: constants, error values, instants, hashes, clean strings.
//!
//! A module belongs here if it knows nothing of messages, rooms or files. The one clock and the one sanitiser of the
//! program are here, so that no caller can choose another.
//!
//! This does not belong here: file calls (`disk`), the names of agents and messages (`message`), printing (`cli`).

pub mod clock;
pub mod error;
pub mod hash;
pub mod hex_hash;
pub mod json_text;
pub mod limits;
pub mod lookalike;
pub mod markdown;
pub mod packed_numbers;
pub mod problem;
pub mod process;
pub mod rfc3339;
pub mod sanitize;
pub mod test_sizes;
pub mod text;
pub mod worker;
pub mod written_path;

use std::cell::RefCell;
use std::collections::HashMap;

thread_local!(static VARIABLES: RefCell<HashMap<&'static str, String>> = RefCell::default());

/// The value of an environment variable that only test builds read.
pub fn test_variable(name: &str) -> Option<String> {
    if cfg!(any(debug_assertions, feature = "test-sizes")) {
        let own = VARIABLES.with_borrow(|variables| variables.get(name).cloned());
        own.or_else(|| std::env::var(name).ok())
    } else {
        None
    }
}

/// Sets such a variable for this thread, for a test.
pub fn set_test_variable(name: &'static str, value: &str) {
    VARIABLES.with_borrow_mut(|variables| variables.insert(name, value.to_owned()));
}
