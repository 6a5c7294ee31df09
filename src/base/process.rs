//! The number of this process.

use std::cell::Cell;

thread_local!(static NUMBER: Cell<Option<u32>> = const { Cell::new(None) });

/// The process number, which is in the names of temporary files. A test can play several processes on one thread.
pub fn id() -> u32 {
    NUMBER.get().unwrap_or_else(std::process::id)
}

/// Sets the process number of this thread, for a test. `None` is the real one.
pub fn set(number: Option<u32>) {
    NUMBER.set(number);
}
