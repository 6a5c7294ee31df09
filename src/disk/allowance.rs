//! How much this process may still read of rooms. A hook runs in every room that it finds, also in one that a stranger made:
//! its files may be sparse, and its directories may have millions of names. A hook must not make its client wait for them.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// What opening a file or a directory costs, in bytes.
pub(super) const OPEN: u64 = 4 << 10;
/// What a name in a directory costs, in bytes.
pub(super) const NAME: u64 = 64;

/// Bytes that may still be read. The highest value stands for no limit.
static LEFT: AtomicU64 = AtomicU64::new(u64::MAX);

/// From now on, this process reads at most so many bytes of rooms. Then reading fails.
pub fn limit_reads(bytes: u64) {
    LEFT.store(bytes, Ordering::Relaxed);
}

/// Fails if this process has read as much as it may.
pub fn charge_read(bytes: u64) -> io::Result<()> {
    let left = LEFT.load(Ordering::Relaxed);
    if left == u64::MAX {
        return Ok(());
    }
    // Two threads may charge at the same time. The limit need not be exact.
    LEFT.store(left.saturating_sub(bytes), Ordering::Relaxed);
    if left >= bytes {
        return Ok(());
    }
    Err(io::Error::other("the room is too large for a hook, which reads only a part of it; run `mailbag doctor`"))
}
